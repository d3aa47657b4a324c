#!/usr/bin/env python3
"""Compares the server's CPU time for each hit from a bucket with that from a directory: the same files, over HTTP/1.1.

  cpu.py PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND...

PROGRAM is one of a release. Two servers of one loop each, one of a directory and one of a bucket, on one core; the client on
another, which needs two cores of the machine. Rounds go by turns, ROUNDS (15) of SECONDS (2) each. `salver bench load` counts the
time of all of a server's threads, those that talk to the bucket included. COMMAND is not used."""

import json
import os
import statistics
import subprocess
import sys

from common import PROGRAM, Salver, check, for_each_store

ROUNDS, SECONDS = int(os.environ.get("ROUNDS", "15")), int(os.environ.get("SECONDS", "2"))
FILES = {"app.js": b"let a = 1;\n" * 1500, "index.html": b"<p>Hello.\n" * 20}


def measured(salver, path):
    """What the load generator tells, microseconds of the server's CPU for each request among it."""
    command = ["taskset", "-c", "1", PROGRAM, "bench", "load", f"http://127.0.0.1:{salver.port}{path}"]
    command += ["--duration", f"{SECONDS}s", "--connections", "64", "--json", "--pid", str(salver.process.pid)]
    # It says by 1 that others took so much of the machine that times mean little; CPU time means something even then.
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1) or not ran.stdout:
        sys.exit(f"{' '.join(command)}: {ran.stderr}")
    return json.loads(ran.stdout)


def judge(store):
    www = store.folder / "www"
    www.mkdir()
    for name, content in FILES.items():
        (www / name).write_bytes(content)
        store.put(name, content)
    servers = {
        name: Salver(root, "--workers", "1", "--cache-max-file", "1MiB", env=store.env)
        for name, root in (("directory", str(www)), ("bucket", "s3://bucket/site"))
    }
    for salver in servers.values():
        subprocess.run(["taskset", "-a", "-cp", "0", str(salver.process.pid)], stdout=subprocess.DEVNULL, check=True)
    for path in ("/app.js", "/index.html"):
        found, others = {name: [] for name in servers}, []
        for _ in range(ROUNDS):
            for name, salver in servers.items():
                told = measured(salver, path)
                answers, errors = told["result"]["requests"], told["result"]["errors"]
                check(f"{path} from a {name}", answers > 0 and not any(errors.values()), errors)
                found[name].append(told["result"]["server"]["cpu_us_per_request"])
                others.append(told["environment"]["others"]["cores"])
        medians = {name: statistics.median(values) for name, values in found.items()}
        ratio = medians["bucket"] / medians["directory"]
        told = "; ".join(f"{name} {medians[name]:.2f} us ({min(values):.2f} to {max(values):.2f})" for name, values in found.items())
        print(f"     {path}: {told}: ratio {ratio:.3f}; others took {max(others):.2f} cores at most")
        check(f"{path}: within 3 % of a directory's", ratio <= 1.03, ratio)
    for salver in servers.values():
        salver.end()


for_each_store(judge)
