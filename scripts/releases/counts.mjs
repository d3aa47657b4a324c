// The counts of a trial, and the first faults in words.

const KEPT = 5;

export class Counts {
  pages = 0;
  requests = 0;
  routes = 0;
  missing = 0;
  mixed = 0;
  failed = 0;
  notShown = 0;
  examples = [];

  /** One fault more of a kind. */
  fault(kind, text) {
    this[kind] += 1;
    if (this.examples.length < KEPT) this.examples.push(text);
  }

  /** An answer that was not a good one: an asset that is not there is a missing chunk, all else a failed request. */
  refused(url, status) {
    const missing = status === 404 && new URL(url).pathname.startsWith("/assets/");
    this.fault(missing ? "missing" : "failed", `${status} ${url}`);
  }

  add(other) {
    for (const [name, value] of Object.entries(other)) {
      if (typeof value === "number") this[name] += value;
    }
    this.examples = [...this.examples, ...other.examples].slice(0, 2 * KEPT);
  }

  /** True if every page was whole and of one build. */
  get good() {
    return this.missing + this.mixed + this.failed + this.notShown === 0;
  }
}
