// The form, the run under way, and how the page begins.

const form = byId("form");
const FIELDS = ["url", "directory", "duration_seconds", "connections"];
const kind = () => form.elements.kind.value;

const HINTS = {
  cache: {
    label: "Make files in",
    directory:
      "Where the files to measure with are made, and removed. Empty: the directory for temporary files.",
    duration: "Each size is measured for so long each way, in turns; for intervals give 2 s or more.",
  },
  load: {
    label: "Directory of the site",
    directory: "What the server serves: every answer is then compared with its file.",
    duration: "It is measured for so long after a warm-up.",
  },
};

// What was typed for each kind: files are made in the one directory, and only read in the other.
const directories = { cache: "", load: "" };
let kindShown = kind();

function showKind() {
  directories[kindShown] = byId("directory").value;
  byId("directory").value = directories[kind()];
  kindShown = kind();
  byId("directory-label").textContent = HINTS[kind()].label;
  byId("url-field").hidden = kind() !== "load";
  byId("directory-hint").textContent = HINTS[kind()].directory;
  byId("duration-hint").textContent = HINTS[kind()].duration;
}

function showErrors(message, fields = {}) {
  byId("form-error").textContent = message;
  for (const name of FIELDS) {
    byId(`${name}-error`).textContent = fields[name] ?? "";
    if (fields[name]) byId(name).setAttribute("aria-invalid", "true");
    else byId(name).removeAttribute("aria-invalid");
  }
  const first = FIELDS.find((name) => fields[name]);
  if (first) byId(first).focus();
}

// What is no number is sent as none: the server says what it wants.
function number(name) {
  const text = byId(name).value.trim();
  const value = text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

async function start(event) {
  event.preventDefault();
  showErrors("");
  if (byId("progress").hidden) byId("outcome").textContent = "";
  const { ok, body } = await ask("api/run", {
    kind: kind(),
    url: byId("url").value,
    directory: byId("directory").value,
    duration_seconds: number("duration_seconds"),
    connections: number("connections"),
  });
  if (!ok) showErrors(body.message ?? "The run was refused.", body.fields);
}

async function stop() {
  showErrors("");
  const { ok, body } = await ask("api/stop", {});
  if (!ok) showErrors(body.message);
}

// A person who listens is told at once when something begins or ends, and now and then between.
const ANNOUNCE_EVERY_MS = 5000;
let announced = -Infinity;
function announce(text, urgent) {
  const now = performance.now();
  if (!urgent && now - announced < ANNOUNCE_EVERY_MS) return;
  announced = now;
  byId("announce").textContent = text;
}

let seen = { run: -1, phase: "" };

function showStatus(status) {
  const fresh = status.run !== seen.run || status.phase !== seen.phase;
  const began = seen.run === -1;
  seen = { run: status.run, phase: status.phase };
  const busy = status.phase === "running" || status.phase === "stopping";
  byId("progress").hidden = !busy;
  byId("run").toggleAttribute("data-busy", busy);
  if (!busy && document.activeElement === byId("stop")) byId("run").focus();
  byId("stop").disabled = status.phase !== "running";
  if (busy) showProgress(status, fresh);
  else document.title = "Salver bench";
  if (fresh && !busy) showEnd(status, began);
}

function showProgress({ phase, progress }, fresh) {
  const done = Math.min(Math.max(progress?.done ?? 0, 0), 1);
  const percent = `${Math.floor(done * 100)} %`;
  const what = phase === "stopping" ? "Stopping" : (progress?.what ?? "Starting");
  byId("outcome").textContent = "";
  byId("bar").value = done;
  byId("progress-what").textContent = what.charAt(0).toUpperCase() + what.slice(1);
  document.title = `${percent} · Salver bench`;
  let text = "";
  if (progress) {
    const now = progress.now;
    const parts = [percent, now.warming_up ? "warming up" : perSecond(now.requests_per_second)];
    parts.push(`${duration(now.elapsed_seconds)} of ${duration(now.of_seconds)}`);
    if (now.errors > 0) parts.push(plural(now.errors, "error", "errors"));
    text = parts.join(" · ");
  }
  byId("progress-text").textContent = text;
  announce([what, text].filter((part) => part !== "").join(": "), fresh);
}

async function showEnd({ phase, message, saved }, began) {
  const texts = {
    idle: "",
    done: message ?? "Done and saved.",
    stopped: "Stopped: what was measured until then is thrown away.",
    failed: `Failed: ${message}`,
  };
  byId("outcome").textContent = texts[phase];
  byId("outcome").toggleAttribute("data-bad", phase === "failed" || (phase === "done" && message !== null));
  if (!began || phase !== "idle") announce(texts[phase], true);
  if (phase === "done") {
    const { ok, body } = await ask("api/result");
    if (ok) showAlone(saved, body);
  }
  await listRuns();
}

function listen() {
  const events = new EventSource(address("api/events"));
  let job = false;
  events.addEventListener("message", ({ data: text }) => {
    const status = JSON.parse(text);
    // After a reload the form is as it was.
    if (!job && status.job) fillForm(status.job);
    job = true;
    if (byId("outcome").textContent === GONE) byId("outcome").textContent = "";
    showStatus(status);
  });
  events.addEventListener("error", () => {
    seen = { run: -1, phase: "" };
    byId("progress").hidden = true;
    byId("stop").disabled = true;
    byId("outcome").textContent = GONE;
    byId("outcome").toggleAttribute("data-bad", true);
    announce(GONE, false);
  });
}

function fillForm(job) {
  form.elements.kind.value = job.kind;
  showKind();
  byId("url").value = job.url ?? "";
  byId("directory").value = job.directory ?? "";
  byId("duration_seconds").value = job.duration_seconds;
  byId("connections").value = job.connections;
}

if (data.mode === "live") {
  byId("new").hidden = false;
  byId("history").hidden = false;
  byId("foot").textContent = `${data.program} · runs are saved in ${data.directory}`;
  form.addEventListener("submit", start);
  form.addEventListener("change", showKind);
  byId("stop").addEventListener("click", stop);
  showKind();
  listen();
} else {
  document.body.classList.add("alone");
  byId("subtitle").textContent = "A saved run.";
  byId("foot").textContent = `Measured and written by ${data.program}; run ${data.run.id}`;
  showRuns([{ id: data.run.id, saved: data.run.saved }]);
}
