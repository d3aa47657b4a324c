"""Drives `salver bench compare`: one server beside another, file by file, judged by its intervals.

Nothing is judged here. A document holds what the tool printed, but for the latency curves of each
trial, and tables are made from documents alone.
"""

import json
import subprocess
import sys
import time

import launch
import process

# As a browser that prefers Brotli and takes gzip asks.
ACCEPT_ENCODING = "br;q=1, gzip;q=0.8"
WARM_UP_SECONDS = 0.05
TRIALS = 16  # of each side: the fewest that have an interval
KEPT = ("requests", "requests_per_second", "seconds", "errors", "codings", "content_bytes", "head_bytes", "server", "client", "invalid")


def trial(one):
    """What is kept of a trial: everything but the curve of its latencies."""
    measured = one["measured"]
    kept = {name: measured[name] for name in KEPT}
    kept["raw"] = {name: value for name, value in measured["raw"].items() if name != "curve"}
    return {"side": one["side"], **kept}


def slim(document):
    """A document of the tool, small enough to be kept for good."""
    paths = [{**path, "trials": [trial(one) for one in path["trials"]]} for path in document["paths"]]
    return {**document, "paths": paths}


def run(options, kind, first, peer, made, flags):
    """Compares `peer` with `first`; -> the tool's document."""
    sides = [launch.command(kind, one, made.root) for one in (first, peer)]
    command = [options.salver, "bench", "compare", *sides, "--allow-different", "--server-core", process.SERVER_CORE, "--trials", TRIALS,
               "--duration", f"{options.seconds}s", "--warm-up", f"{WARM_UP_SECONDS}s", "--json", "--quiet", *flags]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    try:
        # 1 is a verdict: something failed or may not be believed, which the document says.
        return slim(json.loads(done.stdout))
    except ValueError:
        raise process.Failed(f"{peer.name}: {done.stderr.strip()[-300:] or 'salver bench compare said nothing'}") from None


def every(options, kind, servers, made, ways):
    """Each server beside the first one, by each way (name, title, flags, names of servers or none for all).

    -> the comparisons, and what was left out and why; none is begun that would not be over in time."""
    first, *others = servers
    found, left_out = [], {}
    until, longest = time.monotonic() + options.minutes * 60, 0.0
    for name, title, flags, only in ways:
        for peer in others:
            if only and peer.name not in only:
                continue
            if peer.program() is None:
                left_out[peer.name] = "not installed (`bench/run.py deps` says why)"
                continue
            begun = time.monotonic()
            if begun + longest > until:
                left_out[f"{peer.name}, {name}"] = "the time was up"
                continue
            try:
                document = run(options, kind, first, peer, made, flags)
            except process.Failed as error:
                left_out[f"{peer.name}, {name}"] = str(error)
                print(f"{name}: {error}", file=sys.stderr)
                continue
            found.append({"way": name, "title": title, "first": first.name, "server": peer.name, "document": document})
            longest = max(longest, time.monotonic() - begun)
            print(f"{name}: {peer.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found, left_out


def check(options, kind, peer, made):
    """Every answer of one server over HTTP/1.1, by `salver bench load`; -> what was wrong, or None."""
    place = launch.OUTPUT / "run" / f"check-{peer.name}"
    place.mkdir(parents=True, exist_ok=True)
    port = process.free_port()
    words = launch.command(kind, peer, made.root).replace("{port}", str(port))
    with process.Server(peer.name, ["sh", "-c", "exec " + words], place, port, peer.environment):
        load = [options.salver, "bench", "load", f"http://127.0.0.1:{port}/", "--root", made.root, "-d", "200ms", "--warm-up", "0s", "--quiet",
                "--accept-encoding", ACCEPT_ENCODING, "--accept-encoding", ""]
        done = subprocess.run([str(word) for word in load], capture_output=True, text=True, check=False)
    failed = [line for line in done.stderr.splitlines() if "requests failed" in line or "cannot" in line]
    return failed[-1] if failed else None
