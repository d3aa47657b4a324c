"""System calls per request: strace counts them while wrk asks."""

import pathlib
import signal
import subprocess
import time

import load as client
import process


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


def per_request(server, load, folder, seconds, connections):
    """-> (answers, mapping from call to number per answer) of a running, warmed-up server."""
    wrk = client.Client(load, server.port, folder, connections)
    wrk.warm_up(0.5)
    summary = folder / "strace.txt"
    tracer = subprocess.Popen(["strace", "-c", "-f", "-o", str(summary), "-p", str(server.session)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 10
        while not attached(server.session):
            if tracer.poll() is not None or time.monotonic() > until:
                raise process.Failed("strace cannot trace the server: " + tracer.stderr.read()[-300:]
                                     if tracer.poll() is not None else "strace does not attach")
            time.sleep(0.01)
        report = wrk.run(seconds)
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=20)
    if report["errors"]:
        raise process.Failed(f"{load.name}: {report['errors']} errors under strace")
    answers = report["answers"]
    return answers, {name: number / answers for name, number in counts(summary.read_text()).items()}
