"""Says what salver-assets and salver-tower add to a program that has axum: dependencies and compile time.

Fresh crates that depend on tokio and axum alone, and on one library more, are built from nothing,
each into an empty folder; their order turns from round to round. Dependencies are the packages that
Cargo compiles, those for macros and build scripts too (`cargo tree`). Seconds are those of the whole
`cargo build`, and mean something on a quiet machine only; what a library adds to axum alone is taken
within a round.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import libraries
import machine
import process
import tables as markdown

PROFILES = {"debug": (), "release": ("--release",)}
BASE = "axum alone"
# What a crate depends on besides tokio and axum.
ADDED = {
    BASE: (),
    "salver-assets": ("salver-assets",),
    "salver-tower": ("salver-tower",),
    "tower-http with `fs`": ("tower-http",),
    "rust-embed": ("rust-embed",),
}


def required(name):
    """The line of a Cargo.toml that asks for a dependency, as bench/embedders or this workspace does."""
    own = machine.TOP / "crates" / name
    if own.is_dir():
        return f'{name} = {{ path = "{own}" }}'
    programs = (libraries.PROGRAMS / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(rf"^{name} = .*$", programs, re.MULTILINE).group()


def cargo(folder, target, *arguments):
    command = ["cargo", *arguments, "--manifest-path", str(folder / "Cargo.toml")]
    done = subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise process.Failed(f"`{' '.join(command)}`: {done.stderr[-500:]}")
    return done.stdout


def crate(folder, added):
    """A fresh crate, in a workspace of its own, with the versions that are measured."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.rs").write_text("fn main() {}\n", encoding="utf-8")
    (folder / "Cargo.toml").write_text("\n".join([
        "[package]", 'name = "fresh"', 'version = "0.1.0"', 'edition = "2024"', "[workspace]", "[dependencies]",
        *map(required, ("tokio", "axum", *added))]) + "\n", encoding="utf-8")
    shutil.copy2(libraries.PROGRAMS / "Cargo.lock", folder)
    cargo(folder, folder / "target", "fetch")
    return folder


def packages(folder):
    """The packages that are compiled, but for the crate itself."""
    tree = cargo(folder, folder / "target", "tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}")
    return {" ".join(line.split()[:2]) for line in tree.splitlines() if line} - {"fresh v0.1.0"}


def order(crates, number):
    """The crates in the order of round `number`: begun with another each time, and every second time backwards."""
    begin, step = number * (3 if len(crates) % 3 else 1), -1 if number % 2 else 1
    return [crates[(begin + step * place) % len(crates)] for place in range(len(crates))]


def seconds(folder, flags):
    """How long a build from nothing takes."""
    target = folder / "target"
    shutil.rmtree(target, ignore_errors=True)
    begun = time.monotonic()
    cargo(folder, target, "build", "--offline", *flags)
    return time.monotonic() - begun


def build(folder, rounds):
    """-> each crate's packages, and its seconds by profile and round"""
    crates = {name: crate(folder / str(number), added) for number, (name, added) in enumerate(ADDED.items())}
    took = {name: {profile: [] for profile in PROFILES} for name in ADDED}
    for number in range(rounds):
        for profile, flags in PROFILES.items():
            for name in order(list(ADDED), number):
                took[name][profile].append(seconds(crates[name], flags))
                print(f"round {number + 1} of {rounds}: {profile}: {name}: {took[name][profile][-1]:.1f} s", file=sys.stderr)
    return {name: sorted(packages(crates[name])) for name in ADDED}, took


def table(found, took):
    head = ["a crate with", "packages", "of them added", *(cell for profile in took[BASE] for cell in (f"{profile} build, s", f"added, s ({profile})"))]
    rows = []
    for name, there in found.items():
        cells = []
        for profile, times in took[name].items():
            added = [own - base for own, base in zip(times, took[BASE][profile])]
            cells += [markdown.spread(times), "-" if name == BASE else markdown.spread(added)]
        rows.append([name, len(there), "-" if name == BASE else len(set(there) - set(found[BASE])), *cells])
    return markdown.table(head, rows)


def summary(kept):
    """What each adds to axum alone."""
    took = kept["seconds"]
    head = ["a crate with", "packages added", *(f"seconds added ({profile})" for profile in took[BASE])]
    rows = []
    for name in kept["packages"]:
        added = [[own - base for own, base in zip(times, took[BASE][profile])] for profile, times in took[name].items()]
        if name != BASE:
            rows.append([name, len(set(kept["packages"][name]) - set(kept["packages"][BASE])), *map(markdown.spread, added)])
    return markdown.table(head, rows)


def measure(options, _made):
    """-> what is kept: packages, and seconds by profile and round"""
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        found, took = build(pathlib.Path(folder), options.rounds)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"compiler": compiler, "cores": os.cpu_count(), "rounds": options.rounds, "packages": found, "seconds": took}


def tables(kept):
    return (f"{kept['compiler']}; {kept['cores']} cores; {kept['rounds']} rounds: medians, smallest and largest in brackets.\n\n"
            + table(kept["packages"], kept["seconds"]))
