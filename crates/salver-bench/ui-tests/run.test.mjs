// Runs: begun, watched, stopped, failed, and what is shown of them.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { bars, directory, fill, open, runOnce, sameEverywhere, savedIn, scripted, table } from "./harness.mjs";

test("bars, table, curves and file say the same", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await runOnce(page);
  const [{ id, saved }] = savedIn(runs);
  const drawn = await sameEverywhere(page, saved.report);
  assert.equal(drawn.length, 12);
  assert.equal(saved.job.kind, "cache");
  assert.match(id, /^\d{4}-\d\d-\d\dT\d{6}Z-cache$/);
  // Not by colour alone: one way is hatched, and each has its name beside it.
  const [plain, cached] = drawn;
  assert.match(plain.fill, /url\(/);
  assert.doesNotMatch(cached.fill, /url\(/);
  assert.deepEqual([plain.label, cached.label], ["plain", "cached"]);
  // Intervals and verdicts are in the table, and the interval at the bars.
  const text = await page.locator("#gains").innerText();
  for (const part of ["1.90× (1.82 to 1.99)", "faster", "undecided: run longer"])
    assert.ok(text.includes(part), part);
  assert.equal(await page.locator("#bars .verdict").first().textContent(), "1.90× (1.82 to 1.99)");

  for (const [metric, field] of [
    ["p50", "p50_us"],
    ["p99", "p99_us"],
  ]) {
    await page.locator("#metric").selectOption(metric);
    const latencies = (await bars(page)).map(({ value }) => value);
    const expected = saved.report.rows.flatMap((row) =>
      row.series.map(({ measured }) => measured.raw[field] / 1000),
    );
    assert.deepEqual(latencies, expected);
    const listed = (await table(page)).map((line) => line[metric]);
    assert.deepEqual(
      (await bars(page)).map(({ text }) => text),
      listed.map((text) => `${text} ms`),
    );
  }
  await check();
});

test("curves pass through the percentiles", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await runOnce(page);
  const [{ saved }] = savedIn(runs);
  const row = saved.report.rows[3];
  await page.locator("#curve-row").selectOption(row.name);
  const read = await page.locator("#curves svg").evaluate((svg) => {
    const ticks = [...svg.querySelectorAll("text.soft")].map((text) => ({
      text: text.textContent,
      x: Number(text.getAttribute("x")),
      y: Number(text.getAttribute("y")),
      across: text.getAttribute("text-anchor") === "middle",
    }));
    const curves = [...svg.querySelectorAll(".curve")].map((curve) => ({
      name: curve.dataset.series,
      dashes: curve.getAttribute("stroke-dasharray"),
      points: curve
        .getAttribute("d")
        .slice(1)
        .split("L")
        .map((point) => point.split(" ").map(Number)),
    }));
    return { ticks, curves };
  });
  const up = read.ticks.filter(({ text, across }) => !across && Number.isFinite(Number(text)));
  const across = read.ticks.filter(
    ({ text, across }) => across && ["50", "90", "99", "99.9", "99.99"].includes(text),
  );
  assert.equal(across.length, 5, JSON.stringify(read.ticks));
  // The y axis is logarithmic: two of its labels tell all of it.
  const [low, high] = [up[0], up.at(-1)];
  const perDecade = (high.y - low.y) / (Math.log10(high.text) - Math.log10(low.text));
  const millis = (y) => 10 ** (Math.log10(low.text) + (y + 4 - low.y) / perDecade);
  assert.deepEqual(
    read.curves.map(({ name }) => name),
    ["plain", "cached"],
  );
  assert.notEqual(read.curves[0].dashes, read.curves[1].dashes);
  for (const [at, { points }] of read.curves.entries()) {
    const { raw } = row.series[at].measured;
    const known = { 50: raw.p50_us, 90: raw.p90_us, 99: raw.p99_us, 99.9: raw.p999_us, 99.99: raw.p9999_us };
    for (const { text, x } of across) {
      const next = points.findIndex(([px]) => px >= x);
      const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
      const y = y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
      const found = millis(y);
      const expected = known[text] / 1000;
      assert.ok(Math.abs(found / expected - 1) < 0.05, `${text}: ${found} ms, not ${expected} ms`);
    }
    assert.ok(points.every(([x], index) => index === 0 || x >= points[index - 1][0]));
  }
  // The same as figures.
  await page.getByText("Percentiles as figures").click();
  const cells = await page.locator("#percentiles tbody tr").first().locator("td").allInnerTexts();
  const { raw } = row.series[0].measured;
  assert.ok(Math.abs(Number(cells[4]) / (raw.p99_us / 1000) - 1) < 0.01, cells.join());
  await check();
});

test("a run is watched, cannot be doubled, and is stopped", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/stalls" });
  assert.equal(await page.locator("#stop").isDisabled(), true);
  await page.locator("#run").click();
  await page.locator("#progress-text", { hasText: "50 %" }).waitFor();
  assert.equal(await page.locator("#progress-what").innerText(), "The load");
  assert.equal(await page.locator("#progress-text").innerText(), "50 % · 1,234/s · 2 s of 4 s");
  assert.equal(await page.locator("progress").evaluate((bar) => bar.value), 0.5);
  assert.equal(await page.locator("progress").evaluate((bar) => bar.labels.length), 1);
  assert.match(await page.title(), /^50 %/);
  const live = page.locator("[aria-live=polite]");
  assert.match(await live.textContent(), /the load|Starting/);

  // It goes on after the page was loaded again.
  await page.reload();
  await page.locator("#progress-text", { hasText: "50 %" }).waitFor();
  assert.equal(await page.locator("#url").inputValue(), "http://127.0.0.1:1/stalls");

  await page.locator("#run").click();
  await page.locator("#form-error", { hasText: "A run is under way" }).waitFor();
  await page.locator("#stop").click();
  await page.locator("#outcome", { hasText: "Stopped" }).waitFor();
  assert.equal(await page.locator("#progress").isVisible(), false);
  assert.match(await live.textContent(), /^Stopped/);
  assert.equal(await page.locator("#stop").isDisabled(), true);
  assert.deepEqual(savedIn(runs), []);
  await check(["409 (Conflict)"]);
});

test("a run that fails says why", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  for (const [path, why] of [
    ["fails", "no connection to nowhere"],
    ["panics", "the run panicked"],
  ]) {
    await fill(page, { url: `http://127.0.0.1:1/${path}` });
    await page.locator("#run").click();
    await page.locator("#outcome[data-bad]", { hasText: `Failed: ${why}` }).waitFor();
  }
  assert.equal(await page.locator("#bars").count(), 0);
  await check();
});

test("errors and doubts stand before any figure", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/wrong", seconds: "10" });
  await runOnce(page);
  const problems = await page.locator("#problems").innerText();
  for (const part of [
    "Do not believe these figures",
    "7 time-outs, 1 wrong content, beside 480,000 right answers",
    "the client was busy",
  ]) {
    assert.ok(problems.includes(part), problems);
  }
  const order = await page
    .locator("#problems, #bars, #figures")
    .evaluateAll((all) => all.map(({ id }) => id));
  assert.deepEqual(order, ["problems", "bars", "figures"]);
  assert.match((await bars(page))[0].text, /8 errors/);
  assert.equal((await table(page))[0].errors, "8");
  assert.match(await page.locator("#runs .flaw").innerText(), /with problems/);
  await check();
});

test("what others took of the machine is said in words beside the run", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await runOnce(page);
  assert.equal(await page.locator("#shown .others").innerText(), "Others took 1.50 cores meanwhile.");
  await check();
});

test("what a stopped run has measured is saved, with a mark", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/lasts", seconds: "10" });
  await page.locator("#run").click();
  await page.locator("#progress-text", { hasText: "50 %" }).waitFor();
  await page.locator("#stop").click();
  await page.locator("#outcome", { hasText: "Stopped: what was measured until then is saved" }).waitFor();
  await page.locator("#bars svg").waitFor();
  const [{ saved }] = savedIn(runs);
  assert.equal(saved.report.interrupted, true);
  await sameEverywhere(page, saved.report);
  assert.match(await page.locator("#shown .flaw").innerText(), /^Stopped before its end/);
  assert.equal((await page.locator("#runs .flaw").innerText()).trim(), "stopped");

  // The mark stays with it, and comes to no other.
  await fill(page, { url: "http://127.0.0.1:1/" });
  await runOnce(page);
  assert.equal(await page.locator("#shown .flaw").count(), 0);
  await page.reload();
  await page.locator("#runs li").nth(1).waitFor();
  assert.deepEqual(await page.locator("#runs .flaw").allInnerTexts(), [" stopped"]);
  await page.locator("#runs input").nth(1).check();
  await page.locator("#shown .flaw", { hasText: "Stopped before its end" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#runs a").nth(1).click()]);
  const path = join(directory(), download.suggestedFilename());
  await download.saveAs(path);
  const { page: file, check: checkFile } = await open(pathToFileURL(path).href);
  assert.match(await file.locator("#shown .flaw").innerText(), /^Stopped before its end/);
  await checkFile();
  await check();
});

test("each kind of run has its fields, and nothing else is sent", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  const choose = (kind) => page.locator(`input[name=kind][value=${kind}]`).check();
  const shown = () =>
    page
      .locator("#fields .field:visible")
      .evaluateAll((fields) => fields.map(({ id }) => id.replace("-field", "")).join(" "));
  assert.equal(await shown(), "scratch duration_seconds connections");
  await page.locator("#scratch").fill("/tmp");
  await choose("load");
  assert.equal(await shown(), "url protocol directory duration_seconds connections rate");
  await page.locator("#protocol").selectOption("h2c");
  assert.equal(await shown(), "url protocol directory duration_seconds connections rate streams");
  await page.locator("#url").fill("https://127.0.0.1:1/");
  assert.match(await shown(), /^url protocol any_certificate directory /);
  await page.locator("#any_certificate").check();
  await page.locator("#url").fill("http://127.0.0.1:1/");
  await page.locator("#rate").fill("no number");
  await page.locator("#streams").fill("3");
  await choose("compare");
  assert.equal(
    await shown(),
    "url protocol url_b protocol_b directory duration_seconds connections streams",
  );
  await page.locator("#url_b").fill("http://127.0.0.1:2/");
  await page.locator("#protocol_b").selectOption("h2c");
  await runOnce(page);
  await choose("cache");
  assert.equal(await shown(), "scratch duration_seconds connections");
  assert.equal(await page.locator("#scratch").inputValue(), "/tmp");
  const [{ saved }] = savedIn(runs);
  assert.deepEqual(saved.job, {
    kind: "compare",
    url: "http://127.0.0.1:1/",
    protocol: "h2c",
    url_b: "http://127.0.0.1:2/",
    protocol_b: "h2c",
    any_certificate: false,
    directory: null,
    scratch: null,
    rate: null,
    streams: 3,
    duration_seconds: 10,
    connections: 64,
  });
  assert.match(await page.locator("#shown .hint").first().innerText(), /of 3 streams, HTTP\/2 in the clear/);

  // After a reload the form is as it was.
  await page.reload();
  await page.locator("#url_b:visible").waitFor();
  assert.equal(await page.locator("#url_b").inputValue(), "http://127.0.0.1:2/");
  assert.equal(await page.locator("#protocol_b").inputValue(), "h2c");
  assert.equal(await page.locator("#streams").inputValue(), "3");
  await check();
});

test("a comparison has a verdict with intervals", async () => {
  const { url, runs } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { kind: "compare", url: "http://127.0.0.1:1/stalls", url_b: "http://127.0.0.1:2/" });
  await page.locator("#run").click();
  // Its trials are too short to have figures of their own.
  await page.locator("#progress-text", { hasText: "50 %" }).waitFor();
  assert.equal(await page.locator("#progress-text").innerText(), "50 %");
  await page.locator("#stop").click();
  await page.locator("#outcome", { hasText: "Stopped" }).waitFor();
  await fill(page, { kind: "compare", url: "http://127.0.0.1:1/", url_b: "http://127.0.0.1:2/" });
  await runOnce(page);
  const [{ saved }] = savedIn(runs);
  const drawn = await sameEverywhere(page, saved.report);
  assert.deepEqual(
    drawn.map(({ label }) => label),
    ["127.0.0.1:1", "127.0.0.1:2"],
  );
  const text = await page.locator("#gains").innerText();
  for (const part of ["127.0.0.1:2 than 127.0.0.1:1", "0.90× (0.86 to 0.95)", "slower"])
    assert.ok(text.includes(part), text);
  assert.match(await page.locator("#runs label").innerText(), /Second against first/);
  await check();
});

test("a rate is told, with the latency that it corrects", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "http://127.0.0.1:1/", rate: "1250", seconds: "10" });
  await runOnce(page);
  assert.match(await page.locator("#shown .hint").first().innerText(), /HTTP\/1\.1, 1,250 requests\/s/);
  const curves = await page.locator("#curves .curve").evaluateAll((all) => all.map(({ dataset }) => dataset.series));
  assert.deepEqual(curves, ["load corrected", "load raw"]);
  assert.match(await page.locator("#figures caption").innerText(), /from the moment a request was to be sent/);
  await check();
});

test("what is wrong is said beside its field", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { url: "nonsense", directory: "/no/such", seconds: "soon", connections: "0" });
  await page.locator("#run").click();
  await page.locator("#url[aria-invalid=true]").waitFor();
  const parts = {
    url: "no URL",
    directory: "/no/such",
    duration_seconds: "number of seconds",
    connections: "whole number",
  };
  for (const [name, part] of Object.entries(parts)) {
    const field = page.locator(`#${name}`);
    assert.equal(await field.getAttribute("aria-invalid"), "true", name);
    assert.ok((await page.locator(`#${name}-error`).innerText()).includes(part), name);
    assert.ok((await field.getAttribute("aria-describedby")).split(" ").includes(`${name}-error`), name);
  }
  assert.equal(await page.evaluate(() => document.activeElement.id), "url");
  await fill(page, { url: "http://127.0.0.1:1/", protocol: "h3", rate: "fast", streams: "0" });
  await page.locator("#run").click();
  await page.locator("#url-error", { hasText: "HTTP/3 is asked for at a URL that begins with https://" }).waitFor();
  for (const name of ["rate", "streams"])
    assert.equal(await page.locator(`#${name}`).getAttribute("aria-invalid"), "true", name);
  await fill(page, { url: "http://127.0.0.1:1/", streams: "1", rate: "", protocol: "http/1.1", seconds: "0.5" });
  await runOnce(page);
  assert.equal(await page.locator("[aria-invalid]").count(), 0);
  assert.equal(await page.locator("#form-error").innerText(), "");
  await check(["400 (Bad Request)"]);
});

test("the end of the program is said", async () => {
  const { url, child, ended } = await scripted();
  const { page, check } = await open(url);
  await page.locator("#history-hint", { hasText: "None yet." }).waitFor();
  child.stdin.end();
  await ended;
  await page.locator("#outcome", { hasText: "has ended" }).waitFor();
  await page.locator("#run").click();
  await page.locator("#form-error", { hasText: "has ended" }).waitFor();
  await check(["ERR_"]);
});
