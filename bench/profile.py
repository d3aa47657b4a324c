"""Where a request's work goes: system calls by strace, instructions by valgrind's callgrind.

System calls are counted while `salver bench load` asks over many connections, and divided by the answers.
Instructions are those of the server's own code, by difference of two runs, so that the start is not
in them; files are not looked at anew meanwhile (--revalidate 1h), because callgrind slows a server
so much that once a second would be once in a few requests. Only cached loads are counted by
callgrind: valgrind 3.19 does not know openat2, so that uncached ones would take another way than
they do otherwise.
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import callgrind
import compare
import files
import install
import launch
import peers
import process
import tables as markdown

CACHED = {"arena": None, "1kib": files.KIB, "100kib": 100 * files.KIB, "1mib": 1024 * files.KIB}
PLAIN = ("1kib", "1mib")
SECONDS = 3
CONNECTIONS = 64
TOP_FUNCTIONS = 8
RARE = 0.005  # calls per request that are not worth a column


class UnderCallgrind(peers.Salver):
    """Salver run by valgrind, which leaves its counts in the server's folder."""

    name = "callgrind"

    def command(self, root, port, folder):
        return ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                f"--callgrind-out-file={folder}/callgrind.out",
                *super().command(root, port, folder), "--revalidate", "1h"]


def targets(name, made):
    """What a load asks for in turn, and its Accept-Encoding."""
    return (made.arena(), compare.ACCEPT_ENCODING) if CACHED[name] is None else ([made.size(CACHED[name])], "")


def start(peer, made, patience_seconds=10):
    """A server in an empty folder of its own; -> it, and the folder"""
    place = launch.OUTPUT / "run" / peer.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    port = process.free_port()
    command = peer.command(made.root, port, place)
    return process.Server(peer.name, command, place, port, peer.environment, patience_seconds), place


def counts(summary):
    """`strace -c`'s table as a mapping from call to number."""
    found = {}
    for line in summary.splitlines():
        words = line.split()
        # % time, seconds, usecs/call, calls, errors where there are any, the call's name.
        if len(words) in (5, 6) and words[3].isdigit() and words[-1] != "total":
            found[words[-1]] = int(words[3])
    return found


def attached(identifier):
    """Whether every thread of the process is traced."""
    tasks = list(pathlib.Path(f"/proc/{identifier}/task").iterdir())
    return all("TracerPid:\t0\n" not in (task / "status").read_text() for task in tasks)


def load(options, server, name, made, seconds):
    """What `salver bench load` found, on the client's core."""
    asked, accept = targets(name, made)
    urls = [f"http://127.0.0.1:{server.port}/{target}" for target in asked]
    command = ["taskset", "-c", process.CLIENT_CORE, options.salver, "bench", "load", *urls, "-c", CONNECTIONS, "-d", f"{seconds}s",
               "--warm-up", "0s", "--json", *(["--accept-encoding", accept] if accept else [])]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["result"]
    except ValueError:
        raise process.Failed(f"{name}: {done.stderr.strip()[-300:]}") from None
    if sum(found["errors"].values()):
        raise process.Failed(f"{name}: {done.stderr.strip()[-300:]}")
    return found


def calls(options, peer, name, made):
    """-> answers, and a mapping from call to number per answer"""
    server, place = start(peer, made)
    with server:
        load(options, server, name, made, 0.5)
        summary = place / "strace.txt"
        tracer = subprocess.Popen(["strace", "-c", "-f", "-o", str(summary), "-p", str(server.session)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 10
            while not attached(server.session):
                if tracer.poll() is not None or time.monotonic() > until:
                    raise process.Failed("strace cannot trace the server: " + tracer.stderr.read()[-300:]
                                         if tracer.poll() is not None else "strace does not attach")
                time.sleep(0.01)
            answers = load(options, server, name, made, SECONDS)["requests"]
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=20)
    return answers, {call: number / answers for call, number in counts(summary.read_text()).items()}


def instructions_of_run(options, name, number, made):
    server, place = start(UnderCallgrind(options.salver), made, 60)
    asked, accept = targets(name, made)
    field = f"Accept-Encoding: {accept}\r\n" if accept else ""
    with server:
        callgrind.ask(server.port, [f"GET /{target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}\r\n".encode() for target in asked], number)
    return callgrind.self_costs((place / "callgrind.out").read_text(errors="replace"))


def measure(options, made):
    """-> what is kept: calls per answer, and instructions per request by function"""
    if not install.profilers():
        raise process.Failed("what is missing is named above")
    found = []
    for peer, names in ((peers.Salver(options.salver), CACHED), (peers.SalverPlain(options.salver), PLAIN)):
        for name in names:
            answers, per_answer = calls(options, peer, name, made)
            print(f"strace: {peer.name}: {name}: {answers} answers", file=sys.stderr)
            found.append({"load": f"{name}{', --no-cache' if peer.extra else ''}", "answers": answers, "calls": per_answer})
    functions = {}
    for name in CACHED:
        once = instructions_of_run(options, name, options.requests, made)
        twice = instructions_of_run(options, name, 2 * options.requests, made)
        functions[name] = [[function, cost] for function, cost in callgrind.difference(once, twice, options.requests) if cost]
        print(f"callgrind: {name}: {sum(cost for _, cost in functions[name]):.0f} instructions per request", file=sys.stderr)
    return {"requests": options.requests, "calls": found, "functions": functions}


def summary(kept):
    """Calls and instructions of each load, without saying which."""
    totals = {name: sum(cost for _, cost in functions) for name, functions in kept["functions"].items()}
    return markdown.table(["load", "system calls/request", "instructions/request"], [
        [one["load"], f"{sum(one['calls'].values()):.2f}", f"{totals[one['load']]:.0f}" if one["load"] in totals else "-"] for one in kept["calls"]])


def tables(kept):
    names = sorted({name for one in kept["calls"] for name, number in one["calls"].items() if number >= RARE},
                   key=lambda name: [-one["calls"].get(name, 0) for one in kept["calls"]])
    rows = [[one["load"], one["answers"], f"{sum(one['calls'].values()):.2f}", *(f"{one['calls'].get(name, 0):.2f}" for name in names)]
            for one in kept["calls"]]
    parts = ["## System calls per request", f"By `strace -c -f`, {CONNECTIONS} connections.",
             markdown.table(["load", "answers", "all", *(f"`{name}`" for name in names)], rows),
             "## Instructions per request", f"By callgrind, {callgrind.CONNECTIONS} connections; the kernel's are not in them."]
    totals = {name: sum(cost for _, cost in functions) for name, functions in kept["functions"].items()}
    parts.append(markdown.table(["load", "requests", "instructions/request"],
                                [[name, kept["requests"], f"{total:.0f}"] for name, total in totals.items()]))
    for name, functions in kept["functions"].items():
        parts.append(f"`{name}`:\n\n" + markdown.table(["instructions/request", "share", "function"], [
            [f"{cost:.0f}", f"{cost / totals[name]:.0%}", f"`{function}`"] for function, cost in functions[:TOP_FUNCTIONS]]))
    return "\n\n".join(parts)
