// What twenty releases take beside one, and what a deploy of an unchanged site sends.

import { createCipheriv } from "node:crypto";
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builds, files } from "./builds.mjs";
import { run, scratch } from "./programs.mjs";

// The last ones of those that `deploys` makes.
const COUNT = 50;
const RELEASES = 20;
const BOUND = 1.5;
const WIDTH = 44;
// The pictures and fonts of ten ordinary pages, a megabyte of pictures each. They are as they come: compressed already.
const PICTURES = { count: 60, kilobytes: [20, 320] };
const FONTS = { count: 4, kilobytes: [25, 60] };

/** Bytes that nothing can compress, the same for the same name. */
function noise(name, length) {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, name), Buffer.alloc(16));
  return cipher.update(Buffer.alloc(length));
}

/** A file of a series, whose sizes are spread evenly. */
function put(directory, name, { count, kilobytes: [least, most] }, at) {
  const length = Math.round((least + ((most - least) * (at % count)) / (count - 1)) * 1000);
  writeFileSync(join(directory, name), noise(name, length));
}

function media(directory) {
  mkdirSync(directory);
  for (let at = 0; at < PICTURES.count; at += 1) put(directory, `picture-${at}.webp`, PICTURES, at);
  for (let at = 0; at < FONTS.count; at += 1) put(directory, `font-${at}.woff2`, FONTS, at);
}

/** The bytes of all files below a directory, and what they take of the disk. */
function size(directory) {
  const all = files(directory).map((path) => statSync(path));
  return { bytes: all.reduce((sum, one) => sum + one.size, 0), disk: all.reduce((sum, one) => sum + one.blocks * 512, 0) };
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`.padStart(9);

/** Deploys twenty builds; true if they take at most half as much again as one, and the last sends nothing when repeated. */
async function series(program, name, directories, { withMedia = true, compress = false, picture = false }) {
  const work = scratch();
  const [site, store] = [join(work, "site"), join(work, "store")];
  mkdirSync(site);
  if (withMedia) media(join(site, "media"));
  let one;
  let sent = 0;
  const deploy = async () => JSON.parse(await run(program, "deploy", site, "--to", store, "--json"));
  for (const [at, directory] of directories.entries()) {
    for (const part of ["assets", "index.html"]) rmSync(join(site, part), { recursive: true, force: true });
    cpSync(directory, site, { recursive: true });
    if (picture && at > 0) put(join(site, "media"), `new-${at}.webp`, PICTURES, PICTURES.count / 2);
    if (compress) await run(program, "compress", site, "--quiet");
    const done = await deploy();
    if (done.unchanged) throw new Error(`${directory} is no change`);
    if (at > 0) sent += done.sent.bytes;
    one ??= { site: size(site), store: size(store) };
  }
  const again = await deploy();
  const all = size(store);
  const [ofBytes, ofDisk] = [all.bytes / one.store.bytes, all.disk / one.store.disk];
  const amounts = [one.site.bytes, sent / (directories.length - 1), one.store.bytes, all.bytes].map(megabytes);
  const cells = [name.padEnd(WIDTH), ...amounts, ofBytes.toFixed(2), ofDisk.toFixed(2), again.sent.blobs];
  console.log(`| ${cells.join(" | ")} |`);
  rmSync(work, { recursive: true });
  return { ratio: Math.max(ofBytes, ofDisk), sent: again.sent.blobs };
}

/** True if a typical site keeps both promises. The other rows say what changes the figure. */
export async function storage({ program }) {
  const split = (await builds(COUNT)).slice(-RELEASES);
  const whole = await builds(RELEASES, { whole: true });
  const many = ({ count, kilobytes }, name) => `${count} ${name} of ${kilobytes.join(" to ")} kB`;
  console.log(`${RELEASES} releases of a Vite application with ${many(PICTURES, "pictures")} and ${many(FONTS, "fonts")}`);
  const head = ["a release", "sent each", "store of 1", `store of ${RELEASES}`, "by bytes", "by disk", "sent if unchanged"];
  console.log(`| ${["site".padEnd(WIDTH), ...head].join(" | ")} |`);
  console.log(`| --- |${" --: |".repeat(head.length)}`);
  const rows = [
    ["typical: all own code changes each time", split, {}],
    ["typical, with siblings of `salver compress`", split, { compress: true }],
    ["typical, and libraries change each time", whole, {}],
    ["typical, and a picture is added each time", split, { picture: true }],
    ["without pictures and fonts", split, { withMedia: false }],
  ];
  const results = [];
  for (const [name, directories, more] of rows) results.push(await series(program, name, directories, more));
  const bad = results[0].ratio > BOUND || results.some(({ sent }) => sent > 0);
  if (bad) console.log(`FAILED: more than ${BOUND} of one release, or something sent of an unchanged site`);
  return !bad;
}
