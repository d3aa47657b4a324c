// The contents of the cache: listed page by page, and purged.

import { bytes, number } from "./figures.js";

const byId = (id) => document.getElementById(id);

/** A path for people: decoded where that is text, with every sign in it visible that could mislead. */
export function readable(path) {
  let text = path;
  try {
    text = decodeURIComponent(path);
  } catch {
    // Not UTF-8: it stays encoded.
  }
  return text.replace(/[\p{C}\p{Zl}\p{Zp}\u00a0\u2000-\u200f]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

function cell(row, text, name) {
  const made = row.insertCell();
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

const KINDS = {
  file: "file",
  directory: "directory, redirected",
  nothing: "nothing there",
  redirect: "redirect",
  request: "by request",
};

/** The list of what is cached. `ask` asks the server. */
export class CacheList {
  constructor(ask) {
    this.ask = ask;
    this.next = null;
    this.prefix = "/";
    byId("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      this.prefix = byId("prefix").value;
      this.list();
    });
    byId("more").addEventListener("click", () => this.list(this.next));
    this.sure(byId("purge-all"), () => this.purge("all"));
    this.sure(byId("purge-prefix"), () => this.purge(`prefix=${encodeURIComponent(encodeURI(byId("prefix").value))}`));
    byId("pause").addEventListener("click", () =>
      this.change(this.paused ? "/cache/resume" : "/cache/pause", () => (this.paused ? "Resumed." : "Paused.")),
    );
  }

  /** Shows if the cache is paused. */
  update(cache) {
    this.paused = cache.paused;
    byId("pause").textContent = cache.paused ? "Resume the cache" : "Pause the cache";
    const held = `${number(cache.entries)} entries, ${bytes(cache.bytes)} of ${bytes(cache.most_bytes)}`;
    byId("cache-state").textContent = cache.paused ? `Paused: each request reads the disk. It keeps ${held}.` : held;
  }

  /** A button that wants to be pressed twice. */
  sure(button, act) {
    const usual = button.textContent;
    let timer = null;
    const calm = () => {
      clearTimeout(timer);
      timer = null;
      button.textContent = usual;
      button.classList.remove("sure");
    };
    button.addEventListener("click", () => {
      if (timer !== null) {
        calm();
        act();
        return;
      }
      button.textContent = "Really?";
      button.classList.add("sure");
      timer = setTimeout(calm, 4000);
    });
  }

  async change(path, said) {
    try {
      const answer = await this.ask(path, "POST");
      byId("cache-message").textContent = said(await answer.json());
    } catch (error) {
      byId("cache-message").textContent = error.message;
    }
  }

  async purge(what) {
    await this.change(`/cache/purge?${what}`, ({ purged }) =>
      purged === 1 ? "1 entry was purged." : `${number(purged)} entries were purged.`,
    );
    if (!byId("entries").hidden) await this.list();
  }

  async list(after = null) {
    const query = [`prefix=${encodeURIComponent(this.prefix)}`, "limit=50", ...(after ? [`after=${after}`] : [])];
    const body = byId("entries").tBodies[0];
    try {
      const answer = await this.ask(`/cache?${query.join("&")}`);
      const { entries, next } = await answer.json();
      if (after === null) {
        body.replaceChildren();
        byId("cache-message").textContent = entries.length > 0 ? "" : "Nothing is cached there.";
      }
      for (const entry of entries) this.add(body, entry);
      this.next = next;
      byId("entries").hidden = body.rows.length === 0;
      byId("more").hidden = next === null;
    } catch (error) {
      byId("cache-message").textContent = error.message;
    }
  }

  add(body, entry) {
    const row = body.insertRow();
    const name = document.createElement("bdi");
    const shown = entry.site + readable(entry.path);
    name.textContent = shown;
    cell(row, "", "path").append(name);
    cell(row, KINDS[entry.kind] ?? entry.kind);
    cell(row, bytes(entry.bytes), "number");
    const form = (file) => `${file.coding} ${bytes(file.bytes)}${file.in_memory ? "" : " (on disk)"}`;
    cell(row, entry.files.map(form).join(", "));
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Purge";
    button.setAttribute("aria-label", `Purge ${shown}`);
    const site = entry.site === "" ? "" : `&site=${encodeURIComponent(entry.site)}`;
    button.addEventListener("click", () => this.purge(`path=${encodeURIComponent(entry.path)}${site}`));
    row.insertCell().append(button);
  }
}
