#!/usr/bin/env python3
"""Where a request's work goes: system calls by strace, instructions by valgrind's callgrind.

System calls are counted while wrk asks over many connections, and divided by the answers.
Instructions are those of the server's own code, by difference of two runs, so that the start is not
in them; files are not looked at anew meanwhile (--revalidate 1h), because callgrind slows a server
so much that once a second would be once in a few requests. Only cached loads are counted by
callgrind: valgrind 3.19 does not know openat2, so that uncached ones would take another way than
they do otherwise.
"""

import argparse
import os
import pathlib
import sys

import callgrind
import files
import install
import load as client
import machine
import page
import peers
import process
import report
import syscalls
import trials
import workload

TOP = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = TOP / "target" / "bench"
CACHED_LOADS = ("arena", "1kib", "100kib", "1mib")
PLAIN_LOADS = ("1kib", "1mib")
TOP_FUNCTIONS = 8
RARE = 0.005  # calls per request that are not worth a column


class UnderCallgrind(peers.Salver):
    """Salver run by valgrind, which leaves its counts in the server's folder."""

    name = "callgrind"

    def command(self, root, port, folder):
        return ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                f"--callgrind-out-file={folder}/callgrind.out",
                *super().command(root, port, folder), "--revalidate", "1h"]


def arguments():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--salver", metavar="PATH", help="the program to look into (default: the release build)")
    parser.add_argument("--seconds", type=int, default=3, metavar="N", help="how long strace counts, in seconds (default 3)")
    parser.add_argument("--connections", type=int, default=64, metavar="N", help="connections while strace counts (default 64)")
    parser.add_argument("--requests", type=int, default=2000, metavar="N",
                        help="requests of the shorter of callgrind's two runs (default 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the files (default 1)")
    parser.add_argument("--write", metavar="PAGE", help="replace the generated part of this Markdown page")
    options = parser.parse_args()
    options.own_build = options.salver is None
    options.salver = pathlib.Path(options.salver) if options.salver else built
    return options


def count_calls(options, made, loads, folder):
    """System calls per request as a table."""
    rows = []
    for peer, names in ((peers.Salver(options.salver), CACHED_LOADS), (peers.SalverPlain(options.salver), PLAIN_LOADS)):
        for load in (load for load in loads if load.name in names):
            with trials.start(peer, made, folder) as server:
                answers, calls = syscalls.per_request(server, load, folder / peer.name, options.seconds, options.connections)
            print(f"strace: {peer.name}: {load.name}: {answers} answers", file=sys.stderr)
            rows.append((f"{load.name}{', --no-cache' if peer.extra else ''}", answers, calls))
    names = sorted({name for _, _, calls in rows for name, number in calls.items() if number >= RARE},
                   key=lambda name: [-calls.get(name, 0) for _, _, calls in rows])
    return report.table(["load", "answers", "all", *(f"`{name}`" for name in names)],
                        [[title, answers, f"{sum(calls.values()):.2f}", *(f"{calls.get(name, 0):.2f}" for name in names)]
                         for title, answers, calls in rows])


def instructions_of_run(options, made, load, number, folder):
    peer = UnderCallgrind(options.salver)
    port = process.free_port()
    place = folder / peer.name
    place.mkdir(parents=True, exist_ok=True)
    command = peer.command(made.root, port, place)
    with process.Server(peer.name, command, place, port, patience_seconds=60):
        requests = [client.request_text(load, target, port).encode() for target in load.targets]
        callgrind.ask(port, requests, number)
    return callgrind.self_costs((place / "callgrind.out").read_text(errors="replace"))


def count_instructions(options, made, loads, folder):
    """Instructions per request, and the functions that take most of them."""
    rows, tops = [], []
    for load in (load for load in loads if load.name in CACHED_LOADS):
        once = instructions_of_run(options, made, load, options.requests, folder)
        twice = instructions_of_run(options, made, load, 2 * options.requests, folder)
        functions = callgrind.difference(once, twice, options.requests)
        total = sum(cost for _, cost in functions)
        print(f"callgrind: {load.name}: {total:.0f} instructions per request", file=sys.stderr)
        rows.append([load.name, options.requests, f"{total:.0f}"])
        tops.append(f"`{load.name}`:\n\n" + report.table(
            ["instructions/request", "share", "function"],
            [[f"{cost:.0f}", f"{cost / total:.0%}", f"`{name}`"] for name, cost in functions[:TOP_FUNCTIONS]]))
    return "\n\n".join([report.table(["load", "requests", "instructions/request"], rows), *tops])


def main():
    options = arguments()
    if not options.salver.exists():
        raise process.Failed(f"{options.salver} is not there: run `make build`, or give --salver")
    if not install.profilers():
        return 1
    made = files.Files(OUTPUT, options.seed)
    made.make()
    loads = workload.every(made)
    folder = OUTPUT / "run"
    section = "\n\n".join([
        f"Salver: {machine.commit(options.own_build)}; files of seed {made.seed}, fingerprint `{made.fingerprint()}`.",
        "### System calls per request",
        f"By `strace -c -f`, {options.connections} connections.",
        count_calls(options, made, loads, folder),
        "### Instructions per request",
        f"By callgrind, {callgrind.CONNECTIONS} connections; the kernel's are not in them.",
        count_instructions(options, made, loads, folder),
    ])
    print(section)
    if options.write:
        page.write(options.write, {"profile": section})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (process.Failed, OSError) as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
