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
import resource
import shutil
import statistics
import subprocess
import sys

import compare
import cost
import files
import launch
import peers
import process
import profile
import tables

BASE = "wrk"
# wrk's percentiles are corrected for coordinated omission: an answer that came late adds the
# ones that would have been asked for meanwhile. So a tail is shown longer, never shorter.
REPORT = """
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\nREPORT {"requests":%%d,"us":%%d,"p50_us":%%d,"p99_us":%%d,"errors":%%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
local requests, at = {%s}, 0
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""


def salver(program, server, targets, accept, folder, options):
    """The command of `salver bench load`, and how its report is read."""
    urls = [f"http://127.0.0.1:{server.port}/{target}" for target in targets]
    command = [program, "bench", "load", *urls, "-c", options.connections, "-d", f"{options.seconds}s", "--warm-up", "0s", "--pid", server.child.pid,
               *(["--accept-encoding", accept] if accept else []), "--json"]

    def read(printed):
        result = json.loads(printed)["result"]
        return {"requests": result["requests"], "rps": result["requests_per_second"], "p50_us": result["raw"]["p50_us"],
                "p99_us": result["raw"]["p99_us"], "errors": sum(result["errors"].values())}
    return command, read


def wrk(program, server, targets, accept, folder, options):
    field = f"Accept-Encoding: {accept}\r\n" if accept else ""
    ready = [f"GET /{target} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{field}\r\n" for target in targets]
    (folder / "wrk.lua").write_text(REPORT % ",".join(map(json.dumps, ready)))
    command = [program, "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "-s", folder / "wrk.lua", f"http://127.0.0.1:{server.port}/"]

    def read(printed):
        found = json.loads(printed.split("\nREPORT ", 1)[1].splitlines()[0])
        return {**found, "rps": found["requests"] / found["us"] * 1e6}
    return command, read


def oha(program, server, targets, accept, folder, options):
    path = folder / "urls.txt"
    path.write_text("".join(f"http://127.0.0.1:{server.port}/{target}\n" for target in targets))
    urls = ["--urls-from-file", path] if len(targets) > 1 else [path.read_text().strip()]
    command = [program, "-c", options.connections, "-z", f"{options.seconds}s", "-w", "--worker-threads", 1, "--no-tui", "--disable-compression",
               "--output-format", "json", *(["-H", f"accept-encoding: {accept}"] if accept else []), *urls]

    def read(printed):
        found = json.loads(printed)
        statuses, percentiles = found["statusCodeDistribution"], found["latencyPercentiles"]
        return {"requests": statuses["200"], "rps": statuses["200"] / found["summary"]["total"], "p50_us": percentiles["p50"] * 1e6,
                "p99_us": percentiles["p99"] * 1e6,
                "errors": sum(found["errorDistribution"].values()) + sum(count for status, count in statuses.items() if status != "200")}
    return command, read


def run(name, command, read, seconds):
    """One run of one generator, with what it spent."""
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    before = spent()
    # An exit code of 1 can be a verdict; what was printed tells.
    done = subprocess.run(["taskset", "-c", process.CLIENT_CORE, *map(str, command)], capture_output=True, text=True, timeout=seconds + 30, check=False)
    try:
        found = read(done.stdout)
    except (ValueError, KeyError, IndexError):
        raise process.Failed(f"{name} gave no report: {(done.stderr or done.stdout)[-300:]}") from None
    return {"generator": name, "client_us": (spent() - before) * 1e6 / max(found["requests"], 1), **found}


def table(runs, names):
    def ratio(name, key):
        base = {one["round"]: one[key] for one in runs if one["generator"] == BASE}
        return tables.spread([one[key] / base[one["round"]] for one in runs if one["generator"] == name and base[one["round"]]])

    def row(name):
        own = [one for one in runs if one["generator"] == name]
        median = {key: statistics.median(one[key] for one in own) for key in ("rps", "p50_us", "p99_us", "client_us")}
        return [name, f"{median['rps']:.0f}", f"{median['p50_us']:.0f}", f"{median['p99_us']:.0f}", f"{median['client_us']:.2f}",
                sum(one["errors"] for one in own), *("-" if name == BASE else ratio(name, key) for key in ("rps", "p99_us", "client_us"))]
    head = ["generator", "requests/s", "p50 us", "p99 us", "CPU us/request", "errors", "requests/s / wrk's", "p99 / wrk's", "CPU / wrk's"]
    return tables.table(head, [row(name) for name in names])


def main():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or launch.TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--salver", metavar="PATH", type=pathlib.Path, default=built, help="server and generator (default: the release build)")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="rounds (default 6)")
    parser.add_argument("--seconds", type=int, default=3, metavar="N", help="length of one run in seconds (default 3)")
    parser.add_argument("--connections", type=int, default=64, metavar="N", help="connections (default 64)")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections) < 1:
        parser.error("--rounds, --seconds and --connections are at least 1")
    program = options.salver.resolve()
    generators = {"salver bench load": (salver, program), BASE: (wrk, "wrk"), "oha": (oha, "oha")}
    generators = {name: (kind, path) for name, (kind, path) in generators.items() if shutil.which(path)}
    if len(generators) < 2 or BASE not in generators:
        raise process.Failed("wrk and a release build are needed (oha: `cargo install oha`)")
    made = files.Files(launch.OUTPUT, 1)
    made.make()
    failed = 0
    for title, targets, accept in [("one file of 1 KiB", [made.size(files.KIB)], ""), ("twenty files", made.arena(), compare.ACCEPT_ENCODING)]:
        server, folder = profile.start(peers.Salver(program), made)
        runs = []
        with server:
            for number in range(options.rounds):
                for name in cost.order(list(generators), number):
                    kind, path = generators[name]
                    command, read = kind(path, server, targets, accept, folder, options)
                    runs.append({"round": number, **run(name, command, read, options.seconds)})
        failed += sum(one["errors"] for one in runs)
        print(f"\n## {title}\n\n{table(runs, list(generators))}\n\nMedians of {options.rounds} rounds; ratios within a round.")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as failure:
        sys.exit(f"generators: {failure}")
    except KeyboardInterrupt:
        sys.exit("generators: interrupted")
