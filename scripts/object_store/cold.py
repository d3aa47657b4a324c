#!/usr/bin/env python3
"""Counts what a store is asked when 25,000 ask a node for the same cold objects at the same moment: over HTTP/2 as streams
of some connections, and over HTTP/1.1 by a connection each, as many as this system lets a process have open.

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
# The files that a process has open beside connections.
BESIDE = 1000
# Connections of one address are fewer than ports.
ADDRESSES = 4
# Streams of one connection over HTTP/2.
STREAMS = 100
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, RST_STREAM, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 3, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def connections(port, count):
    """Open connections, a few at a time: the queue of those that wait to be accepted is short."""
    opened = []
    for number in range(count):
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


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def literal(text):
    return bytes([len(text)]) + text.encode()


class Http2Connection:
    """One connection with its streams, and what has come of each: RFC 9113 and 7541, as far as it is needed here."""

    def __init__(self, connection, target, part, streams):
        # Indexed `:method: GET` and `:scheme: http`; literals by an indexed name, or by their own.
        block = b"\x82\x86\x04" + literal(target) + b"\x01" + literal("a") + b"\x00" + literal("range") + literal(part)
        requests = [frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, block) for number in range(streams)]
        self.connection, self.rest, self.left = connection, b"", streams
        self.found = {2 * number + 1: [b"nothing", hashlib.sha256()] for number in range(streams)}
        window = frame(WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4))
        self.request = PREFACE + frame(SETTINGS, 0, 0) + window + b"".join(requests)

    def take(self, piece):
        """Takes what has come."""
        self.rest += piece
        while len(self.rest) >= 9 and len(self.rest) >= 9 + (length := int.from_bytes(self.rest[:3])):
            kind, flags, stream = self.rest[3], self.rest[4], int.from_bytes(self.rest[5:9])
            payload, self.rest = self.rest[9 : 9 + length], self.rest[9 + length :]
            if kind == SETTINGS and not flags & ACK:
                self.connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == HEADERS and payload:
                # The status stands first; these have an index.
                self.found[stream][0] = {0x88: b"200", 0x8A: b"206"}.get(payload[0], payload[:4])
            elif kind == DATA:
                self.found[stream][1].update(payload)
            elif kind == GOAWAY:
                self.left = 0
            if kind == RST_STREAM or kind in (DATA, HEADERS) and flags & END_STREAM:
                self.left -= 1


def ask_by_streams(opened, target, part):
    """As `ask`, with all requests of a connection in one piece."""
    selector = selectors.DefaultSelector()
    asking = [Http2Connection(connection, target, part, STREAMS) for connection in opened]
    for one in asking:
        one.connection.sendall(one.request)
        selector.register(one.connection, selectors.EVENT_READ, one)
    sent = time.monotonic()
    while selector.get_map() and time.monotonic() - sent < 300:
        for key, _ in selector.select(10):
            one = key.data
            piece = one.connection.recv(1 << 18)
            one.take(piece)
            if one.left <= 0 or not piece:
                selector.unregister(one.connection)
                one.connection.close()
    found = {}
    for one in asking:
        for status, content in one.found.values():
            what = (status, content.hexdigest())
            found[what] = found.get(what, 0) + 1
    return found, time.monotonic() - sent


def judge(store):
    long = os.urandom(MIB // 2) * 40
    files = {"app.js": b"let a = 1;\n" * 500, "style.css": b"a {}\n" * 500, "index.html": b"<p>Hello.\n", "long.bin": long, "long2.bin": long[::-1]}
    for path, content in files.items():
        store.put(path, content)
    salver = Salver(
        *("s3://bucket/site", "--max-connections", str(CLIENTS + 100), "--max-connections-per-client", str(CLIENTS)),
        *("--connection-memory", "4GiB", "--no-compress"),
        # Who asks last shall find what who asked first has brought.
        *("--revalidate", "1h"),
        env=store.env,
    )
    # The server has as many descriptors, and keeps a quarter of them for files.
    sockets = min(CLIENTS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 7 // 10 - BESIDE)
    streamed = -(-CLIENTS // STREAMS)
    crowds = (
        ("app.js", 0, 1, "streams", streamed, streamed * STREAMS, ask_by_streams),
        ("style.css", 0, 1, "connections", sockets, sockets, ask),
        ("long.bin", SLICE + 100, 2, "streams", streamed, streamed * STREAMS, ask_by_streams),
        ("long2.bin", SLICE + 100, 2, "connections", sockets, sockets, ask),
    )
    for path, start, parts, name, count, clients, ask_all in crowds:
        part = files[path][start : start + 1000]
        opened = connections(salver.port, count)
        store.proxy.fault = lambda asked: "delay"
        store.proxy.asked()
        found, took = ask_all(opened, f"/{path}", f"bytes={start}-{start + 999}")
        store.proxy.fault = lambda asked: None
        asked = store.proxy.asked()
        right = found.get((b"206", hashlib.sha256(part).hexdigest()), 0)
        check(f"{clients:,} {name} that ask for {path} at once are all answered", right == clients, found)
        ranges = [asked.fields.get("range") for asked in asked if asked.path == f"/bucket/site/{path}"]
        check(f"{path} is {parts} GET", len(ranges) == len(set(ranges)) == parts, ranges)
        print(
            f"     {clients:,} {name} for {path} ({len(files[path]):,} bytes): {len(ranges)} GET of it ({', '.join(ranges)}), "
            f"{len(asked)} requests in all; answered within {took:.1f} s; the most memory so far {salver.peak_mib()} MiB",
            flush=True,
        )
    code, said = salver.end()
    check("the server ends", code == 0, (code, said[-500:]))


_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
wanted = 2 * (CLIENTS + BESIDE)
resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(hard, wanted), hard))
for_each_store(judge)
