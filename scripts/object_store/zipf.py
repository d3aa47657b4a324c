#!/usr/bin/env python3
"""A Zipf load over 100,000 objects of one bucket, through the program, nginx `proxy_cache` and Varnish: how often each asks the
store, what that costs, and how long clients wait.

  zipf.py PROGRAM [SECONDS [REQUESTS-A-SECOND]]

The store is a server here with a bucket as S3 has it, which anybody may read. It makes its objects of their numbers (1 to 20 KB, with
ETags, answering If-None-Match by 304), lists 1,000 of them in the order of their keys, and takes 20 ms for each answer. Every request to it
counts as one, lists included; their price is also printed in that of one GET, of which a list costs as much as 12.5 at S3. Requests go at fixed times, whatever became of those before, from one list for all three. Each
cache has a disk, keeps what it has for 10 s, then sends it for as long as this takes while it compares it in the background, and
loads a file once for all who want it: that is what its configuration below says. Every answer is compared with what the store
has. Root, and Debian's nginx and varnish, which are installed if they are not there."""

import asyncio
import bisect
import functools
import hashlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

PROGRAM = os.path.realpath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
RATE = int(sys.argv[3]) if len(sys.argv) > 3 else 250
OBJECTS, EXPONENT, FRESH = 100_000, 1.0, 10
LATENCY = 0.02
LIST_PRICE = 12.5
PAGE = 1000
CONNECTIONS = 64

NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  proxy_cache_path {folder}/nginx-cache levels=1:2 keys_zone=zone:64m max_size=1g inactive=1d use_temp_path=off;
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


KEYS = sorted(f"o{number}.bin" for number in range(OBJECTS))


def content(number):
    """The content of an object: it begins with its number, so that one is not taken for another."""
    chance = random.Random(number)
    return b"%d\n" % number + chance.randbytes(64) * chance.randrange(16, 320)


@functools.cache
def described(key):
    """What a list tells of an object."""
    body = content(int(key[1:].removesuffix(".bin")))
    return (
        f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f'<ETag>"{hashlib.md5(body).hexdigest()}"</ETag><Size>{len(body)}</Size><StorageClass>STANDARD</StorageClass></Contents>'
    )


def listed(query):
    """A page of a list, as S3 answers ListObjectsV2."""
    said = dict(urllib.parse.parse_qsl(query))
    after = said.get("continuation-token", said.get("start-after", ""))
    first = bisect.bisect_right(KEYS, after)
    page = KEYS[first : first + min(int(said.get("max-keys", PAGE)), PAGE)]
    page = [key for key in page if key.startswith(said.get("prefix", ""))]
    more = bool(page) and page[-1] != KEYS[-1]
    token = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if more else ""
    return (
        f"<?xml version='1.0'?><ListBucketResult><Name>bucket</Name><KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}"
        f"</IsTruncated>{token}{''.join(map(described, page))}</ListBucketResult>"
    ).encode()


class Store(asyncio.Protocol):
    """One connection to the store. `asked` counts what all were asked: whole objects, comparisons, lists, and all else."""

    asked = [0, 0, 0, 0]

    def connection_made(self, transport):
        self.transport, self.rest = transport, b""

    def data_received(self, data):
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, self.rest = self.rest.split(b"\r\n\r\n", 1)
            asyncio.get_running_loop().call_later(LATENCY, self.answer, head)

    def answer(self, head):
        first, *lines = head.split(b"\r\n")
        method, path = first.split(b" ")[:2]
        fields = {name.lower(): value.strip() for name, value in (line.split(b":", 1) for line in lines)}
        path, _, query = path.partition(b"?")
        name = path.rsplit(b"/", 1)[-1]
        if b"list-type=2" in query:
            Store.asked[2] += 1
            body = listed(query.decode())
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % len(body)
            self.transport.write(head + body)
            return
        if not name.startswith(b"o"):
            Store.asked[3] += 1
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        body = content(int(name[1:].removesuffix(b".bin")))
        tag = b'"%s"' % hashlib.md5(body).hexdigest().encode()
        common = b"ETag: %s\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n" % tag
        if fields.get(b"if-none-match") == tag:
            Store.asked[1] += 1
            self.transport.write(b"HTTP/1.1 304 Not Modified\r\n%s\r\n" % common)
            return
        Store.asked[0] += 1
        status, more = b"200 OK", b""
        if b"range" in fields:
            status, more = b"206 Partial Content", b"Content-Range: bytes 0-%d/%d\r\n" % (len(body) - 1, len(body))
        head = b"HTTP/1.1 %s\r\n%s%sContent-Length: %d\r\n\r\n" % (status, common, more, len(body))
        self.transport.write(head + (b"" if method == b"HEAD" else body))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def requests():
    """The objects that are asked for, in order: the same for all."""
    chance, total, sums = random.Random(7), 0.0, []
    for rank in range(1, OBJECTS + 1):
        total += rank**-EXPONENT
        sums.append(total)
    places = list(range(OBJECTS))
    chance.shuffle(places)
    return [places[bisect.bisect(sums, chance.random() * total)] for _ in range(SECONDS * RATE)]


async def ask(streams, number):
    reader, writer = streams
    writer.write(b"GET /o%d.bin HTTP/1.1\r\nHost: a\r\n\r\n" % number)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    body = await reader.readexactly(int(length.split(b":")[1]))
    return head.split(b" ")[1] == b"200" and body == content(number)


async def load(port, order):
    """How long each answer took from the moment at which its request was due, and how many were wrong."""
    free = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))
    took, wrong, begun = [], 0, time.monotonic()

    async def one(number, due):
        nonlocal wrong
        streams = await free.get()
        try:
            right = await asyncio.wait_for(ask(streams, number), 30)
        except (OSError, EOFError, asyncio.TimeoutError):
            right, streams = False, await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        took.append(time.monotonic() - begun - due)
        wrong += not right
        free.put_nowait(streams)

    tasks = []
    for place, number in enumerate(order):
        due = place / RATE
        await asyncio.sleep(max(0, due - (time.monotonic() - begun)))
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*tasks)
    return sorted(took), wrong


def install():
    missing = [name for name, program in {"nginx": "nginx", "varnish": "varnishd"}.items() if not shutil.which(program)]
    if missing:
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *missing]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


async def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="zipf-"))
    folder.chmod(0o755)
    order = requests()
    wanted = set(order)
    for key in KEYS:
        # Not while others wait.
        described(key)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Store, "127.0.0.1", 0, backlog=1024)
    store = server.sockets[0].getsockname()[1]
    print(f"{len(order)} requests at {RATE} a second, {len(wanted)} objects of {OBJECTS}; the store takes {LATENCY * 1000:.0f} ms")
    found = {}
    for name in ("salver", "nginx", "varnish"):
        port = free_port()
        told = {"folder": folder, "store": store, "port": port, "fresh": FRESH}
        (folder / "nginx.conf").write_text(NGINX.format(**told))
        (folder / "varnish.vcl").write_text(VARNISH.format(**told))
        command = {
            "salver": [
                *(PROGRAM, "serve", "s3://bucket/", "--port", str(port), "--workers", "1", "--no-compress"),
                *("--revalidate", f"{FRESH}s", "--stale-while-revalidate", "1d", "--precompressed", "none"),
                *("--compat", "none", "--cache-dir", str(folder / "salver-cache"), "--cache-dir-size", "1536MiB"),
            ],
            "nginx": ["nginx", "-e", "stderr", "-c", str(folder / "nginx.conf")],
            "varnish": [
                *("varnishd", "-F", "-a", f"127.0.0.1:{port}", "-f", str(folder / "varnish.vcl"), "-n", str(folder / "varnish")),
                *("-s", f"file,{folder}/varnish-cache,1G"),
            ],
        }[name]
        with (folder / f"{name}.log").open("w") as log:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{store}",
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_SKIP_SIGNATURE": "true",
            }
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            for _ in range(300):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
            # What a process does once before its first answer is not what is measured.
            spare = next(number for number in range(OBJECTS) if number not in wanted)
            streams = await asyncio.open_connection("127.0.0.1", port)
            begun = time.monotonic()
            assert await ask(streams, spare), name
            print(f"{name:8} first answer after {(time.monotonic() - begun) * 1000:.0f} ms", flush=True)
            streams[1].close()
            Store.asked[:] = [0, 0, 0, 0]
            took, wrong = await load(port, order)
            fetched, compared, lists, other = Store.asked
            at = lambda share: took[int(len(took) * share)] * 1000
            found[name] = (sum(Store.asked) * 1000 / len(order), at(0.99))
            price = (fetched + compared + other + lists * LIST_PRICE) * 1000 / len(order)
            print(
                f"{name:8} {found[name][0]:7.1f} requests to the store per 1,000 ({fetched} whole, {compared} compared, {lists} lists,"
                f" {other} else), which cost as {price:.1f} GETs;"
                f" p50 {at(0.5):.1f} ms, p90 {at(0.9):.1f} ms, p99 {at(0.99):.1f} ms, p99.9 {at(0.999):.1f} ms; {wrong} wrong",
                flush=True,
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    shutil.rmtree(folder, ignore_errors=True)
    is_best = all(found["salver"][which] <= found[other][which] for other in ("nginx", "varnish") for which in (0, 1))
    print("Salver asks the store least, and has the lowest p99" if is_best else "Salver is not best in both")


install()
asyncio.run(main())
