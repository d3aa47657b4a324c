// The entries that are shown, flat: one for each series of each row of each run.

const MOST_SHOWN = 6;

// `shown` is a list of { id, saved }. Among others each run has a colour and a letter; alone, each of
// its ways has a colour. Each way has a pattern besides, so that nothing is told by colour alone.
function entriesOf(shown) {
  const several = shown.length > 1;
  return shown.flatMap(({ saved }, run) => {
    const letter = several ? String.fromCharCode(65 + run) : "";
    return saved.report.rows.flatMap((row) =>
      row.series.map(({ label, measured }, at) => {
        const latency = measured.corrected ?? measured.raw;
        // The last of a row is drawn solid.
        const pattern = Math.min(row.series.length - 1 - at, 3);
        return {
          hue: several ? run : pattern,
          letter,
          row,
          label,
          measured,
          name: letter === "" ? label : `${letter} ${label}`,
          pattern,
          run,
          latency,
          corrected: measured.corrected !== null && measured.corrected !== undefined,
          errors: errorTotal(measured.errors),
        };
      }),
    );
  });
}

// The names of the rows, in the order in which they first occur.
const rowNames = (entries) => [...new Set(entries.map((entry) => entry.row.name))];

// Milliseconds at this percentile, or NaN if no answer was right: none is not 0.
const latencyAt = (entry, field) => (entry.latency.count > 0 ? entry.latency[field] / 1000 : NaN);

// The metrics that bars can show.
const METRICS = {
  requests: {
    title: "Requests per second",
    better: "Longer is better.",
    value: (entry) => entry.measured.requests_per_second,
    text: perSecond,
    none: "no right answer",
    ratio: (row) => row.speed_up?.requests,
  },
  p50: {
    title: "Median latency (p50)",
    better: "Shorter is better.",
    value: (entry) => latencyAt(entry, "p50_us"),
    text: millis,
    none: "no right answer",
    ratio: (row) => row.speed_up?.p50,
  },
  p99: {
    title: "99th percentile of latency (p99)",
    better: "Shorter is better.",
    value: (entry) => latencyAt(entry, "p99_us"),
    text: millis,
    none: "no right answer",
    ratio: (row) => row.speed_up?.p99,
  },
  cpu: {
    title: "Server CPU per request",
    better: "Shorter is better.",
    value: (entry) => entry.measured.server?.cpu_us_per_request ?? NaN,
    text: (value) => `${figure(value)} µs`,
    none: "not measured",
    ratio: (row) => row.speed_up?.server_cpu,
  },
};

// Fills of a colour and a pattern, each once in an SVG.
function patterns(entries) {
  const made = new Map();
  for (const { hue, pattern } of entries) {
    if (pattern === 0) continue;
    const id = `fill-${hue}-${pattern}`;
    if (made.has(id)) continue;
    const marks = {
      1: [svg("path", { class: "ink", "stroke-width": 2.5, d: "M-2 8 8 -2M3 13 13 3" })],
      2: [svg("circle", { class: "dot", cx: 4, cy: 4, r: 2 })],
      3: [svg("path", { class: "ink", "stroke-width": 2.5, d: "M2 0V10M7 0V10" })],
    };
    const size = pattern === 2 ? 8 : 10;
    made.set(
      id,
      svg(
        "pattern",
        { id, class: `c${hue}`, width: size, height: size, patternUnits: "userSpaceOnUse" },
        marks[pattern],
      ),
    );
  }
  return svg("defs", {}, ...made.values());
}

const fillOf = ({ hue, pattern }) => (pattern === 0 ? {} : { fill: `url(#fill-${hue}-${pattern})` });
const DASHES = [undefined, "7 4", "2 3", "9 3 2 3"];
