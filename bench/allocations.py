"""Counts how often each library asks for memory per request, and for how much of it.

The programs are those of `embedded`, built with an allocator that counts. Each is
asked for one file again and again over one kept connection; the counts before and after, divided
by the requests, are those of all its threads and of whatever HTTP server it stands on. They are
read on another port, by a thread that allocates nothing, once they no longer move. So they need no
quiet machine: but for what is done once a second, and for how a long answer falls into pieces,
every run gives the same.
"""

import dataclasses
import re
import shutil
import socket
import time

import files
import launch
import libraries
import process
import tables as markdown

WARM_UP_REQUESTS = 200
PATIENCE_SECONDS = 5
STILL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    length: int               # of the file
    status: int
    window: tuple = ()        # first and last byte asked for
    conditional: bool = False


CASES = (
    Case("1 KiB", files.KIB, 200),
    Case("100 KiB", 100 * files.KIB, 200),
    Case("1 MiB", 1024 * files.KIB, 200),
    Case("304", 100 * files.KIB, 304, conditional=True),
    Case("1,000 bytes of 100 KiB", 100 * files.KIB, 206, window=(1000, 1999)),
)


class Connection:
    """One kept connection, whose answers are read into one buffer."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        self.buffer = bytearray(2 * max(files.SIZES))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, request):
        """-> status, the head's lines, content"""
        self.socket.sendall(request)
        view, have, end = memoryview(self.buffer), 0, -1
        while end < 0:
            have += self._receive(view[have:])
            end = self.buffer.find(b"\r\n\r\n", 0, have)
        head = self.buffer[:end].decode("latin-1")
        status = int(head.split(" ", 2)[1])
        length = 0 if status == 304 else int(field(head, "content-length"))
        while have < end + 4 + length:
            have += self._receive(view[have:])
        return status, head, view[end + 4:have]

    def _receive(self, place):
        received = self.socket.recv_into(place)
        if not received:
            raise process.Failed("the connection was closed")
        return received


def field(head, name):
    """The value of a field in a head, or None."""
    found = re.search(rf"^{name}:[ \t]*(.*?)[ \t]*$", head.replace("\r", ""), re.MULTILINE | re.IGNORECASE)
    return found.group(1) if found else None


def request_for(case, made, head=""):
    """The bytes of a request; `head` is that of an answer, whose validator makes it conditional."""
    lines = [f"GET /{made.size(case.length)} HTTP/1.1", "Host: 127.0.0.1"]
    if case.window:
        lines.append("Range: bytes={}-{}".format(*case.window))
    if case.conditional:
        tag, date = field(head, "etag"), field(head, "last-modified")
        if tag:
            lines.append(f"If-None-Match: {tag}")
        elif date:
            lines.append(f"If-Modified-Since: {date}")
    return "".join(line + "\r\n" for line in [*lines, ""]).encode()


def counts(port):
    """How often memory has been asked for, and how many bytes of it, once that no longer changes."""
    def told():
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection, connection.makefile() as lines:
            return tuple(map(int, lines.readline().split()))
    until, before = time.monotonic() + PATIENCE_SECONDS, told()
    while time.monotonic() < until:
        time.sleep(STILL_SECONDS)
        now = told()
        if now == before:
            return now
        before = now
    raise process.Failed("the counts do not come to rest")


def count(library, case, made, folder, requests):
    """Allocations and bytes per request; None where the library does not give such an answer."""
    place = folder / library.counted().name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    port, counting = process.free_port(), process.free_port()
    command = [library.counted(), made.root, port, counting]
    with process.Server(library.name, command, place, port) as server, Connection(server.port) as connection:
        _, head, whole = connection.ask(request_for(dataclasses.replace(case, window=(), conditional=False), made))
        expected = made.path(made.size(case.length)).read_bytes()
        if whole != expected:
            raise process.Failed(f"{library.name}: {case.title}: its bytes are not the file's")
        request = request_for(case, made, head)
        status, _, content = connection.ask(request)
        if status != case.status:
            return None
        if case.window:
            expected = expected[case.window[0]:case.window[1] + 1]
        if content != (b"" if case.conditional else expected):
            raise process.Failed(f"{library.name}: {case.title}: its bytes are not those that were asked for")
        length = len(content)
        del content, whole  # they are views of the buffer

        def repeat(times):
            for _ in range(times):
                status, _, content = connection.ask(request)
                if (status, len(content)) != (case.status, length):
                    raise process.Failed(f"{library.name}: {case.title}: status {status}, {len(content)} bytes")
        repeat(WARM_UP_REQUESTS)
        before = counts(counting)
        repeat(requests)
        return tuple((now - then) / requests for now, then in zip(counts(counting), before))


def measure(options, made):
    """-> what is kept: for each library and case its allocations and bytes per request, or none"""
    built = [library for library in libraries.everyone(launch.OUTPUT) if library.counted().exists()]
    if not built:
        raise process.Failed("nothing to count is built: run `make bench-deps`")
    folder = launch.OUTPUT / "run"
    found = {library.name: [count(library, case, made, folder, options.requests) for case in CASES] for library in built}
    return {"requests": options.requests, "versions": {library.name: library.version() for library in built}, "found": found}


def table(kept, head, number, form):
    rows = [[library, *(form(result[number]) if result else "-" for result in results)] for library, results in kept["found"].items()]
    return markdown.table([head, *(case.title for case in CASES)], rows)


def summary(kept):
    return table(kept, "allocations/request", 0, "{:.1f}".format)


def tables(kept):
    return "\n\n".join([
        f"{kept['requests']} requests each, after {WARM_UP_REQUESTS}. `-`: it gives no such answer.",
        summary(kept),
        table(kept, "bytes allocated/request", 1, "{:.0f}".format),
        "; ".join(f"{name}: {version}" for name, version in kept["versions"].items()) + ".",
    ])
