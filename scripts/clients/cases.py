"""What is tried: every client over every protocol that it has, with reads of every size."""

import dataclasses
import sys

import files
import install

BUFFERS = [512, 777, 4 * files.KIB, 8 * files.KIB, 32 * files.KIB, 256 * files.KIB]
QUICK_BUFFERS = [777, 8 * files.KIB, 256 * files.KIB]
# Bytes a second: a file of 4 MiB takes three seconds.
SLOW_RATE = 4 * files.MIB // 3
# What ended a proxy's connection once, after ten seconds; so it goes on for longer.
GOOD_PER_SECOND, CANCELS_PER_SECOND = 960, 193
CANCEL_BUFFER = 16 * files.KIB

# How a protocol is called in the table, in an order, and whether it is over TLS.
HTTP1 = ("HTTP/1.1", "h1", False)
HTTP1_TLS = ("HTTP/1.1 TLS", "h1", True)
HTTP2 = ("HTTP/2", "h2", False)
HTTP2_TLS = ("HTTP/2 TLS", "h2", True)
HTTP3 = ("HTTP/3", "h3", True)
MULTIPLEXED = (HTTP2, HTTP2_TLS, HTTP3)


@dataclasses.dataclass(frozen=True)
class Client:
    """A client of other make: its program, what it speaks and what it can do."""

    name: str
    program: tuple
    protocols: tuple
    # Whether it is slow by itself, so that a short look has a shorter file for it.
    is_heavy: bool = False
    # Whether its reading holds the server back.
    can_wait: bool = True
    # Over what it asks more than once on a connection.
    keeps: tuple | None = None
    # Over what it cancels; the first is in the short look.
    cancels: tuple = ()


GO = (install.GO,)
NODE = ("node", install.HERE / "node_client.mjs")
PYTHON = (install.PYTHON, install.HERE / "python_clients.py")
COMMAND = (sys.executable, install.HERE / "command_clients.py")
CLIENTS = [
    Client("go net/http", GO, (HTTP1, HTTP1_TLS, HTTP2_TLS), cancels=(HTTP2_TLS,)),
    Client("go x/net/http2", GO, (HTTP2,)),
    Client("go quic-go", GO, (HTTP3,), cancels=(HTTP3,)),
    Client("node http", NODE, (HTTP1, HTTP1_TLS)),
    Client("node http2", NODE, (HTTP2, HTTP2_TLS), cancels=(HTTP2_TLS, HTTP2)),
    Client("python h2", (*PYTHON, "h2"), (HTTP2, HTTP2_TLS), is_heavy=True, cancels=(HTTP2, HTTP2_TLS)),
    Client("python httpx", (*PYTHON, "httpx"), (HTTP1, HTTP1_TLS, HTTP2, HTTP2_TLS), is_heavy=True),
    # It reads as fast as it can: only its windows begin small.
    Client("python aioquic", (*PYTHON, "aioquic"), (HTTP3,), is_heavy=True, can_wait=False),
    # curl 7.88, which Debian has, fails at every server when it uses a connection of HTTP/2 without TLS
    # for the second time (curl/curl#10634).
    Client("curl", (*COMMAND, "curl"), (HTTP1, HTTP1_TLS, HTTP2, HTTP2_TLS), keeps=(HTTP1, HTTP1_TLS, HTTP2_TLS)),
    Client("wget", (*COMMAND, "wget"), (HTTP1, HTTP1_TLS)),
    # It writes all answers to one stream, mixed.
    Client("nghttp", (*COMMAND, "nghttp"), (HTTP2, HTTP2_TLS), is_heavy=True, keeps=()),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """One run of one client; the file is asked for so often, and each answer must be it."""

    kind: str
    client: Client
    spoken: tuple
    buffer: int
    file: str
    count: int = 1
    at_once: int = 1
    rate: int = 0
    seconds: int = 0

    def order(self, urls):
        """What the client is told."""
        _, protocol, is_secure = self.spoken
        base = urls["https" if is_secure else "http"]
        common = {"protocol": protocol, "url": f"{base}/{self.file}", "buffer": self.buffer}
        if self.kind != "cancel":
            return {"mode": "fetch", "count": self.count, "at_once": self.at_once, "rate": self.rate, **common}
        rates = {"good_per_second": GOOD_PER_SECOND, "cancels_per_second": CANCELS_PER_SECOND}
        return {"mode": "cancel", "large": f"{base}/64MiB", "seconds": self.seconds, **rates, **common}


def pairs():
    return [(client, spoken) for client in CLIENTS for spoken in client.protocols]


def large(quick):
    """The largest file at once, with reads of every size."""
    return [Case("large", client, spoken, buffer, "16MiB" if quick and client.is_heavy else "64MiB")
            for client, spoken in pairs() for buffer in (QUICK_BUFFERS if quick else BUFFERS)]


def kept(quick):
    """Many answers on one connection: one after the other, and 100 at once."""
    keep = [(client, spoken) for client, spoken in pairs() if client.keeps is None or spoken in client.keeps]
    in_turn = [Case("in turn", client, spoken, 8 * files.KIB, "100KiB", count=200) for client, spoken in keep]
    at_once = [
        Case("at once", client, spoken, 8 * files.KIB, "100KiB" if quick and client.is_heavy else "1MiB",
             count=101, at_once=100)
        for client, spoken in keep if spoken in MULTIPLEXED
    ]
    return in_turn + at_once


def slow(quick):
    """Readers that pause."""
    return [Case("slow", client, spoken, buffer, "4MiB", rate=SLOW_RATE)
            for client, spoken in pairs() if client.can_wait
            for buffer in ([777] if quick else [777, 32 * files.KIB])]


def cancelling(quick):
    """A proxy's connection, some of whose readers go away."""
    seconds = 12 if quick else 20
    good = seconds * GOOD_PER_SECOND
    return [Case("cancel", client, spoken, CANCEL_BUFFER, "1KiB", count=good, seconds=seconds)
            for client in CLIENTS for spoken in (client.cancels[:1] if quick else client.cancels)]
