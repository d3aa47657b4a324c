#!/usr/bin/env node
// What releases promise, shown with real builds of an application, a browser and load.
//
//   scripts/releases/run.mjs PROGRAM deploys [--deploys N]       tabs that stay open while N builds (50) are deployed
//   scripts/releases/run.mjs PROGRAM rollbacks [--rollbacks N]   the time until N rollbacks (200) are seen, under load
//   scripts/releases/run.mjs PROGRAM storage                     what 20 releases take beside one
//
// PROGRAM is a build of salver. `npm ci` in this folder and in crates/salver-bench/ui-tests comes before; `deploys` wants
// nginx, rsync and Chromium (CHROMIUM=… another one), too. Builds are kept in target/releases. Exit code: 0; 1 if a
// promise is broken or something failed; 2 for a wrong option.

import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { deploys } from "./deploys.mjs";
import { rollbacks } from "./rollbacks.mjs";
import { storage } from "./storage.mjs";

const COMMANDS = { deploys, rollbacks, storage };

/** Ends with 2, as for a wrong option. */
function misused(text) {
  console.error(`releases: ${text}`);
  process.exit(2);
}

/** The program, the command and its number; numbers are at least two. */
function options() {
  let given;
  try {
    const number = { type: "string" };
    given = parseArgs({ options: { deploys: number, rollbacks: number }, allowPositionals: true });
  } catch (error) {
    misused(error.message);
  }
  const { positionals: [program, command, ...more], values } = given;
  if (!program || !Object.hasOwn(COMMANDS, command ?? "") || more.length) {
    misused(`PROGRAM and one of ${Object.keys(COMMANDS).join(", ")} are wanted`);
  }
  try {
    accessSync(program, constants.X_OK);
  } catch {
    misused(`${program} is no program`);
  }
  const numbers = { deploys: 50, rollbacks: 200 };
  for (const [name, text] of Object.entries(values)) {
    if (name !== command) misused(`--${name} goes with ${name}`);
    numbers[name] = Number(text);
    if (!Number.isInteger(numbers[name]) || numbers[name] < 2) misused(`--${name} is a number of at least 2`);
  }
  return { program: resolve(program), command, ...numbers };
}

const { command, ...rest } = options();
try {
  process.exit((await COMMANDS[command](rest)) ? 0 : 1);
} catch (error) {
  console.error(`releases: ${error.stack ?? error}`);
  process.exit(1);
}
