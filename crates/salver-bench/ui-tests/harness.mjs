// Starts what the tests look at: a program that serves a page, and a browser that asks nobody else.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import readline from "node:readline";
import { after } from "node:test";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const REPOSITORY = resolve(import.meta.dirname, "../../..");
const TARGET = resolve(REPOSITORY, process.env.CARGO_TARGET_DIR ?? "target", process.env.PROFILE ?? "debug");
export const SALVER = join(TARGET, "salver");
const SCRIPTED = join(TARGET, "examples/scripted_page");
const APPLICATION = join(TARGET, "axum-app");

const BROWSER = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

const ends = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** An empty directory that goes away with the tests. */
export function directory() {
  const path = mkdtempSync(join(tmpdir(), "salver-ui-test-"));
  ends.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A certificate for localhost, and the flag by which the browser trusts its key; QUIC too, for ten days. */
export function certificate() {
  const [file, key] = ["cert.pem", "key.pem"].map((name) => join(directory(), name));
  const openssl = (args, input) => execFileSync("openssl", args, { input, stdio: "pipe" });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  openssl(["req", "-x509", ...curve, "-nodes", "-days", "10", "-keyout", key, "-out", file, ...names]);
  const spki = openssl(["pkey", "-pubin", "-outform", "der"], openssl(["x509", "-in", file, "-pubkey", "-noout"]));
  const hash = openssl(["dgst", "-sha256", "-binary"], spki).toString("base64");
  return {
    flags: ["--tls-cert", file, "--tls-key", key],
    trusted: `--ignore-certificate-errors-spki-list=${hash}`,
  };
}

/** A directory with these files that goes away with the tests. */
export function site(files) {
  const root = directory();
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  return root;
}

/** Starts a program and waits until lines that it prints have this many addresses: the first one of each. */
async function started(program, args, { addresses = 1, variables = {}, on = "stderr" } = {}) {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("SALVER_"));
  const child = spawn(program, args, {
    stdio: ["pipe", ...["stdout", "stderr"].map((name) => (name === on ? "pipe" : "ignore"))],
    env: { ...Object.fromEntries(environment), ...variables },
  });
  const ended = new Promise((done) => child.once("exit", done));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  ends.push(stop);
  const said = [];
  const urls = [];
  for await (const line of readline.createInterface({ input: child[on] })) {
    said.push(line);
    const [url] = /https?:\/\/\S+/.exec(line) ?? [];
    if (url) urls.push(url);
    if (urls.length === addresses) {
      child[on].resume();
      return { url: urls[0], urls, child, ended, stop };
    }
  }
  throw new Error(`${program} did not start: ${said.join("\n")}`);
}

/** The page with a runner that does what a path says, for runs that are to fail or to stall. */
export async function scripted(runs = directory()) {
  return { runs, ...(await started(SCRIPTED, [runs])) };
}

/** The page as users have it. */
export async function real(runs = directory()) {
  const args = ["bench", "ui", "--port", "0", "--no-open", "--runs", runs];
  return { runs, ...(await started(SALVER, args)) };
}

/** A server to load. */
export async function serve(root, ...flags) {
  return started(SALVER, ["serve", root, "--port", "0", ...flags]);
}

/** The application of examples/axum beside the files of a directory. */
export async function application(root) {
  return started(APPLICATION, [root, "0"], { on: "stdout" });
}

/** A server and its admin listener: the origins of both. */
export async function administered(root, flags = [], variables = {}) {
  const args = ["serve", root, "--port", "0", "--metrics", "0", ...flags];
  const { urls, stop } = await started(SALVER, args, { addresses: 2, variables });
  const [url, admin] = urls.map((one) => new URL(one).origin);
  return { url, admin, stop };
}

/** A page of somebody else: an address that gives this HTML. */
export async function elsewhere(html) {
  const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(html));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => new Promise((done) => server.close(done)));
  return `http://127.0.0.1:${server.address().port}/`;
}

const browsers = new Map();
/** The one browser of a file of tests that has these flags beyond the usual. */
async function theBrowser(flags) {
  const name = flags.join(" ");
  if (!browsers.has(name)) {
    const browser = await chromium.launch({ ...BROWSER, args: [...BROWSER.args, ...flags] });
    ends.push(() => browser.close());
    browsers.set(name, browser);
  }
  return browsers.get(name);
}

/**
 * A page at this address. `check()` fails if it has asked another host, or if the console has an
 * error beyond those that `expected` knows: the browser reports each answer of 400 and above.
 */
export async function open(url, { flags = [], ...options } = {}) {
  const context = await (
    await theBrowser(flags)
  ).newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const wrong = [];
  const asked = [];
  page.on("pageerror", (error) => wrong.push(String(error.stack ?? error)));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  context.on("request", (request) => asked.push(request.url()));
  await page.goto(url);
  const origin = new URL(url).origin;
  const check = async (expected = []) => {
    const unexpected = wrong.filter((text) => !expected.some((part) => text.includes(part)));
    assert.deepEqual(unexpected, []);
    assert.notEqual(asked.length, 0);
    for (const one of asked) {
      const { protocol, origin: of } = new URL(one);
      assert.ok(protocol === "data:" || (protocol === "file:" && one === url) || of === origin, one);
    }
    await context.close();
  };
  return { page, check };
}

/** Fills the form: texts are typed, choices are chosen, `true` and `false` are for boxes. In their order, since
 * some show others. What is shown of the usual fields and has no value here is emptied. */
export async function fill(page, { kind = "load", seconds = "1", connections = "2", ...others }) {
  await page.locator(`input[name=kind][value=${kind}]`).check();
  const usual = kind === "cache" ? { scratch: "" } : { url: "", directory: "" };
  const values = { ...usual, ...others, duration_seconds: seconds, connections };
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator(`#${name}`);
    if (typeof value === "boolean") await field.setChecked(value);
    else if (await field.evaluate((element) => element.tagName === "SELECT")) await field.selectOption(value);
    else await field.fill(value);
  }
}

/** Presses Run and waits for the result of that run. */
export async function runOnce(page, patience = 30_000) {
  await page.locator("#outcome").evaluate((outcome) => {
    outcome.textContent = "";
  });
  const before = await page.locator("#runs li").count();
  await page.locator("#run").click();
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll("#runs li").length === count + 1 && document.querySelector("#bars svg"),
    before,
    { timeout: patience },
  );
}

/** The saved runs of a directory, as they are on disk. */
export function savedIn(runs) {
  const names = readdirSync(runs).filter((name) => name.endsWith(".json"));
  return names.map((name) => ({
    id: name.slice(0, -5),
    saved: JSON.parse(readFileSync(join(runs, name), "utf8")),
  }));
}

/** What the bars show: row, series, run, value, the text beside it, and the drawn width. */
export function bars(page) {
  return page.locator("#bars .bar").evaluateAll((all) =>
    all.map((bar) => ({
      row: bar.dataset.row,
      series: bar.dataset.series,
      run: bar.dataset.run,
      value: bar.dataset.value === "" ? null : Number(bar.dataset.value),
      text: bar.querySelector(".value").textContent,
      label: bar.querySelector(".way").textContent,
      width: Number(bar.querySelector("rect").getAttribute("width")),
      fill: getComputedStyle(bar.querySelector("rect")).fill,
    })),
  );
}

/** What the table says, a line for each series: row, series, requests per second as text. */
export function table(page) {
  return page.locator("#figures tbody").evaluateAll((bodies) =>
    bodies.flatMap((body) => {
      const row = body.querySelector("th").textContent.trim();
      return [...body.querySelectorAll("tr")].map((line) => ({
        row,
        series: line.querySelector(".way").textContent,
        requests: line.querySelector(".requests").textContent,
        value: Number(line.querySelector(".requests").dataset.value),
        p50: line.querySelector(".p50").textContent,
        p99: line.querySelector(".p99").textContent,
        errors: line.querySelector(".errors").textContent,
      }));
    }),
  );
}

/** Checks that bars, table and report say the same of requests per second, for one run. */
export async function sameEverywhere(page, report) {
  const expected = report.rows.flatMap((row) =>
    row.series.map(({ label, measured }) => ({
      row: row.name,
      series: label,
      value: measured.requests_per_second,
    })),
  );
  const drawn = await bars(page);
  const listed = await table(page);
  const figures = (all) => all.map(({ row, series, value }) => ({ row, series, value }));
  assert.deepEqual(figures(drawn), expected);
  assert.deepEqual(figures(listed), expected);
  for (const [at, bar] of drawn.entries()) {
    assert.ok(bar.text.startsWith(`${listed[at].requests}/s`), `${bar.text} ${listed[at].requests}`);
    const shown = Number(listed[at].requests.replaceAll(",", ""));
    assert.ok(Math.abs(shown - bar.value) <= Math.max(0.5, bar.value * 0.005), `${shown} ${bar.value}`);
    // Within a row, lengths are to scale.
    const peers = drawn.filter(({ row }) => row === bar.row);
    const most = peers.reduce((most, peer) => (peer.value > most.value ? peer : most));
    if (most.value > 0)
      assert.ok(Math.abs(bar.width / most.width - bar.value / most.value) < 0.01, JSON.stringify(peers));
  }
  return drawn;
}
