#!/usr/bin/env python3
"""Builds a program that has a directory in itself, with `embedded!` in each position, in debug and in release: how large it is
without its content, how often each file stands in it, and what the build takes after one file has changed.

  scripts/embedded_sizes.py [MIB]

MIB is the size of the directory, 4 unless it is said. The programs are built in a folder of their own, one after the other; the
seconds are of a machine that does nothing else.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
FILES = 28
# Bytes at the end of a file that stand nowhere else.
MARK = 32

POSITIONS = {
    "static": "static SITE: EmbeddedSource = embedded!(\"site\");\nasync fn serve() -> io::Result<()> { run(SITE.clone()).await }",
    "const": "const SITE: EmbeddedSource = embedded!(\"site\");\nasync fn serve() -> io::Result<()> { run(SITE).await }",
    "fn": "fn site() -> EmbeddedSource { embedded!(\"site\") }\nasync fn serve() -> io::Result<()> { run(site()).await }",
    "async fn": "async fn serve() -> io::Result<()> { run(embedded!(\"site\")).await }",
    "async main": None,
}

PROGRAM = """use std::io;
use std::sync::Arc;

use axum::Router;
use salver_assets::EmbeddedSource;
use salver_tower::{Assets, embedded};

async fn run(site: EmbeddedSource) -> io::Result<()> {
    let assets = Assets::from_source(Arc::new(site)).build().map_err(io::Error::other)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    axum::serve(listener, Router::new().fallback_service(assets)).await
}
"""


def crate(folder, mib):
    """The sources of the program, but for its main file; returns the ends of the site's files."""
    salver = ROOT / "crates"
    (folder / "Cargo.toml").write_text(f"""[package]
name = "program"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
axum = "0.8"
salver-assets = {{ path = "{salver}/salver-assets" }}
salver-tower = {{ path = "{salver}/salver-tower" }}
tokio = {{ version = "1", features = ["macros", "net", "rt"] }}

[build-dependencies]
salver-embed = {{ path = "{salver}/salver-embed" }}

[profile.release.build-override]
opt-level = 3
""")
    (folder / "build.rs").write_text('fn main() -> Result<(), salver_embed::Error> {\n    salver_embed::Tree::new("site").build()?;\n    Ok(())\n}\n')
    (folder / "src").mkdir()
    (folder / "site").mkdir()
    chance = random.Random(1)
    ends = []
    for number in range(FILES):
        # What no coding makes smaller, so that each file stands in the program as it is.
        content = chance.randbytes(mib * 1024 * 1024 // FILES)
        (folder / "site" / f"{number}.bin").write_bytes(content)
        ends.append(content[-MARK:])
    return ends


def build(folder, release):
    """Builds the program; returns the seconds."""
    began = time.monotonic()
    # The versions that the workspace has.
    lock = folder / "Cargo.lock"
    if not lock.exists():
        lock.write_bytes((ROOT / "Cargo.lock").read_bytes())
    built = subprocess.run([CARGO, "build", *["--release"] * release], cwd=folder, capture_output=True, text=True,
                           env={**os.environ, "CARGO_TARGET_DIR": str(folder / "target")})
    if built.returncode != 0:
        sys.exit(f"embedded_sizes: {folder}: {built.stderr}")
    return time.monotonic() - began


def build_script(folder, release):
    """The seconds that the build script takes by itself, as Cargo runs it."""
    profile = "release" if release else "debug"
    outputs = sorted((folder / "target" / profile / "build").glob("program-*/build-script-build"), key=os.path.getmtime)
    out = sorted((folder / "target" / profile / "build").glob("program-*/out"), key=os.path.getmtime)
    if not outputs or not out:
        sys.exit("embedded_sizes: Cargo has put the build script elsewhere")
    environment = {**os.environ, "OUT_DIR": str(out[-1]), "CARGO_MANIFEST_DIR": str(folder), "PROFILE": profile}
    began = time.monotonic()
    subprocess.run([outputs[-1]], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main():
    match sys.argv[1:]:
        case []:
            mib = 4
        case [word] if re.fullmatch("[1-9][0-9]?", word):
            mib = int(word)
        case _:
            print(f"usage: {sys.argv[0]} [MIB]", file=sys.stderr)
            return 2
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ends = crate(folder, mib)
        content = sum(file.stat().st_size for file in (folder / "site").iterdir())
        print(f"{FILES} files, {content / 1e6:.2f} MB")
        print(f"{'profile':8} {'position':11} {'MB without content':>18} {'copies of a file':>16}")
        for release in (False, True):
            profile = "release" if release else "debug"
            for position, source in POSITIONS.items():
                begin, call = (f"{source}\n\n", "serve().await") if source else ("", 'run(embedded!("site")).await')
                (folder / "src" / "main.rs").write_text(
                    f'{PROGRAM}\n{begin}#[tokio::main(flavor = "current_thread")]\nasync fn main() -> io::Result<()> {{\n    {call}\n}}\n')
                build(folder, release)
                program = (folder / "target" / profile / "program").read_bytes()
                copies = sorted({program.count(end) for end in ends})
                inside = content if copies == [1] else 0
                print(f"{profile:8} {position:11} {(len(program) - inside) / 1e6:18.2f} {'-'.join(map(str, copies)):>16}", flush=True)
                failed |= copies != [int(release)]
            changed = folder / "site" / "0.bin"
            changed.write_bytes(changed.read_bytes()[::-1])
            ends[0] = changed.read_bytes()[-MARK:]
            script = build_script(folder, release)
            os.utime(changed)
            print(f"{profile:8} after a change of one file: build.rs {script:.2f} s, the whole build {build(folder, release):.1f} s", flush=True)
    if failed:
        print("embedded_sizes: a file stands in a program more often than once, or in one that reads it from disk", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
