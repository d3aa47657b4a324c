// Elements, and asking the server.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on")
      for (const [event, react] of Object.entries(value)) element.addEventListener(event, react);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

const html = (name, attributes = {}, ...children) =>
  build(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// The token comes in the address and leaves it at once: who sees the window, or is sent the address, must not
// have it. This tab keeps it, so that the page can be loaded again.
function takeToken() {
  const given = new URLSearchParams(location.search).get("token");
  if (given !== null) history.replaceState(null, "", location.pathname);
  try {
    if (given !== null) sessionStorage.setItem("token", given);
    return sessionStorage.getItem("token") ?? "";
  } catch {
    // A browser may be told to keep nothing.
    return given ?? "";
  }
}

const token = data.mode === "live" ? takeToken() : "";
const address = (path) => `${path}?token=${encodeURIComponent(token)}`;

// The server's answer: { ok, status, body }. Never throws: what is wrong is in body.message.
async function ask(path, sent) {
  const options =
    sent === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(sent) };
  try {
    const answer = await fetch(address(path), options);
    const text = await answer.text();
    let body = {};
    try {
      body = text === "" ? {} : JSON.parse(text);
    } catch {
      body = { message: text.trim() };
    }
    return { ok: answer.ok, status: answer.status, body };
  } catch {
    return { ok: false, status: 0, body: { message: GONE } };
  }
}

const GONE =
  "There is no answer: `salver bench ui` has ended. Start it again and open the address that it prints.";

// Draws as soon as it is on the page, and again whenever the width changes. `draw` gets the width and
// the box to put its drawing into, so that it can measure texts then.
function drawn(draw) {
  const box = html("div", { class: "chart" });
  let width = 0;
  const redraw = () => {
    width = Math.floor(box.clientWidth);
    if (width > 0) draw(width, box);
  };
  new ResizeObserver(() => {
    if (Math.floor(box.clientWidth) !== width) redraw();
  }).observe(box);
  return { box, redraw };
}

// Cuts a text of an SVG that is attached to the page until it is no wider than this.
function fit(text, width) {
  const whole = text.textContent;
  let kept = whole.length;
  while (text.getComputedTextLength() > width && kept > 4) {
    kept -= 1;
    const head = Math.ceil(kept / 2);
    text.textContent = `${whole.slice(0, head)}…${whole.slice(whole.length - (kept - head))}`;
  }
  if (kept < whole.length) text.append(svg("title", {}, whole));
}
