// The result: one run, or several laid over each other.

const choices = { metric: "requests", row: "" };

// The problems, which must be read before any figure.
function problems(entries) {
  const lines = entries.flatMap((entry) => {
    const where = `${entry.letter === "" ? "" : `Run ${entry.letter}, `}${entry.row.name}, ${entry.label}: `;
    const { measured } = entry;
    const failed =
      entry.errors > 0
        ? [
            `${where}${errorsInWords(measured.errors)}, beside ${plural(measured.requests, "right answer", "right answers")}`,
          ]
        : [];
    return [...failed, ...measured.invalid.map((reason) => where + reason)];
  });
  if (lines.length === 0) return null;
  const title = entries.some(({ measured }) => measured.invalid.length > 0)
    ? "Do not believe these figures"
    : "Not every answer was right";
  return html(
    "div",
    { class: "problem", id: "problems" },
    html("h3", {}, title),
    html(
      "ul",
      {},
      lines.map((line) => html("li", {}, line)),
    ),
  );
}

// Other programs that used so many cores are worth a word, as in the terminal.
const DISTURBING = 0.2;

function othersInWords({ report }) {
  const others = report.environment?.others;
  const cores = others ? others.cores + others.stolen_cores : 0;
  return cores < DISTURBING
    ? null
    : html("span", { class: "hint others" }, `Others took ${figure(cores)} cores meanwhile.`);
}

function askedFor({ job }) {
  const protocols = [job.protocol, job.kind === "compare" ? job.protocol_b : job.protocol].map((of) => PROTOCOLS[of]);
  const parts = [
    `${count(job.duration_seconds)} s`,
    plural(job.connections, "connection", "connections") + (job.streams > 1 ? ` of ${job.streams} streams` : ""),
    [...new Set(protocols)].join(" and "),
    job.rate !== null && `${count(job.rate)} requests/s`,
  ];
  return parts.filter(Boolean).join(", ");
}

const stoppedInWords = ({ report }) =>
  report.interrupted ? html("span", { class: "flaw" }, "Stopped before its end: the figures are of the time until then.") : null;

function shownList(shown) {
  return html(
    "ul",
    { class: "shown", id: "shown" },
    shown.map(({ id, saved }, at) => {
      const letter =
        shown.length > 1 ? html("span", { class: `letter c${at}` }, String.fromCharCode(65 + at)) : null;
      const link =
        data.mode === "live" && id !== null
          ? html(
              "a",
              { href: address(`api/runs/${id}/page`), download: `salver-${id}.html` },
              "Download as one HTML file",
            )
          : null;
      const when = html("span", { class: "hint" }, `${moment(saved.started_ms)} · ${askedFor(saved)}`);
      return html("li", {}, letter, html("div", {}, html("span", { class: "title" }, saved.report.title), when, stoppedInWords(saved), othersInWords(saved), link));
    }),
  );
}

function showRuns(shown) {
  const body = byId("result-body");
  if (shown.length === 0) {
    body.replaceChildren(
      html("p", { class: "hint" }, "Nothing to show yet: press Run, or choose a saved run."),
    );
    return;
  }
  const entries = entriesOf(shown);
  if (entries.length === 0) {
    body.replaceChildren(shownList(shown), html("p", {}, "There is no figure in this run."));
    return;
  }
  const parts = [
    shownList(shown),
    problems(entries),
    barsFigure(entries, choices.metric, (metric) => {
      choices.metric = metric;
    }),
    curvesFigure(entries, choices.row, (row) => {
      choices.row = row;
    }),
    resultTable(entries),
    gainTable(entries),
    answerTable(entries),
    environmentList(shown),
  ];
  body.replaceChildren(...parts.filter((part) => part !== null));
}
