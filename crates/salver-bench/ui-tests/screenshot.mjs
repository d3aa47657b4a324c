// Measures the six sizes with the page of the release build, and makes docs/ui.png of the result.

import { join } from "node:path";
import { test } from "node:test";
import { REPOSITORY, fill, open, real, runOnce } from "./harness.mjs";

test("screenshot", async () => {
  const { url } = await real();
  const { page, check } = await open(url, { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1 });
  await fill(page, { kind: "cache", seconds: "4", connections: "64" });
  await runOnce(page, 600_000);
  // Where runs are saved is this machine's matter.
  await page.locator("footer").evaluate((footer) => footer.remove());
  await page.locator("#run").evaluate((run) => run.blur());
  await page.screenshot({ path: join(REPOSITORY, "docs/ui.png"), fullPage: true });
  await check();
});
