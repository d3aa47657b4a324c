// The live page: asks for the statistics each second, and shows what has happened since.

import { CacheList } from "./cache.js";
import { Chart } from "./chart.js";
import { age, between, bytes, number, percent, rate, time } from "./figures.js";

const byId = (id) => document.getElementById(id);
const KEY = "salver-admin-token";

/** The pause between two readings, in milliseconds. */
const PAUSE = 1000;

class Unauthorized extends Error {}

/** Asks the server; an answer that is no success is an error with what it said. */
async function ask(path, method = "GET") {
  const token = sessionStorage.getItem(KEY);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { method, headers, cache: "no-store", signal: AbortSignal.timeout(10_000) });
  if (answer.status === 401) throw new Unauthorized("The token is not known here.");
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

const TILES = [
  ["Requests", (d) => `${number(d.requests)}/s`, (s) => `${number(s.requests.active)} under way`],
  ["Mean time", (d) => time(d.mean), (_, d) => (d.slowest >= 0 ? `99 % within ${time(d.slowest)}` : "")],
  ["Cache hits", (d) => percent(d.hits), (s) => `${number(s.cache.entries)} entries`],
  ["Sent", (d) => rate(d.sent), (s) => `${bytes(s.requests.sent_bytes)} in all`],
  ["Memory", (d) => bytes(d.memory), (s) => `cache ${bytes(s.cache.bytes)}`],
  ["Loop lag", (d) => time(d.lag), (s) => `${number(s.loops.length)} ${s.loops.length === 1 ? "loop" : "loops"}`],
];

const CHARTS = [
  [{ title: "Requests a second", lines: ["all", "4xx", "failed"], show: number, least: 1 }, (d) => [d.requests, d.refused, d.failed]],
  [{ title: "Time to answer", lines: ["mean", "99 % within"], show: time, least: 1e-5 }, (d) => [d.mean, d.slowest]],
  [{ title: "Answered from the cache", lines: [""], show: percent, most: 1 }, (d) => [d.hits]],
  [{ title: "Sent", lines: [""], show: rate, least: 1024, binary: true }, (d) => [d.sent]],
  [{ title: "Memory", lines: ["process", "cache"], show: bytes, least: 1024, binary: true }, (d) => [d.memory, d.cache]],
  [{ title: "Loop lag", lines: [""], show: time, least: 0.005 }, (d) => [d.lag]],
];

function element(name, className, parent) {
  const made = document.createElement(name);
  made.className = className;
  parent.append(made);
  return made;
}

const tiles = TILES.map(([what, value, more]) => {
  const tile = element("div", "tile", byId("tiles"));
  element("p", "what", tile).textContent = what;
  return { value, more, shown: element("p", "value", tile), below: element("p", "more", tile) };
});
const charts = CHARTS.map(([settings, values]) => ({ chart: new Chart(byId("charts"), settings), values }));
const cache = new CacheList(ask);

/** What there is to know besides: name, value, and if it wants attention. */
function details(status) {
  const { requests, loader, connections, certificates, log, process } = status;
  const all = [
    ["Requests so far", number(requests.total)],
    ["of them 2xx, 3xx", `${number(requests.success)}, ${number(requests.redirection)}`],
    ["of them 4xx", number(requests.client_error)],
    ["of them 5xx", number(requests.server_error), requests.server_error > 0],
    ["Clients that went away before", number(requests.unanswered)],
    ["Connections", `${number(connections.open)} of ${number(connections.most)}`],
    ["Their memory", `${bytes(connections.memory_bytes)} of ${bytes(connections.most_memory_bytes)}`],
    ["Threads for disks", `${number(loader.busy)} busy of ${number(loader.threads)}, ${number(loader.waiting)} wait`],
    ["Files held open", number(status.cache.open_files)],
    ["Codings made", number(status.cache.codings_made)],
    ["Loads, evictions", `${number(status.cache.loads)}, ${number(status.cache.evictions)}`],
  ];
  if (process.open_fds != null) all.push(["Descriptors", `${number(process.open_fds)} of ${number(process.max_fds ?? Number.NaN)}`]);
  if (log) all.push(["Log lines dropped", `${number(log.dropped)} of ${number(log.lines + log.dropped)}`, log.dropped > 0]);
  for (const { names, days_left } of certificates)
    all.push([`Certificate for ${names}`, days_left < 0 ? "over" : `${number(days_left)} days left`, days_left < 14]);
  return all;
}

function showDetails(status) {
  const rows = details(status).map(([name, value, isBad]) => {
    const row = document.createElement("div");
    element("dt", "", row).textContent = name;
    element("dd", isBad ? "bad" : "", row).textContent = value;
    return row;
  });
  byId("details").replaceChildren(...rows);
}

let before = null;

function show(status, when) {
  byId("figures").hidden = false;
  byId("token-form").hidden = true;
  byId("problem").hidden = true;
  byId("about").textContent = `${status.version}, up ${age(status.uptime_seconds)}`;
  byId("state").textContent = status.state;
  byId("state").className = `state ${status.state === "ready" ? "good" : "bad"}`;
  showDetails(status);
  cache.update(status.cache);
  // A server that has started anew counts from the beginning.
  if (before && before.status.requests.total <= status.requests.total) {
    const since = between(before.status, status, (when - before.when) / 1000);
    for (const { value, more, shown, below } of tiles) {
      shown.textContent = value(since);
      below.textContent = more(status, since);
    }
    for (const { chart, values } of charts) chart.push(when, values(since));
  }
  before = { status, when };
}

function fail(error) {
  byId("state").className = "state bad";
  if (error instanceof Unauthorized) {
    byId("state").textContent = "locked";
    byId("figures").hidden = true;
    byId("token-form").hidden = false;
    byId("token-error").textContent = sessionStorage.getItem(KEY) ? error.message : "";
    sessionStorage.removeItem(KEY);
    return;
  }
  byId("state").textContent = "no answer";
  byId("problem").textContent = `The server does not answer: ${error.message}`;
  byId("problem").hidden = false;
}

async function read() {
  // Nobody looks, or somebody is typing the token.
  if (document.hidden || !byId("token-form").hidden) return;
  try {
    const answer = await ask("/status");
    const status = await answer.json();
    show(status, performance.now());
  } catch (error) {
    fail(error);
  }
}

/** Ends the pause. One reading at a time: the answer to an older one would undo what a newer one shows. */
let goOn = () => {};

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, byId("token").value.trim());
  byId("token").value = "";
  byId("token-form").hidden = true;
  goOn();
});

for (;;) {
  const began = performance.now();
  await read();
  await new Promise((done) => {
    goOn = done;
    setTimeout(done, Math.max(100, PAUSE - (performance.now() - began)));
  });
}
