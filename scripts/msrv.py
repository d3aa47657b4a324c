#!/usr/bin/env python3
"""Checks that the oldest Rust that Salver is said to build with can be true: no dependency wants a
newer one, clippy looks for what is newer in std, and all texts name the same. Building with just that
toolchain is the rest of the proof: the last line says whether this one is it."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ["README.md", "Dockerfile", "CONTRIBUTING.md", "docs/library.md", "fuzz/Cargo.toml"]
NAMED = re.compile(r'(?:Rust |rust:|rust-version = ")(\d+\.\d+(?:\.\d+)?)')


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def number(version):
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def main():
    wrong = []
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    stated = workspace["package"]["rust-version"]
    if workspace["lints"]["clippy"].get("incompatible_msrv") != "deny":
        wrong.append("Cargo.toml: clippy's incompatible_msrv is not denied")

    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))
    members = set(metadata["workspace_members"])
    most = max(
        (
            package
            for package in metadata["packages"]
            if package["rust_version"] and package["id"] not in members
        ),
        key=lambda package: number(package["rust_version"]),
    )
    for package in metadata["packages"]:
        name, wanted = f"{package['name']} {package['version']}", package["rust_version"]
        if package["id"] in members:
            manifest = tomllib.loads(Path(package["manifest_path"]).read_text())
            if wanted != stated:
                wrong.append(f"{name}: rust-version is {wanted}, not the workspace's {stated}")
            if manifest.get("lints") != {"workspace": True}:
                wrong.append(f"{name}: it does not take the workspace's lints")
        elif wanted and number(wanted) > number(stated):
            wrong.append(f"{name} wants Rust {wanted}: raise rust-version, or take an older one")

    for text in TEXTS:
        named = NAMED.findall((ROOT / text).read_text())
        if not named:
            wrong.append(f"{text}: it does not say which Rust is needed")
        wrong += [f"{text}: says Rust {other}, not {stated}" for other in named if other != stated]

    for line in wrong:
        print(f"msrv: {line}", file=sys.stderr)
    if wrong:
        return 1
    running = run("rustc", "--version").split()[1]
    print(f"Rust {stated} is stated; of {len(metadata['packages']) - len(members)} dependencies "
          f"{most['name']} wants the newest, {most['rust_version']}")
    if number(running.split("-")[0])[:2] == number(stated)[:2]:
        print(f"the toolchain is {running}: a build here shows that it is enough")
    else:
        print(f"the toolchain is {running}: a build here does not show that {stated} is enough")
    return 0


sys.exit(main())
