// Pages that load again when a file of their site changes, as somebody who works on the site sees them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { directory, open, serve } from "./harness.mjs";

const PAGE = (text) => `<!doctype html><html><head><title>${text}</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"></head><body><h1>${text}</h1></body></html>`;

/** A site, and what writes a file of it. */
async function site(...flags) {
  const root = directory();
  const write = (name, text) => writeFileSync(join(root, name), text);
  mkdirSync(join(root, "files"));
  write("index.html", PAGE("one"));
  write("style.css", "h1 { color: rgb(1, 2, 3) }");
  write("data.json", "1");
  const server = await serve(root, "--live-reload", ...flags);
  return { url: server.url, write };
}

const color = (page) => page.locator("h1").evaluate((heading) => getComputedStyle(heading).color);

test("a page loads again when a file changes, and takes a new style without that", async () => {
  const { url, write } = await site();
  const { page, check } = await open(url);
  await page.evaluate(() => {
    window.marked = true;
  });
  write("style.css", "h1 { color: rgb(4, 5, 6) }");
  await page.waitForFunction(() => getComputedStyle(document.querySelector("h1")).color === "rgb(4, 5, 6)");
  assert.equal(await page.evaluate(() => window.marked), true, "it is still the same page");
  assert.equal(await page.locator('link[rel="stylesheet"]').count(), 1);
  for (const text of ["two", "three"]) {
    write("index.html", PAGE(text));
    await page.waitForFunction((wanted) => document.title === wanted, text);
    assert.equal(await page.evaluate(() => window.marked), undefined);
  }
  assert.equal(await color(page), "rgb(4, 5, 6)");
  await page.evaluate(() => {
    window.marked = true;
  });
  write("data.json", "2");
  await page.waitForFunction(() => window.marked === undefined && document.readyState === "complete");
  await check();
});

test("nothing that stays as it is makes a page load again", async () => {
  const { url, write } = await site();
  const { page, check } = await open(url);
  await page.evaluate(() => {
    window.marked = true;
  });
  // Whoever hears of the last change has heard of those before it.
  write(".hidden", "x");
  write("index.html~", "x");
  write("style.css", "h1 { color: rgb(7, 8, 9) }");
  await page.waitForFunction(() => getComputedStyle(document.querySelector("h1")).color === "rgb(7, 8, 9)");
  assert.equal(await page.evaluate(() => window.marked), true);
  await check();
});

test("a listing loads again when its directory changes", async () => {
  const { url, write } = await site("--listing");
  const { page, check } = await open(`${url}files/`);
  write("files/new.txt", "x");
  await page.getByRole("link", { name: "new.txt" }).waitFor();
  await check();
});
