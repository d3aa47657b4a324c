// Runs every case of corpus.mjs through the hosts' own programs and through Salver, and compares.
//
// node judge.mjs PROGRAM DOCUMENT SERVER: PROGRAM is the example `judged`, DOCUMENT docs/conventions.md, which has a row for
// every difference that known.mjs names, SERVER the program `salver`, which is asked the same over sockets.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

import { cases } from './corpus.mjs';
import { known } from './known.mjs';
import { judges } from './hosts.mjs';
import { served, visible } from './served.mjs';

const [program, document, server] = process.argv.slice(2);
const verbose = process.env.VERBOSE === '1';

/** A request as both sides get it: what a client makes of the URL. */
function request(written) {
  const url = new URL(written.startsWith('http') ? written : `http://www.example.org${written}`);
  return { written, href: url.href, scheme: url.protocol.slice(0, -1), host: url.host, path: url.pathname, query: url.search };
}

const runs = [];
for (const entry of cases) {
  for (const compat of entry.serve ? ['serve'] : ['netlify', 'cloudflare']) {
    runs.push({ ...entry, compat, requests: entry.requests.map(request) });
  }
}
const ours = JSON.parse(execFileSync(program, { input: JSON.stringify(runs), maxBuffer: 1 << 28 }));

let [requests, same, wrong] = [0, 0, 0];
const seen = new Map();
/** Compares an answer of ours, as a value or as it was served, with theirs. */
function compare(run, at, asked, mine, other, how) {
  requests += 1;
  if (isDeepStrictEqual(mine, other)) {
    same += 1;
    return;
  }
  const row = known.find(({ compat, how: only, test }) => compat.includes(run.compat) && (only ?? how) === how && test({ run, asked, mine, other }));
  if (row) {
    seen.set(row.name, (seen.get(row.name) ?? 0) + 1);
    if (!verbose) return;
  } else {
    wrong += 1;
  }
  console.log(`${row ? row.name : 'DIFFERENCE'}: ${run.compat}, ${how}, ${run.name}, ${asked.written.slice(0, 90)}`);
  console.log(`  theirs ${JSON.stringify(other).slice(0, 300)}\n  ours   ${JSON.stringify(mine).slice(0, 300)}`);
  if (!row) for (const fault of ours[at].faults) console.log(`  ${fault.slice(0, 200)}`);
}

for (const [at, run] of runs.entries()) {
  const judge = judges[run.compat];
  const [theirs, over] = [await judge.run(run), await served(server, run)];
  for (const [index, asked] of run.requests.entries()) {
    compare(run, at, asked, judge.ours(ours[at].answers[index], run, asked), theirs[index], 'as values');
    // The server that is asked has no certificate.
    if (asked.scheme === 'http') compare(run, at, asked, over[index], visible(theirs[index], run), 'over sockets');
  }
}
await Promise.all(Object.values(judges).map((judge) => judge.end?.()));

const text = readFileSync(document, 'utf8');
for (const { name } of known) {
  if (!seen.has(name)) {
    console.log(`the row ${name} is not seen any more`);
    wrong += 1;
  }
  if (!text.includes(`\`${name}\``)) {
    console.log(`the row ${name} is not in ${document}`);
    wrong += 1;
  }
}
for (const [name, count] of [...seen].sort()) console.log(`${String(count).padStart(5)}  ${name}`);
console.log(`${runs.length} files, ${requests} requests: ${same} answered alike, ${requests - same} otherwise, all but ${wrong} by a row of the table`);
process.exit(wrong === 0 ? 0 : 1);
