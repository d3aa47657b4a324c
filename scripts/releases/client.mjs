// A client that loads pages without end, each with all that it names, until it is told to stop: a process of its own.
// The counts are its last message.

import { Counts } from "./counts.mjs";
import { get } from "./programs.mjs";

const AT_ONCE = 4;
// What Vite names in pages, scripts and styles.
const ASSET = /[\w.-]+-[\w-]{8}\.(?:js|css|svg)/g;
const url = process.argv[2];
const counts = new Counts();
let stopping = false;

/** The text of a good answer, or null. */
async function text(path) {
  const whole = new URL(path, url).href;
  counts.requests += 1;
  try {
    const answer = await get(whole);
    if (answer.status === 200) return answer.text;
    counts.refused(whole, answer.status);
  } catch (error) {
    counts.fault("failed", `${error.message} ${whole}`);
  }
  return null;
}

/** A page with all scripts, styles and images that it or one of them names, which must be of its build. */
async function load() {
  counts.pages += 1;
  const page = await text("/");
  if (page === null) return;
  const builds = new Set(page.match(/\bbuild-\d+/g));
  const known = new Set(page.match(ASSET));
  for (const name of known) {
    const content = await text(`/assets/${name}`);
    for (const build of content?.match(/\bbuild-\d+/g) ?? []) builds.add(build);
    for (const other of content?.match(ASSET) ?? []) known.add(other);
  }
  if (builds.size !== 1) counts.fault("mixed", `a page with its assets is of ${[...builds].join(", ") || "no build"}`);
}

async function loadOn() {
  while (!stopping) await load();
}

process.on("message", () => (stopping = true));
process.on("disconnect", () => process.exit());
await Promise.all(Array.from({ length: AT_ONCE }, loadOn));
process.send({ ...counts }, () => process.exit());
