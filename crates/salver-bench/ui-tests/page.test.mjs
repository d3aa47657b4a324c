// The page for everybody: by keyboard, in the dark, on a small screen, to a screen reader.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, fill, open, runOnce, scripted } from "./harness.mjs";

const focused = (page) =>
  page.evaluate(
    () => document.activeElement.id || document.activeElement.className || document.activeElement.tagName,
  );

async function tabTo(page, wanted) {
  const seen = [];
  for (let steps = 0; steps < 60; steps += 1) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), wanted)) return;
    seen.push(await focused(page));
    await page.keyboard.press("Tab");
  }
  assert.fail(`${wanted} is not reached by Tab: ${seen.join(", ")}`);
}

test("everything works by keyboard alone", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "skip");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.id === "result");
  await page.reload();
  await page.keyboard.press("Tab");
  await tabTo(page, "input[name=kind]");
  await page.keyboard.press("ArrowDown");
  await tabTo(page, "#url");
  await page.keyboard.type("http://127.0.0.1:1/stalls");
  await tabTo(page, "#connections");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("3");
  await page.keyboard.press("Enter");
  await page.locator("#stop:enabled").waitFor();
  await tabTo(page, "#stop");
  await page.keyboard.press("Space");
  await page.locator("#outcome", { hasText: "Stopped" }).waitFor();
  // Who has pressed Stop is not left nowhere.
  await page.waitForFunction(() => document.activeElement.id === "run");

  await page.locator("#runs").evaluate(() => document.activeElement.blur());
  await tabTo(page, "input[name=kind]");
  await page.keyboard.press("ArrowUp");
  await tabTo(page, "#run");
  await page.keyboard.press("Enter");
  await page.locator("#bars svg").waitFor();
  await tabTo(page, "#metric");
  await page.keyboard.press("ArrowDown");
  await page.locator("#bars svg[aria-label^=Median]").waitFor();
  await tabTo(page, "#curves summary");
  await page.keyboard.press("Enter");
  await page.locator("#percentiles").waitFor();
  await tabTo(page, "#runs input");
  await page.keyboard.press("Space");
  await page.locator("#result .hint", { hasText: "Nothing to show" }).waitFor();
  await page.keyboard.press("Space");
  await page.locator("#bars svg").waitFor();
  await check();
});

test("the focus is seen wherever it is", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await runOnce(page);
  await page.reload();
  await page.locator("#bars svg").waitFor();
  await page.locator("#runs li").waitFor();
  const seen = new Set();
  for (let steps = 0; steps < 40; steps += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const name = element.id || element.className || element.tagName;
      return {
        name,
        body: element === document.body,
        outline: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
      };
    });
    if (at.body) break;
    assert.ok(at.outline, `${at.name} shows no focus`);
    seen.add(at.name);
  }
  assert.ok(seen.size > 8, [...seen].join());
  await check();
});

test("each control and each table has a name", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await fill(page, { kind: "compare", url: "https://127.0.0.1:1/", url_b: "http://127.0.0.1:2/", protocol: "h2" });
  await runOnce(page);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("input, select, button, a, progress, [role=region], svg, table")]
      .filter((element) => {
        const own = element.getAttribute("aria-label") ?? "";
        if (element.disabled && element.closest("[hidden]")) return false;
        const labels = [...(element.labels ?? [])].map((label) => label.textContent).join("");
        const text = element.matches("button, a") ? element.textContent : "";
        const caption = element.caption?.textContent ?? "";
        return (own + labels + text + caption).trim() === "";
      })
      .map((element) => element.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(nameless, []);
  const unscoped = await page.locator("th:not([scope])").count();
  assert.equal(unscoped, 0);
  const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map(({ id }) => id));
  assert.equal(new Set(ids).size, ids.length, "each id stands once");
  const levels = await page.evaluate(() =>
    [...document.querySelectorAll("h1, h2, h3")].map(({ tagName }) => Number(tagName[1])),
  );
  assert.ok(
    levels.every((level, at) => (at === 0 ? level === 1 : level <= levels[at - 1] + 1)),
    levels.join(),
  );
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  await check();
});

// The least contrast of a text with what is behind it, and where it is (WCAG 2.2, 1.4.3).
function leastContrast() {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let least = { contrast: Infinity };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const visible = texts.currentNode.data.trim() !== "" && element.getClientRects().length > 0;
    if (!visible || element.closest("script, style, :disabled, option, title")) continue;
    const style = getComputedStyle(element);
    const front = parse(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [luminance(front), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least.contrast)
      least = { contrast, text: texts.currentNode.data.trim(), tag: element.tagName };
  }
  return least;
}

for (const colorScheme of ["light", "dark"]) {
  test(`texts are legible when it is ${colorScheme}`, async () => {
    const { url } = await scripted();
    const { page, check } = await open(url, { colorScheme });
    const background = await page.evaluate(() =>
      getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number),
    );
    assert.equal(
      background.every((part) => part < 64),
      colorScheme === "dark",
      background.join(),
    );
    await fill(page, { url: "http://127.0.0.1:1/wrong", seconds: "10" });
    await runOnce(page);
    await fill(page, { kind: "compare", url: "https://127.0.0.1:1/", protocol: "h2", connections: "none" });
    await page.locator("#run").click();
    await page.locator("#connections[aria-invalid=true]").waitFor();
    const least = await page.evaluate(leastContrast);
    assert.ok(least.contrast >= 4.5, JSON.stringify(least));
    await check(["400 (Bad Request)"]);
  });
}

test("a small screen shows everything without scrolling sideways", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url, { viewport: { width: 360, height: 740 } });
  const fits = async (what) => {
    const { wide, cut } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - window.innerWidth,
      cut: [...document.querySelectorAll("svg text, button, input, select, h1, h2, h3")]
        .filter((element) => element.getClientRects().length > 0 && !element.closest(".scroll"))
        .filter((element) => {
          const { left, right } = element.getBoundingClientRect();
          return left < -1 || right > window.innerWidth + 1;
        })
        .map((element) => element.textContent || element.outerHTML),
    }));
    assert.ok(wide <= 0, `${what}: ${wide} px too wide`);
    assert.deepEqual(cut, [], what);
  };
  await fits("at first");
  await runOnce(page);
  await fits("six sizes");
  await fill(page, { url: `http://127.0.0.1:1/${"long/".repeat(30)}wrong`, seconds: "10" });
  await runOnce(page);
  await fits("a long URL and errors");
  await page.locator("#runs input").nth(1).check();
  await page.waitForFunction(() => document.querySelectorAll("#shown li").length === 2);
  await fits("two runs");
  await page.locator("#metric").selectOption("p99");
  await fits("latencies");
  await fill(page, { kind: "compare", url: "https://127.0.0.1:1/", url_b: "http://127.0.0.1:2/", protocol: "h2" });
  await fits("the longest form");
  await runOnce(page);
  await fits("a comparison");
  await check();
});

test("a window that changes its width gets its charts drawn anew", async () => {
  const { url } = await scripted();
  const { page, check } = await open(url);
  await runOnce(page);
  const width = () => page.locator("#bars svg").evaluate((svg) => Number(svg.getAttribute("width")));
  const before = await width();
  await page.setViewportSize({ width: 700, height: 900 });
  await page.waitForFunction(
    (before) => Number(document.querySelector("#bars svg").getAttribute("width")) !== before,
    before,
  );
  const room = await page.locator("#bars").evaluate((figure) => figure.clientWidth);
  assert.equal(await width(), room);
  assert.equal((await bars(page)).length, 12);
  await check();
});

test("who wants less motion gets none", async () => {
  const { url } = await scripted();
  const motion = async (reducedMotion) => {
    const { page, check } = await open(url, { reducedMotion });
    const found = await page.evaluate(() => ({
      scroll: getComputedStyle(document.documentElement).scrollBehavior,
      moving: [...document.querySelectorAll("*")].filter((element) => {
        const { transitionDuration, animationName } = getComputedStyle(element);
        return transitionDuration !== "0s" || animationName !== "none";
      }).length,
    }));
    await check();
    return found;
  };
  assert.deepEqual(await motion("reduce"), { scroll: "auto", moving: 0 });
  assert.equal((await motion("no-preference")).scroll, "smooth");
});
