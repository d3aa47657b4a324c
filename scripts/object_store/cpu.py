#!/usr/bin/env python3
"""Compares the server's CPU time for each hit from a bucket with that from a directory: the same files, over HTTP/1.1.

  cpu.py PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND...

PROGRAM is one of a release. Servers of one loop each on one core, the client on another, which needs two cores of the machine: one of a
bucket, and two of one directory, by which it is seen how much the measurement itself differs. They have short turns, ROUNDS (96) of SECONDS
(0.5) each, in another order each time, and what is compared is the time of one turn with those beside it: over seconds a shared machine
is a third slower or faster than it was. `salver bench load` counts the time of all of a server's threads, those that talk to the bucket
included. The instructions of a hit are judged besides, by callgrind (Debian's valgrind), of which comparisons with the bucket are no part.
COMMAND is not used."""

import http.client
import itertools
import json
import operator
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from common import FOLDER, PROGRAM, Salver, check, for_each_store, free_port

ROUNDS, SECONDS = int(os.environ.get("ROUNDS", "96")), float(os.environ.get("SECONDS", "0.5"))
# Few hits and many.
HITS = (500, 4500)
FILES = {"app.js": b"let a = 1;\n" * 1500, "index.html": b"<p>Hello.\n" * 20}


def measured(salver, path):
    """What the load generator tells, microseconds of the server's CPU for each request among it."""
    command = ["taskset", "-c", "1", PROGRAM, "bench", "load", f"http://127.0.0.1:{salver.port}{path}"]
    command += ["--duration", f"{SECONDS}s", "--warm-up", "0.1s", "--connections", "64", "--json", "--pid", str(salver.process.pid)]
    # It says by 1 that others took so much of the machine that times mean little; CPU time means something even then.
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1) or not ran.stdout:
        sys.exit(f"{' '.join(command)}: {ran.stderr}")
    return json.loads(ran.stdout)["result"]


def instructions(root, env, path):
    """The instructions of a hit, by the difference between many and few over one connection."""
    totals = []
    for hits in HITS:
        port, out = free_port(), FOLDER / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", PROGRAM, "serve", root, "--port", str(port)]
        command += ["--workers", "1", "--cache-max-file", "1MiB", "--revalidate", "1h"]
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            try:
                client.connect()
                break
            except OSError:
                time.sleep(0.1)
        for _ in range(hits):
            client.request("GET", path)
            answer = client.getresponse()
            answer.read()
            if answer.status != 200:
                sys.exit(f"{path}: {answer.status}")
        client.close()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
        totals.append(int(re.findall(r"Collected\s*:\s*(\d+)", said)[-1]))
    return (totals[1] - totals[0]) / (HITS[1] - HITS[0])


def judge(store):
    www = store.folder / "www"
    www.mkdir()
    for name, content in FILES.items():
        (www / name).write_bytes(content)
        store.put(name, content)
    roots = {"directory": str(www), "bucket": "s3://bucket/site"}
    servers = {
        name: Salver(root, "--workers", "1", "--cache-max-file", "1MiB", env=store.env)
        for name, root in (roots | {"same directory": str(www)}).items()
    }
    for salver in servers.values():
        subprocess.run(["taskset", "-a", "-cp", "0", str(salver.process.pid)], stdout=subprocess.DEVNULL, check=True)
    for path in ("/app.js", "/index.html"):
        found, failed = {name: [] for name in servers}, []
        for order in itertools.islice(itertools.cycle(itertools.permutations(servers)), ROUNDS):
            for name in order:
                told = measured(servers[name], path)
                if not told["requests"] or any(told["errors"].values()):
                    failed.append((name, told["errors"]))
                found[name].append(told["server"]["cpu_us_per_request"])
        check(f"{path}: no answer was wrong", not failed, failed)
        for name, values in found.items():
            print(f"     {path}: {name} {statistics.median(values):.2f} us ({min(values):.2f} to {max(values):.2f})")
        one, other, bucket = found["directory"], found["same directory"], found["bucket"]
        itself = statistics.median(map(operator.truediv, other, one))
        ratio = statistics.median([*map(operator.truediv, bucket, one), *map(operator.truediv, bucket, other)])
        print(f"     {path}: CPU time, bucket to directory {ratio:.3f}; the same directory to itself {itself:.3f}")
        check(f"{path}: CPU time within 3 % of a directory's", ratio <= 1.03, ratio)
        check(f"{path}: the measurement differs from itself by less", abs(itself - 1) <= 0.03, itself)
        took = {name: instructions(root, store.env, path) for name, root in roots.items()}
        ratio = took["bucket"] / took["directory"]
        print(f"     {path}: directory {took['directory']:.0f} instructions; bucket {took['bucket']:.0f}: ratio {ratio:.3f}")
        check(f"{path}: instructions within 3 % of a directory's", ratio <= 1.03, ratio)
    for salver in servers.values():
        salver.end()


for_each_store(judge)
