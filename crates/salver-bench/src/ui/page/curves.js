// Latency by percentile: how many nines across, the logarithm of milliseconds upwards.

const CURVES = { height: 340, top: 14, bottom: 44, left: 58 };

// 0 at 0 %, 1 at 90 %, 2 at 99 %.
const nines = (percentile) => -Math.log10(1 - percentile / 100);
const TICKS = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999];

// The lines to draw for these entries: raw and corrected are two.
function linesOf(entries) {
  return entries.flatMap((entry) => {
    const line = (latency, suffix, dash) => {
      // With n answers nothing is known beyond the n-th part of all.
      const known = 100 * (1 - 1 / latency.count);
      const points = latency.curve.filter(([percentile, us]) => percentile <= known && us > 0);
      const last = latency.curve.find(([percentile]) => percentile > known);
      if (last && last[1] > 0 && latency.count > 1) points.push([known, last[1]]);
      return {
        entry,
        name: entry.name + suffix,
        dash,
        points: points.map(([percentile, us]) => [nines(percentile), us / 1000]),
      };
    };
    const { measured, pattern } = entry;
    const lines = entry.corrected
      ? [line(measured.corrected, " corrected", DASHES[pattern]), line(measured.raw, " raw", DASHES[2])]
      : [line(measured.raw, "", DASHES[pattern])];
    return lines.filter(({ points }) => points.length > 0);
  });
}

// Of 1, 2 and 5 of each decade those from the last below `least` to the first above `most`; of many
// decades only the powers of ten.
function logTicks(least, most) {
  const between = (steps) => {
    const ticks = [];
    for (let decade = Math.floor(Math.log10(least)); decade <= Math.ceil(Math.log10(most)); decade += 1) {
      for (const step of steps) ticks.push(step * 10 ** decade);
    }
    const from = ticks.findLastIndex((tick) => tick <= least);
    const to = ticks.findIndex((tick) => tick >= most);
    return ticks.slice(Math.max(from, 0), to < 0 ? undefined : to + 1);
  };
  const fine = between([1, 2, 5]);
  return fine.length > 10 ? between([1]) : fine;
}

const shortMillis = (value) => value.toLocaleString("en-GB", { maximumSignificantDigits: 2 });

function drawCurves(lines, width) {
  const { height, top, bottom, left } = CURVES;
  const long = Math.max(...lines.map(({ name }) => name.length));
  const right = Math.min(long * 8 + 22, Math.floor(width * 0.32));
  const plotWidth = width - left - right;
  const plotHeight = height - top - bottom;
  const root = svg("svg", {
    role: "img",
    width,
    height,
    "aria-label": "Latency by percentile as curves; the table of percentiles below has figures",
  });
  const all = lines.flatMap(({ points }) => points);
  const farthest = Math.max(1, ...all.map(([at]) => at));
  const ticks = logTicks(Math.min(...all.map(([, ms]) => ms)), Math.max(...all.map(([, ms]) => ms)));
  const [least, most] = [Math.log10(ticks[0]), Math.log10(ticks.at(-1))];
  const x = (at) => left + (at / farthest) * plotWidth;
  const y = (ms) => top + plotHeight * (1 - (Math.log10(ms) - least) / Math.max(most - least, 1e-9));
  for (const tick of ticks) {
    root.append(
      svg("line", { class: "grid", x1: left, x2: left + plotWidth, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "soft", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, shortMillis(tick)),
    );
  }
  let free = -Infinity;
  for (const tick of TICKS.filter((percentile) => nines(percentile) <= farthest + 1e-9)) {
    const at = x(nines(tick));
    root.append(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: top + plotHeight }));
    const text = `${tick}`;
    const half = text.length * 3.8;
    if (at - half < free) continue;
    free = at + half + 6;
    root.append(
      svg("text", { class: "soft", x: at, y: top + plotHeight + 18, "text-anchor": "middle" }, text),
    );
  }
  root.append(
    svg("path", {
      class: "axis",
      fill: "none",
      d: `M${left} ${top}V${top + plotHeight}H${left + plotWidth}`,
    }),
    svg(
      "text",
      { class: "soft", x: left + plotWidth / 2, y: height - 6, "text-anchor": "middle" },
      "percentile of requests",
    ),
    svg(
      "text",
      {
        class: "soft",
        x: 12,
        y: top + plotHeight / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 12 ${top + plotHeight / 2})`,
      },
      "milliseconds",
    ),
  );
  for (const { entry, name, dash, points } of lines) {
    const d = points
      .map(([at, ms], index) => `${index === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(ms).toFixed(1)}`)
      .join("");
    root.append(
      svg("path", { class: `curve c${entry.hue}`, d, "stroke-dasharray": dash, "data-series": name }),
    );
  }
  root.append(...curveNames(lines, x, y, left + plotWidth, top + plotHeight));
  return root;
}

// A name beside the end of each curve, moved apart where ends are close.
function curveNames(lines, x, y, edge, floor) {
  const height = 16;
  const ends = lines.map((line) => {
    const [at, ms] = line.points.at(-1);
    return { line, from: [x(at), y(ms)], y: y(ms) };
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, at) => {
    if (at > 0) end.y = Math.max(end.y, ends[at - 1].y + height);
  });
  let most = floor;
  for (const end of ends.toReversed()) {
    end.y = Math.min(end.y, most);
    most = end.y - height;
  }
  return ends.map(({ line, from, y: at }) =>
    svg(
      "g",
      { class: `c${line.entry.hue}` },
      svg("path", { class: "leader", fill: "none", d: `M${from[0] + 2} ${from[1]}L${edge + 12} ${at}` }),
      svg("text", { class: "curve-name", x: edge + 16, y: at + 4 }, line.name),
    ),
  );
}

// The chart with its choice of a row.
function curvesFigure(entries, chosen, choose) {
  const names = rowNames(entries);
  let name = names.includes(chosen) ? chosen : names[0];
  const holder = html("div");
  const show = () => {
    const of = entries.filter((entry) => entry.row.name === name);
    const lines = linesOf(of);
    if (lines.length === 0) {
      holder.replaceChildren(html("p", {}, "There was no right answer, so there is no latency."));
      return;
    }
    const chart = drawn((width, box) => box.replaceChildren(drawCurves(lines, width)));
    holder.replaceChildren(chart.box, percentileTable(of));
  };
  const select = html(
    "select",
    {
      id: "curve-row",
      on: {
        change: () => {
          name = select.value;
          choose(name);
          show();
        },
      },
    },
    names.map((row) => html("option", { value: row, selected: row === name }, row)),
  );
  show();
  const choice = names.length > 1 ? html("label", {}, "Of ", select) : null;
  const hint = html(
    "p",
    { class: "hint" },
    "Lower is better. Each line across is a tenth as many requests; both axes are logarithmic.",
  );
  return html(
    "figure",
    { id: "curves" },
    html("figcaption", {}, html("h3", {}, "Latency by percentile"), choice),
    hint,
    holder,
  );
}
