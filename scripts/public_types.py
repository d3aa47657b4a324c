#!/usr/bin/env python3
"""Compares the crates whose types stand in the public API of Salver's libraries with the table in
docs/library.md that says which may, and why."""

import json
import re
import sys
from pathlib import Path

import rustdoc_json

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/library.md"
CRATES = ["salver-assets", "salver-tower", "salver-server", "salver-embed"]
LANGUAGE = {"std", "core", "alloc"}
ROW = re.compile(r"^\| `([\w-]+)` \| ((?:`[\w-]+`(?:, )?)+) \| \S.* \|$", re.MULTILINE)


def api(crate):
    return json.loads(rustdoc_json.path(crate).read_text())


def named(value):
    """The ids of all types and traits that are named anywhere in a value."""
    if isinstance(value, list):
        for part in value:
            yield from named(part)
    elif isinstance(value, dict):
        if isinstance(value.get("id"), int) and "path" in value:
            yield value["id"]
        for part in value.values():
            yield from named(part)


def own(item):
    """Whether somebody has written this item: not an impl that the compiler or std made for all types."""
    made = item["inner"].get("impl")
    return not made or not (made["is_synthetic"] or made["blanket_impl"])


def foreign(document):
    """The crates whose types a public API names, and for each one item that does."""
    found = {}
    for item in document["index"].values():
        if item["crate_id"] != 0 or not own(item):
            continue
        ids = set(named(item["inner"]))
        if used := item["inner"].get("use"):
            ids.add(used["id"])
        for id in ids:
            path = document["paths"].get(str(id))
            if path and path["crate_id"] != 0:
                crate = document["external_crates"][str(path["crate_id"])]["name"]
                found.setdefault(crate.replace("_", "-"), "::".join(path["path"]))
    return {crate: path for crate, path in found.items() if crate not in LANGUAGE}


def allowed():
    _, _, versions = GUIDE.read_text().partition("\n## Versions\n")
    table = ROW.findall(versions)
    return {(of, user) for of, users in table for user in re.findall(r"[\w-]+", users)}


def main():
    rustdoc_json.write()
    found = {(of, crate): path for crate in CRATES for of, path in foreign(api(crate)).items()}
    may = allowed()
    wrong = [
        f"{crate} names {path} in its public API: hide it, or say in {GUIDE.relative_to(ROOT)} why not"
        for (of, crate), path in sorted(found.items()) if (of, crate) not in may
    ]
    wrong += [
        f"{crate} names nothing of {of}: take it out of {GUIDE.relative_to(ROOT)}"
        for of, crate in sorted(may - set(found))
    ]
    for line in wrong:
        print(f"public-types: {line}", file=sys.stderr)
    if wrong:
        return 1
    for crate in CRATES:
        print(f"{crate}: {', '.join(sorted(of for of, user in found if user == crate))}")
    return 0


sys.exit(main())
