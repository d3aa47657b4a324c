// A browser loads the example site over HTTP/2 and over HTTP/3, and says which it was.

import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { REPOSITORY, certificate, open, serve } from "./harness.mjs";

const EXAMPLE = join(REPOSITORY, "example");

/** Loads the site and follows a link; gives what each resource came over. */
async function load(origin, flags) {
  const { page, check } = await open(`${origin}/`, { flags });
  const seen = async () =>
    page.evaluate(() =>
      ["navigation", "resource"]
        .flatMap((type) => performance.getEntriesByType(type))
        .map(({ name, nextHopProtocol }) => [new URL(name).pathname, nextHopProtocol]),
    );
  const first = await seen();
  await page.getByRole("link", { name: "Docs" }).first().click();
  await page.waitForURL(/docs/);
  await page.waitForLoadState();
  const all = [...first, ...(await seen())];
  await check();
  return all;
}

for (const protocol of ["h2", "h3"]) {
  test(`the example site comes over ${protocol}, every resource of it`, async (context) => {
    const { flags, trusted } = certificate();
    const server = await serve(EXAMPLE, ...flags);
    const origin = `https://localhost:${new URL(server.url).port}`;
    // Without a certificate that the world trusts, Chromium follows Alt-Svc to no other protocol.
    const quic = protocol === "h3" ? [`--origin-to-force-quic-on=${new URL(origin).host}`] : [];
    // It tries no other address for QUIC than the first.
    const seen = await load(origin, [trusted, "--host-resolver-rules=MAP localhost 127.0.0.1", ...quic]);
    for (const [path, over] of seen) {
      context.diagnostic(`${over} ${path}`);
      assert.equal(over, protocol, path);
    }
    const paths = seen.map(([path]) => path);
    for (const part of ["/", "/docs/", "/assets/logo.svg"]) assert.ok(paths.includes(part), `${part} in ${paths}`);
  });
}
