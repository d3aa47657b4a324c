// Runs: begun, under way, ended; and how the page begins.

async function start(event) {
  event.preventDefault();
  showErrors("");
  if (byId("progress").hidden) byId("outcome").textContent = "";
  const { ok, body } = await ask("api/run", Object.fromEntries(new FormData(form)));
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

// The button Stop, enabled or not: who is on it goes to Run before it is disabled, or the browser leaves them nowhere.
function allowStop(allowed) {
  if (!allowed && document.activeElement === byId("stop")) byId("run").focus();
  byId("stop").disabled = !allowed;
}

let seen = { run: -1, phase: "" };

function showStatus(status) {
  const fresh = status.run !== seen.run || status.phase !== seen.phase;
  const began = seen.run === -1;
  seen = { run: status.run, phase: status.phase };
  const busy = status.phase === "running" || status.phase === "stopping";
  allowStop(status.phase === "running");
  byId("progress").hidden = !busy;
  byId("run").toggleAttribute("data-busy", busy);
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
    const parts = [percent];
    // Trials can be too short to tell anything of themselves.
    if (now.of_seconds > 0) {
      parts.push(now.warming_up ? "warming up" : perSecond(now.requests_per_second));
      parts.push(`${duration(now.elapsed_seconds)} of ${duration(now.of_seconds)}`);
    }
    if (now.errors > 0) parts.push(plural(now.errors, "error", "errors"));
    text = parts.join(" · ");
  }
  byId("progress-text").textContent = text;
  announce([what, text].filter((part) => part !== "").join(": "), fresh);
}

async function showEnd({ phase, message, saved }, began) {
  // What was measured and could not be saved has a message that says so.
  const measured = phase === "done" || (phase === "stopped" && (saved ?? message) !== null);
  const texts = {
    idle: "",
    done: message ?? "Done and saved.",
    stopped: measured
      ? (message ?? "Stopped: what was measured until then is saved, with a mark.")
      : "Stopped before there was anything to save.",
    failed: `Failed: ${message}`,
  };
  byId("outcome").textContent = texts[phase];
  byId("outcome").toggleAttribute("data-bad", message !== null);
  if (!began || phase !== "idle") announce(texts[phase], true);
  if (measured) {
    const { ok, body } = await ask("api/result");
    if (ok) showAlone(saved, body);
  }
  await listRuns();
}

function listen() {
  const events = new EventSource(address("api/events"));
  let job = false;
  let lost = "";
  events.addEventListener("message", ({ data: text }) => {
    const status = JSON.parse(text);
    // After a reload the form is as it was.
    if (!job && status.job) fillForm(status.job);
    job = true;
    if (byId("outcome").textContent === lost) byId("outcome").textContent = "";
    showStatus(status);
  });
  events.addEventListener("error", async () => {
    seen = { run: -1, phase: "" };
    allowStop(false);
    byId("progress").hidden = true;
    // The program has ended, or does not know the token.
    const { ok, body } = await ask("api/runs");
    if (ok) return;
    lost = body.message;
    byId("outcome").textContent = lost;
    byId("outcome").toggleAttribute("data-bad", true);
    announce(lost, false);
  });
}

if (data.mode === "live") {
  byId("new").hidden = false;
  byId("history").hidden = false;
  byId("foot").textContent = data.program;
  form.addEventListener("submit", start);
  byId("stop").addEventListener("click", stop);
  beginForm();
  listen();
} else {
  document.body.classList.add("alone");
  byId("subtitle").textContent = "A saved run.";
  byId("foot").textContent = `Measured and written by ${data.program}; run ${data.run.id}`;
  showRuns([{ id: data.run.id, saved: data.run.saved }]);
}
