"""What every client written in Python shares: the order that it gets and the report that it gives.

An order is JSON in the one argument, a report JSON on standard output; the clients in Go and Node keep
to the same.
"""

import hashlib
import json
import sys
import time
import types

# What an order need not say.
DEFAULTS = {"buffer": 32 * 1024, "rate": 0, "count": 1, "at_once": 1}


def order():
    """What this client is told."""
    return types.SimpleNamespace(**{**DEFAULTS, **json.loads(sys.argv[1])})


class Wrong(Exception):
    """What the server did that it should not have done."""


class Report:
    """What a client saw. The answers are hashes and how often each came; who asked knows which is right."""

    def __init__(self):
        self.start = time.monotonic()
        self.bytes = 0
        self.answers = {}
        self.cancelled = 0
        self.connections = 0
        self.error = ""

    def answer(self, digest):
        self.answers[digest] = self.answers.get(digest, 0) + 1

    def fail(self, error):
        """The first failure, which is the cause of the others."""
        self.error = self.error or f"{type(error).__name__}: {error}"

    def write(self):
        seconds = time.monotonic() - self.start
        fields = {key: value for key, value in vars(self).items() if key != "start"}
        print(json.dumps({**fields, "seconds": seconds}), flush=True)


class Body:
    """One answer's content as it comes, taken no faster than the rate allows."""

    def __init__(self, report, rate=0):
        self.report = report
        self.rate = rate
        self.start = time.monotonic()
        self.taken = 0
        self.hash = hashlib.sha256()

    def take(self, piece):
        self.hash.update(piece)
        self.taken += len(piece)
        self.report.bytes += len(piece)

    def pause(self):
        """Seconds to wait before more is read; less than a millisecond is not worth it."""
        if not self.rate:
            return 0
        early = self.start + self.taken / self.rate - time.monotonic()
        return early if early > 0.001 else 0

    def end(self):
        self.report.answer(self.hash.hexdigest())
