"""A proxy between a node and its store, over loopback: it counts what is asked, and spoils answers as it is told.

It passes heads on as they are, Host among them, so that a store which judges signatures judges those of the client."""

import asyncio
import dataclasses
import re
import socket
import threading
import time
import urllib.parse

# What a store says whose credentials are over; S3 says it with 400.
EXPIRED = b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"

# The faults by name: what is done instead of passing an answer on, or to it.
FAULTS = (
    "delay",  # half a second before the answer
    "hang",  # no answer
    "stall",  # half of the content, and then nothing
    "reset",  # the connection ends before the answer
    "cut",  # the connection ends within the content
    "truncate",  # half of the content, in an answer that says it is whole
    "lengthen",  # Content-Length says 10 bytes more than there are
    "shorten",  # Content-Length says 10 bytes less than are sent
    "wrong-etag",  # the content of another version
    "503",
    "429",
    "403",
    "expired",
    "garbage",  # what is no HTTP
)


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request that came."""

    method: str
    target: str
    fields: dict

    @property
    def path(self):
        return urllib.parse.unquote(urllib.parse.urlsplit(self.target).path)


class Proxy:
    """A proxy before `port`. `fault` is asked for each request: it gives the name of a fault, or None."""

    def __init__(self, port, fault=lambda asked: None):
        self.upstream, self.fault, self.asked_so_far = port, fault, []
        self.spoilt = {}
        # When each object was last put, by its path: the moment at which the store was sent it.
        self.put_at = {}
        self.under_way = self.most_under_way = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()

    def asked(self):
        """The requests since this was called last."""
        asked, self.asked_so_far = self.asked_so_far, []
        return asked

    async def serve(self):
        server = await asyncio.start_server(self.connection, sock=self.listener, limit=1 << 20)
        await server.serve_forever()

    async def connection(self, reader, writer):
        upstream = None
        try:
            while (head := await read_head(reader)) is not None:
                first, fields = parse(head)
                method, target, _ = first.split(" ", 2)
                asked = Asked(method, target, fields)
                self.asked_so_far.append(asked)
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                try:
                    length = int(fields.get("content-length", 0))
                    body = await reader.readexactly(length) if length else b""
                    fault = self.fault(asked)
                    if fault:
                        self.spoilt[fault] = self.spoilt.get(fault, 0) + 1
                    if upstream is None:
                        upstream = await asyncio.open_connection("127.0.0.1", self.upstream, limit=1 << 20)
                    if not await exchange(asked, head + body, upstream, writer, fault, self.put_at):
                        return
                finally:
                    self.under_way -= 1
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            for end in (writer, upstream and upstream[1]):
                if end:
                    end.close()


async def read_head(reader):
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None


def parse(head):
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = (line.split(":", 1) for line in lines if ":" in line)
    return first, {name.lower(): value.strip() for name, value in fields}


def answer(status, body=b""):
    return b"HTTP/1.1 %s\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


async def exchange(asked, request, upstream, writer, fault, put_at):
    """Passes one request on and its answer back; False if the connection ends."""
    match fault:
        case "delay":
            await asyncio.sleep(0.5)
        case "hang":
            await asyncio.sleep(3600)
        case "reset":
            writer.transport.abort()
            return False
        case "garbage":
            writer.write(b"\x00\x01 this is no answer\r\n\r\n" * 20)
            await writer.drain()
            return False
        case "503" | "429" | "403" | "expired":
            told = {
                "503": answer(b"503 Slow Down"),
                "429": answer(b"429 Too Many Requests"),
                "403": answer(b"403 Forbidden", DENIED),
                "expired": answer(b"400 Bad Request", EXPIRED),
            }
            writer.write(told[fault])
            await writer.drain()
            return True
    source, sink = upstream
    sink.write(request)
    await sink.drain()
    sent_at = time.monotonic()
    head = await source.readuntil(b"\r\n\r\n")
    first, fields = parse(head)
    status = int(first.split(" ")[1])
    if asked.method == "PUT" and status == 200:
        put_at[asked.path] = sent_at
    length = 0 if asked.method == "HEAD" or status in (204, 304) else fields.get("content-length")
    if length is None and "chunked" not in fields.get("transfer-encoding", ""):
        raise ValueError("an answer without a length")
    has_content = status in (200, 206) and length not in (None, 0, "0") and "etag" in fields
    if not has_content:
        fault = None
    if fault == "wrong-etag":
        head = re.sub(rb'(?i)(\r\netag: *"?)[0-9a-z]', rb"\1f0e", head, count=1)
    size = int(length or 0)
    sent = size
    match fault:
        case "truncate":
            sent = size // 2
            head = re.sub(rb"(?i)\r\ncontent-length: *\d+", b"\r\nContent-Length: %d" % sent, head, count=1)
        case "lengthen":
            head = re.sub(rb"(?i)\r\ncontent-length: *\d+", b"\r\nContent-Length: %d" % (size + 10), head, count=1)
        case "shorten":
            head = re.sub(rb"(?i)\r\ncontent-length: *\d+", b"\r\nContent-Length: %d" % max(size - 10, 0), head, count=1)
        case "cut" | "stall":
            sent = size // 2
    writer.write(head)
    if length is None:
        await pass_chunks(source, writer)
        return True
    left = sent
    while left:
        piece = await source.read(min(left, 1 << 18))
        if not piece:
            raise ValueError("the store has cut its answer")
        writer.write(piece)
        await writer.drain()
        left -= len(piece)
    if fault == "stall":
        await asyncio.sleep(3600)
    # What the store goes on to send is nobody's.
    return fault not in ("cut", "truncate", "lengthen", "shorten")


async def pass_chunks(source, writer):
    while True:
        line = await source.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        writer.write(line + await source.readexactly(size + 2))
        await writer.drain()
        if size == 0:
            return
