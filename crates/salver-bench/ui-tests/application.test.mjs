// Browsers use an application of axum on Salver's server: events, a chat by WebSocket, uploads, files beside them.

import { test } from "node:test";
import assert from "node:assert/strict";
import { application, open, site } from "./harness.mjs";

const PAGE = `<!doctype html><html><head><title>Chat</title><link rel="icon" href="data:,"></head></html>`;

/** Listens to events and joins the chat; once both are open. */
async function join(page) {
  await page.evaluate(async () => {
    window.told = [];
    const opened = (of) => new Promise((done, failed) => Object.assign(of, { onopen: done, onerror: failed }));
    const events = new EventSource("/api/events");
    events.addEventListener("upload", ({ data }) => window.told.push(JSON.parse(data)));
    window.chat = new WebSocket(`ws://${location.host}/api/chat`);
    window.chat.onmessage = ({ data }) => window.told.push(data);
    await Promise.all([opened(events), opened(window.chat)]);
  });
}

/** What a page has been told, once that is so much. */
async function told(page, count) {
  await page.waitForFunction((count) => window.told.length >= count, count);
  return page.evaluate(() => window.told);
}

test("what one browser says and uploads all are told", async () => {
  const { url, ended, child } = await application(site({ "index.html": PAGE }));
  const all = [await open(url), await open(url)];
  for (const { page } of all) await join(page);
  const expected = [];
  for (const [index, { page }] of all.entries()) {
    const said = `I am ${index}`;
    await page.evaluate((said) => window.chat.send(said), said);
    expected.push(said);
    for (const { page } of all) assert.deepEqual(await told(page, expected.length), expected);
    const bytes = 300_000 + index;
    const answer = await page.evaluate(async (bytes) => {
      const answer = await fetch("/api/uploads/x", { method: "PUT", body: new Uint8Array(bytes) });
      return answer.json();
    }, bytes);
    expected.push({ name: "x", bytes });
    assert.deepEqual(answer, expected.at(-1));
    for (const { page } of all) assert.deepEqual(await told(page, expected.length), expected);
  }
  const hello = await all[0].page.evaluate(async () => (await fetch("/api/hello/you")).json());
  assert.equal(hello.hello, "you");
  for (const { page, check } of all) {
    await check();
    await page.close();
  }
  child.kill("SIGINT");
  await ended;
});
