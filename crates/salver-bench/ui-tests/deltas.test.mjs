// The next version of a script as a difference from the one that a browser has: Chromium says which it has, gets `dcb` or
// `dcz`, and runs what comes of it.

import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { administered, certificate, open, site } from "./harness.mjs";

const lines = Array.from({ length: 600 }, (_, line) => `export function name${(line * 7919) % 10007}(a) { return a + ${line}; }`);
const script = (version) => `globalThis.version = ${version};\n${lines.join("\n")}\n`;
const digest = (content) => `:${createHash("sha256").update(content).digest("base64")}:`;
const HASHES = ["", "3f9a1c2b", "8b1d90e4", "1f4e9b7d"];
const name = (version) => `app.${HASHES[version]}.js`;
const page = (version) => `<!doctype html><html><head><title>${version}</title><link rel="icon" href="data:,">
<script type="module" src="/${name(version)}"></script></head><body></body></html>`;

/** A site that has had one version, and the browser that has it. */
async function begun() {
  const { flags, trusted } = certificate();
  const root = site({ "index.html": page(1), [name(1)]: script(1) });
  const { url, admin } = await administered(root, [...flags, "--compress-cpu", "100", "--revalidate", "0s"]);
  const origin = url.replace("127.0.0.1", "localhost").replace(/\/$/, "");
  const { page: tab } = await open(`${origin}/`, { flags: [trusted] });
  assert.equal(await tab.evaluate(() => globalThis.version), 1);
  return { root, origin, admin, tab };
}

/** Waits until nothing is made or kept. */
async function idle(admin) {
  for (;;) {
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    if (/^salver_codings_waiting 0$/m.test(metrics)) return;
  }
}

/** What the browser says that it has, once it has put it away. */
async function named(tab) {
  for (let number = 0; ; number += 1) {
    const path = `/app.probe${number}.js`;
    const [asked] = await Promise.all([
      tab.waitForRequest((one) => one.url().endsWith(path)),
      tab.evaluate((path) => fetch(path).then((answer) => answer.text()), path),
    ]);
    const found = (await asked.allHeaders())["available-dictionary"];
    if (found) return found;
  }
}

/** The coding that another visitor gets who has this, and takes no more than `accept`. */
function visit(origin, path, accept, has) {
  const headers = { "accept-encoding": accept, "available-dictionary": has, "sec-fetch-site": "same-origin" };
  return new Promise((done, failed) => {
    const asked = request(`${origin}${path}`, { rejectUnauthorized: false, headers }, (answer) => {
      answer.resume().on("end", () => done(answer.headers["content-encoding"]));
    });
    asked.on("error", failed).end();
  });
}

for (const coding of ["dcb", "dcz"])
  test(`Chromium takes the next version in ${coding} and runs it`, async (context) => {
    const { root, origin, admin, tab } = await begun();
    await idle(admin);
    for (const version of [2, 3]) {
      const has = await named(tab);
      assert.equal(has, digest(script(version - 1)));
      rmSync(join(root, name(version - 1)));
      writeFileSync(join(root, name(version)), script(version));
      writeFileSync(join(root, "index.html"), page(version));
      // Whoever comes first does not wait for it, and the browser keeps what it gets: so somebody else is first.
      while ((await visit(origin, `/${name(version)}`, coding, has)) !== coding);
      const [answer] = await Promise.all([
        tab.waitForResponse((one) => one.url().endsWith(name(version))),
        tab.goto(`${origin}/`),
      ]);
      const headers = await answer.allHeaders();
      assert.equal(headers["content-encoding"], coding);
      assert.match(headers["use-as-dictionary"], /^match="app\.\*\.js", match-dest=\("script" "worker" ""\), id="[0-9a-f]{16}"$/);
      assert.equal(headers.vary, "Accept-Encoding, Available-Dictionary");
      assert.equal(await tab.evaluate(() => globalThis.version), version);
      const length = Number(headers["content-length"]);
      assert.ok(length < 400, `${length} bytes`);
      context.diagnostic(`${script(version).length} bytes of script in ${length} of ${coding}`);
      await idle(admin);
    }
  });

test("patterns of names match those names and no others", async () => {
  const { flags, trusted } = certificate();
  const names = ["a+b", "a(1)", "a*", "a{b}", "a b", "~$&'@!,;=_", "caf\u00e9", "a?", "a%41"];
  const file = (name) => `${name}.3f9a1c2b.js`;
  const root = site({ "index.html": "<!doctype html><title>names</title>", ...Object.fromEntries(names.map((name) => [file(name), script(1)])) });
  const { url } = await administered(root, flags);
  const { page: tab } = await open(url.replace("127.0.0.1", "localhost"), { flags: [trusted] });
  for (const name of names) {
    const path = `/${encodeURI(file(name)).replaceAll("?", "%3F")}`;
    const found = await tab.evaluate(async (path) => {
      const field = (await fetch(path)).headers.get("use-as-dictionary");
      const text = /^match="((?:[^"\\]|\\.)*)"/.exec(field)[1].replace(/\\(.)/g, "$1");
      const pattern = new URLPattern(text, new URL(path, location.href).href);
      const next = path.replace("3f9a1c2b", "8b1d90e4");
      return [next, `/x${next}`, `/b${next.slice(1)}`, "/a.8b1d90e4.js"].map((path) => pattern.test(new URL(path, location.href).href));
    }, path);
    assert.deepEqual(found, [true, false, false, false], name);
  }
});
