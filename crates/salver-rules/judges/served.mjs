// A running `salver serve`, asked over sockets: what a case comes to once it is served.
import { execFileSync, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { answer, fieldsOf, folder, isDefault } from './hosts.mjs';

/** Fields that are Salver's own, or that it sets where no rule does. */
const isOwn = (name, value) =>
  isDefault(name, value)
  || name === 'x-content-type-options'
  || (name === 'cache-control' && /^(no-cache|public, max-age=31536000, immutable)$/.test(value));

/** The arguments of `salver` for a case whose files are in `root`. */
function argumentsFor(program, run, root) {
  if (run.compat !== 'serve') return ['serve', root, '--compat', run.compat];
  const [file, output] = [path.join(root, '..', 'serve.json'), path.join(root, '..', 'salver.toml')];
  writeFileSync(file, JSON.stringify({ ...JSON.parse(run.serve), public: path.basename(root) }));
  execFileSync(program, ['import', file, '-o', output], { stdio: 'ignore' });
  return ['serve', '-c', output, '--compat', 'none'];
}

/** Starts a server at a free port; gives the process and the port, once it listens. */
async function start(program, run, root) {
  const child = spawn(program, [...argumentsFor(program, run, root), '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: child.stderr });
  const said = [];
  for await (const line of lines) {
    said.push(line);
    const port = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
    if (port) {
      child.stderr.resume();
      return { child, port: Number(port) };
    }
  }
  throw new Error(`salver did not start: ${said.join('\n')}`);
}

/** The answer to a request whose target is sent as it is written. */
function ask(port, asked) {
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, path: asked.path + asked.query, headers: { host: asked.host }, agent: false };
    const sent = httpRequest(target, async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const lines = [];
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        // Node reads bytes as Latin-1.
        lines.push([response.rawHeaders[at], Buffer.from(response.rawHeaders[at + 1], 'latin1').toString()]);
      }
      const is = (name) => lines.find(([known]) => known.toLowerCase() === name)?.[1];
      resolve(answer(response.statusCode, {
        location: is('location'),
        file: response.statusCode < 300 ? Buffer.concat(chunks).toString() : undefined,
        fields: fieldsOf(lines, isOwn),
      }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The answers of a server to the requests of a case. */
export async function served(program, run) {
  const root = folder(run, 'site');
  try {
    const { child, port } = await start(program, run, root);
    try {
      const answers = [];
      for (const asked of run.requests) answers.push(await ask(port, asked));
      return answers;
    } finally {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
  } finally {
    rmSync(path.dirname(root), { recursive: true });
  }
}

/** What a host's program says, as it would be seen over a socket: a rewrite is the file that it leads to. */
export function visible(other, run) {
  if (other.status >= 500) return { status: other.status };
  const { status, location, file, fields } = other;
  const shown = fieldsOf(Object.entries(fields ?? {}), isOwn);
  if (run.compat !== 'netlify' || file === undefined) return answer(status, { location, file: status < 300 ? file : undefined, fields: shown });
  // A target may be a folder, or have a query; of errors the content is not compared.
  const target = decoded(file.split(/[?#]/)[0]);
  const found = [target, path.posix.join(target, 'index.html')].find((name) => run.files.includes(name));
  if (!found) return answer(404, { fields: shown });
  return answer(status, { file: status < 300 ? found : undefined, fields: shown });
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
