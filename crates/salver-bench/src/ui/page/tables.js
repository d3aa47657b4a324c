// The figures as tables, which say all that the charts say.

// A table that may be wider than the page: its box scrolls, by keyboard too.
function scrolling(name, table) {
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, table);
}

function tableOf(caption, columns, bodies, attributes = {}) {
  const head = html(
    "thead",
    {},
    html(
      "tr",
      {},
      columns.map(([title, kind]) => html("th", { scope: "col", class: kind }, title)),
    ),
  );
  return html("table", attributes, html("caption", {}, caption), head, bodies);
}

const letterOf = (entry) =>
  entry.letter === "" ? null : html("span", { class: `letter c${entry.hue}` }, entry.letter);

// One body for each row of each run: what is said of the row once spans its series.
function groups(entries) {
  const found = [];
  for (const entry of entries) {
    const last = found.at(-1);
    if (last && last[0].row === entry.row) last.push(entry);
    else found.push([entry]);
  }
  return found;
}

const rowHead = (group) => {
  const [entry] = group;
  const kind = entry.row.name.length > 16 ? "wide" : undefined;
  return html(
    "th",
    { scope: "rowgroup", rowspan: group.length, class: kind },
    letterOf(entry),
    entry.letter === "" ? "" : " ",
    entry.row.name,
  );
};

function resultTable(entries) {
  const server = entries.some(({ measured }) => measured.server);
  const columns = [
    ["Of what", "words"],
    ["Way", "words"],
    ["Requests/s"],
    ["p50, ms"],
    ["p99, ms"],
    ["Errors"],
    ...(server ? [["Server CPU, µs/request"]] : []),
  ];
  const bodies = groups(entries).map((group) => {
    const rows = group.map((entry, at) => {
      const { measured } = entry;
      const cells = [
        html("td", { class: "words way" }, entry.label),
        html(
          "td",
          { class: "requests", "data-value": measured.requests_per_second },
          figure(measured.requests_per_second),
        ),
        html("td", { class: "p50" }, figure(latencyAt(entry, "p50_us"))),
        html("td", { class: "p99" }, figure(latencyAt(entry, "p99_us"))),
        html("td", { class: entry.errors > 0 ? "errors bad" : "errors" }, count(entry.errors)),
      ];
      if (server) cells.push(html("td", {}, figure(METRICS.cpu.value(entry))));
      return html("tr", {}, at === 0 ? rowHead(group) : null, cells);
    });
    return html("tbody", {}, rows);
  });
  const corrected = entries.some((entry) => entry.corrected)
    ? " Latency is counted from the moment a request was to be sent."
    : "";
  const caption = [html("strong", {}, "Figures."), corrected];
  return scrolling("Figures", tableOf(caption, columns, bodies, { id: "figures" }));
}

const GAINS = [
  ["Requests/s", "requests"],
  ["p50", "p50"],
  ["p99", "p99"],
  ["Server CPU", "server_cpu"],
];

// The gains: how many times better the second way of each row is; nothing if no run compares ways.
function gainTable(entries) {
  const compared = groups(entries).filter(([{ row }, other]) => other && (row.speed_up || row.verdict));
  if (compared.length === 0) return null;
  const known = GAINS.filter(([, key]) => compared.some(([{ row }]) => row.speed_up?.[key]));
  const judged = compared.some(([{ row }]) => row.verdict);
  const cell = (interval) =>
    interval
      ? html("td", {}, ratio(interval.ratio), " ", html("span", { class: "range" }, `(${range(interval)})`))
      : html("td", {}, NONE);
  const rows = compared.map((group) => {
    const [{ row, letter }] = group;
    return html(
      "tr",
      {},
      html("th", { scope: "row" }, letterOf(group[0]), letter === "" ? "" : " ", row.name),
      known.map(([, key]) => cell(row.speed_up?.[key])),
      judged ? html("td", { class: "words verdict" }, row.verdict ?? NONE) : null,
    );
  });
  const columns = [
    ["Of what", "words"],
    ...known.map(([title]) => [title]),
    ...(judged ? [["Verdict", "words"]] : []),
  ];
  const [first, second] = compared[0];
  const caption = [
    html("strong", {}, `Times better: ${second.label} than ${first.label}.`),
    " Above 1 it is better; in brackets the confidence interval. The ratio is of neighbouring trials: it can",
    " differ from that of the figures above.",
  ];
  return scrolling("Times better", tableOf(caption, columns, html("tbody", {}, rows), { id: "gains" }));
}

const PERCENTILES = [
  ["least", "min_us"],
  ["p50", "p50_us"],
  ["p75", "p75_us"],
  ["p90", "p90_us"],
  ["p99", "p99_us"],
  ["p99.9", "p999_us"],
  ["p99.99", "p9999_us"],
  ["most", "max_us"],
];

function percentileTable(entries) {
  const rows = entries.flatMap((entry) => {
    const { measured } = entry;
    const kinds = entry.corrected
      ? [
          [" corrected", measured.corrected],
          [" raw", measured.raw],
        ]
      : [["", measured.raw]];
    return kinds.map(([suffix, latency]) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, letterOf(entry), entry.letter === "" ? "" : " ", entry.label + suffix),
        PERCENTILES.map(([, field]) =>
          html("td", {}, figure(latency.count > 0 ? latency[field] / 1000 : NaN)),
        ),
      ),
    );
  });
  const columns = [["Way", "words"], ...PERCENTILES.map(([title]) => [title])];
  const table = tableOf(
    "Milliseconds that this share of the requests did not exceed",
    columns,
    html("tbody", {}, rows),
    { id: "percentiles" },
  );
  return html("details", {}, html("summary", {}, "Percentiles as figures"), scrolling("Percentiles", table));
}

// The protocol that the connections really spoke.
function protocolOf({ http, tls }) {
  const certificate = tls?.certificate === "any" ? ", any certificate" : "";
  return `HTTP/${http}${tls ? `, ${tls.version}${certificate}` : ""}`;
}

// The answers: how they were checked, and what measuring cost.
function answerTable(entries) {
  const list = (counts) =>
    Object.entries(counts)
      .map(([name, number]) => `${name}: ${count(number)}`)
      .join(", ") || NONE;
  const checked = { framing: "status and framing", content: "content, byte for byte" };
  const columns = [
    ["Of what", "words"],
    ["Way", "words"],
    ["Right answers"],
    ["Seconds"],
    ["Protocol", "words"],
    ["Connections"],
    ["Statuses", "words"],
    ["Codings", "words"],
    ["Content"],
    ["Checked", "words"],
    ["Client CPU, µs/request"],
    ["Busiest client thread"],
  ];
  const bodies = groups(entries).map((group) =>
    html(
      "tbody",
      {},
      group.map(({ measured, label }, at) =>
        html(
          "tr",
          {},
          at === 0 ? rowHead(group) : null,
          html("td", { class: "words" }, label),
          html("td", {}, count(measured.requests)),
          html("td", {}, figure(measured.seconds)),
          html("td", { class: "words protocol" }, protocolOf(measured)),
          html("td", {}, count(measured.connections)),
          html("td", { class: "words" }, list(measured.statuses)),
          html("td", { class: "words" }, list(measured.codings)),
          html("td", {}, bytes(measured.content_bytes)),
          html("td", { class: "words" }, checked[measured.verified] ?? measured.verified),
          html("td", {}, figure(measured.client.cpu_us_per_request)),
          html("td", {}, `${figure(measured.client.busiest_thread * 100)} %`),
        ),
      ),
    ),
  );
  const table = tableOf("What was answered, how it was checked, and what measuring cost", columns, bodies, {
    id: "answers",
  });
  return html(
    "details",
    {},
    html("summary", {}, "Answers and checks"),
    scrolling("Answers and checks", table),
  );
}

// Nested values as lines; lists of words are one.
function flatten(value, path = []) {
  if (value !== null && typeof value === "object") {
    if (Array.isArray(value) && value.every((part) => typeof part !== "object")) return flatten(value.join(" "), path);
    return Object.entries(value).flatMap(([key, inner]) => flatten(inner, [...path, key]));
  }
  return value === null || path.length === 0 ? [] : [[path.join(" · ").replaceAll("_", " "), String(value)]];
}

function environmentList(shown) {
  const lists = shown.map(({ saved }, at) => {
    const lines = flatten(saved.report.environment);
    const head = shown.length > 1 ? html("h3", {}, `Run ${String.fromCharCode(65 + at)}`) : null;
    const list =
      lines.length > 0
        ? html(
            "dl",
            {},
            lines.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]),
          )
        : html("p", { class: "hint" }, "This run says nothing about its machine.");
    return html("div", {}, head, list);
  });
  return html("details", { id: "environment" }, html("summary", {}, "Machine, versions and settings"), lists);
}
