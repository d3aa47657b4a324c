#!/usr/bin/env python3
"""What compression costs and saves: bytes on the wire, the server's CPU for each request, and what is felt of it.

  bench/codings.py wire --salver target/release/salver --site NAME=DIR ...   # bytes of a crawl, cold and warm, and CPU
  bench/codings.py latency --salver target/release/salver                    # p99 of hot requests while 1,000 files are coded
  bench/codings.py latency --deltas --salver target/release/salver           # the same while they are coded against old ones

`wire` asks for every file of a site as a browser would (`Accept-Encoding: gzip, deflate, br, zstd`), each on a connection
of its own, and counts what comes, heads and framing included: cold, right after the start; warm, when nothing is left
to be made. CPU is the time of the server's processes by /proc for the same requests over kept connections, warm, by `salver
bench load` in many short turns; beside it is its ratio to that of siblings, within a round.

`latency` asks for a few small files at a fixed rate, with workers on every core: in turns a server that has nothing else to
do, and one that was asked for a thousand other files and codes them, which is stopped by a signal while the first has its
turn. Each turn must be without errors. With `--deltas` those are next versions of files that were sent before, and are asked
for as by who has these.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import files
import peers
import ratios

BROWSER = "gzip, deflate, br, zstd"
# What is said by who asks for a file of its own site.
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
PATIENCE_SECONDS = 120
# How often a short run is begun that others had a part in.
TRIES = 50
SERVER_CORE, LOAD_CORE = "0", "1"


class Running:
    """A server in a session of its own, on these cores, or on none in particular."""

    def __init__(self, peer, root, folder, metrics=None, cores=None):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.metrics = metrics
        command = [str(word) for word in peer.command(root, self.port, folder)]
        if cores:
            command = ["taskset", "-c", cores, *command]
        if metrics:
            command += ["--metrics", str(metrics)]
        with open(folder / "output.log", "ab") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                                          env={**os.environ, **peer.environment})
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.child.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{peer.name} does not serve: {folder / 'output.log'}") from None
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(PATIENCE_SECONDS)

    def pids(self):
        """Its processes: itself, and those that it has started."""
        found = [self.child.pid]
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text(errors="replace").rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == self.child.pid:
                found.append(int(entry.parent.name))
        return ",".join(map(str, found))

    def waiting(self):
        """The codings that are still to be made."""
        url = f"http://127.0.0.1:{self.metrics}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith("salver_codings_waiting "):
                    return int(float(line.split()[1]))
        raise SystemExit("there is no salver_codings_waiting among the metrics")

    def settle(self):
        """Waits until nothing is left to be made."""
        if self.metrics:
            until = time.monotonic() + 20 * PATIENCE_SECONDS
            while self.waiting():
                if time.monotonic() > until:
                    raise SystemExit("codings are being made for ever")
                time.sleep(0.1)


class Salver(peers.Salver):
    extra = ("--compress-cpu", 100)


class SalverOff(peers.Salver):
    name = "salver, off"
    extra = ("--no-compress",)


class SalverAhead(peers.Salver):
    """Of a copy of the site, with the siblings that `salver compress` writes."""

    name = "salver, `salver compress`"
    extra = ("--no-compress",)

    def command(self, root, port, folder):
        copy = shutil.copytree(root, folder / "site")
        subprocess.run([self.path, "compress", copy, "--quiet"], check=True)
        return super().command(copy, port, folder)


class NginxGzip(peers.Nginx):
    name = "nginx gzip"
    settings = ("gzip on; gzip_comp_level 6; gzip_min_length 128; gzip_types text/css text/plain text/javascript "
                "application/javascript application/json image/svg+xml application/xml application/wasm font/ttf;")


class CaddyEncode(peers.Caddy):
    name = "caddy encode"
    settings = "encode zstd gzip"

    def __init__(self):
        self.path = pathlib.Path(shutil.which("caddy") or "caddy")

    def command(self, root, port, folder):
        words = super().command(root, port, folder)
        # Debian's does not know it, and keeps nothing where there is no API.
        configuration = folder / "Caddyfile"
        configuration.write_text(configuration.read_text().replace("\tpersist_config off\n", ""))
        return words


class StaticWebServer(peers.StaticWebServer):
    name = "static-web-server"

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def command(self, root, port, folder):
        words = super().command(root, port, folder)
        words[words.index("--compression") + 1] = "true"
        words[words.index("--compression-static") + 1] = "false"
        return words


def targets(root):
    """The paths of all files of a site, siblings left out."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return ["/" + str(path.relative_to(root)) for path in found if path.suffix not in (".br", ".gz", ".zst")]


def crawl(port, paths):
    """The bytes that come for all of these, everything included."""
    taken = 0
    for path in paths:
        request = (f"GET {urllib.request.quote(path)} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept-Encoding: {BROWSER}\r\n"
                   "Connection: close\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
            connection.sendall(request.encode())
            head = None
            while part := connection.recv(1 << 18):
                head = head or part
                taken += len(part)
        status = (head or b"").split(b" ", 2)[1:2]
        if status not in ([b"200"], [b"301"], [b"308"]):
            raise SystemExit(f"{path}: {head[:80] if head else 'no answer'}")
    return taken


def load(options, server, listed, *words, cores=None):
    """What `salver bench load` has measured of a server's answers to the listed requests, in a run that it believes."""
    command = [options.salver, "bench", "load", f"http://127.0.0.1:{server.port}/", "--requests", listed, "-c", 16,
               "--pid", server.pids(), "--json", "--quiet", *words]
    command = ["taskset", "-c", cores, *command] if cores else command
    command = list(map(str, command))
    for _ in range(TRIES):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        if done.returncode == 0:
            break
    else:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout[-500:]}")
    return json.loads(done.stdout)["result"]


def row(name, *cells):
    return "| " + " | ".join([name, *map(str, cells)]) + " |"


def wire(options):
    ours = [kind(options.salver) for kind in (Salver, SalverAhead, SalverOff)]
    servers = ours if options.ours else [*ours, NginxGzip(), CaddyEncode()]
    if options.sws and not options.ours:
        servers.append(StaticWebServer(options.sws))
    for site in options.site:
        name, root = site.split("=", 1)
        root = pathlib.Path(root).resolve()
        paths = targets(root)
        length = sum((root / path[1:]).stat().st_size for path in paths)
        print(f"\n### {name}: {len(paths)} files, {length:,} bytes\n")
        print(row("", "cold, bytes", "warm, bytes", "server CPU for a request", "by `salver compress`"))
        print("| --- | ---: | ---: | ---: | ---: |")
        with contextlib.ExitStack() as stack:
            running = {}
            for number, peer in enumerate(servers):
                folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
                os.chmod(folder, 0o755)
                metrics = options.metrics + number if isinstance(peer, peers.Salver) else None
                server = stack.enter_context(Running(peer, root, folder, metrics, SERVER_CORE))
                cold = crawl(server.port, paths)
                server.settle()
                running[peer.name] = (server, cold, crawl(server.port, paths))
            listed = folder / "requests.txt"
            listed.write_text("\n".join(urllib.request.quote(path) for path in paths) + "\n")
            found = list(ratios.in_turns(running, options.rounds, lambda name: cost(options, running[name][0], listed)))
            for name, (_, cold, warm) in running.items():
                middle = statistics.median(took[name] for took in found)
                by_siblings = ratios.described([took[name] / took[SalverAhead.name] for took in found])
                print(row(name, f"{cold:,}", f"{warm:,}", f"{middle:.1f} us", by_siblings), flush=True)


def cost(options, server, listed):
    """The CPU time of a server for a request, in microseconds."""
    measured = load(options, server, listed, "--accept-encoding", BROWSER, "--duration", options.duration,
                    "--warm-up", "100ms", cores=LOAD_CORE)
    return measured["server"]["cpu_us_per_request"]


def ask(port, path, fields):
    """Asks for a file as a browser does that says where it comes from."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=fields)
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def latency(options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        os.chmod(folder, 0o755)
        root = folder / "site"
        (root / "many").mkdir(parents=True)
        rng = files.random.Random(1)
        words = files.Words(rng)
        for number in range(4):
            (root / f"hot{number}.js").write_text(files.javascript(words, rng)[:3000])
        many = {}
        for number in range(1000):
            text = " ".join(words.sentence() for _ in range(options.sentences))
            if options.deltas:
                old, new = (f"/many/name{number}.{digits}.js" for digits in ("3f9a1c2b", "8b1d90e4"))
                (root / old[1:]).write_text(text)
                (root / new[1:]).write_text(text + words.sentence() + str(number))
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                many[new] = (old, {**OWN, "Accept-Encoding": "dcb", "Available-Dictionary": f":{digest}:"})
            else:
                (root / "many" / f"{number}.html").write_text(text + str(number))
                many[f"/many/{number}.html"] = (None, None)
        (folder / "hot.txt").write_text("".join(f"/hot{number}.js\n" for number in range(4)))
        time.sleep(files.AT_REST_SECONDS)
        peer = peers.Salver(options.salver)
        # With room for all former versions.
        more = ["--cache-size", "4GiB"] if options.deltas else []
        peer.command = lambda root, port, folder: [peer.path, "serve", root, "--port", port, "--quiet", *more]

        with contextlib.ExitStack() as stack:
            running = {}
            for number, name in enumerate(("idle", "coding")):
                place = folder / name
                place.mkdir()
                server = stack.enter_context(Running(peer, root, place, options.metrics + number))
                crawl(server.port, [f"/hot{number}.js" for number in range(4)])
                running[name] = server
            coding = running["coding"]
            for old, _ in many.values():
                if old:
                    ask(coding.port, old, OWN)
            for server in running.values():
                server.settle()
            for path, (old, fields) in many.items():
                if old:
                    ask(coding.port, path, fields)
            if not options.deltas:
                crawl(coding.port, list(many))
            before = coding.waiting()

            def measure(name):
                coding.child.send_signal(signal.SIGCONT if name == "coding" else signal.SIGSTOP)
                measured = load(options, running[name], folder / "hot.txt", "--accept-encoding", "br", "--rate", options.rate,
                                "--duration", f"{options.milliseconds}ms", "--warm-up", "200ms")
                return measured["corrected"]["p99_us"]

            try:
                found = list(ratios.in_turns(running, options.rounds, measure))
            finally:
                coding.child.send_signal(signal.SIGCONT)
            after = coding.waiting()
        if not after:
            raise SystemExit("all was coded before the end: more --sentences, or fewer --rounds")
        one, other = (statistics.median(took[name] for took in found) for name in ("idle", "coding"))
        what = "coded against old ones" if options.deltas else "coded"
        print(f"p99 of hot requests, medians of {len(found)} rounds: {one:.0f} us idle, {other:.0f} us while 1,000 files are "
              f"{what} ({before - after} of {before} codings); ratio within a round "
              f"{ratios.described([took['coding'] / took['idle'] for took in found])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["wire", "latency"])
    parser.add_argument("--salver", default="target/release/salver")
    parser.add_argument("--sws", help="static-web-server")
    parser.add_argument("--ours", action="store_true", help="of `wire`: without other servers, so that more rounds cost less")
    parser.add_argument("--site", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--metrics", type=int, default=19090, help="a free port")
    parser.add_argument("--duration", default="500ms", help="of each server in a round of `wire`")
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--milliseconds", type=int, default=1000, help="of each server in a round of `latency`")
    parser.add_argument("--sentences", type=int, help="by default 300, with --deltas 2000")
    parser.add_argument("--deltas", action="store_true", help="code against former versions")
    options = parser.parse_args()
    options.sentences = options.sentences or (2000 if options.deltas else 300)
    options.salver = str(pathlib.Path(options.salver).resolve())
    {"wire": wire, "latency": latency}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
