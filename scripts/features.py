#!/usr/bin/env python3
"""Checks that the crates whose features can be left out compile without a warning however these are combined, and
that those in which something stands in for what is left out pass their own tests without any; and that salver-tower
adds no other packages to a program with axum than it did.

A feature brings others with it, so that some combinations are one: each is checked once. Combined are the features that
a crate's own code reads. With those that it only passes on its code is the same in every combination: they are checked
together, for its manifest. The program is checked without the codings. It has the features of salver-server and
salver-config and gives them on, so that these are checked with it; by themselves they are with the fewest features. With
all features everything is checked by `make lint`."""

import itertools
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
CODINGS = {"brotli", "gzip", "zstd"}
PARTS = {"basic-auth", "http3", "self-signed", "tls"}
EXTRAS = {"compress", "listing-template", "live-reload"}
# Which features of a crate are combined, which are checked together, and which are left out throughout.
CRATES = {
    "salver-os": ({"server"}, set(), set()),
    "salver-rules": ({"globs", "import", "toml"}, set(), set()),
    "salver-coding": (CODINGS | {"dictionary", "encode", "zopfli"}, set(), set()),
    "salver-assets": ({"coding", "compress", "listing"}, CODINGS | {"listing-template", "rule-globs", "rule-import", "rule-toml"}, set()),
    "salver-tower": ({"compress", "listing"}, CODINGS, set()),
    "salver-server": (PARTS, set(), CODINGS | {"compress"}),
    "salver-config": (PARTS - {"basic-auth"}, set(), CODINGS | EXTRAS),
    "salver": (PARTS | {"object-store"}, set(), CODINGS | EXTRAS),
}
# What a crate's default leaves out, because it weighs much.
OPTED_IN = {"salver": {"object-store"}}
# Features whose code is a module of its own, beside all others: each is checked alone.
APART = {"salver-server": {"axum", "axum-http2", "tower"}}
# Crates that the program gives these features on to.
WITH_THE_PROGRAM = {"salver-server", "salver-config"}
# Crates whose own tests pass without any feature.
TESTED_WITHOUT = ("salver-os", "salver-rules", "salver-assets")
# The packages that salver-tower adds to a program with axum, without a feature of its own: README and docs/library.md
# say how many.
ADDED = {
    "equivalent", "foldhash", "papaya", "seize", "xxhash-rust",
    *("salver-" + name for name in ("assets", "coalesce", "os", "rules", "semantics", "tower")),
}
# What axum has by default, and not with the features that it has in this workspace.
OF_AXUM = {"once_cell", "tracing", "tracing-core"}
# What axum has with the features that it has in this workspace, and not by default.
OF_AXUM_HERE = {"equivalent"}
# How code reads a feature, and where the tests of a file begin: what they read is no part of the library.
READ = re.compile(r'\bfeature = "([^"]+)"')
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub\(crate\) )?mod tests \{", re.MULTILINE)


def brought(features, chosen):
    """The chosen features and those that they bring."""
    found = set(chosen)
    for feature in chosen:
        found |= brought(features, set(features[feature]) & set(features))
    return frozenset(found)


def combinations(features, combined, together):
    """Every combination that differs from the others, the smallest first."""
    subsets = [subset for size in range(len(combined) + 1) for subset in itertools.combinations(sorted(combined), size)]
    return sorted({brought(features, subset) for subset in [*subsets, together]}, key=lambda found: (len(found), sorted(found)))


def read_by(crate):
    """The features that the code of a crate reads."""
    found = set()
    for file in (ROOT / "crates" / crate / "src").rglob("*.rs"):
        if file.name != "tests.rs" and "tests" not in file.parts:
            found |= set(READ.findall(TESTS.split(file.read_text())[0]))
    return found


def run(*command):
    """Whether a command succeeds and warns of nothing; its seconds are added to the line that says what it is about."""
    begun = time.monotonic()
    done = subprocess.run([CARGO, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    print(f" {time.monotonic() - begun:.1f} s", end="", flush=True)
    sys.stderr.write(done.stderr)
    return done.returncode == 0 and "warning:" not in done.stderr


def packages(crate):
    """The names of the packages that are compiled for a crate with its default features, its own included."""
    command = [CARGO, "tree", "--locked", "-p", crate, "--edges", "normal,build", "--prefix", "none", "--no-dedupe",
               "--format", "{p}"]
    tree = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[0] for line in tree.splitlines() if line}


def main():
    wrong = []
    added = packages("salver-tower") - (packages("axum") - OF_AXUM_HERE) - OF_AXUM
    if added != ADDED:
        more, fewer = sorted(added - ADDED), sorted(ADDED - added)
        wrong.append(f"salver-tower adds {more} to axum and no longer {fewer}: leave them out, or say in this script and in "
                     "the documents how many it adds")
    for crate, (combined, passed_on, left_out) in CRATES.items():
        apart = APART.get(crate, set())
        features = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())["features"]
        # One without default features has each for somebody else.
        opted_in = OPTED_IN.get(crate, set())
        everything = brought(features, set(features.get("default", features)) | opted_in | apart)
        if everything != combined | passed_on | left_out | apart or set(features) - {"default"} != everything:
            wrong.append(f"{crate} has the features {sorted(features)}: say in this script how they are combined")
            continue
        if read := read_by(crate) & passed_on:
            wrong.append(f"the code of {crate} reads {', '.join(sorted(read))}: combine what it reads")
        # What is opted in stands for a module that reads no other feature: it is checked with none, and by `make lint` with all.
        every = combinations(features, combined - opted_in, passed_on | opted_in)
        every = every[: 1 if crate in WITH_THE_PROGRAM else None]
        for chosen in every + [brought(features, {feature}) for feature in sorted(apart)]:
            name = f"{crate} with {', '.join(sorted(chosen)) or 'no feature'}"
            print(f"{name}:", end="", flush=True)
            targets = ("--lib", "--bins") if (ROOT / "crates" / crate / "src/main.rs").exists() else ("--lib",)
            # The compiler's own warnings: what is used no more without a feature. `make lint` asks clippy.
            if not run("check", "--locked", "--quiet", "-p", crate, *targets, "--no-default-features",
                       "--features", ",".join(chosen)):
                wrong.append(name)
            print(flush=True)
    # Together, so that what they depend on is compiled once: none has a feature of another one's.
    tested = [argument for crate in TESTED_WITHOUT for argument in ("-p", crate)]
    print(f"{', '.join(TESTED_WITHOUT)} with no feature, their tests:", end="", flush=True)
    if not run("test", "--locked", "--quiet", *tested, "--lib", "--no-default-features"):
        wrong.append(f"the tests of {', '.join(TESTED_WITHOUT)} with no feature")
    print(flush=True)
    for line in wrong:
        print(f"features: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
