// Saved runs, and which of them are shown.

// In the order in which they are laid over each other: { id, saved }; `id` is null for a run that
// could not be saved.
let shownRuns = [];

async function listRuns() {
  const { ok, body } = await ask("api/runs");
  const notes = byId("history-notes");
  if (!ok) {
    notes.replaceChildren(html("p", { class: "error" }, body.message));
    return;
  }
  byId("foot").textContent = `${data.program} · runs are saved in ${body.directory}`;
  byId("runs").replaceChildren(...body.runs.map(runItem));
  byId("history-hint").textContent =
    body.runs.length === 0 ? "None yet." : `Check up to ${MOST_SHOWN} to lay them over each other.`;
  const passed =
    body.skipped.length > 0
      ? html(
          "details",
          {},
          html("summary", {}, `${plural(body.skipped.length, "file was", "files were")} passed over`),
          html(
            "ul",
            {},
            body.skipped.map(({ name, reason }) => html("li", {}, `${name}: ${reason}`)),
          ),
        )
      : null;
  const older =
    body.older > 0
      ? html("p", { class: "hint" }, `${plural(body.older, "older run is", "older runs are")} not listed.`)
      : null;
  notes.replaceChildren(...[passed, older].filter((part) => part !== null));
  markShown();
}

function runItem({ id, title, started_ms: started, interrupted, sound }) {
  const when = moment(started);
  const box = html("input", { type: "checkbox", value: id, on: { change: () => toggle(box) } });
  const flaws = [interrupted && " stopped", !sound && " with problems"].filter(Boolean).join(",");
  const link = html(
    "a",
    {
      href: address(`api/runs/${id}/page`),
      download: `salver-${id}.html`,
      "aria-label": `Download ${title}, ${when}, as one HTML file`,
    },
    "HTML",
  );
  return html(
    "li",
    {},
    html("label", {}, box, html("span", {}, title, flaws && html("span", { class: "flaw" }, flaws), html("span", { class: "when" }, when))),
    link,
  );
}

async function toggle(box) {
  if (!box.checked) {
    shownRuns = shownRuns.filter(({ id }) => id !== box.value);
  } else {
    const { ok, body } = await ask(`api/runs/${box.value}`);
    if (!ok) {
      box.checked = false;
      byId("history-notes").replaceChildren(
        html("p", { class: "error", role: "alert" }, `${box.value}: ${body.message}`),
      );
      return;
    }
    // A run that could not be saved makes way: it has no place in the list.
    shownRuns = [
      ...shownRuns.filter(({ id }) => id !== null && id !== box.value),
      { id: box.value, saved: body },
    ];
  }
  markShown();
  showRuns(shownRuns);
}

function markShown() {
  const full = shownRuns.length >= MOST_SHOWN;
  for (const box of byId("runs").querySelectorAll("input")) {
    box.checked = shownRuns.some(({ id }) => id === box.value);
    box.disabled = full && !box.checked;
  }
}

// Shows this run alone.
function showAlone(id, saved) {
  shownRuns = [{ id, saved }];
  markShown();
  showRuns(shownRuns);
}
