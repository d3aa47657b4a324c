#!/usr/bin/env python3
"""Compares load generators on one server: `salver bench load`, wrk and oha.

The server is Salver with one worker on core 0, the generators run on core 1 with one thread, one
after the other; their order turns from round to round. Requests per second and percentiles are what
each of them says; CPU per request is what the system counted for it and for the server. Ratios are
to wrk, within a round. wrk's percentiles are corrected for coordinated omission, which can only
show a tail longer; oha asks for URLs of a list by chance, the others in turn.

exit code: 0; 1 if any generator reported an error, or something failed; 2 for a wrong option.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import check
import files
import load as client
import machine
import peers
import process
import report
import trials
import verdict
import workload

TOP = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = TOP / "target" / "bench"
BASE = "wrk"


class Generator:
    """A load generator: how it is run, and what it reports."""

    name = ""

    def __init__(self, program):
        self.program = program

    def command(self, load, server, folder, seconds, connections):
        """The command that loads the server once."""
        raise NotImplementedError

    def read(self, printed):
        """Requests, requests per second, percentiles in microseconds, errors."""
        raise NotImplementedError

    def run(self, load, server, folder, seconds, connections):
        command = ["taskset", "-c", process.CLIENT_CORE, *self.command(load, server, folder, seconds, connections)]
        # An exit code of 1 can be a verdict; what was printed tells.
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=seconds + 30, check=False)
        try:
            return self.read(done.stdout)
        except (ValueError, KeyError, IndexError):
            raise process.Failed(f"{self.name} gave no report: {(done.stderr or done.stdout)[-300:]}") from None


class SalverLoad(Generator):
    name = "salver bench load"

    def command(self, load, server, folder, seconds, connections):
        urls = [f"http://127.0.0.1:{server.port}/{target}" for target in load.targets]
        accept = ["--accept-encoding", load.accept] if load.accept else []
        return [self.program, "bench", "load", *urls, "-c", connections, "-d", f"{seconds}s", "--warm-up", "0s",
                "--pid", server.child.pid, *accept, "--json"]

    def read(self, printed):
        result = json.loads(printed)["result"]
        return {"requests": result["requests"], "rps": result["requests_per_second"], "p50_us": result["raw"]["p50_us"],
                "p99_us": result["raw"]["p99_us"], "errors": sum(result["errors"].values()), "invalid": result["invalid"]}


class Wrk(Generator):
    name = BASE

    def command(self, load, server, folder, seconds, connections):
        path = folder / "wrk.lua"
        path.write_text(client.script(load, server.port))
        return [self.program, "-t1", f"-c{connections}", f"-d{seconds}s", "-s", path,
                f"http://127.0.0.1:{server.port}/{load.targets[0]}"]

    def read(self, printed):
        found = json.loads(printed.split("\nREPORT ", 1)[1].splitlines()[0])
        return {"requests": found["answers"], "rps": found["answers"] / found["us"] * 1e6, "p50_us": found["p50_us"],
                "p99_us": found["p99_us"], "errors": sum(found[kind] for kind in client.ERRORS), "invalid": []}


class Oha(Generator):
    name = "oha"

    def command(self, load, server, folder, seconds, connections):
        path = folder / "urls.txt"
        path.write_text("".join(f"http://127.0.0.1:{server.port}/{target}\n" for target in load.targets))
        accept = ["-H", f"accept-encoding: {load.accept}"] if load.accept else []
        urls = ["--urls-from-file", path] if len(load.targets) > 1 else [path.read_text().strip()]
        return [self.program, "-c", connections, "-z", f"{seconds}s", "-w", "--worker-threads", 1, "--no-tui",
                "--disable-compression", "--output-format", "json", *accept, *urls]

    def read(self, printed):
        found = json.loads(printed)
        statuses = found["statusCodeDistribution"]
        percentiles = found["latencyPercentiles"]
        errors = sum(found["errorDistribution"].values()) + sum(count for status, count in statuses.items() if status != "200")
        return {"requests": statuses["200"], "rps": statuses["200"] / found["summary"]["total"],
                "p50_us": percentiles["p50"] * 1e6, "p99_us": percentiles["p99"] * 1e6, "errors": errors, "invalid": []}


def arguments():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--salver", metavar="PATH", help="server and generator (default: the release build)")
    parser.add_argument("--oha", metavar="PATH", default="oha", help="oha's program (`cargo install oha`; default: from PATH)")
    parser.add_argument("--root", metavar="DIR", help="ask for the files of DIR in turn, instead of generated ones like a site's")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="rounds (default 6; fewer than 3 prove little)")
    parser.add_argument("--seconds", type=int, default=3, metavar="N", help="length of one run in seconds (default 3)")
    parser.add_argument("--connections", type=int, default=64, metavar="N", help="connections (default 64)")
    parser.add_argument("--minutes", type=float, default=5, metavar="N",
                        help="no round is begun that would not be over by then (default 5)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the files (default 1)")
    parser.add_argument("--json", metavar="FILE", help="keep every run in FILE")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections) < 1:
        parser.error("--rounds, --seconds and --connections are at least 1")
    options.salver = pathlib.Path(options.salver).resolve() if options.salver else built
    return options


def trial(generator, load, server, folder, options):
    """One run of one generator, with what it and the server spent."""
    found, cpu, busy, stolen, own = trials.spent(
        server, lambda: generator.run(load, server, folder, options.seconds, options.connections))
    requests = max(found["requests"], 1)
    return {"generator": generator.name, "load": load.name, "client_us": own * 1e6 / requests, "server_us": cpu * 1e6 / requests,
            "others": max(0.0, busy - cpu - own) / options.seconds, "stolen": stolen / options.seconds, **found}


def compare(generators, load, made, folder, options, until):
    """All rounds of one load, on one server."""
    runs = []
    longest = 0.0
    with trials.start(peers.Salver(options.salver), made, folder) as server:
        for target in load.targets:
            check.fetch(server.port, target, load.accept)
        for number in range(options.rounds):
            begun = time.monotonic()
            if begun + longest > until:
                break
            for generator in trials.order(generators, number):
                runs.append({"round": number, **trial(generator, load, server, folder / "salver", options)})
            longest = max(longest, time.monotonic() - begun)
            print(f"{load.name}: round {number + 1} of {options.rounds}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return runs


def ratio(runs, name, key):
    """The median ratio to the base within rounds, and its 95 % interval."""
    base = {run["round"]: run[key] for run in runs if run["generator"] == BASE}
    values = [run[key] / base[run["round"]] for run in runs if run["generator"] == name and base.get(run["round"])]
    bounds = verdict.interval(values)
    return report.spread(values).split(" ")[0] + (f" ({bounds[0]:.2f}-{bounds[1]:.2f})" if bounds else "")


def table(runs, names):
    head = ["generator", "requests/s", "p50 us", "p99 us", "CPU us/request", "server CPU us/request", "errors",
            "requests/s / wrk's", "p99 / wrk's", "CPU / wrk's"]
    rows = []
    for name in names:
        own = [run for run in runs if run["generator"] == name]
        if own:
            rows.append([name, f"{report.median(own, 'rps'):.0f}", *(f"{report.median(own, key):.0f}" for key in ("p50_us", "p99_us")),
                         *(f"{report.median(own, key):.2f}" for key in ("client_us", "server_us")), sum(run["errors"] for run in own),
                         *("-" if name == BASE else ratio(runs, name, key) for key in ("rps", "p99_us", "client_us"))])
    return report.table(head, rows)


def main():
    options = arguments()
    until = time.monotonic() + options.minutes * 60
    if not options.salver.exists():
        raise process.Failed(f"{options.salver} is not there: run `make build`, or give --salver")
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        raise process.Failed("wrk and taskset are needed: run `make bench-deps`")
    if len(os.sched_getaffinity(0)) < 2:
        raise process.Failed("two cores are needed: one for the server, one for the generators")
    generators = [SalverLoad(options.salver), Wrk("wrk")]
    if shutil.which(options.oha) is None:
        print(f"{options.oha} is not there: compared without it (`cargo install oha`)", file=sys.stderr)
    else:
        generators.append(Oha(options.oha))
    made = files.Files(OUTPUT, options.seed)
    made.make()
    site = workload.arena(made)
    pairs = [(workload.size(made, files.KIB), made), (site, made)]
    if options.root:
        given = files.Directory(options.root)
        title = f"The files of {given.root.name} in turn, Brotli accepted"
        pairs[1] = (workload.Load("site", title, given.targets(), workload.ACCEPT_ENCODING), given)
    control = machine.first_match("/proc/sys/net/ipv4/tcp_congestion_control", r"(\w+)")
    print(f"congestion control {control}, {options.connections} connections, {options.seconds} s a run")
    kept = []
    for load, source in pairs:
        runs = compare(generators, load, source, OUTPUT / "run", options, until)
        kept += runs
        rounds = len({run["round"] for run in runs})
        print(f"\n## {load.title}\n\n{table(runs, [one.name for one in generators])}\n")
        disturbed = sum(max(run["others"], run["stolen"]) > trials.DISTURBED for run in runs)
        print(f"Medians of {rounds} rounds; ratios within a round, with 95 % intervals. {disturbed} of {len(runs)} runs were disturbed.")
        for reason in sorted({reason for run in runs for reason in run["invalid"]}):
            print(f"`salver bench load` calls a run invalid: {reason}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(kept, indent=1))
    return 1 if any(run["errors"] for run in kept) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (process.Failed, check.Wrong) as failure:
        sys.exit(f"generators: {failure}")
    except KeyboardInterrupt:
        sys.exit("generators: interrupted")
