#!/usr/bin/env python3
"""Builds test programs and runs several of them side by side: most of their time they wait, and their last tests wait alone.

  scripts/side_by_side.py PROGRAMS CARGO-TEST-ARGUMENT...

PROGRAMS is how many run at the same time. What each prints stands together, in the order in which they end.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

# Those that take the longest come first, by the times of the tests of two cores.
LONGEST = ["salver/it", "salver-server/it", "salver-assets/it", "salver-bench/it", "salver-conformance/lib", "salver-assets/allocations"]


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdecimal() or sys.argv[1] == "0":
        print(f"usage: {sys.argv[0]} PROGRAMS CARGO-TEST-ARGUMENT...", file=sys.stderr)
        return 2
    cargo = os.environ.get("CARGO", "cargo")
    programs = build(cargo, sys.argv[2:])
    if programs is None:
        return 1
    sysroot = subprocess.run([os.environ.get("RUSTC", "rustc"), "--print", "sysroot"], capture_output=True, text=True, check=True)
    libraries = pathlib.Path(sysroot.stdout.strip()) / "lib"
    failed = []
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[1])) as pool:
        running = [pool.submit(run, *program, libraries) for program in programs]
        for done in concurrent.futures.as_completed(running):
            name, seconds, ended = done.result()
            print(f"\n--- {name}, {seconds:.1f} s\n{ended.stdout}", flush=True)
            if ended.returncode != 0:
                failed.append(f"{name} (exit code {ended.returncode})")
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def build(cargo, arguments):
    """-> (name, program, folder of its package) of each, or None if there is one that does not compile"""
    command = [cargo, "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        return None
    programs = []
    for line in built.stdout.splitlines():
        said = json.loads(line)
        if said["reason"] != "compiler-artifact" or not said["profile"]["test"] or not said["executable"]:
            continue
        folder = pathlib.Path(said["manifest_path"]).parent
        target = said["target"]
        name = f"{folder.name}/{target['name'] if target['kind'] != ['lib'] else 'lib'}"
        programs.append((name, said["executable"], folder))
    if not programs:
        sys.exit("side_by_side: these arguments name no test")
    return sorted(programs, key=lambda one: LONGEST.index(one[0]) if one[0] in LONGEST else len(LONGEST))


def run(name, program, folder, libraries):
    """Runs a test program where Cargo would."""
    began = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "LD_LIBRARY_PATH": str(libraries)}
    ended = subprocess.run([program], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return name, time.monotonic() - began, ended


if __name__ == "__main__":
    sys.exit(main())
