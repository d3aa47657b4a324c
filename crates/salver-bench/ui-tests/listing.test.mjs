// The listing of a directory in a browser: at each width, light and dark, by keyboard, without script, with names that
// would like to be more than that.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { directory, open, serve } from "./harness.mjs";

const HOSTILE = [
  "<img src=x onerror=document.title='owned'>",
  "\"' onmouseover=document.title='owned'",
  "a\r\nb",
  "javascript:document.title='owned'",
  "photo\u202egpj.exe",
  "w".repeat(255),
  "&lt;b&gt;",
  "?sort=size#top",
  "قائمة.txt",
];

/** A directory with files of ordinary names in `sub dir`, and of others in `hostile`. */
function site() {
  const root = directory();
  for (const name of ["sub dir", "hostile", "many"]) mkdirSync(join(root, name));
  mkdirSync(join(root, "sub dir", "inner"));
  for (const [number, name] of ["notes.txt", "report 2026.pdf", "archive.tar.gz", "a&b.html"].entries()) {
    writeFileSync(join(root, "sub dir", name), "x".repeat(700 ** (number + 1) % 3_000_000));
  }
  for (const name of HOSTILE) writeFileSync(join(root, "hostile", name), name);
  writeFileSync(Buffer.from(`${root}/hostile/caf\xe9\xff`, "latin1"), "bytes");
  for (let number = 0; number < 2345; number++) writeFileSync(join(root, "many", `file${number}`), "");
  return root;
}

/** What the test keeps a picture of, if somebody wants to look: SCREENSHOTS names a folder. */
async function picture(page, name) {
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
  }
}

const names = (page) => page.locator("tbody td.name a").allTextContents();

const root = site();
const server = await serve(root, "--listing");

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 800, 1600]) {
    test(`${colorScheme}, ${width} px: nothing is cut off, and all can be read`, async () => {
      for (const path of ["sub%20dir/", "hostile/", "many/?page=2"]) {
        const { page, check } = await open(`${server.url}${path}`, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        await picture(page, `${path.split(/[%/]/)[0]}-${colorScheme}-${width}`);
        const { scroll, background, ratio } = await page.evaluate(() => {
          const parts = (color) => color.match(/[\d.]+/g).map(Number);
          const light = (color) => {
            const linear = parts(color)
              .slice(0, 3)
              .map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
          };
          const back = getComputedStyle(document.body).backgroundColor;
          const contrast = (element) => {
            const [one, other] = [light(getComputedStyle(element).color), light(back)].sort((a, b) => b - a);
            return (one + 0.05) / (other + 0.05);
          };
          const shown = [...document.querySelectorAll("a, time, data, p, th, bdi")];
          return {
            scroll: document.documentElement.scrollWidth,
            background: light(back),
            ratio: Math.min(...shown.map(contrast)),
          };
        });
        assert.ok(scroll <= width, `${path} is ${scroll} px wide`);
        assert.equal(background > 0.5, colorScheme === "light");
        assert.ok(ratio >= 4.5, `contrast ${ratio}`);
        await check();
      }
    });
  }
}

test("columns sort, crumbs lead up, and entries are what they are called", async () => {
  const { page, check } = await open(`${server.url}sub%20dir/`);
  assert.equal(await page.title(), "Index of /sub dir/");
  const start = ["../", "inner/", "a&b.html", "archive.tar.gz", "notes.txt", "report 2026.pdf"];
  assert.deepEqual(await names(page), start);
  await page.getByRole("link", { name: "Name" }).click();
  assert.deepEqual(await names(page), [...start.slice(0, 2), ...start.slice(2).reverse()]);
  await page.getByRole("link", { name: "Size" }).click();
  const heading = page.getByRole("columnheader", { name: "Size" });
  assert.equal(await heading.getAttribute("aria-sort"), "ascending");
  const sizes = await page.locator("data").evaluateAll((all) => all.map((one) => Number(one.value)));
  assert.deepEqual(sizes, [...sizes].sort((a, b) => a - b));
  await page.getByRole("link", { name: "inner/" }).click();
  assert.equal(new URL(page.url()).pathname, "/sub%20dir/inner/");
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "sub dir" }).click();
  assert.equal(new URL(page.url()).pathname, "/sub%20dir/");
  await page.getByRole("link", { name: "../" }).click();
  assert.equal(new URL(page.url()).pathname, "/");
  await check();
});

test("the filter and the pages work without script, and by keyboard alone", async () => {
  const { page, check } = await open(`${server.url}many/?sort=name&order=desc`, { javaScriptEnabled: false });
  assert.equal((await names(page))[1], "file2344");
  // The crumbs come first, then the box.
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Tab");
  await page.keyboard.type("FILE23");
  await Promise.all([page.waitForURL(/filter=FILE23/), page.keyboard.press("Enter")]);
  assert.equal(new URL(page.url()).search, "?filter=FILE23&order=desc");
  assert.deepEqual((await names(page)).slice(1, 3), ["file2344", "file2343"]);
  assert.match(await page.getByRole("status").textContent(), /^56 of 2345 entries$/);
  assert.equal(await page.getByRole("searchbox").inputValue(), "FILE23");
  await page.getByRole("link", { name: "Show all" }).click();
  await page.getByRole("link", { name: "Next" }).click();
  assert.match(await page.getByRole("status").textContent(), /^2345 entries, page 2 of 3$/);
  assert.equal((await names(page))[1], "file1000");
  await page.getByRole("link", { name: "Previous" }).press("Enter");
  await page.waitForURL((url) => !url.search.includes("page"));
  await check();
});

test("hostile names are text, and their links lead to them", async () => {
  const { page, check } = await open(`${server.url}hostile/`);
  const shown = await names(page);
  assert.ok(shown.includes("<img src=x onerror=document.title='owned'>"), shown.join("\n"));
  assert.ok(shown.includes("a\\u{d}\\u{a}b") && shown.includes("photo\\u{202e}gpj.exe"), shown.join("\n"));
  assert.ok(shown.includes("caf\ufffd\ufffd"), shown.join("\n"));
  assert.equal(await page.locator("img, script").count(), 0);
  const links = await page.locator("tbody td.name a").evaluateAll((all) => all.map((one) => one.href));
  assert.equal(links.length, HOSTILE.length + 2);
  for (const link of links.slice(1)) {
    assert.ok(link.startsWith(`${server.url}hostile/`), link);
    const answer = await page.context().request.get(link);
    assert.equal(answer.status(), 200, link);
    const content = await answer.text();
    assert.ok(HOSTILE.includes(content) || content === "bytes", link);
  }
  for (const row of await page.locator("tbody tr").all()) await row.hover();
  assert.equal(await page.title(), "Index of /hostile/");
  await check();
});
