#!/usr/bin/env python3
"""Compares what a route of JSON costs by the server that axum runs on: Salver's, axum's own `serve`, and hyper without axum.

The programs are those of bench/embedders/route-*, with one thread on core 0 each; `wrk` asks from core 1, one server after
the other in each round, and the order turns. What counts is the CPU time of the server's process for an answer. Answers are
looked at before: status and content have to be the same. Figures are medians of the rounds, ratios are to axum's own within
a round.

exit code: 0; 1 if something failed or an answer was wrong; 2 for a wrong option.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

import process

PROGRAMS = pathlib.Path(__file__).resolve().parent / "embedders"
BASE = "axum"
SERVERS = {"salver": "axum on salver-server", "axum": "axum on axum::serve", "hyper": "hyper alone"}


def built(folder):
    """Builds the programs, each by itself; -> the folder that they are in"""
    target = folder / "build" / "embedders"
    for name in SERVERS:
        subprocess.run(["cargo", "build", "--release", "--locked", "--manifest-path", PROGRAMS / "Cargo.toml", "--package", f"route-{name}"],
                       check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release"


def used(identifier):
    """The CPU time of a process in seconds, from /proc."""
    fields = pathlib.Path(f"/proc/{identifier}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check(name, port):
    """Looks at an answer; -> the number of its bytes that are fields."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
        found = json.loads(answer.read())
        if answer.status != 200 or answer.headers["content-type"] != "application/json" or found["message"] != "Hello, World!":
            raise process.Failed(f"{name}: {answer.status} {answer.headers} {found}")
        if not answer.headers["date"] or not answer.headers["content-length"]:
            raise process.Failed(f"{name}: a field is missing: {answer.headers}")


def load(port, options):
    """-> the answers that wrk got"""
    words = ["taskset", "-c", process.CLIENT_CORE, "wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", f"http://127.0.0.1:{port}/json"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    count = re.search(r"(\d+) requests in", done.stdout)
    if done.returncode or not count or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise process.Failed(done.stdout + done.stderr)
    return int(count.group(1))


def measure(program, name, options):
    """-> the microseconds of CPU time for an answer"""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        port = process.free_port()
        with process.Server(name, [program, place, port], place, port) as server:
            check(name, port)
            load(port, argparse.Namespace(connections=options.connections, seconds=1))
            before = used(server.child.pid)
            answers = load(port, options)
            return (used(server.child.pid) - before) / answers * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--programs", type=pathlib.Path, help="a folder with the programs, so that none is built")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is missing: apt-get install wrk")
    folder = options.programs or built(pathlib.Path(__file__).resolve().parent.parent / "target" / "bench")
    rounds = []
    names = list(SERVERS)
    for number in range(options.rounds):
        turned = names[number % len(names):] + names[:number % len(names)]
        found = {name: measure(folder / f"route-{name}", name, options) for name in turned}
        rounds.append(found)
        print(f"round {number + 1}: " + ", ".join(f"{name} {found[name]:.2f}" for name in names), flush=True)
    print(f"\nCPU time for an answer, median of {options.rounds} rounds of {options.seconds} s, {options.connections} connections:")
    for name, what in SERVERS.items():
        ratios = sorted(found[name] / found[BASE] for found in rounds)
        median = statistics.median(found[name] for found in rounds)
        print(f"  {what:24} {median:6.2f} us   {statistics.median(ratios):.3f} of axum::serve ({ratios[0]:.3f} to {ratios[-1]:.3f})")


if __name__ == "__main__":
    try:
        main()
    except process.Failed as failure:
        sys.exit(str(failure))
