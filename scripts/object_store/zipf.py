#!/usr/bin/env python3
"""A Zipf load over 100,000 objects of one bucket, through the program, nginx `proxy_cache` and Varnish: how often each asks the
store, what that costs, and how long clients wait.

  zipf.py PROGRAM [SECONDS [REQUESTS-A-SECOND,... [ROUNDS [HITS-A-SECOND,...]]]]

The store (zipf_store.rs) has a bucket as S3 has it, which anybody may read: objects of 1 to 20 KB with ETags, If-None-Match answered by
304, and lists of 1,000 in the order of their keys. It takes 20 ms for each answer. Every request to it counts as one, lists included; their
price is also printed in that of one GET, of which a list costs as much as 12.5 at S3. The load is vegeta's (or that of VEGETA; Go builds it
if it is not there): requests are due at fixed times, whatever became of those before, over at most 64 connections, from one list for all
three. It shares a core with the store, and goes before it (SCHED_FIFO), as if that were another machine. Each cache has a disk and the
other core, keeps what it has for 10 s, then sends it for as long as this takes while it compares it in the background, and loads a file
once for all who want it: that is what its configuration below says.

They are measured with nothing at first, at each of these rates (600), SECONDS (28) of load in each of ROUNDS (6), in which all three begin
anew; then, once each object was asked for, 900 a second, at each rate of HITS-A-SECOND (1000,2000,4000; 0: not; vegeta keeps up with no
more than some 5,000 on one core). They take turns of 4 seconds: all have their share of what else the machine does, and none is left alone
for longer than what it has stays fresh. Before that each has some of that load, which is not counted: what store, load and machine do once,
whoever came first would pay for. Compared are all requests to the store, and the 99th percentile of all answers together. Root, and
Debian's nginx and varnish, which are installed if they are not there."""

import asyncio
import bisect
import collections
import functools
import hashlib
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.realpath(sys.argv[1])
GIVEN = dict(enumerate(sys.argv))
SECONDS, ROUNDS = int(GIVEN.get(2, 28)), int(GIVEN.get(4, 6))
RATES, HITS = ([int(rate) for rate in rates.split(",") if rate != "0"] for rates in (GIVEN.get(3, "600"), GIVEN.get(5, "1000,2000,4000")))
VEGETA = os.environ.get("VEGETA") or os.path.join(tempfile.gettempdir(), "salver-vegeta", "vegeta")
CACHES = ["salver", "nginx", "varnish"]
OBJECTS, EXPONENT, FRESH = 100_000, 1.0, 10
LATENCY = 20
FILLED_AT = 900
# Seconds of the load that is not counted.
WARM_UP = 10
# The seconds of a turn, and the turns of a load of hits; the first ones are not counted, in which it becomes what it is in the long run.
TURN, TURNS, NOT_COUNTED = 4, 12, 2
LIST_PRICE = 12.5
CONNECTIONS = 64
# Nanoseconds that latencies are counted between, so that those of several loads can be added up: 50 us to 100 s, 0.3 % apart.
BUCKETS = [round(50_000 * 1.003**step) for step in range(4845)]

NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  proxy_cache_path {folder}/nginx-cache levels=1:2 keys_zone=zone:64m max_size=2g inactive=1d use_temp_path=off;
  proxy_temp_path {folder}/nginx-temp; client_body_temp_path {folder}/nginx-body;
  upstream store {{ server 127.0.0.1:{store}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://store/bucket/; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache zone; proxy_cache_valid 200 {fresh}s; proxy_cache_lock on; proxy_cache_revalidate on;
      proxy_cache_use_stale updating error timeout; proxy_cache_background_update on;
    }}
  }}
}}
"""
VARNISH = """
vcl 4.1;
backend default {{ .host = "127.0.0.1"; .port = "{store}"; }}
sub vcl_backend_fetch {{ set bereq.url = "/bucket" + bereq.url; }}
sub vcl_backend_response {{ set beresp.ttl = {fresh}s; set beresp.grace = 1d; set beresp.keep = 1d; }}
"""


@functools.cache
def parts(number):
    """The bytes that an object has after its number, which it begins with so that one is not taken for another, and how often."""
    chance = random.Random(number)
    return chance.randbytes(64), chance.randrange(16, 320)


def content(number):
    """An object."""
    block, times = parts(number)
    return b"%d\n" % number + block * times


class Store:
    """The store: zipf_store.rs, compiled, for it shares a core with the load."""

    def __init__(self, folder):
        table, program = folder / "objects", folder / "zipf-store"
        with table.open("wb") as file:
            for number in range(OBJECTS):
                block, times = parts(number)
                file.write(block + times.to_bytes(2, "little") + hashlib.md5(content(number)).digest())
        source = pathlib.Path(__file__).with_name("zipf_store.rs")
        subprocess.run(["rustc", "--edition=2024", "-O", source, "-o", program], check=True)
        self.process = subprocess.Popen([program, table, str(LATENCY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def asked(self):
        """What it was asked since the last time: whole objects, comparisons, lists, and all else."""
        print(file=self.process.stdin, flush=True)
        return [int(count) for count in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def requests(seed, count):
    """The objects that are asked for, in order: the same for all. One is as popular whatever the seed."""
    chance, total, sums = random.Random(seed), 0.0, []
    for rank in range(1, OBJECTS + 1):
        total += rank**-EXPONENT
        sums.append(total)
    places = list(range(OBJECTS))
    random.Random(6).shuffle(places)
    return [places[bisect.bisect(sums, chance.random() * total)] for _ in range(count)]


async def ask(streams, number):
    """True if a cache has an object as it is."""
    reader, writer = streams
    host, port = writer.get_extra_info("peername")
    # As the load says it: Varnish has objects for each host.
    writer.write(f"GET /o{number}.bin HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    body = await reader.readexactly(int(length.split(b":")[1]))
    return head.split(b" ")[1] == b"200" and body == content(number)


def p99_of_all(counts):
    """The milliseconds that a hundredth took longer than, to 0.3 %."""
    longer, allowed = 0, sum(counts.values()) / 100
    for least in sorted(counts, reverse=True):
        longer += counts[least]
        if longer > allowed:
            return least / 1e6
    return 0.0


async def load(port, order, rate):
    """What vegeta tells of a load, each request of which goes out at its time, and how many answers were wrong: not 200, or
    of another length."""
    # By files: at the other end of a pipe is this process, which has its turn after the load.
    with tempfile.NamedTemporaryFile("w") as targets, tempfile.NamedTemporaryFile() as results:
        targets.writelines(f"GET http://127.0.0.1:{port}/o{number}.bin\n" for number in order)
        targets.flush()
        command = [
            *("chrt", "--fifo", "1", VEGETA, "attack", f"-targets={targets.name}", f"-output={results.name}", "-lazy", f"-rate={rate}"),
            *(f"-connections={CONNECTIONS}", f"-max-connections={CONNECTIONS}", f"-duration={len(order) * 1000 // rate}ms", "-timeout=30s"),
        ]
        await (await asyncio.create_subprocess_exec(*command)).wait()
        buckets = ",".join(f"{nanoseconds}ns" for nanoseconds in [0, *BUCKETS])
        command = [VEGETA, "report", "-type=json", f"-buckets=[{buckets}]", results.name]
        report = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        said = json.loads((await report.communicate())[0])
    wrong = said["requests"] - said["status_codes"].get("200", 0)
    if said["requests"] == len(order):
        wrong += said["bytes_in"]["total"] != sum(len(content(number)) for number in order)
    return said, wrong


async def count_wrong(port, order):
    """How many of a few objects of a load a cache has otherwise than they are."""
    streams = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    wrong = [not await ask(streams, number) for number in order[:: max(1, len(order) // 200)]]
    streams[1].close()
    return sum(wrong)


def install():
    """Debian's packages and vegeta, as far as they are not there."""
    missing = [name for name, program in {"nginx": "nginx", "varnish": "varnishd", "golang-go": "go"}.items() if not shutil.which(program)]
    if missing:
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *missing]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    if not os.path.exists(VEGETA):
        environment = dict(os.environ, GOBIN=os.path.dirname(VEGETA), GOFLAGS="-modcacherw")
        subprocess.run(["go", "install", "github.com/tsenart/vegeta/v12@v12.13.0"], check=True, env=environment)


def command_of(name, folder, port, store):
    """What starts a cache on a port, with nothing in it."""
    told = {"folder": folder, "store": store, "port": port, "fresh": FRESH}
    (folder / "nginx.conf").write_text(NGINX.format(**told))
    (folder / "varnish.vcl").write_text(VARNISH.format(**told))
    return {
        "salver": [
            *(PROGRAM, "serve", "s3://bucket/", "--port", str(port), "--workers", "1", "--no-compress"),
            *("--revalidate", f"{FRESH}s", "--stale-while-revalidate", "1d", "--precompressed", "none"),
            *("--compat", "none", "--cache-dir", str(folder / "salver-cache"), "--cache-dir-size", "2GiB", "--cache-size", "2GiB"),
        ],
        "nginx": ["nginx", "-e", "stderr", "-c", str(folder / "nginx.conf")],
        "varnish": [
            *("varnishd", "-F", "-a", f"127.0.0.1:{port}", "-f", str(folder / "varnish.vcl"), "-n", str(folder / "varnish")),
            *("-s", f"file,{folder}/varnish-cache,2G"),
        ],
    }[name]


class Cache:
    """A cache before the store, with nothing in it at first, on the first core."""

    def __init__(self, name, store, folder):
        self.name, self.store, self.port = name, store, free_port()
        folder.mkdir()
        folder.chmod(0o755)
        with (folder / f"{name}.log").open("w") as log:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.port}",
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_SKIP_SIGNATURE": "true",
            }
            command = ["taskset", "-c", "0", *command_of(name, folder, self.port, store.port)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    async def answers(self, spare):
        """Waits for its first answer: what a process does once before that is not what is measured."""
        for _ in range(300):
            try:
                streams = await asyncio.open_connection("127.0.0.1", self.port)
                break
            except OSError:
                await asyncio.sleep(0.1)
        assert await ask(streams, spare), self.name
        streams[1].close()

    async def measure(self, what, order, rate):
        """The requests to the store per 1,000, the 99th percentile of the milliseconds that answers take, and how many took as long
        as each bucket says."""
        self.store.asked()
        said, wrong = await load(self.port, order, rate)
        fetched, compared, lists, other = asked = self.store.asked()
        wrong += await count_wrong(self.port, order)
        per_thousand = sum(asked) * 1000 / len(order)
        price = (fetched + compared + other + lists * LIST_PRICE) * 1000 / len(order)
        took = {name: nanoseconds / 1e6 for name, nanoseconds in said["latencies"].items()}
        print(
            f"{self.name:8} {what}: {per_thousand:.1f} requests to the store per 1,000 ({fetched} whole, {compared} compared,"
            f" {lists} lists, {other} else), which cost as {price:.1f} GETs; {took['50th']:.2f} ms (median),"
            f" {took['90th']:.2f} (p90), {took['99th']:.2f} (p99), {took['max']:.1f} (most); {wrong} wrong",
            flush=True,
        )
        return per_thousand, took["99th"], collections.Counter({int(least): count for least, count in said["buckets"].items()})

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


async def main(folder):
    cold = {rate: requests(7, SECONDS * rate) for rate in RATES}
    warm = {rate: requests(8, TURNS * TURN * rate) for rate in HITS}
    everything = list(range(OBJECTS))
    random.Random(9).shuffle(everything)
    store = Store(folder)
    asked_for = set(itertools.chain.from_iterable(cold.values()))
    spare = next(number for number in range(OBJECTS) if number not in asked_for)
    for rate, order in *cold.items(), *warm.items():
        print(f"{len(order)} requests at {rate} a second, for {len(set(order))} objects of {OBJECTS}; the store takes {LATENCY} ms")
    found, running = {}, []

    def in_turn(names, turn):
        first = turn % len(names)
        return names[first:] + names[:first]

    async def begin(names, what):
        """Ends what runs, and has each of these caches begin with nothing in it."""
        while running:
            running.pop().end()
        for name in names:
            # What is removed is removed at the end: ext4 makes files slowly for a while after many have gone.
            running.append(Cache(name, store, folder / f"{what}-{name}"))
            await running[-1].answers(spare)

    async def measure(what, order, rate, first=0):
        """Has the caches answer a load by turns, the first of which are not counted."""
        turns = [order[start : start + rate * TURN] for start in range(0, len(order), rate * TURN)]
        for turn, cache in itertools.product(range(len(turns)), running):
            figures = await cache.measure(what, turns[turn], rate)
            if turn >= first:
                found.setdefault((what, cache.name), []).append(figures)

    try:
        await begin(CACHES, "warm-up")
        for cache in running:
            await load(cache.port, cold[RATES[0]][: WARM_UP * RATES[0]], RATES[0])
        for number, (rate, order) in itertools.product(range(ROUNDS), cold.items()):
            await begin(in_turn(CACHES, number), f"{number}-{rate}")
            await measure(f"with nothing at first, {rate}/s", order, rate)
        for cache in running if HITS else []:
            said, wrong = await load(cache.port, everything, FILLED_AT)
            wrong += await count_wrong(cache.port, everything)
            assert not wrong, (cache.name, wrong, said["status_codes"], said["errors"][:5])
        for rate, order in warm.items():
            await measure(f"once all was asked for, {rate}/s", order, rate, NOT_COUNTED)
    finally:
        for cache in running:
            cache.end()
        store.end()
    is_best = True
    for what in dict.fromkeys(what for what, _ in found):
        told = {}
        for name in CACHES:
            asked, p99s, counts = zip(*found[what, name])
            told[name] = statistics.mean(asked), p99_of_all(sum(counts, collections.Counter()))
            print(
                f"{name:8} {what}: {told[name][0]:.1f} requests to the store per 1,000 ({len(asked)} turns), p99 of all"
                f" {told[name][1]:.2f} ms (median of theirs {statistics.median(p99s):.2f}, {min(p99s):.2f} to {max(p99s):.2f})"
            )
        ours = told.pop("salver")
        is_best &= all(ours[which] < other[which] for other in told.values() for which in (0, 1))
    print("Salver asks the store least, and has the lowest p99" if is_best else "Salver is not best in all")
    return 0 if is_best else 1


install()
# The store and the clients have the other core.
os.sched_setaffinity(0, {1})
with tempfile.TemporaryDirectory(prefix="zipf-", ignore_cleanup_errors=True) as path:
    os.chmod(path, 0o755)
    sys.exit(asyncio.run(main(pathlib.Path(path))))
