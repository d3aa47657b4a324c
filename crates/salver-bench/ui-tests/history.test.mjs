// Saved runs: laid over each other, passed over when broken, and as a file to share.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  bars,
  directory,
  fill,
  open,
  runOnce,
  sameEverywhere,
  savedIn,
  scripted,
  table,
} from "./harness.mjs";

test("runs are laid over each other, six at most", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  for (let run = 0; run < 7; run += 1) await runOnce(page);
  const boxes = page.locator("#runs input");
  assert.equal(await boxes.count(), 7);
  // The last one is shown alone.
  assert.equal(await page.locator("#runs input:checked").count(), 1);
  assert.equal((await bars(page)).length, 12);
  assert.deepEqual([...new Set((await bars(page)).map(({ run }) => run))], [""]);
  for (let box = 1; box < 6; box += 1) {
    await boxes.nth(box).check();
    await page.waitForFunction((count) => document.querySelectorAll("#shown li").length === count, box + 1);
  }
  const drawn = await bars(page);
  assert.equal(drawn.length, 72);
  assert.deepEqual([...new Set(drawn.map(({ run }) => run))], ["A", "B", "C", "D", "E", "F"]);
  assert.equal(drawn[0].label, "A plain");
  assert.equal((await table(page)).length, 72);
  assert.equal(await page.locator("#curves .curve").count(), 12);
  assert.equal(await boxes.nth(6).isDisabled(), true);
  await boxes.nth(0).uncheck();
  await page.waitForFunction(() => document.querySelectorAll("#shown li").length === 5);
  assert.equal(await boxes.nth(6).isDisabled(), false);

  // They are there again after a reload, and can be chosen without a run before.
  await page.reload();
  await page.locator("#runs li").nth(6).waitFor();
  assert.equal(savedIn(runs).length, 7);
  await check();
});

test("files that are no runs are named", async () => {
  const runs = directory();
  writeFileSync(join(runs, "half.json"), '{"started_ms": 1');
  writeFileSync(join(runs, "foreign.json"), '{"hello": "world"}');
  const { url } = await scripted(runs);
  const { page, check } = await open(url);
  const note = page.getByText("2 files were passed over");
  await note.click();
  const text = await page.locator("#history-notes").innerText();
  for (const name of ["half.json", "foreign.json"]) assert.ok(text.includes(name), text);
  await runOnce(page);
  assert.equal(await page.locator("#runs li").count(), 1);
  await check();
});

test("a saved run is one file that needs nothing else", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/wrong", seconds: "10" });
  await runOnce(page);
  await fill(page, { kind: "cache", seconds: "10" });
  await runOnce(page);
  const links = [
    page.getByRole("link", { name: "Download as one HTML file" }),
    page.locator("#runs a").nth(1),
  ];
  const files = [];
  for (const link of links) {
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    const path = join(directory(), download.suggestedFilename());
    await download.saveAs(path);
    files.push(path);
  }
  const expected = await bars(page);
  const token = new URL(url).searchParams.get("token");
  await check();

  const byKind = (kind) => savedIn(runs).find(({ saved }) => saved.job.kind === kind);
  for (const [kind, path] of [
    ["cache", files[0]],
    ["load", files[1]],
  ]) {
    const { id, saved } = byKind(kind);
    assert.ok(path.endsWith(`salver-${id}.html`), path);
    assert.ok(!readFileSync(path, "utf8").includes(token), "the token is not for sharing");
    for (const colorScheme of ["light", "dark"]) {
      const { page: file, check: checkFile } = await open(pathToFileURL(path).href, {
        colorScheme,
        offline: true,
      });
      await file.locator("#bars svg").waitFor();
      const drawn = await sameEverywhere(file, saved.report);
      if (kind === "cache")
        assert.deepEqual(
          drawn.map(({ text }) => text),
          expected.map(({ text }) => text),
        );
      else assert.equal(await file.locator("#problems").count(), 1);
      assert.equal(await file.locator("form").isVisible(), false);
      assert.equal(await file.locator("#history").isVisible(), false);
      assert.equal(await file.locator("#curves .curve").count(), kind === "cache" ? 2 : 1);
      await file.getByText("Machine, versions and settings").click();
      assert.ok((await file.locator("#environment").innerText()).includes("1.2.3"));
      await checkFile();
    }
  }
});
