// The program as users have it: `salver bench ui`, which measures for real.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { REPOSITORY, fill, open, real, runOnce, sameEverywhere, savedIn, serve } from "./harness.mjs";

const EXAMPLE = join(REPOSITORY, "example");

/** What each protocol is, as a result tells it. */
const PROTOCOLS = {
  "http/1.1": { http: "1.1", tls: false },
  h2: { http: "2", tls: true },
  h2c: { http: "2", tls: false },
  h3: { http: "3", tls: true },
};

/** A server in this process that answers everything with `content`, after so many milliseconds. */
async function answering(context, content, after) {
  const server = createServer(async (_, response) => {
    if (after > 0) await pause(after);
    response.end(content);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

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

for (const [protocol, { http, tls }] of Object.entries(PROTOCOLS)) {
  test(`a load by ${protocol} is measured, of a server that runs and of one that is started`, async () => {
    const server = await serve(EXAMPLE, ...(tls ? ["--tls-self-signed"] : []));
    const { url, runs } = await real();
    const { page, check } = await open(url);
    const certificate = tls ? { any_certificate: true } : {};
    await fill(page, { url: server.url, protocol, ...certificate, seconds: "0.5" });
    await runOnce(page);
    await fill(page, { directory: EXAMPLE, protocol, seconds: "0.5" });
    await runOnce(page);
    const all = savedIn(runs);
    assert.equal(all.length, 2);
    for (const { saved } of all) {
      const [{ measured }] = saved.report.rows[0].series;
      assert.ok(measured.requests > 0, JSON.stringify(measured));
      assert.deepEqual(
        Object.entries(measured.errors).filter(([, number]) => number > 0),
        [],
      );
      assert.equal(measured.http, http);
      assert.equal(measured.tls !== null, tls);
      assert.equal(measured.verified, saved.job.url === null ? "content" : "framing");
    }
    await page.getByText("Answers and checks").click();
    const told = await page.locator("#answers .protocol").innerText();
    assert.match(told, tls ? new RegExp(`^HTTP/${http}, TLSv1\\.3, any certificate$`) : new RegExp(`^HTTP/${http}$`));
    await check();
  });
}

test("a certificate that nobody vouches for is refused, unless any will do", async () => {
  const server = await serve(EXAMPLE, "--tls-self-signed");
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { url: server.url, protocol: "h2", seconds: "0.5" });
  await page.locator("#run").click();
  await page.locator("#outcome[data-bad]", { hasText: "certificate" }).waitFor();
  assert.deepEqual(savedIn(runs), []);
  await check();
});

test("requests leave at the rate that was asked for", async () => {
  const server = await serve(EXAMPLE);
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { url: server.url, rate: "20", seconds: "1" });
  await runOnce(page);
  const [{ saved }] = savedIn(runs);
  const [{ measured }] = saved.report.rows[0].series;
  assert.deepEqual(measured.schedule, { kind: "rate", per_second: 20 });
  // Each that was due is there once, whatever became of it.
  const errors = Object.values(measured.errors).reduce((sum, number) => sum + number, 0);
  assert.equal(measured.requests + errors, 20);
  assert.notEqual(measured.corrected, null);
  await sameEverywhere(page, saved.report);
  await check();
});

test("of two servers the slower one is found, and told with its interval", async (context) => {
  const [first, second] = [await answering(context, "x", 0), await answering(context, "x", 50)];
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { kind: "compare", url: first, url_b: second, seconds: "4" });
  await runOnce(page, 120_000);
  const [{ saved }] = savedIn(runs);
  await sameEverywhere(page, saved.report);
  const [row] = saved.report.rows;
  assert.equal(row.verdict, "slower");
  assert.deepEqual(
    row.series.map(({ label }) => label),
    [first, second].map((one) => new URL(one).host),
  );
  const { ratio, low, high } = row.speed_up.requests;
  assert.ok(low <= ratio && ratio <= high && high < 1, JSON.stringify(row.speed_up));
  const shown = (value) => value.toLocaleString("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const text = await page.locator("#gains").innerText();
  for (const part of ["slower", `${shown(ratio)}× (${shown(low)} to ${shown(high)})`]) assert.ok(text.includes(part), text);
  await check();
});

test("servers that send different bytes are not compared", async (context) => {
  const [first, second] = [await answering(context, "x", 0), await answering(context, "y", 0)];
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { kind: "compare", url: first, url_b: second });
  await page.locator("#run").click();
  await page.locator("#outcome[data-bad]", { hasText: "do not send the same" }).waitFor();
  assert.deepEqual(savedIn(runs), []);
  await check();
});

test("a load that is stopped keeps what it has measured", async () => {
  const { url, runs } = await real();
  const { page, check } = await open(url);
  await fill(page, { directory: EXAMPLE, seconds: "3600" });
  await page.locator("#run").click();
  await page.locator("#progress-text", { hasText: "/s ·" }).waitFor();
  await page.locator("#stop").click();
  await page.locator("#outcome", { hasText: "Stopped: what was measured until then is saved" }).waitFor();
  const [{ saved }] = savedIn(runs);
  assert.equal(saved.report.interrupted, true);
  const [{ measured }] = saved.report.rows[0].series;
  assert.ok(measured.requests > 0 && measured.seconds < 3600, JSON.stringify(measured));
  await page.locator("#shown .flaw").waitFor();
  await sameEverywhere(page, saved.report);
  await check();
});
