// Bars of each way, row by row.

const BAR = { height: 20, gap: 6, head: 24, space: 14, label: 76 };

function drawBars(entries, metric, width, box) {
  const names = rowNames(entries);
  const root = svg("svg", {
    role: "img",
    "aria-label": `${metric.title} as bars; the table below has the same figures`,
    width,
  });
  root.append(patterns(entries));
  // The longest name of a way decides where bars begin, the longest value where they end.
  const long = Math.max(...entries.map((entry) => entry.name.length));
  const left = Math.min(Math.max(BAR.label, long * 8), Math.floor(width / 3));
  const valueText = (entry) => {
    const text = metric.text(metric.value(entry));
    return Number.isFinite(metric.value(entry)) ? text : metric.none;
  };
  const tail = (entry) =>
    entry.errors > 0
      ? ` · ${plural(entry.errors, "error", "errors")}`
      : entry.measured.invalid.length > 0
        ? " · invalid"
        : "";
  const longestText = Math.max(...entries.map((entry) => valueText(entry).length + tail(entry).length));
  const room = Math.max(40, width - left - longestText * 7.5 - 12);
  const texts = [];
  let y = 0;
  for (const name of names) {
    const of = entries.filter((entry) => entry.row.name === name);
    const most = Math.max(0, ...of.map(metric.value).filter(Number.isFinite));
    const gain = gainInWords(of, metric);
    const head = svg("text", { class: "name", x: 0, y: y + 15 }, name);
    const verdict = svg("text", { class: "soft verdict", x: width, y: y + 15, "text-anchor": "end" }, gain);
    root.append(head, verdict);
    texts.push([head, verdict, 0]);
    y += BAR.head;
    for (const entry of of) {
      const value = metric.value(entry);
      const length = Number.isFinite(value) && most > 0 ? (value / most) * room : 0;
      const flaw = tail(entry);
      const bar = svg("g", {
        class: `bar c${entry.hue}`,
        "data-row": name,
        "data-series": entry.label,
        "data-run": entry.letter,
        "data-value": Number.isFinite(value) ? value : "",
      });
      const label = svg("text", { x: 0, y: y + 15, class: "way" }, entry.name);
      const text = svg("text", { x: left + length + 8, y: y + 15, class: "value" }, valueText(entry));
      if (flaw !== "") text.append(svg("tspan", { class: "bad" }, flaw));
      bar.append(
        label,
        svg("rect", {
          class: entry.pattern === 0 ? "swatch frame" : "frame",
          x: left,
          y: y + 1,
          width: Math.max(length, 1),
          height: BAR.height - 2,
          ...fillOf(entry),
        }),
        text,
      );
      texts.push([label, null, left - 6]);
      root.append(bar);
      y += BAR.height + BAR.gap;
    }
    y += BAR.space;
  }
  root.setAttribute("height", y - BAR.space);
  box.replaceChildren(root);
  // Widths of texts are known once they are on the page.
  for (const [text, other, most] of texts) {
    fit(text, other === null ? most : width - other.getComputedTextLength() - 12);
  }
}

// The gain of the second way of a row over the first in words, for one run: several have it in the table.
function gainInWords(of, metric) {
  const runs = new Set(of.map((entry) => entry.run));
  const { row } = of[0];
  const interval = metric.ratio(row);
  if (runs.size !== 1 || !interval) return "";
  return `${ratio(interval.ratio)} (${range(interval)})`;
}

// The chart with its choice of what bars show.
function barsFigure(entries, chosen, choose) {
  const known = Object.entries(METRICS).filter(
    ([key, { value }]) => key !== "cpu" || entries.some((entry) => Number.isFinite(value(entry))),
  );
  if (!known.some(([key]) => key === chosen)) chosen = "requests";
  let metric = METRICS[chosen];
  const hint = html("p", { class: "hint" });
  const chart = drawn((width, box) => drawBars(entries, metric, width, box));
  const say = () => {
    const scales =
      rowNames(entries).length > 1 ? " Each size has a scale of its own: compare within a size." : "";
    hint.textContent = metric.better + scales;
  };
  const select = html(
    "select",
    {
      id: "metric",
      on: {
        change: () => {
          metric = METRICS[select.value];
          choose(select.value);
          say();
          chart.redraw();
        },
      },
    },
    known.map(([key, { title }]) =>
      html("option", { value: key, selected: key === chosen }, title),
    ),
  );
  say();
  const caption = html("figcaption", {}, html("h3", {}, "At a glance"), html("label", {}, "Show ", select));
  return html("figure", { id: "bars" }, caption, hint, chart.box);
}
