// Codings that are made while a site is served, as a browser asks for them and decodes them.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { REPOSITORY, open, serve, site } from "./harness.mjs";

const text = (name) => `/* ${name} */\n` + Array.from({ length: 400 }, (_, line) => `/* line ${line} of ${name} */`).join("\n");

const FILES = {
  "style.css": `${text("style.css")}\nh1 { color: rgb(1, 2, 3) }`,
  "script.js": `${text("script.js")}\nglobalThis.ran = (globalThis.ran ?? 0) + 1;`,
  "module.mjs": `${text("module.mjs")}\nexport const answer = 42;`,
  "data.json": JSON.stringify({ lines: Array.from({ length: 300 }, (_, line) => ({ line, name: "data.json" })) }),
  "words.txt": text("words.txt"),
  "feed.xml": `<?xml version="1.0"?><feed>${"<entry>an entry</entry>".repeat(300)}</feed>`,
  "picture.svg": readFileSync(join(REPOSITORY, "example/assets/logo.svg"), "utf8") + `<!-- ${text("picture.svg")} -->`,
};
const PAGE = `<!doctype html><html><head><title>codings</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css"><script src="/script.js"></script></head>
<body><h1>codings</h1><img src="/picture.svg" alt="">${"<p>a paragraph</p>".repeat(300)}</body></html>`;

const hash = (content) => createHash("sha256").update(content).digest("hex");

/** The coding and the hash of what the browser has made of a path, past its own cache. */
async function fetched(page, path) {
  return page.evaluate(async (path) => {
    const answer = await fetch(path, { cache: "no-store" });
    const content = await answer.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    const hash = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return { coding: answer.headers.get("content-encoding"), vary: answer.headers.get("vary"), hash };
  }, path);
}

test("a browser decodes what is made, and has the file meanwhile", async (context) => {
  const root = site({ ...FILES, "index.html": PAGE });
  const { url } = await serve(root);
  const { page, check } = await open(url);
  assert.equal(await page.evaluate(() => globalThis.ran), 1);
  for (const [name, content] of Object.entries({ ...FILES, "": PAGE })) {
    let coding = null;
    while (coding === null) {
      const answer = await fetched(page, `/${name}`);
      assert.equal(answer.hash, hash(content), `${name} in ${answer.coding}`);
      assert.equal(answer.vary, "Accept-Encoding", name);
      coding = answer.coding;
    }
    context.diagnostic(`/${name} in ${coding}`);
  }
  // All of the page comes coded now, and works.
  const codings = new Map();
  page.on("response", async (answer) => codings.set(new URL(answer.url()).pathname, answer.headers()["content-encoding"]));
  const client = await page.context().newCDPSession(page);
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.reload();
  assert.equal(await page.evaluate(() => globalThis.ran), 1);
  assert.equal(await page.evaluate(() => import("/module.mjs").then((module) => module.answer)), 42);
  assert.equal(await page.evaluate(() => document.querySelector("img").naturalWidth > 0), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("h1")).color), "rgb(1, 2, 3)");
  for (const path of ["/", "/style.css", "/script.js", "/picture.svg", "/module.mjs"])
    assert.ok(["br", "zstd", "gzip"].includes(codings.get(path)), `${path}: ${codings.get(path)}`);
  await check();
});
