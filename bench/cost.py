"""Says what salver-assets and salver-tower add to a program that has axum, and what each feature adds to
salver-server and to salver-tower: dependencies and compile time.

Fresh crates that depend on tokio and axum alone, as axum is by default, and on one library more, or on one of our
libraries with none of its features, and with some, are built from nothing, each into an empty folder; their order turns
from round to round. Dependencies are the packages that Cargo compiles, those for macros and build scripts
too (`cargo tree`). Seconds are those that cores work for the whole `cargo build`, so that neither their number nor what else
the machine does counts; what a library or a feature adds to the first crate of its table is taken within a round.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import libraries
import machine
import process
import tables as markdown

PROFILES = {"debug": (), "release": ("--release",)}
# What a crate depends on besides tokio and axum.
LIBRARIES = {
    "axum alone": (),
    "salver-assets": ("salver-assets",),
    "salver-tower": ("salver-tower",),
    "tower-http with `fs`": ("tower-http",),
    "rust-embed": ("rust-embed",),
}
# The features of the one library that a crate depends on, which each table begins with.
FEATURES = {
    "salver-tower": {
        "salver-tower": (),
        "`brotli`": ("brotli",),
        "`gzip`": ("gzip",),
        "`brotli`, `gzip`": ("brotli", "gzip"),
        "`zstd`": ("zstd",),
        "`compress`": ("compress",),
        "`listing`": ("listing",),
        "all": ("brotli", "compress", "gzip", "listing", "zstd"),
    },
    "salver-server": {
        "salver-server": (),
        "`basic-auth`": ("basic-auth",),
        "`tls`": ("tls",),
        "`tls`, `self-signed`": ("self-signed",),
        "`tls`, `http3`": ("http3",),
        "all and the codings": ("default",),
    },
    "salver-server, applications": {
        "salver-server": (),
        "`tower`": ("tower",),
        "`axum`": ("axum",),
        "`axum-http2`": ("axum-http2",),
    },
}
# The tables, and in which profiles each is built: what a feature adds is said of one, since there are many.
STUDIES = {"libraries": ("debug", "release"), **{library: ("debug",) for library in FEATURES}}


def required(name):
    """The line of a Cargo.toml that asks for a dependency: of this workspace, of the version that bench/embedders has.
    axum has the features that it has by default there, too, as in a program of somebody's own."""
    own = machine.TOP / "crates" / name
    if own.is_dir():
        return f'{name} = {{ path = "{own}" }}'
    programs = (libraries.PROGRAMS / "Cargo.toml").read_text(encoding="utf-8")
    line = re.search(rf"^{name} = .*$", programs, re.MULTILINE).group()
    if name != "axum":
        return line
    version = re.search(r'"([0-9.]+)"', line).group(1)
    return f'axum = "{version}"'


def library(table):
    """The library that a table of features is of."""
    return table.split(",")[0]


def featured(name, features):
    """The line that asks for a library of ours with these features alone."""
    path = machine.TOP / "crates" / name
    return f'{name} = {{ path = "{path}", default-features = false, features = {json.dumps(features)} }}'


def cargo(folder, target, *arguments):
    command = ["cargo", *arguments, "--manifest-path", str(folder / "Cargo.toml")]
    done = subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise process.Failed(f"`{' '.join(command)}`: {done.stderr[-500:]}")
    return done.stdout


def crate(folder, dependencies, lock):
    """A fresh crate, in a workspace of its own, with the versions that another workspace has locked."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.rs").write_text("fn main() {}\n", encoding="utf-8")
    (folder / "Cargo.toml").write_text("\n".join([
        "[package]", 'name = "fresh"', 'version = "0.1.0"', 'edition = "2024"', "[workspace]", "[dependencies]",
        *dependencies]) + "\n", encoding="utf-8")
    shutil.copy2(lock / "Cargo.lock", folder)
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
    """What cores work for a build from nothing: user and system time of cargo and all that it starts."""
    target = folder / "target"
    shutil.rmtree(target, ignore_errors=True)
    begun = work()
    cargo(folder, target, "build", "--offline", *flags)
    return work() - begun


def work():
    """The time that cores have worked for processes of this one that have ended."""
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of_children.ru_utime + of_children.ru_stime


def crates(study, folder):
    """-> the fresh crates of a table by name, the one that the others are compared with first"""
    if study == "libraries":
        wanted, lock = {name: map(required, ("tokio", "axum", *added)) for name, added in LIBRARIES.items()}, libraries.PROGRAMS
    else:
        wanted, lock = {name: [featured(library(study), features)] for name, features in FEATURES[study].items()}, machine.TOP
    return {name: crate(folder / study / str(number), dependencies, lock) for number, (name, dependencies) in enumerate(wanted.items())}


def build(study, folder, rounds):
    """-> each crate's packages, and its seconds by profile and round"""
    fresh = crates(study, folder)
    took = {name: {profile: [] for profile in STUDIES[study]} for name in fresh}
    for number in range(rounds):
        for profile in STUDIES[study]:
            for name in order(list(fresh), number):
                took[name][profile].append(seconds(fresh[name], PROFILES[profile]))
                print(f"round {number + 1} of {rounds}: {profile}: {study}: {name}: {took[name][profile][-1]:.1f} s", file=sys.stderr)
    return {"packages": {name: sorted(packages(of)) for name, of in fresh.items()}, "seconds": took}


def table(study, found, took):
    """A row for each crate; what it adds is compared with the first one."""
    base = next(iter(found))
    head = ["a crate with" if study == "libraries" else f"features of {study}", "packages", "of them added",
            *(cell for profile in took[base] for cell in (f"{profile} build, s", f"added, s ({profile})"))]
    rows = []
    for name, there in found.items():
        cells = []
        for profile, times in took[name].items():
            added = [own - first for own, first in zip(times, took[base][profile])]
            cells += [markdown.spread(times), "-" if name == base else markdown.spread(added)]
        rows.append([name, len(there), "-" if name == base else len(set(there) - set(found[base])), *cells])
    return markdown.table(head, rows)


def summary(kept):
    """What each adds to the first of its table."""
    parts = []
    for study, one in kept["tables"].items():
        found, took = one["packages"], one["seconds"]
        base, *others = found
        head = [f"beside {base}", "packages added", *(f"seconds added ({profile})" for profile in took[base])]
        rows = []
        for name in others:
            added = [[own - first for own, first in zip(times, took[base][profile])] for profile, times in took[name].items()]
            rows.append([name, len(set(found[name]) - set(found[base])), *map(markdown.spread, added)])
        parts.append(measured(one) + markdown.table(head, rows))
    return "\n\n".join(parts)


def measure(options, _made):
    """-> what is kept: of each table packages, and seconds by profile and round; of all tables, or of some beside what is kept
    of the others"""
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        found = {study: build(study, pathlib.Path(folder), options.rounds) for study in options.table or STUDIES}
    if options.table:
        kept = json.loads((options.results / "cost.json").read_text(encoding="utf-8"))
        when = {"when": f"{machine.now()}, Salver {machine.commit(True)}"}
        return {**kept, "tables": kept["tables"] | {study: one | when for study, one in found.items()}}
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"compiler": compiler, "cores": os.cpu_count(), "rounds": options.rounds, "tables": found}


def tables(kept):
    parts = [f"{kept['compiler']}; {kept['cores']} cores; {kept['rounds']} rounds: medians of the seconds that cores work, smallest and largest in brackets."]
    return "\n\n".join(parts + [measured(one) + table(study, one["packages"], one["seconds"]) for study, one in kept["tables"].items()])


def measured(one):
    """When a table was measured, if not with the others."""
    return f"Measured {one['when']}:\n\n" if "when" in one else ""
