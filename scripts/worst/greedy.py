"""Greedy downloads beside one ordinary client: what it waits, and what the downloads get."""

import pathlib
import statistics
import sys
import tempfile
import time

import child
import table
import tree
import watch

# Name, protocol, greedy connections.
LOADS = [
    ("h1 x 64", "h1", 64),
    ("h1+tls x 64", "h1s", 64),
    ("h2+tls x 8", "h2", 8),
    ("h2+tls x 64", "h2", 64),
    ("h3 x 64", "h3", 64),
]
HEAD = ["load", "server", "rounds", "MB/s", "server cpu %", "cpu s/GB", "rest p99", "p50", "p99", "max ms", "worst max", "failures"]
LEGEND = """\
Greedy connections download 8 MiB in a loop, as fast as they can read; the ordinary client, at real-time priority, asks for
1 KiB each 5 ms over its own connection. Medians of the rounds; worst max: of all rounds; failures: of all rounds, of the ordinary
client and of the greedy. rest: the ordinary client's p99 before. Server and clients have a core each: where the
server's is not full, the downloads were as fast as their client could take them."""
WARM_SECONDS = 0.5
REST_SECONDS = 1


def once(server, root, folder, clients, load, seconds):
    _, protocol, connections = load
    with server.run(root, folder, protocol != "h1") as (process, at):
        common = ["-protocol", protocol, "-target", at[protocol], "-life", f"{seconds + 60:.0f}s"]
        with child.Client(clients, ["ordinary", *common, "-from", "127.0.0.2", "-every", "5ms"], realtime=True) as ordinary:
            ordinary.line()
            time.sleep(WARM_SECONDS)
            ordinary.ask()
            time.sleep(REST_SECONDS)
            rest = ordinary.ask()["kept"]
            greedy = child.Client(clients, ["greedy", *common, "-from", "127.0.1.1", "-addresses", 16, "-path", "/greedy",
                                            "-connections", connections])
            with greedy:
                greedy.line()
                time.sleep(WARM_SECONDS)
                greedy.ask()
                ordinary.ask()
                cpu, began = watch.cpu_seconds(process.pid), time.monotonic()
                time.sleep(seconds)
                got = greedy.ask()
                cpu, wall = watch.cpu_seconds(process.pid) - cpu, time.monotonic() - began
                kept = ordinary.ask()["kept"]
    gigabytes = got["bytes"] / 1e9
    return {
        "mbs": got["bytes"] / 1e6 / got["seconds"], "cpu": 100 * cpu / wall, "cost": cpu / gigabytes if gigabytes else None,
        "rest": rest["p99_ms"], "p50": kept["p50_ms"], "p99": kept["p99_ms"], "max": kept["max_ms"],
        "failures": kept["failures"] + int(got["failures"]),
    }


def row(load, server, rounds):
    def median(key):
        values = [one[key] for one in rounds if one[key] is not None]
        return statistics.median(values) if values else None
    return [load, server, len(rounds), *(median(key) for key in ("mbs", "cpu", "cost", "rest", "p50", "p99", "max")),
            max((one["max"] for one in rounds), default=None), sum(one["failures"] for one in rounds)]


def run(servers, clients, options):
    """Each round has each load once against each server, so that what disturbs them disturbs all. -> exit code"""
    loads = [load for load in LOADS if not options.only or load[0].split()[0] in options.only]
    found = {(load[0], server.name): [] for load in loads for server in servers if load[1] in server.protocols()}
    failed = []
    root = tree.at_rest(clients.parent / "site")
    for number in range(options.rounds):
        for load in loads:
            for server in servers:
                if (load[0], server.name) not in found:
                    continue
                with tempfile.TemporaryDirectory(prefix="greedy-") as folder:
                    try:
                        one = once(server, root, pathlib.Path(folder), clients, load, options.seconds)
                        found[load[0], server.name].append(one)
                    except child.Failed as why:
                        failed.append(f"{load[0]}, {server.name}: {why}")
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print(f"{options.rounds} rounds of {options.seconds:g} s\n")
    print(table.render(HEAD, [row(*key, rounds) for key, rounds in found.items()]))
    print("\n" + LEGEND)
    for text in failed:
        print(f"greedy: {text}", file=sys.stderr)
    return 1 if failed else 0
