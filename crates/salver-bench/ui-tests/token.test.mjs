// The token: it leaves the address, is kept by the tab alone, and nothing is shown without it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { open, runOnce, scripted } from "./harness.mjs";

const NEEDED = "This page needs its token: open the address that `salver bench ui` has printed.";

test("the token leaves the address and outlives a reload", async () => {
  const { url } = await scripted();
  const bare = `${new URL(url).origin}/`;
  const { page, check } = await open(url);
  await runOnce(page);
  assert.equal(page.url(), bare);
  assert.equal(await page.evaluate(() => document.location.href), bare);
  assert.deepEqual(await page.context().cookies(), [], "other ports of this host would be sent a cookie");
  await page.reload();
  await page.locator("#bars svg").waitFor();
  assert.equal(page.url(), bare);
  await runOnce(page);
  // There is no way back to where it stood.
  await page.goBack();
  assert.equal(page.url(), "about:blank");
  await check();
});

test("without the token nothing is shown and nothing is started", async () => {
  const { url } = await scripted();
  const { origin } = new URL(url);
  const { page: known, check: checkKnown } = await open(url);
  await runOnce(known);
  for (const address of [`${origin}/`, `${origin}/?token=wrong`]) {
    // Another tab of the same browser, too, has what it is given alone.
    const { page, check } = await open(address);
    await page.locator("#outcome[data-bad]", { hasText: NEEDED }).waitFor();
    assert.equal(page.url(), `${origin}/`);
    await page.locator("#run").click();
    await page.locator("#form-error", { hasText: NEEDED }).waitFor();
    assert.equal(await page.locator("#runs li").count(), 0);
    assert.equal(await page.locator("#bars").count(), 0);
    await check(["403 (Forbidden)"]);
  }
  const tab = await known.context().newPage();
  await tab.goto(`${origin}/`);
  await tab.locator("#outcome[data-bad]", { hasText: NEEDED }).waitFor();
  await checkKnown();
});
