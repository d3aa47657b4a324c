// Loads the page again when a file of its site changes. Style sheets are replaced without that.
(() => {
  const events = new URL("live-reload", document.currentScript.src);
  events.search = `age=${Math.round(performance.now())}`;
  const source = new EventSource(events);

  const pathOf = (sheet) => {
    const path = new URL(sheet.href).pathname;
    try {
      return decodeURIComponent(path);
    } catch {
      return path;
    }
  };

  const replace = (sheet, version) => {
    const href = new URL(sheet.href);
    href.searchParams.set("live-reload", version);
    const fresh = sheet.cloneNode();
    fresh.href = href.href;
    fresh.addEventListener("load", () => sheet.remove(), { once: true });
    sheet.after(fresh);
  };

  source.addEventListener("change", (event) => {
    const { paths } = JSON.parse(event.data);
    const sheets = [...document.querySelectorAll('link[rel~="stylesheet"][href]')];
    const changed = sheets.filter((sheet) => paths.includes(pathOf(sheet)));
    const known = new Set(changed.map(pathOf));
    if (paths.length > 0 && paths.every((path) => known.has(path))) {
      for (const sheet of changed) replace(sheet, event.lastEventId);
    } else {
      source.close();
      location.reload();
    }
  });
})();
