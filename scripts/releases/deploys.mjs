// Deploys in a row under load, with a tab of each build left open: by a store, and by rsync into the directory of nginx.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { builds, mark } from "./builds.mjs";
import { Counts } from "./counts.mjs";
import { nginx, run, salver, scratch, shown } from "./programs.mjs";
import { browser, Tab } from "./tabs.mjs";

// The deploys after which a tab shows one route more. The rest comes after the last deploy.
const AGES = [1, 2, 4, 8, 16, 32];
const TABS_AT_ONCE = 4;
const PRUNE_EACH = 10;

/** A store: how the server is started, and what a deploy is. */
function byStore(program) {
  const store = join(scratch(), "store");
  return {
    name: "salver deploy, salver serve --store",
    start: () => salver(program, store),
    async deploy(directory, number) {
      await run(program, "deploy", directory, "--to", store, "--quiet");
      // What runs beside it on a server: what no visitor can need goes, what one can need stays.
      if (number % PRUNE_EACH === 0) await run(program, "prune", store);
    },
  };
}

/** A plain directory: the control. */
function byRsync(words) {
  const root = join(scratch(), "root");
  mkdirSync(root);
  return {
    name: `rsync ${words.join(" ")}, nginx`,
    start: () => nginx(root),
    deploy: (directory) => run("rsync", ...words, `${directory}/`, `${root}/`),
  };
}

/** Runs these functions, a few at a time. */
async function few(functions) {
  const left = [...functions];
  const work = async () => {
    while (left.length) await left.shift()();
  };
  await Promise.all(Array.from({ length: TABS_AT_ONCE }, work));
}

/** A client that loads pages beside it; stopping it gives its counts. */
function client(url) {
  const child = fork(join(import.meta.dirname, "client.mjs"), [url]);
  const ended = once(child, "exit");
  return async () => {
    const told = once(child, "message");
    child.send("stop");
    const [counts] = await Promise.race([told, ended.then(() => [null])]);
    await ended;
    if (!counts) throw new Error("the client ended before it was told to");
    return counts;
  };
}

/** All deploys by one way. */
async function trial(way, directories, running) {
  const counts = new Counts();
  await way.deploy(directories[0], 1);
  const server = await way.start();
  const context = await running.newContext();
  const tabs = [await Tab.open(context, server.url, counts)];
  const stopClient = client(server.url);
  let between = 0;
  for (const [at, directory] of directories.entries()) {
    const number = at + 1;
    if (number === 1) continue;
    // Every other tab is opened while the deploy is under way, and shows the one release or the other.
    const open = () => Tab.open(context, server.url, counts);
    const early = number % 2 ? open() : null;
    await Promise.all([way.deploy(directory, number), early]);
    await shown(server.url, mark(number));
    tabs.push(await (early ?? open()));
    if (tabs.at(-1).build !== mark(number)) between += 1;
    const due = tabs.filter((tab, index) => AGES.includes(at - index) && tab.hasMore);
    await few(due.map((tab) => () => tab.showNext()));
    if (number % 10 === 0) console.error(`${way.name}: ${number} of ${directories.length} deploys`);
  }
  await few(tabs.map((tab) => async () => {
    while (tab.hasMore) await tab.showNext();
  }));
  counts.add(await stopClient());
  await context.close();
  await server.stop();
  return { name: way.name, tabs: tabs.length, between, counts };
}

function print(results) {
  const head = ["", "tabs", "routes", "pages", "requests", "missing chunks", "mixed pages", "failed requests", "not shown"];
  const rows = results.map(({ name, tabs, counts }) => {
    const { routes, pages, requests, missing, mixed, failed, notShown } = counts;
    return [name, tabs, routes, pages, requests, missing, mixed, failed, notShown];
  });
  const widths = head.map((text, at) => Math.max(text.length, ...rows.map((row) => String(row[at]).length)));
  for (const row of [head, ...rows]) {
    const cells = row.map((cell, at) => (at ? String(cell).padStart(widths[at]) : cell.padEnd(widths[at])));
    console.log(cells.join("  "));
  }
  console.log("tabs: opened at a deploy and left open; routes: loaded in them after later deploys;");
  console.log("pages, requests: of the client beside them; not shown: routes of tabs");
  for (const { name, between, counts } of results) {
    console.log(`${name}: ${between} tabs were opened during a deploy and show the release before it`);
    for (const text of counts.examples) console.log(`  ${text}`);
  }
}

/** True if no visitor of ours has seen anything, while those of the control have. */
export async function deploys({ program, deploys: count }) {
  const directories = await builds(count);
  const running = await browser();
  const ways = [byStore(program), byRsync(["-a", "--delete"]), byRsync(["-a"])];
  const results = [];
  for (const way of ways) results.push(await trial(way, directories, running));
  await running.close();
  console.log(`${count} deploys of a Vite application in a row`);
  print(results);
  const [ours, control] = results;
  if (!ours.counts.good) console.log("FAILED: visitors of the store have seen what they should not");
  if (control.counts.good) console.log("FAILED: the control shows no fault, so that nothing is proved");
  return ours.counts.good && !control.counts.good;
}
