#!/usr/bin/env python3
"""The site of the documents: build.py, which puts it into target/site by mdbook.

The pages are those of docs/site/SUMMARY.md, and keep the paths that they have in the repository, so that their links
hold. What a page links to and is no page - a unit, a schema, a folder of those - is copied to where the link leads.
Exit code: 0; 1 if a link leads nowhere or mdbook refuses; 2 if mdbook is not there.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import charts

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"
BOOK = ROOT / "target/site-source"
BUILT = ROOT / "target/site"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def place(path):
    """Where a page stands in the book: mdbook makes the index of a folder of index.md."""
    return path.parent / "index.md" if path.name == "README.md" else path


def page_paths():
    """The paths of the pages in the summary, from the top folder."""
    return [Path(target) for target in LINK.findall((SITE / "SUMMARY.md").read_text())]


class Pages:
    def __init__(self):
        self.paths = page_paths()
        self.assets = set()
        self.faults = []

    def link(self, page, target):
        """A link as it stands in the book."""
        if "://" in target or target.startswith("#"):
            return target
        path, mark, section = target.partition("#")
        led_to = Path(os.path.normpath(page.parent / path))
        if led_to in self.paths:
            return os.path.relpath(place(led_to), page.parent) + mark + section
        if (ROOT / led_to / "README.md").is_file():
            return self.link(page, f"{path.rstrip('/')}/README.md")
        if (ROOT / led_to).is_dir():
            self.assets.update(found.relative_to(ROOT) for found in (ROOT / led_to).iterdir() if found.is_file())
            inside = [found for found in self.paths if found.parent == led_to]
            return os.path.relpath(inside[0], page.parent) if inside else f"{path.rstrip('/')}/"
        if not (ROOT / led_to).is_file() or path.endswith(".md"):
            self.faults.append(f"{page}: {target} leads to no page of docs/site/SUMMARY.md and to no file")
            return target
        self.assets.add(led_to)
        return target

    def read(self, page):
        """The text of a page for the book: links outside of blocks of code are turned, charts are put in."""
        text = (ROOT / page).read_text()
        parts = FENCE.split(text)
        for index in range(0, len(parts), 2):
            parts[index] = LINK.sub(lambda found: f"]({self.link(page, found.group(1))})", parts[index])
        text = "".join(parts)
        return charts.put_in(text) if page.name == "BENCHMARKS.md" else text

    def write(self):
        """All pages, and what they link to, into the book."""
        for page in self.paths:
            target = BOOK / "pages" / place(page)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.read(page))
        for asset in sorted(self.assets):
            target = BOOK / "pages" / asset
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / asset, target)


def main():
    mdbook = shutil.which("mdbook")
    if not mdbook:
        print("site: mdbook is not there: cargo install --locked mdbook --no-default-features --features search",
              file=sys.stderr)
        return 2
    shutil.rmtree(BOOK, ignore_errors=True)
    shutil.rmtree(BUILT, ignore_errors=True)
    (BOOK / "pages").mkdir(parents=True)
    pages = Pages()
    pages.write()
    if pages.faults:
        print("\n".join(f"site: {fault}" for fault in pages.faults), file=sys.stderr)
        return 1
    summary = (SITE / "SUMMARY.md").read_text()
    summary = LINK.sub(lambda found: f"]({place(Path(found.group(1)))})", summary)
    (BOOK / "pages/SUMMARY.md").write_text(summary)
    for name in ["book.toml", "site.css"]:
        shutil.copy(SITE / name, BOOK)
    run = subprocess.run([mdbook, "build", BOOK], capture_output=True, text=True, check=False)
    # What mdbook warns of is mended, not read past.
    if run.returncode or "WARN" in run.stderr or "ERROR" in run.stderr:
        print(run.stdout + run.stderr, end="", file=sys.stderr)
        return 1
    for name in ["_headers", "_redirects"]:
        shutil.copy(SITE / name, BUILT)
    files = sum(1 for found in BUILT.rglob("*") if found.is_file())
    print(f"target/site: {len(pages.paths)} pages, {files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
