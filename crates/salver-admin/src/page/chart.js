// Charts: lines over the last five minutes, as SVG.

const SVG = "http://www.w3.org/2000/svg";

/** The time that a chart shows, in milliseconds. */
const SPAN = 300_000;

/** The pause between two points from which on no line leads from one to the other. */
const GAP = 5_000;

const [TOP, BOTTOM, RIGHT] = [8, 20, 4];
const STYLES = ["", " second", " third"];

function drawn(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** The end of a scale: 1, 2 or 5 with zeros, not below any value. */
function scale(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most * (1 - 1e-9));
}

/** One chart. `lines` are the names of its lines, `show` writes their values, `most` is the end of its scale if that is
 * fixed, and `least` the smallest one. `binary` scales by powers of two, for bytes. */
export class Chart {
  constructor(parent, { title, lines, show, most, least, binary }) {
    Object.assign(this, { title, lines, show, most, least, binary, points: [], at: null });
    this.figure = document.createElement("figure");
    this.figure.className = "chart";
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    name.className = "title";
    name.textContent = title;
    caption.append(name);
    this.keys = lines.map(() => {
      const key = document.createElement("span");
      key.className = "key";
      caption.append(key);
      return key;
    });
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("role", "img");
    this.figure.append(caption, this.svg);
    parent.append(this.figure);
    this.svg.addEventListener("pointermove", (event) => {
      this.at = event.offsetX / this.svg.clientWidth;
      this.draw();
    });
    this.svg.addEventListener("pointerleave", () => {
      this.at = null;
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  /** Adds the values of one moment, in the order of the lines. */
  push(when, values) {
    this.points.push({ when, values });
    while (this.points.length > 0 && this.points[0].when < when - SPAN) this.points.shift();
    this.draw();
  }

  /** The end of the scale. */
  end() {
    if (this.most !== undefined) return this.most;
    const all = this.points.flatMap(({ values }) => values).filter(Number.isFinite);
    const most = Math.max(this.least, ...all);
    return this.binary ? 2 ** Math.ceil(Math.log2(most) - 1e-9) : scale(most);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.svg;
    const newest = this.points.at(-1);
    if (width === 0 || newest === undefined) return;
    const most = this.end();
    const labels = [0, 0.5, 1].map((part) => this.show(most * part));
    const left = 12 + 6.2 * Math.max(...labels.map((label) => label.length));
    const x = (when) => left + (1 - (newest.when - when) / SPAN) * (width - left - RIGHT);
    const y = (value) => TOP + (1 - Math.min(value, most) / most) * (height - TOP - BOTTOM);
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    for (const [at, label] of labels.entries()) {
      const level = y((most * at) / 2);
      drawn(this.svg, "line", { class: "grid", x1: left, x2: width - RIGHT, y1: level, y2: level });
      drawn(this.svg, "text", { x: left - 6, y: level + 4, "text-anchor": "end" }, label);
    }
    for (const minutes of [4, 3, 2, 1]) {
      const place = { x: x(newest.when - minutes * 60_000), y: height - 4, "text-anchor": "middle" };
      drawn(this.svg, "text", place, `−${minutes} min`);
    }
    for (const number of this.lines.keys()) this.drawLine(number, x, y, y(0));
    this.drawKeys(newest, x, width);
  }

  drawLine(number, x, y, ground) {
    let run = [];
    const runs = [run];
    let last = null;
    for (const { when, values } of this.points) {
      const value = values[number];
      const isBroken = last !== null && when - last > GAP;
      if (isBroken || !(value >= 0)) runs.push((run = []));
      if (value >= 0) run.push(`${x(when).toFixed(1)},${y(value).toFixed(1)}`);
      last = when;
    }
    for (const points of runs.filter((points) => points.length > 0)) {
      // A point alone is a short stroke.
      const line = points.length > 1 ? points : [points[0], points[0].replace(/^[\d.]+/, (at) => `${Number(at) + 2}`)];
      if (number === 0) {
        const [first, end] = [line[0], line.at(-1)].map((point) => point.split(",")[0]);
        drawn(this.svg, "path", { class: "area", d: `M${first},${ground}L${line.join("L")}L${end},${ground}Z` });
      }
      drawn(this.svg, "path", { class: `line${STYLES[number]}`, d: `M${line.join("L")}` });
    }
  }

  /** The values beside the names: the last ones, or those beneath the pointer. */
  drawKeys(newest, x, width) {
    let shown = newest;
    if (this.at !== null) {
      const from = this.at * width;
      const distance = ({ when }) => Math.abs(x(when) - from);
      shown = this.points.reduce((nearest, point) => (distance(point) < distance(nearest) ? point : nearest));
      const place = x(shown.when);
      drawn(this.svg, "line", { class: "grid", x1: place, x2: place, y1: TOP, y2: this.svg.clientHeight - BOTTOM });
    }
    const texts = this.lines.map((name, number) => `${name} ${this.show(shown.values[number])}`.trim());
    for (const [number, text] of texts.entries()) this.keys[number].textContent = text;
    this.svg.setAttribute("aria-label", `${this.title}: ${texts.join(", ")}`);
  }
}
