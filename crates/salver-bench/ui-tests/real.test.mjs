// The program as users have it: `salver bench ui`, which measures for real.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { REPOSITORY, fill, open, real, runOnce, sameEverywhere, savedIn, serve } from "./harness.mjs";

const EXAMPLE = join(REPOSITORY, "example");

test("a load on a URL is measured, shown and saved", async () => {
  const server = await serve(EXAMPLE);
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { url: `${server.url}index.html`, seconds: "0.5", connections: "4" });
  await runOnce(page);
  const [{ saved }] = savedIn(runs);
  await sameEverywhere(page, saved.report);
  const [{ measured }] = saved.report.rows[0].series;
  assert.ok(measured.requests > 0, JSON.stringify(measured));
  assert.equal(measured.connections, 4);
  assert.deepEqual(Object.keys(measured.statuses), ["200"]);
  assert.equal(saved.report.environment.kernel.startsWith("Linux"), true);
  await check();
});

test("a directory is served for the run, and every answer compared with its file", async () => {
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { directory: EXAMPLE, seconds: "0.5", connections: "4" });
  await runOnce(page);
  const [{ saved }] = savedIn(runs);
  await sameEverywhere(page, saved.report);
  const [{ measured }] = saved.report.rows[0].series;
  assert.ok(measured.requests > 0, JSON.stringify(measured));
  assert.equal(measured.verified, "content");
  assert.equal(measured.errors.content, 0);
  assert.ok(measured.server.cpu_us_per_request > 0, "the server is ours, so its CPU is known");
  await check();
});

test("a server that is not there is said", async () => {
  const { url } = await real();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/", seconds: "0.5" });
  await page.locator("#run").click();
  await page.locator("#outcome[data-bad]", { hasText: "127.0.0.1:1" }).waitFor();
  await check();
});

test("plain and cached are measured at six sizes", async () => {
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { kind: "cache", seconds: "0.2", connections: "8" });
  await runOnce(page, 240_000);
  const [{ saved }] = savedIn(runs);
  const drawn = await sameEverywhere(page, saved.report);
  assert.equal(drawn.length, 12);
  assert.deepEqual([...new Set(drawn.map(({ series }) => series))], ["plain", "cached"]);
  assert.equal(new Set(drawn.map(({ row }) => row)).size, 6);
  await check();
});
