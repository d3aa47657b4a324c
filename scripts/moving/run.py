#!/usr/bin/env python3
"""A judgement of `docs/from-*.md`: run.py PROGRAM [--page WORD], as root.

Every command and configuration on those pages is run as it stands, theirs and ours, on a machine of its own (house.py),
and both are asked the same (cases.py). Needs nginx, Caddy, npx with scripts/moving/node_modules, Python, openssl, ip and
unshare. Exit code: 0; 1 if an answer is another than the page says; 2 if something is not there.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

import house
from ask import faults
from cases import CASES
from page import ROOT, sections
from servers import DidNotStart, ours, running, theirs

TOOLS = {"nginx": "nginx", "caddy": "caddy", "npx": "npm", "openssl": "openssl", "ip": "iproute2", "unshare": "util-linux"}
# Of a library: its code is compiled by salver-docs.
LEFT_OUT = ["from-servedir.md"]


def uncovered():
    """Pages, sections and cases that have no counterpart."""
    pages = {path.name for path in (ROOT / "docs").glob("from-*.md") if path.name not in LEFT_OUT}
    found = [f"docs/{name} has no cases" for name in pages - set(CASES)]
    for name, cases in CASES.items():
        headings = {section.heading for section in sections(name)}
        found += [f"docs/{name}, {heading}: no case" for heading in headings - set(cases)]
        found += [f"docs/{name}, {heading}: no such section" for heading in set(cases) - headings]
    return found


def logged(path, pattern):
    """What is wrong with a log that both write. It is taken away for the next one."""
    path = Path(path)
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return [] if any(re.fullmatch(pattern, line) for line in text.splitlines()) else [f"no line like {pattern} in {text!r}"]


def judge(section, case, environment):
    """The number of answers that were looked at, and the faults."""
    found = []
    ports = sorted({ask.port for ask in case.asks})
    for side, command in [("theirs", theirs(section.theirs)), ("Salver", ours(section.ours))]:
        try:
            with running(command, case.folder, ports, environment):
                for ask in case.asks:
                    found += [f"{side}: {fault}" for fault in faults(ask, side == "Salver")]
        except DidNotStart as error:
            found.append(f"{side}: {error}")
        if case.log:
            found += [f"{side}: {fault}" for fault in logged(*case.log)]
    # The next section writes its own.
    Path("/srv/salver.toml").unlink(missing_ok=True)
    return 2 * len(case.asks), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, metavar="PROGRAM", help="the salver to judge")
    parser.add_argument("--page", default="", metavar="WORD", help="only pages with this word in the name")
    options = parser.parse_args()
    modules = ROOT / "scripts/moving/node_modules"
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if not (modules / "serve").is_dir():
        missing.append("serve: npm ci in scripts/moving")
    if not options.program.is_file():
        missing.append(str(options.program))
    if missing:
        print(f"moving: not there: {', '.join(missing)}", file=sys.stderr)
        return 2
    house.enter()
    house.build(modules)
    (house.SRV / ".bin").mkdir()
    (house.SRV / ".bin/salver").symlink_to(options.program.resolve())
    environment = dict(os.environ, PATH=f"/srv/.bin:{os.environ['PATH']}", HOME="/srv/.home", npm_config_offline="true",
                       npm_config_update_notifier="false", NO_UPDATE_CHECK="1")
    (house.SRV / ".home").mkdir()
    failed, asked = uncovered(), 0
    for name, cases in CASES.items():
        if options.page not in name:
            continue
        for section in sections(name):
            if section.heading not in cases:
                continue
            count, found = judge(section, cases[section.heading], environment)
            asked += count
            failed += [f"docs/{name}, {section.heading}: {fault}" for fault in found]
            print(f"docs/{name}, {section.heading}: {count} answers{', ' * bool(found)}{len(found) or ''}"
                  f"{' faults' * bool(found)}", flush=True)
    print("\n".join(failed), file=sys.stderr)
    if not asked:
        print(f"moving: no page of docs/from-*.md has {options.page!r} in its name", file=sys.stderr)
        return 2
    print(f"{asked} answers to what the pages say, {len(failed)} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
