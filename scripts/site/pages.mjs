// A look at every page of the site in a headless Chromium, narrow and wide, light and dark: SITE=URL node --test pages.mjs
//
// No page is wider than its window, none asks another host or breaks the policy of `_headers`, the colours follow what the
// system wants, and the search finds. CHROMIUM is the browser; SCREENSHOTS=DIR keeps pictures of some pages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import test from "node:test";

const REPOSITORY = new URL("../..", import.meta.url).pathname;
const require = createRequire(join(REPOSITORY, "crates/salver-bench/ui-tests/package.json"));
const { chromium } = require("playwright-core");

const url = process.env.SITE;
const pictures = process.env.SCREENSHOTS;
const SHOWN = ["/index.html", "/docs/from-nginx.html", "/docs/settings.html", "/BENCHMARKS.html"];
const summary = readFileSync(join(REPOSITORY, "docs/site/SUMMARY.md"), "utf8");
const pages = [...summary.matchAll(/\]\(([^)]+)\.md\)/g)].map(([, page]) => `/${page.replace(/README$/, "index")}.html`);

/** A browser, and a page in it that keeps what goes wrong. */
async function browser(options) {
  const running = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const page = await running.newPage(options);
  const faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== "data:" && asked.origin !== url) faults.push(`asks ${request.url()}`);
  });
  return { running, page, faults };
}

/** True if a colour such as `rgb(10, 20, 30)` is dark. */
const dark = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) < 3 * 128;

for (const width of [360, 1600]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every page, ${width} px, ${colorScheme}`, async () => {
      const { running, page, faults } = await browser({ viewport: { width, height: 900 }, colorScheme });
      try {
        for (const path of pages) {
          const answer = await page.goto(url + path);
          assert.equal(answer.status(), 200, path);
          const seen = await page.evaluate(() => ({
            width: document.documentElement.scrollWidth,
            background: getComputedStyle(document.documentElement).backgroundColor,
            letters: document.querySelector("main").innerText.length,
            cut: [...document.querySelectorAll(".charts text")].filter((text) => {
              const [box, most] = [text.getBBox(), text.ownerSVGElement.viewBox.baseVal.width];
              return box.x < 0 || box.x + box.width > most;
            }).map((text) => text.textContent),
          }));
          assert.ok(seen.width <= width, `${path} is ${seen.width} px wide`);
          assert.equal(dark(seen.background), colorScheme === "dark", `${path}: ${seen.background}`);
          assert.deepEqual(seen.cut, [], `${path}: texts of charts that are cut off`);
          assert.ok(seen.letters > 100, `${path} shows ${seen.letters} letters`);
          if (pictures && SHOWN.includes(path)) {
            const name = path.replaceAll(/[^a-z]+/gi, "-").replace(/^-|-html$/g, "") || "index";
            await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
            const more = page.locator(".charts, main table").first();
            if (await more.count()) {
              await more.evaluate((element) => element.scrollIntoView());
              await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}-below.png`) });
            }
          }
        }
        assert.deepEqual(faults, []);
      } finally {
        await running.close();
      }
    });
  }
}

test("the search finds a setting and leads to it", async () => {
  const { running, page, faults } = await browser({ viewport: { width: 1000, height: 800 } });
  try {
    await page.goto(`${url}/`);
    await page.keyboard.press("s");
    await page.locator("#mdbook-searchbar, #searchbar").first().pressSequentially("sandbox");
    const result = page.locator("#mdbook-searchresults a, #searchresults a").first();
    await result.click();
    await page.waitForURL(/highlight=sandbox|search=sandbox/);
    assert.match(await page.locator("main").innerText(), /sandbox/i);
    assert.deepEqual(faults, []);
  } finally {
    await running.close();
  }
});

test("what is missing has the page of the book, with its style", async () => {
  const { running, page } = await browser({ viewport: { width: 1000, height: 800 } });
  try {
    const answer = await page.goto(`${url}/not/here`);
    assert.equal(answer.status(), 404);
    assert.match(await page.locator("main").innerText(), /not found/i);
    const styles = await page.evaluate(() => [...document.styleSheets].filter((sheet) => sheet.href).length);
    assert.ok(styles > 2, `${styles} styles`);
  } finally {
    await running.close();
  }
});
