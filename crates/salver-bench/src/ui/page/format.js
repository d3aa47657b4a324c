// Figures as text. One place, so that a bar, a curve and a table cannot differ.

const NONE = "–";

// Whole from a hundred on, three significant digits below.
function figure(value) {
  if (!Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const count = (value) => value.toLocaleString("en-GB");
const perSecond = (value) => `${figure(value)}/s`;
const millis = (value) => `${figure(value)} ms`;
const ratio = (value) =>
  `${value.toLocaleString("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}×`;
const range = (interval) => `${ratio(interval.low).slice(0, -1)} to ${ratio(interval.high).slice(0, -1)}`;

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return at === 0 ? `${count(value)} B` : `${figure(value)} ${units[at]}`;
}

function moment(ms) {
  return new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

// The kinds of Errors, as a person says them.
const ERRORS = {
  connect: ["failed connection", "failed connections"],
  timeout: ["time-out", "time-outs"],
  closed: ["closed connection", "closed connections"],
  short: ["short answer", "short answers"],
  malformed: ["answer that is no HTTP", "answers that are no HTTP"],
  status: ["wrong status", "wrong statuses"],
  content: ["wrong content", "wrong contents"],
};

function errorsInWords(errors) {
  const kinds = Object.entries(errors).filter(([, number]) => number > 0);
  return kinds.map(([kind, number]) => plural(number, ...(ERRORS[kind] ?? [kind, kind]))).join(", ");
}

const errorTotal = (errors) => Object.values(errors).reduce((sum, number) => sum + number, 0);
