import { isDeepStrictEqual } from 'node:util';

// The differences that are meant: each is a row of the last table in docs/conventions.md, named there as here.
const of = (names, paths = /./) => ({ run, asked }) => names.some((name) => run.name.endsWith(name)) && paths.test(asked.written);
const any = (...tests) => (difference) => tests.some((test) => test(difference));
const both = ['netlify', 'cloudflare'];
const served = 'over sockets';

export const known = [
  { name: 'whole-segments', compat: ['netlify'], test: any(of(['headers: splat below'], /^\/assetsx$/), of(['headers: many'], /^\/99\/y$/)) },
  { name: 'dots', compat: ['netlify'], test: of(['headers: extension'], /^\/xxjs$/) },
  { name: 'decoded', compat: both, test: of(['headers: plain UTF-8', 'headers: needless escapes', 'redirects: escapes']) },
  { name: 'bad-lines', compat: both, test: ({ run, other }) => /names with spaces|hostile values/.test(run.name) && other.status === 500 },
  { name: 'refused-paths', compat: [...both, 'serve'], test: ({ asked, mine }) => /%00|%2f|\/%$/i.test(asked.path) && [400, 404].includes(mine.status) },
  { name: 'other-statuses', compat: ['netlify'], test: ({ other }) => other.status === 999 },
  { name: 'no-proxy', compat: ['netlify'], test: ({ other }) => /^https:/.test(other.file ?? '') },
  { name: 'no-loop', compat: both, test: ({ asked, other }) => other.location === asked.path },
  { name: 'whole-names', compat: both, test: of(['names that begin alike']) },
  { name: 'other-hosts', compat: [...both, 'serve'], test: any(of(['protocol-relative target', 'host of the request', 'host joined to a splat', 'label of a host']), of(['serve: hostile'], /^\/p$/)) },
  { name: 'names-filled-in', compat: both, test: any(of(['names in what is filled in']), of(['redirects: hostile paths'], /\$&/)) },
  { name: 'line-ends', compat: ['netlify'], test: of(['redirects: hostile paths'], /%0d%0a/) },
  { name: 'one-slash', compat: ['netlify'], test: of(['hostile splat in root', 'redirects: hostile paths'], /\/\/|\\/) },
  {
    name: 'encoded-for-its-place',
    compat: both,
    test: ({ run, mine, other }) => {
      const plain = (text = '') => { try { return decodeURIComponent(text); } catch { return text; } };
      const alike = (one, two) => plain(one).replaceAll('+', ' ') === plain(two).replaceAll('+', ' ');
      const isField = mine.status === other.status && alike(mine.fields?.['x-a'], other.fields?.['x-a']);
      const isHostile = /hostile paths/.test(run.name) && /x\/%5C|x\/%0D|x\/%3F|x\/%23|x\/a%25b/.test(mine.location ?? '');
      return isField && (alike(mine.location, other.location) || isHostile);
    },
  },
  {
    name: 'folders',
    compat: [...both, 'serve'],
    how: served,
    test: ({ asked, mine, other }) => other.status === 404 && (asked.path.endsWith('/')
      ? mine.file === `${asked.path}index.html` && isDeepStrictEqual(mine.fields, other.fields)
      : mine.status === 308 && mine.location === `${asked.path}/${asked.query}`),
  },
  { name: 'serve-one-path', compat: ['serve'], how: served, test: ({ run, mine }) => /clean|: slash/.test(run.name) && mine.status === 308 },
  { name: 'serve-slash', compat: ['serve'], how: served, test: of(['serve: slash', 'serve: no slash'], /^\/b|^\/x\.js\/$/) },
  { name: 'serve-index', compat: ['serve'], test: of(['serve: clean URLs', 'clean and slash'], /index/) },
  { name: 'serve-case-and-slash', compat: ['serve'], test: of(['serve: redirects'], /^\/OLD$|\/1\/$/) },
  { name: 'serve-encoded-once', compat: ['serve'], test: ({ other }) => /%25/.test(other.location ?? '') },
  { name: 'serve-file-first', compat: ['serve'], test: of(['one page behind all'], /^\/b$|^\/app\/$/) },
  { name: 'serve-headers-by-path', compat: ['serve'], test: of(['serve: headers'], /^\/a?$/) },
];
