// The programs that are started for the time of a run, and what they are asked by.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import readline from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const PATIENCE_MS = 20_000;
const children = new Set();
const directories = [];
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const path of directories) rmSync(path, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

// A variable that is set here must not change what is shown.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SALVER_")));

/** A directory that goes away with this process. */
export function scratch() {
  const path = mkdtempSync(join(tmpdir(), "salver-releases-"));
  directories.push(path);
  return path;
}

/** Runs a command to its end, which must be a good one; gives its output. */
export async function run(program, ...args) {
  const { stdout } = await promisify(execFile)(program, args, { env: environment, maxBuffer: 1 << 24 });
  return stdout;
}

/** A child that ends with this process, or when it is stopped. */
function start(words, stdio) {
  const child = spawn(words[0], words.slice(1), { stdio, env: environment });
  children.add(child);
  const ended = once(child, "exit");
  ended.then(() => children.delete(child), () => children.delete(child));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { child, stop };
}

const pinned = (core, words) => (core === undefined ? words : ["taskset", "-c", String(core), ...words]);

/** `salver serve --store`: its URL, and how to end it. */
export async function salver(program, store, core) {
  const words = pinned(core, [program, "serve", "--store", store, "--port", "0"]);
  const { child, stop } = start(words, ["ignore", "ignore", "pipe"]);
  const said = [];
  for await (const line of readline.createInterface({ input: child.stderr })) {
    said.push(line);
    const [url] = /https?:\/\/[\w.:]+/.exec(line) ?? [];
    if (url) {
      child.stderr.resume();
      return { url, stop };
    }
  }
  throw new Error(`${program} did not start: ${said.join("\n")}`);
}

/** Load on a core without end: the child of `salver bench load`. */
export function load(program, url, core) {
  const words = [program, "bench", "load", `${url}/`, "-c", "64", "--duration", "1h"];
  return start(pinned(core, words), "ignore");
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** nginx over a directory, as its users have it for such an application: pages are asked for again, assets are kept. */
export async function nginx(root) {
  const place = scratch();
  const port = await freePort();
  for (const name of ["logs", "temp"]) mkdirSync(join(place, name));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path temp/${name};`);
  writeFileSync(
    join(place, "nginx.conf"),
    `daemon off; master_process off; pid nginx.pid; error_log logs/error.log crit;
    events { worker_connections 1024; }
    http {
      include /etc/nginx/mime.types; access_log off; sendfile on; keepalive_requests 1000000; ${temporary.join(" ")}
      server {
        listen 127.0.0.1:${port}; root ${root};
        location / { add_header Cache-Control no-cache; }
        location /assets/ { add_header Cache-Control "max-age=31536000, immutable"; }
      }
    }`,
  );
  const { child, stop } = start(["nginx", "-p", `${place}/`, "-c", "nginx.conf", "-e", "logs/error.log"], "ignore");
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await get(`${url}/`).catch(() => null))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error("nginx did not start");
    await sleep(20);
  }
  return { url, stop };
}

const agent = new http.Agent({ keepAlive: true });

/** One answer: its status and text, with the time of its first byte. */
export async function get(url) {
  const request = http.get(url, { agent, timeout: PATIENCE_MS });
  request.on("timeout", () => request.destroy(new Error(`no answer from ${url}`)));
  const [response] = await once(request, "response");
  const at = performance.now();
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += part;
  return { status: response.statusCode, text, at };
}

/** The time at which the first byte of the first page of this build came, asked for again and again. */
export async function shown(url, build) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await get(`${url}/`);
    if (answer.text.includes(`"${build}"`)) return answer.at;
    if (answer.at > deadline) throw new Error(`${url} does not show ${build}`);
  }
}
