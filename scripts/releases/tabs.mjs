// Tabs of a browser that stay open: each shows the routes of the application that it was opened with.

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(import.meta.dirname, "../../crates/salver-bench/ui-tests/package.json"));
const { chromium } = require("playwright-core");

export const ROUTES = ["berths", "charges", "chart", "contact", "crew", "report", "search", "tides"];
const PATIENCE_MS = 30_000;

/** One browser with few processes, however many tabs there are. */
export function browser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--renderer-process-limit=4",
    ],
  });
}

/** The module and build of all that a page shows, and what of it failed. Runs in the page. */
function look() {
  const modules = [...document.querySelectorAll("[data-build]")];
  const style = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();
  const styled = [...document.querySelectorAll("section, .bars")];
  return {
    builds: [
      ["index.html", document.querySelector("meta[name=build]").content],
      ["main.css", style(document.documentElement, "--main-build")],
      ...modules.map((element) => [element.dataset.module, element.dataset.build]),
      ...styled.map((element) => [element.className, style(element, "--style-build")]),
    ],
    failed: [...document.querySelectorAll("[data-failed]")].map((element) => element.dataset.failed),
  };
}

/** True if the page shows this route, or that it failed. Runs in the page. */
function settled(route) {
  const found = document.querySelector(`[data-module="${route}"], [data-failed]`);
  return found && !document.querySelector("[data-waiting]");
}

export class Tab {
  #page;
  #counts;
  #left = [...ROUTES];
  build;

  /** Opens a page at this address. What goes wrong is counted for as long as it stays open. */
  static async open(context, url, counts) {
    const tab = new Tab();
    tab.#counts = counts;
    tab.#page = await context.newPage();
    // A script whose answer is an error is also said to have failed: counted once.
    const refused = new Set();
    tab.#page.on("response", (response) => {
      if (response.status() < 400) return;
      refused.add(response.url());
      counts.refused(response.url(), response.status());
    });
    tab.#page.on("requestfailed", (request) => {
      if (!refused.has(request.url())) counts.fault("failed", `${request.failure()?.errorText} ${request.url()}`);
    });
    await tab.#page.goto(url);
    tab.build = await tab.#page.evaluate(() => document.querySelector("meta[name=build]").content);
    await tab.#check("app");
    return tab;
  }

  /** True if there are routes that it has not shown yet. */
  get hasMore() {
    return this.#left.length > 0;
  }

  /** Shows the next route, which is loaded now. */
  async showNext() {
    const route = this.#left.shift();
    await this.#page.evaluate((name) => (location.hash = `#/${name}`), route);
    this.#counts.routes += 1;
    await this.#check(route);
  }

  /** Counts what is not there, and what is of another build than the page. */
  async #check(module) {
    const name = `the tab of ${this.build}: ${module}`;
    try {
      await this.#page.waitForFunction(settled, module, { timeout: PATIENCE_MS });
    } catch {
      this.#counts.fault("notShown", `${name} is not shown`);
      return;
    }
    const { builds, failed } = await this.#page.evaluate(look);
    // What has no style has not been shown as it should be.
    const without = builds.filter(([, build]) => !build).map(([part]) => `no style of ${part}`);
    if (failed.length + without.length) this.#counts.fault("notShown", `${name}: ${[...failed, ...without].join("; ")}`);
    const others = builds.filter(([, build]) => build && build !== this.build);
    if (others.length) this.#counts.fault("mixed", `${name} shows ${others.join("; ")}`);
  }
}
