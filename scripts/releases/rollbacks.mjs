// The time until a rollback is seen, under load: from the begin and from the end of the command to the first byte of the
// other release.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { builds, mark } from "./builds.mjs";
import { load, run, salver, scratch, shown } from "./programs.mjs";

const SERVER_CORE = 0;
const CLIENT_CORE = 1;
const BOUND_MS = 1000;
// So that rollbacks come at all moments between two looks of the server.
const PAUSE_MS = 300;

const percentile = (times, part) => times[Math.min(times.length - 1, Math.ceil(times.length * part) - 1)];

function row(name, times) {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1)];
  const text = [p50, p99, most].map((time) => `${time.toFixed(0)} ms`.padStart(8));
  console.log(`  ${name.padEnd(24)}p50${text[0]}  p99${text[1]}  max${text[2]}`);
  return p99;
}

/** True if the other release is seen in less than a second at p99. */
export async function rollbacks({ program, rollbacks: count }) {
  const store = join(scratch(), "store");
  const directories = await builds(2);
  const names = [];
  for (const directory of directories) {
    names.push(JSON.parse(await run(program, "deploy", directory, "--to", store, "--json")).release);
  }
  const server = await salver(program, store, SERVER_CORE);
  await shown(server.url, mark(2));
  const beside = load(program, server.url, CLIENT_CORE);
  const [fromBegin, fromEnd] = [[], []];
  for (let at = 0; at < count; at += 1) {
    await sleep(Math.random() * PAUSE_MS);
    const begin = performance.now();
    const seen = shown(server.url, mark((at % 2) + 1));
    await run(program, "rollback", store, names[at % 2]);
    const end = performance.now();
    const first = await seen;
    fromBegin.push(first - begin);
    fromEnd.push(Math.max(0, first - end));
  }
  if (beside.child.exitCode !== null) throw new Error("the load ended before the rollbacks");
  await beside.stop();
  await server.stop();
  console.log(`${count} rollbacks under load: server on core ${SERVER_CORE}, 64 connections from core ${CLIENT_CORE}`);
  row("from the command's end", fromEnd);
  const p99 = row("from its begin", fromBegin);
  if (p99 >= BOUND_MS) console.log(`FAILED: p99 is not below ${BOUND_MS} ms`);
  return p99 < BOUND_MS;
}
