#!/usr/bin/env python3
"""Counts what a store is asked when 25,000 ask a node for the same cold objects at the same moment.

  cold.py PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND...

All connections are open before the first request is sent, and the store takes half a second for each answer, so that
requests are there before anything has come. COMMAND is not used. CLIENTS in the environment is how many ask."""

import hashlib
import os
import resource
import selectors
import socket
import time

from common import MIB, SLICE, Salver, check, for_each_store

CLIENTS = int(os.environ.get("CLIENTS", "25000"))
# Connections of one address are fewer than ports.
ADDRESSES = 4


def connections(port):
    """Open connections, a few at a time: the queue of those that wait to be accepted is short."""
    opened = []
    for number in range(CLIENTS):
        source = f"127.0.0.{2 + number % ADDRESSES}"
        opened.append(socket.create_connection(("127.0.0.1", port), 30, source_address=(source, 0)))
    return opened


def ask(opened, target, part):
    """Sends a request over each, and then reads all answers; counts their statuses with the hashes of their contents."""
    selector = selectors.DefaultSelector()
    request = f"GET {target} HTTP/1.1\r\nHost: a\r\nRange: {part}\r\nConnection: close\r\n\r\n".encode()
    for connection in opened:
        connection.sendall(request)
    sent = time.monotonic()
    for connection in opened:
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, [hashlib.sha256(), b""])
    left = len(opened)
    found = {}
    while left and time.monotonic() - sent < 300:
        for key, _ in selector.select(10):
            connection, state = key.fileobj, key.data
            try:
                piece = connection.recv(1 << 18)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                selector.unregister(connection)
                connection.close()
                left -= 1
                what = (state[1].split(b" ")[1] if b" " in state[1] else b"nothing", state[0].hexdigest())
                found[what] = found.get(what, 0) + 1
                continue
            if b"\r\n\r\n" not in state[1]:
                state[1] += piece
                if b"\r\n\r\n" not in state[1]:
                    continue
                state[1], piece = state[1].split(b"\r\n\r\n", 1)
                state[1] += b"\r\n\r\n"
            state[0].update(piece)
    return found, time.monotonic() - sent


def judge(store):
    long = os.urandom(MIB // 2) * 40
    files = {"app.js": b"let a = 1;\n" * 500, "style.css": b"a {}\n" * 500, "index.html": b"<p>Hello.\n", "long.bin": long}
    for path, content in files.items():
        store.put(path, content)
    salver = Salver(
        *("s3://bucket/site", "--max-connections", str(CLIENTS + 100), "--max-connections-per-client", str(CLIENTS)),
        *("--connection-memory", "4GiB", "--no-compress"),
        env=store.env,
    )
    for path, start, parts in (("app.js", 0, 1), ("long.bin", SLICE + 100, 2)):
        part = files[path][start : start + 1000]
        opened = connections(salver.port)
        store.proxy.fault = lambda asked: "delay"
        store.proxy.asked()
        found, took = ask(opened, f"/{path}", f"bytes={start}-{start + 999}")
        store.proxy.fault = lambda asked: None
        asked = store.proxy.asked()
        right = found.get((b"206", hashlib.sha256(part).hexdigest()), 0)
        check(f"{CLIENTS:,} who ask for {path} at once are all answered", right == CLIENTS, found)
        ranges = [asked.fields.get("range") for asked in asked if asked.path == f"/bucket/site/{path}"]
        check(f"{path} is {parts} GET", len(ranges) == len(set(ranges)) == parts, ranges)
        print(
            f"     {CLIENTS:,} requests for {path} ({len(files[path]):,} bytes): {len(ranges)} GET of it ({', '.join(ranges)}), "
            f"{len(asked)} requests in all; answered within {took:.1f} s; the most memory so far {salver.peak_mib()} MiB"
        )
    code, said = salver.end()
    check("the server ends", code == 0, (code, said[-500:]))


most = CLIENTS + 1000
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, max(most, hard)))
for_each_store(judge)
