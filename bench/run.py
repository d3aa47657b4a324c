#!/usr/bin/env python3
"""Compares Salver with other servers of static files, on this machine, by server CPU per request.

commands:
  all      peers and cached (the default)
  peers    Salver and its peers: a set like a site's files, and single files of six lengths
  cached   Salver with its cache against Salver with --no-cache, for the six lengths
  embedded libraries within a program (salver-tower, ServeDir, ...): both sets and the six lengths
  check    start every server and compare its answers with the files, without measuring
  deps     install or build what the comparison needs; names what cannot be had

How it measures: each server runs alone on core 0 with one worker, wrk with one thread on core 1.
Every server is started anew for each run, its answers are compared with the files (status, decoded
bytes, Vary), it is warmed up, and then measured. A round does this for every load and server; the
order of the servers turns from round to round. CPU time is user and system time of all processes
of the server's session. Ratios are taken within a round. Verdicts rest on a 95 % interval of the
logarithms of the ratios (Student's t); where a server's answers are other work than Salver's
(another coding, another length), there is none.

exit code: 0; 1 if any answer was wrong or missing, or something failed; 2 for a wrong option.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import check
import files
import install
import libraries
import machine
import page
import peers
import process
import report
import trials
import workload

TOP = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = TOP / "target" / "bench"
QUICK_LOADS = ("arena", "1kib", "100kib")


def arguments():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="all", choices=["all", "peers", "cached", "embedded", "check", "deps"])
    parser.add_argument("--salver", metavar="PATH", help="the program to measure (default: the release build)")
    parser.add_argument("--server", metavar="NAME", action="append", help="only these servers beside the first; repeatable")
    parser.add_argument("--load", metavar="NAME", action="append", help="only these loads: arena, arena-plain (embedded only), 1kib, ... 1mib; repeatable")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="rounds (default 6; fewer than 3 prove little)")
    parser.add_argument("--seconds", type=int, default=1, metavar="N", help="length of one measured run in seconds (default 1)")
    parser.add_argument("--connections", type=int, default=64, metavar="N", help="connections of wrk (default 64)")
    parser.add_argument("--minutes", type=float, default=12, metavar="N",
                        help="no round is begun that would not be over by then (default 12)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the files (default 1)")
    parser.add_argument("--quick", action="store_true", help="two rounds of three loads: a look, not a result")
    parser.add_argument("--json", metavar="FILE", help="keep every run in FILE")
    parser.add_argument("--write", metavar="PAGE", help="replace the generated parts of this Markdown page")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections) < 1:
        parser.error("--rounds, --seconds and --connections are at least 1")
    options.own_build = options.salver is None
    options.salver = pathlib.Path(options.salver) if options.salver else built
    if options.quick:
        options.rounds = min(options.rounds, 2)
        options.load = options.load or list(QUICK_LOADS)
    return parser, options


def chosen(parser, what, names, everything, always=()):
    """Those that were asked for by name, or all."""
    unknown = set(names or ()) - {one.name for one in everything}
    if unknown:
        parser.error(f"no such {what}: {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in everything)}")
    return [one for one in everything if not names or one.name in names or one.name in always]


def show(title, text):
    print(f"\n## {title}\n\n{text}", flush=True)


def only_check(servers, loads, made, folder):
    """Every answer of every server; -> whether all are right."""
    right = True
    for peer in servers:
        if peer.program() is None:
            print(f"{peer.name}: not installed")
            continue
        for load in loads:
            try:
                with trials.start(peer, made, folder) as server:
                    print(f"{peer.name}: {load.name}: {check.describe(check.work(server.port, load, made))}")
            except (check.Wrong, process.Failed) as error:
                right = False
                print(f"{peer.name}: {load.name}: WRONG: {error}")
    return right


def compare(options, servers, loads, made, until):
    """The commands `all`, `peers` and `cached`. -> sections of the page, what is kept, whether anything failed"""
    facts = machine.describe(servers, made, options.own_build)
    sections = {"machine": machine.render(facts, servers)}
    show("Machine", sections["machine"])
    kept = {"machine": facts}
    failed = False
    folder = OUTPUT / "run"
    if options.command in ("all", "cached"):
        sizes = [load for load in loads if load.name != "arena"]
        both = [peers.Salver(options.salver), peers.SalverPlain(options.salver)]
        results = trials.run(both, sizes, made, folder, options, until)
        sections["cached"] = report.cached(results, sizes, options)
        show("Cached and plain", sections["cached"])
        kept["cached"] = results.runs
        failed |= results.failed()
    if options.command in ("all", "peers"):
        results = trials.run(servers, loads, made, folder, options, until)
        sections["results"] = report.peers(results, loads, [peer.name for peer in servers], options)
        show("Salver and its peers", sections["results"])
        kept["peers"] = results.runs
        failed |= results.failed()
    return sections, kept, failed


def embedded(options, servers, loads, made, until):
    """The command `embedded`; -> as `compare`."""
    facts = machine.describe(servers, made, options.own_build)
    results = trials.run(servers, loads, made, OUTPUT / "run", options, until)
    found = report.embedded(results, loads, [library.name for library in servers], options, servers[0].name)
    section = machine.render(facts, servers) + "\n\n" + found
    show("In a program", section)
    return {"embedded": section}, {"machine": facts, "embedded": results.runs}, results.failed()


def main():
    parser, options = arguments()
    if options.command == "deps":
        return 0 if install.everything(OUTPUT, options.seed) else 1
    until = time.monotonic() + options.minutes * 60
    made = files.Files(OUTPUT, options.seed)
    alone = [*peers.everyone(options.salver, OUTPUT), libraries.ServeDir(OUTPUT)]
    within = libraries.everyone(OUTPUT)
    everyone, every_load = {
        "embedded": (within, workload.embedded(made)),
        "check": ([*alone, *(library for library in within if library.name != libraries.ServeDir.name)], workload.every(made)),
    }.get(options.command, (alone, workload.every(made)))
    servers = chosen(parser, "server", options.server, everyone, always=(everyone[0].name,))
    loads = chosen(parser, "load", options.load, every_load)
    if servers[0].program() is None:
        raise process.Failed(f"{servers[0].path} is not there: run `make build` and `make bench-deps`, or give --salver")
    if not install.can_run(install.NEEDED):
        raise process.Failed("run `make bench-deps`")
    if len(os.sched_getaffinity(0)) < 2:
        raise process.Failed("two cores are needed: one for the server, one for the client")
    made.make()
    if options.command == "check":
        return 0 if only_check(servers, loads, made, OUTPUT / "run") else 1

    sections, kept, failed = (embedded if options.command == "embedded" else compare)(options, servers, loads, made, until)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if options.write:
        page.write(options.write, sections)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
