// Figures: what follows from two readings of the statistics, and how numbers are written for people.

/** A number with its thousands apart, and no more digits than mean something. */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Bytes, in units of 1024. */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${number(unit === 0 ? Math.round(value) : value)} ${units[unit]}`;
}

/** Bytes a second. */
export function rate(value) {
  return Number.isFinite(value) ? `${bytes(value)}/s` : "–";
}

/** A time in seconds, in the unit that fits. */
export function time(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0 ms";
  if (seconds < 0.001) return `${number(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3)} ms`;
  return `${number(seconds)} s`;
}

/** A share as per cent. */
export function percent(share) {
  return Number.isFinite(share) ? `${number(share * 100)} %` : "–";
}

/** How long a server runs. */
export function age(seconds) {
  const [days, hours, minutes] = [seconds / 86400, (seconds / 3600) % 24, (seconds / 60) % 60].map(Math.floor);
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

/** The bound within which this share of the requests was answered: the upper end of its bucket. */
export function within(share, counts, bounds) {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return Number.NaN;
  let sum = 0;
  for (const [at, count] of counts.entries()) {
    sum += count;
    if (sum >= all * share) return bounds[at] ?? Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}

/** What happened between two readings, which are so many seconds apart. */
export function between(before, now, seconds) {
  const [old, fresh] = [before.requests, now.requests];
  const ended = fresh.total - old.total;
  const asked = now.cache.hits + now.cache.misses - before.cache.hits - before.cache.misses;
  const failed = (status) => status.server_error + status.unanswered;
  const counts = fresh.durations.map((count, at) => count - old.durations[at]);
  return {
    requests: ended / seconds,
    refused: (fresh.client_error - old.client_error) / seconds,
    failed: (failed(fresh) - failed(old)) / seconds,
    mean: ended > 0 ? (fresh.seconds - old.seconds) / ended : Number.NaN,
    slowest: within(0.99, counts, fresh.bounds),
    hits: asked > 0 ? (now.cache.hits - before.cache.hits) / asked : Number.NaN,
    sent: (fresh.sent_bytes - old.sent_bytes) / seconds,
    memory: now.process.resident_bytes ?? Number.NaN,
    cache: now.cache.bytes,
    lag: Math.max(0, ...now.loops.map((one) => one.lag_seconds)),
  };
}
