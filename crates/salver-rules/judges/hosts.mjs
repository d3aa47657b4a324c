// The hosts' own programs. Each judge has `run(case)`: their answers; and `ours(answer)`: ours in the same shape.
import { createServer } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { HeadersHandler } from '@netlify/headers';
import { parseAllRedirects } from '@netlify/redirect-parser';
import { Log, LogLevel, Miniflare } from 'miniflare';
import redirector from 'netlify-redirector';
import handler from 'serve-handler';

/** A folder with the files of a case, each of which holds its own name; `name` is one within that folder. */
export function folder(run, name = '.') {
  const root = path.join(mkdtempSync(path.join(tmpdir(), 'salver-judge-')), name);
  mkdirSync(root, { recursive: true });
  for (const file of run.files) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), file);
  }
  if (run.headers) writeFileSync(path.join(root, '_headers'), run.headers);
  if (run.redirects) writeFileSync(path.join(root, '_redirects'), run.redirects);
  return root;
}

/** Lines of fields as one value for each name, by name, without those that are not of the rules. */
export function fieldsOf(lines, drop = () => false) {
  const fields = {};
  for (const [name, value] of lines) {
    if (!drop(name.toLowerCase(), value)) {
      const key = name.toLowerCase();
      const text = value.replace(/ +/g, ' '); // Runs of spaces do not survive Cloudflare's own transport.
      fields[key] = key in fields ? `${fields[key]}, ${text}` : text;
    }
  }
  return Object.fromEntries(Object.entries(fields).sort());
}

export const isDefault = (name, value) =>
  ['content-type', 'content-length', 'etag', 'date', 'connection', 'keep-alive', 'transfer-encoding', 'last-modified',
    'accept-ranges', 'content-disposition', 'location', 'cf-cache-status', 'x-own', 'vary', 'content-encoding', 'mf-content-encoding', 'allow'].includes(name)
  || (name === 'cache-control' && value === 'public, max-age=0, must-revalidate');

/** An answer in the shape that is compared. */
export function answer(status, { location, file, fields = {} } = {}) {
  return { status, ...(location !== undefined && { location }), ...(file !== undefined && { file }), fields };
}

function oursAnswered(mine) {
  return answer(mine.status, { location: mine.location, file: mine.file, fields: fieldsOf(mine.fields ?? [], isDefault) });
}

async function httpAnswer(response) {
  const fields = fieldsOf(response.headers.entries(), isDefault);
  const isFile = response.status < 300;
  const file = isFile ? await response.text() : (await response.arrayBuffer(), undefined);
  return answer(response.status, { location: response.headers.get('location') ?? undefined, file, fields });
}

const netlify = {
  async run(run) {
    const root = folder(run);
    try {
      const { redirects } = await parseAllRedirects({ redirectsFiles: [path.join(root, '_redirects')], minimal: false });
      const rules = redirects.map(({ from, query, signed, ...rest }) => ({ ...rest, origin: from, params: query }));
      const matcher = rules.length ? await redirector.parseJSON(JSON.stringify(rules), {}) : { match: () => null };
      const logger = { error() {} };
      const headers = new HeadersHandler({ projectDir: root, logger });
      const answers = [];
      for (const asked of run.requests) answers.push(await netlifyAnswer(run, asked, matcher, headers));
      return answers;
    } finally {
      rmSync(root, { recursive: true });
    }
  },
  ours(mine) {
    const { location, file, to, fields, force } = mine;
    const status = mine.rewritten ?? mine.status;
    const body = to !== undefined ? { file: to } : { file };
    return { ...answer(status, { location, ...body, fields: fieldsOf(fields ?? []) }), ...(force !== undefined && { force }) };
  },
};

async function netlifyAnswer(run, asked, matcher, headers) {
  const response = new Response('', { headers: { 'x-own': 'own' } });
  let fields;
  try {
    await headers.apply(new Request(asked.href), response);
    fields = fieldsOf(response.headers.entries(), (name) => name === 'content-type');
  } catch (error) {
    return { status: 500, error: String(error) };
  }
  let decoded;
  try {
    decoded = decodeURIComponent(asked.path);
  } catch {
    return answer(400);
  }
  const own = run.files.includes(decoded) ? decoded : undefined;
  const rule = matcher.match({
    scheme: asked.scheme, host: new URL(asked.href).hostname, path: decoded, query: asked.query.slice(1),
    headers: {}, cookieValues: {}, getHeader: () => '', getCookie: () => '',
  });
  if (!rule) return own ? answer(200, { file: own, fields }) : answer(404, { fields });
  if (own && !rule.force) return answer(200, { file: own, fields });
  const status = rule.force404 ? 404 : rule.status;
  const force = Boolean(rule.force);
  if (status >= 300 && status < 400) {
    const hasQuery = rule.to.includes('?');
    const [before, fragment] = rule.to.split('#');
    const location = before + (hasQuery ? '' : asked.query) + (fragment === undefined ? '' : `#${fragment}`);
    return { ...answer(status, { location, fields }), force };
  }
  return { ...answer(status, { file: rule.to, fields }), force };
}

let miniflare;
const cloudflare = {
  async run(run) {
    const root = folder(run);
    const log = new Log(LogLevel.NONE);
    const options = {
      log,
      modules: true,
      script: '',
      compatibilityDate: '2025-01-01',
      assets: { directory: root, binding: 'ASSETS', routerConfig: { has_user_worker: false }, assetConfig: { html_handling: 'none', not_found_handling: 'none' } },
    };
    try {
      if (miniflare) await miniflare.setOptions(options);
      else miniflare = new Miniflare(options);
      await miniflare.ready;
      const answers = [];
      for (const asked of run.requests) {
        try {
          answers.push(await httpAnswer(await miniflare.dispatchFetch(asked.href, { redirect: 'manual' })));
        } catch (error) {
          answers.push({ status: 500, error: String(error) });
        }
      }
      return answers;
    } finally {
      rmSync(root, { recursive: true });
    }
  },
  ours: oursAnswered,
  async end() {
    await miniflare?.dispose();
  },
};

const serve = {
  async run(run) {
    const root = folder(run);
    const server = createServer((incoming, outgoing) => handler(incoming, outgoing, { public: root, ...JSON.parse(run.serve) }));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const answers = [];
      for (const asked of run.requests) {
        const url = `http://127.0.0.1:${server.address().port}${asked.path}${asked.query}`;
        answers.push(await httpAnswer(await fetch(url, { redirect: 'manual' })));
      }
      return answers;
    } finally {
      await new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
      rmSync(root, { recursive: true });
    }
  },
  ours: oursAnswered,
};

export const judges = { netlify, cloudflare, serve };
