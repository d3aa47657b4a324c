// Clients by Node's own modules http, https and http2: one order in JSON as the argument, one report in
// JSON as the output (as the clients in Go and Python have them).

import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";

const order = { buffer: 32 * 1024, rate: 0, count: 1, at_once: 1, ...JSON.parse(process.argv[2]) };
const { origin, pathname, protocol, hostname, port } = new URL(order.url);
const start = performance.now();
const report = { bytes: 0, answers: {}, cancelled: 0, connections: 0, error: "" };

// The report as the last line of the output, and the end, whatever is still under way.
function finish() {
  const seconds = (performance.now() - start) / 1000;
  process.stdout.write(`${JSON.stringify({ ...report, seconds })}\n`, () => process.exit());
}

// The first failure, which is the cause of those that would follow.
function fail(error) {
  if (report.error) return;
  report.error = `${error.code ?? error.name}: ${error.message}`;
  finish();
}

// Small reads from a stream, one piece of the buffer's size at a time; null at its end.
async function read(stream) {
  for (;;) {
    const piece = stream.read(Math.min(order.buffer, stream.readableLength || order.buffer));
    if (piece !== null) return piece;
    if (stream.readableEnded) return null;
    if (stream.errored) throw stream.errored;
    if (stream.destroyed) throw new Error("the stream ended before its content");
    await new Promise((resolve) => {
      const names = ["readable", "end", "error", "close"];
      const wake = () => { for (const name of names) stream.off(name, wake); resolve(); };
      for (const name of names) stream.on(name, wake);
    });
  }
}

// An answer, read to its end no faster than the rate allows.
async function consume(stream) {
  const hash = createHash("sha256");
  const begin = performance.now();
  let taken = 0;
  for (let piece; (piece = await read(stream)) !== null;) {
    hash.update(piece);
    taken += piece.length;
    report.bytes += piece.length;
    const early = order.rate ? begin + (taken / order.rate) * 1000 - performance.now() : 0;
    if (early > 1) await sleep(early);
  }
  const digest = hash.digest("hex");
  report.answers[digest] = (report.answers[digest] ?? 0) + 1;
}

// HTTP/1.1 over connections that are kept, each with a buffer of the wanted size.
class Http1 {
  constructor() {
    const secure = protocol === "https:";
    const options = { host: hostname, port, highWaterMark: order.buffer, rejectUnauthorized: false };
    this.module = secure ? https : http;
    this.agent = new this.module.Agent({ keepAlive: true, maxSockets: order.at_once });
    this.agent.createConnection = () => {
      report.connections += 1;
      return (secure ? tls : net).connect(options);
    };
  }

  async ask(path) {
    const request = this.module.get({ host: hostname, port, path, agent: this.agent });
    const [response] = await once(request, "response");
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    return response;
  }
}

// HTTP/2 over one connection that is never replaced.
class Http2 {
  constructor() {
    this.session = http2.connect(origin, { rejectUnauthorized: false });
    this.session.on("connect", () => { report.connections += 1; });
    this.session.on("error", fail);
    this.session.on("goaway", (code) => fail(new Error(`the server sent GOAWAY with code ${code}`)));
  }

  async ask(path) {
    const stream = this.session.request({ ":path": path });
    // Those that nobody waits for, too.
    stream.on("error", fail);
    const [headers] = await once(stream, "response");
    if (headers[":status"] !== 200) throw new Error(`status ${headers[":status"]}`);
    return stream;
  }
}

const fetchOne = async (client) => consume(await client.ask(pathname));

// A reader of the large file who goes away after its first bytes.
async function leaveEarly(client) {
  const stream = await client.ask(new URL(order.large).pathname);
  report.bytes += (await read(stream)).length;
  stream.close(http2.constants.NGHTTP2_CANCEL);
  report.cancelled += 1;
}

async function fetchAll(client) {
  let left = order.count;
  const turn = async () => { while (left > 0 && !report.error) { left -= 1; await fetchOne(client); } };
  await Promise.all(Array.from({ length: order.at_once }, turn));
}

// A proxy's connection: small answers for those who stay, and large ones whose readers go away. At most
// so many are under way, which is below what servers allow.
async function carryAndCancel(client) {
  const most = 64;
  const underWay = new Set();
  const begin = (work) => {
    const one = work(client).catch(fail).finally(() => underWay.delete(one));
    underWay.add(one);
  };
  const rate = order.good_per_second + order.cancels_per_second;
  const cancelsOf = (begun) => Math.floor((begun * order.cancels_per_second) / rate);
  const since = performance.now();
  for (let begun = 0; begun < order.seconds * rate && !report.error;) {
    const due = Math.min(((performance.now() - since) / 1000) * rate, order.seconds * rate);
    for (; begun < due && underWay.size < most; begun += 1) {
      // Evenly mixed, also where the machine is too slow for the rate.
      begin(cancelsOf(begun + 1) > cancelsOf(begun) ? leaveEarly : fetchOne);
    }
    await sleep(2);
  }
  await Promise.all(underWay);
}

const client = order.protocol === "h2" ? new Http2() : new Http1();
await (order.mode === "cancel" ? carryAndCancel : fetchAll)(client).then(finish, fail);
