#!/usr/bin/env python3
"""What a coding against a dictionary costs a server for each request, beside a precompressed file of the same length.

  bench/dictionaries.py instructions --salver PROGRAM   # counts by valgrind's callgrind, the kernel's not among them
  bench/dictionaries.py cpu --salver PROGRAM            # CPU time by /proc, the server on one core, the client on another

Each asks for one file with the fields that a browser sends which has a dictionary: `delta` is a script whose former version
it has, `coded` another whose `.gz` beside it has as many bytes, and `plain` the same with the fields of a browser that has
none. Cases go in turns within a round."""

import argparse
import base64
import gzip
import hashlib
import http.client
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import callgrind
import process
import ratios

PATIENCE_SECONDS = 600
CASES = ("coded", "plain", "delta")
# With a fingerprint each: their heads have the same fields.
NAMES = {"coded": "/kit.5e1f72b3.js", "plain": "/kit.5e1f72b3.js", "delta": "/app.8b1d90e4.js"}
OLD = "/app.3f9a1c2b.js"


def script(version):
    """A script of which each tenth line changes with its version."""
    def line(number):
        salt = hashlib.sha256(f"{version if number % 10 == 0 else 0}-{number}".encode()).hexdigest()[:12]
        return f"export function name{number}(a) {{ return a + 0x{salt}; }}\n"
    return "".join(map(line, range(600))).encode()


def padded(content, length):
    """Content as gzip of exactly so many bytes: the name in its head is as long as it takes."""
    packed = gzip.compress(content, 9, mtime=0)
    room = length - len(packed) - 1
    if room < 0:
        raise process.Failed(f"{length} bytes are too few for a sibling")
    return packed[:3] + b"\x08" + packed[4:10] + b"x" * room + b"\0" + packed[10:]


def fields(case):
    # Of `coded` nothing is made that would be shorter than its sibling.
    sent = {"Accept-Encoding": "gzip, deflate", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Dest": "script", "User-Agent": "bench"}
    if case != "plain":
        digest = base64.b64encode(hashlib.sha256(script(1)).digest()).decode()
        sent |= {"Available-Dictionary": f":{digest}:", "Accept-Encoding": sent["Accept-Encoding"] + ", dcb, dcz"}
    return sent


def get(port, path, sent):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers=sent)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        raise process.Failed(f"{path}: {answer.status}")
    return answer.headers.get("Content-Encoding"), len(content)


def idle(metrics):
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=120) as answer:
            if re.search(r"^salver_codings_waiting 0$", answer.read().decode(), re.MULTILINE):
                return
        time.sleep(0.05)
    raise process.Failed("codings are being made for ever")


class Site:
    """A server that has a delta of one file and a sibling of as many bytes of another."""

    def __init__(self, salver, folder, before=()):
        self.folder = pathlib.Path(folder)
        self.root = self.folder / "root"
        self.root.mkdir()
        (self.root / OLD[1:]).write_bytes(script(1))
        (self.root / NAMES["delta"][1:]).write_bytes(script(2))
        self.port, self.metrics = process.free_port(), process.free_port()
        command = [*before, salver, "serve", self.root, "--port", self.port, "--workers", "1", "--revalidate", "1h",
                   "--metrics", self.metrics, "--compress-cpu", "100"]
        self.server = process.Server("salver", command, self.folder, self.port, patience_seconds=120)

    def __enter__(self):
        self.server.__enter__()
        get(self.port, OLD, fields("plain"))
        idle(self.metrics)
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            coding, length = get(self.port, NAMES["delta"], fields("delta"))
            if coding == "dcb":
                break
            if time.monotonic() > until:
                raise process.Failed("no delta was made")
            idle(self.metrics)
        content = b"export const words = 1;\n" * 400
        name = NAMES["coded"][1:]
        (self.root / name).write_bytes(content)
        (self.root / f"{name}.gz").write_bytes(padded(content, length))
        # What was written a moment ago is looked at twice.
        time.sleep(3)
        for _ in range(3):
            found = get(self.port, NAMES["coded"], fields("coded"))
            idle(self.metrics)
        if found != ("gzip", length):
            raise process.Failed(f"the sibling is not sent: {found} instead of {length} bytes of gzip")
        self.length = length
        return self

    def __exit__(self, *exception):
        return self.server.__exit__(*exception)

    def request(self, case):
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields(case).items())
        return f"GET {NAMES[case]} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()


def control(option, pid):
    subprocess.run(["callgrind_control", option, str(pid)], check=True, capture_output=True)


def instructions(options):
    for tool in ("valgrind", "callgrind_control"):
        if not shutil.which(tool):
            raise process.Failed(f"{tool} is missing")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        before = ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}"]
        with Site(options.salver, folder, before) as site:
            pid, totals = site.server.child.pid, {}
            for number, case in enumerate(CASES, 1):
                callgrind.ask(site.port, [site.request(case)], options.requests, connections=1)
                # What was done before, making codings among it, is left out.
                control("-z", pid)
                callgrind.ask(site.port, [site.request(case)], options.requests, connections=1)
                control("-d", pid)
                costs = callgrind.self_costs(pathlib.Path(f"{out}.{number}").read_text(errors="replace"))
                totals[case] = sum(costs.values()) / options.requests
                print(f"{case:8}{totals[case]:8.0f} instructions per request, {site.length} bytes, "
                      f"{totals[case] / totals['coded'] - 1:+.1%}", flush=True)


def cpu(options):
    with tempfile.TemporaryDirectory() as folder, Site(options.salver, folder) as site:
        def measure(case):
            words = ["-c", "32"]
            for name, value in fields(case).items():
                words += ["--accept-encoding", value] if name == "Accept-Encoding" else ["--header", f"{name}: {value}"]
            return process.cpu_per_request(options.salver, site.server, options.milliseconds, NAMES[case], *words)

        found = list(ratios.in_turns(CASES, options.rounds, measure))
        print(f"{site.length} bytes, CPU of the server for a request, and its ratio to `coded` within a round:")
        for case in CASES:
            middle = statistics.median(took[case] for took in found)
            by_coded = ratios.described([took[case] / took["coded"] for took in found])
            print(f"{case:8}{middle:6.2f} us  {by_coded}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["instructions", "cpu"])
    parser.add_argument("--salver", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--milliseconds", type=int, default=400, help="of each case in a round")
    options = parser.parse_args()
    try:
        {"instructions": instructions, "cpu": cpu}[options.what](options)
    except process.Failed as failed:
        sys.exit(str(failed))


if __name__ == "__main__":
    main()
