// The live page of the admin listener as people see it: figures that move, the cache, the token; and what others cannot do.

import test from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { administered, elsewhere, open, site } from "./harness.mjs";

/** Where pictures go, if somebody wants to look at them. */
const PICTURES = process.env.PICTURES;
const picture = (page, name) =>
  PICTURES ? page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true }) : undefined;

/** What the listener says, asked without a browser. */
async function ask(admin, path, options) {
  const answer = await fetch(admin + path, options);
  return { status: answer.status, text: await answer.text() };
}

const HOSTILE = [
  "<script>alert(1)</script>.txt",
  '"><img src=x onerror=alert(2)>.txt',
  "a\r\nb.txt",
  "quotes'\"`&amp;.txt",
  "\u202egpj.exe",
  "\u2066hidden\u200b.txt",
  `${"n".repeat(251)}.txt`,
];

/** Requests on and on, until it is told to end. */
function load(url) {
  let goesOn = true;
  const asked = (async () => {
    while (goesOn) {
      const paths = ["/", "/", "/big.bin", "/nothing"];
      const answers = paths.map((path) => fetch(url + path).then((answer) => answer.arrayBuffer()));
      // A test that has failed has ended the server.
      await Promise.all(answers).catch(() => (goesOn = false));
    }
  })();
  return async () => {
    goesOn = false;
    await asked;
  };
}

const tile = (page, what) => page.locator(".tile", { has: page.locator(".what", { hasText: what }) }).locator(".value");

test("figures follow what is served", async () => {
  const root = site({ "index.html": "page", "big.bin": "x".repeat(100_000) });
  const { url, admin } = await administered(root);
  const end = load(url);
  const { page, check } = await open(`${admin}/`);
  await page.locator("#state.good").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".chart .line").length >= 6);
  await page.waitForFunction(() => /[1-9]/.test(document.querySelector(".tile .value").textContent));
  assert.match(await tile(page, "Requests").textContent(), /^[\d.,]+\/s$/);
  assert.match(await tile(page, "Mean time").textContent(), /(µs|ms)$/);
  assert.match(await tile(page, "Cache hits").textContent(), / %$/);
  assert.match(await tile(page, "Memory").textContent(), /MiB$/);
  assert.match(await page.locator("#details").textContent(), /Connections/);
  const status = JSON.parse((await ask(admin, "/status")).text);
  assert.ok(status.requests.total > 0 && status.requests.client_error > 0);
  await end();
  await check();
});

test("it can be read in light and dark, narrow and wide", async () => {
  const root = site({ "index.html": "page", "big.bin": "x".repeat(100_000), "a/b.css": "b" });
  const { url, admin } = await administered(root, ["--prewarm"]);
  const end = load(url);
  const { page, check } = await open(`${admin}/`);
  await page.locator("#filter button[type=submit]").click();
  await page.locator("#entries tbody tr").first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".chart .line").length >= 6);
  await page.waitForFunction(() => document.querySelector(".chart .line").getAttribute("d").split("L").length > 4);
  for (const [name, width, colorScheme] of [
    ["light", 1280, "light"],
    ["dark", 1280, "dark"],
    ["narrow", 360, "light"],
    ["narrow-dark", 360, "dark"],
    ["wide", 1920, "light"],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${name}: ${overflow} px too wide`);
    const small = await page.locator("button:visible").evaluateAll((all) => all.filter((one) => one.offsetHeight < 24).length);
    assert.equal(small, 0, name);
    const cut = await page.locator(".tile").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
    assert.equal(cut, 0, `${name}: a tile is too narrow for its figure`);
    await picture(page, name);
  }
  await check();
  await end();
});

test("hostile names are text", async () => {
  const files = Object.fromEntries(HOSTILE.map((name) => [name, "x"]));
  const { admin } = await administered(site({ "index.html": "page", ...files }), ["--prewarm"]);
  const { page, check } = await open(`${admin}/`);
  await page.locator("#filter button[type=submit]").click();
  await page.locator("#entries tbody tr").first().waitFor();
  const shown = await page.locator("#entries td.path").allTextContents();
  assert.ok(shown.includes("/<script>alert(1)</script>.txt"), shown.join("\n"));
  assert.ok(shown.includes("/a\\u{d}\\u{a}b.txt"), shown.join("\n"));
  assert.ok(shown.includes("/\\u{202e}gpj.exe"), shown.join("\n"));
  assert.ok(shown.includes("/\\u{2066}hidden\\u{200b}.txt"), shown.join("\n"));
  assert.ok(shown.every((text) => !/[\p{Cc}\p{Cf}]/u.test(text)));
  assert.equal(await page.locator("#entries script, #entries img").count(), 0);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  await picture(page, "hostile");
  // Each can be purged from here.
  const count = shown.length;
  const row = page.locator("#entries tr", { hasText: "gpj.exe" });
  await row.locator("button").click();
  await page.waitForFunction((before) => document.querySelectorAll("#entries tbody tr").length === before - 1, count);
  await check();
});

test("the cache is paused, resumed and purged from the page", async () => {
  const { url, admin } = await administered(site({ "index.html": "page", "a/b.css": "b" }), ["--prewarm"]);
  const { page, check } = await open(`${admin}/`);
  await page.locator("#pause").click();
  await page.getByText("Paused: each request reads the disk.").waitFor();
  assert.equal(JSON.parse((await ask(admin, "/status")).text).cache.paused, true);
  await page.getByRole("button", { name: "Resume the cache" }).click();
  await page.getByRole("button", { name: "Pause the cache" }).waitFor();
  await page.locator("#prefix").fill("/a/");
  await page.locator("#purge-prefix").click();
  assert.equal(await page.locator("#purge-prefix").textContent(), "Really?");
  await page.locator("#purge-prefix").click();
  await page.getByText("1 entry was purged.").waitFor();
  await page.locator("#purge-all").click();
  await page.locator("#purge-all").click();
  await page.getByText(/entr(y was|ies were) purged/).waitFor();
  await page.waitForFunction(() => /^0 entries/.test(document.getElementById("cache-state").textContent));
  assert.equal((await fetch(`${url}/`)).status, 200);
  await check();
});

test("with a token it asks for that", async () => {
  const token = "a-token-of-twenty-four-b";
  const { admin } = await administered(site({ "index.html": "page" }), [], { SALVER_ADMIN_TOKEN: token });
  const { page, check } = await open(`${admin}/`);
  await page.locator("#token").waitFor();
  assert.ok(await page.locator("#figures").isHidden());
  await picture(page, "token");
  await page.locator("#token").fill("not-the-token-of-them");
  await page.locator("#token-form button").click();
  await page.getByText("The token is not known here.").waitFor();
  await page.locator("#token").fill(token);
  await page.locator("#token-form button").click();
  await page.locator("#state.good").waitFor();
  assert.ok(!page.url().includes(token));
  await check(["401"]);
});

test("a slow answer to a wrong token is the only one, and what it says stays", async () => {
  const { admin } = await administered(site({ "index.html": "page" }), [], { SALVER_ADMIN_TOKEN: "a-token-of-twenty-four-b" });
  const { page, check } = await open(`${admin}/`);
  await page.clock.install();
  await page.reload();
  await page.locator("#token").waitFor();
  const held = [];
  const first = new Promise((done) => page.route("**/status", (route) => done(held.push(route))));
  await page.locator("#token").fill("not-the-token-of-them");
  await page.locator("#token-form button").click();
  await first;
  await page.clock.runFor(5000);
  await page.evaluate(() => fetch("/readyz"));
  assert.equal(held.length, 1, "one reading at a time");
  await held[0].continue();
  await page.getByText("The token is not known here.").waitFor();
  await page.clock.runFor(5000);
  assert.ok(await page.getByText("The token is not known here.").isVisible());
  await check(["401"]);
});

test("a page of another origin cannot purge, pause, read or frame", async () => {
  const { admin } = await administered(site({ "index.html": "page" }), ["--prewarm"]);
  const before = (await ask(admin, "/cache")).text;
  assert.match(before, /"path":/);
  const page = await elsewhere(`<!doctype html><title>evil</title>
    <form id="form" method="post" action="${admin}/cache/purge?all" target="frame"></form>
    <iframe name="frame"></iframe><iframe id="framed" src="${admin}/"></iframe>
    <img src="${admin}/cache/purge?all"><script src="${admin}/status"></script>`);
  const opened = await open(page);
  const results = await opened.page.evaluate(async (admin) => {
    const tries = [
      fetch(`${admin}/cache/purge?all`, { method: "POST" }),
      fetch(`${admin}/cache/purge?all`, { method: "POST", mode: "no-cors" }),
      fetch(`${admin}/cache/pause`, { method: "POST", mode: "no-cors", body: "x" }),
      fetch(`${admin}/status`),
      fetch(`${admin}/cache/purge?all`, { method: "POST", headers: { Authorization: "Bearer x" } }),
    ];
    const answered = await Promise.allSettled(tries);
    navigator.sendBeacon(`${admin}/cache/purge?all`, "x");
    document.getElementById("form").submit();
    return answered.map(({ status, value }) => (status === "rejected" ? "refused" : value.type));
  }, admin);
  // Not even an opaque answer is let through.
  assert.deepEqual(results, Array(5).fill("refused"));
  await opened.page.waitForFunction(() => [...document.querySelectorAll("iframe")].every((one) => one.contentDocument === null));
  assert.equal((await ask(admin, "/cache")).text, before);
  assert.equal(JSON.parse((await ask(admin, "/status")).text).cache.paused, false);
  // Nor does a name that leads here by somebody else's will.
  const named = await ask(admin, "/live", { headers: { Origin: page.slice(0, -1) } });
  assert.equal(named.status, 403);
  // A link to the page itself may stand anywhere.
  await opened.page.goto(`${admin}/`);
  await opened.page.locator("#state.good").waitFor();
});

test("it says when the server is gone", async () => {
  const { admin, stop } = await administered(site({ "index.html": "page" }));
  const { page, check } = await open(`${admin}/`);
  await page.locator("#state.good").waitFor();
  await stop();
  await page.locator("#problem").waitFor();
  assert.match(await page.locator("#state").textContent(), /no answer/);
  await check(["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]);
});
