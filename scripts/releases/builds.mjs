// Builds of the application: its sources with another number in each file, bundled by Vite.

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";

const { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } = fs;

const HERE = import.meta.dirname;
const SOURCES = join(HERE, "application");
const OUTPUT = join(HERE, "../../target/releases");
const FIRST_BUILT = Date.UTC(2026, 0, 1) / 1000;
const BETWEEN_SECONDS = 3600;

/** The files below a directory, as paths. */
export function files(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
}

/** The text by which a build is known, in each of its files. */
export const mark = (number) => `build-${number}`;

/** A hash over all that a build is made of, so that builds of other sources are not taken for these. */
function fingerprint() {
  const hash = createHash("sha256");
  for (const path of [...files(SOURCES), join(HERE, "builds.mjs"), join(HERE, "package-lock.json")]) {
    hash.update(path).update(readFileSync(path));
  }
  return hash.digest("hex").slice(0, 12);
}

/** Directories of the builds 1 to `count`; those that are there are taken. With `whole`, the code is in one piece with
 * the libraries that it uses, all of which thus changes with each build. */
export async function builds(count, { whole = false } = {}) {
  const place = join(OUTPUT, `builds-${fingerprint()}${whole ? "-whole" : ""}`);
  mkdirSync(place, { recursive: true });
  const directories = Array.from({ length: count }, (_, at) => join(place, `${at + 1}`));
  const source = join(place, "source");
  for (const [at, directory] of directories.entries()) {
    if (existsSync(directory)) continue;
    rmSync(source, { recursive: true, force: true });
    cpSync(SOURCES, source, { recursive: true });
    symlinkSync(join(HERE, "node_modules"), join(source, "node_modules"));
    for (const path of files(source)) {
      writeFileSync(path, readFileSync(path, "utf8").replaceAll(mark(0), mark(at + 1)));
    }
    const { build } = await import("vite");
    const outDir = join(place, "unfinished");
    const configFile = whole ? false : undefined;
    await build({ root: source, configFile, logLevel: "warn", build: { outDir, emptyOutDir: true } });
    // Nobody deploys twice in a second: what tells versions by their times, as nginx and rsync do, can tell these.
    const built = FIRST_BUILT + at * BETWEEN_SECONDS;
    for (const path of files(outDir)) utimesSync(path, built, built);
    renameSync(outDir, directory);
  }
  rmSync(source, { recursive: true, force: true });
  return directories;
}
