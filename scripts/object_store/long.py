#!/usr/bin/env python3
"""Serves an object of 5 GiB from versitygw: ranges, resumed downloads, many at once, and the memory that it takes.

  long.py PROGRAM FOLDER versitygw=SERVER -- COMMAND...

COMMAND is not used. The object is a sparse file beneath the store, with bytes of chance all over it: moto, which would hold
all of it in memory, is left out."""

import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import random
import time

from common import MIB, SERVERS, SLICE, Salver, check, for_each_store

LENGTH = 5 * 1024 * MIB + 12_345
# The memory of the process beside its caches, and what is kept: slices, those on their way, and the cache.
MOST_MIB = 64 + 64 + 16 * 4 + 64


def write(path, chance):
    """Blocks of chance at each 16 MiB, at the borders of slices and at the end, and zeros between."""
    with path.open("wb") as file:
        file.truncate(LENGTH)
        for at in [*range(0, LENGTH, 16 * MIB), *range(SLICE - 500, LENGTH, 97 * SLICE), LENGTH - 5000]:
            file.seek(at)
            file.write(chance.randbytes(min(5000, LENGTH - at)))
    os.setxattr(path, "user.etag", b"5a1e5a1e5a1e5a1e5a1e5a1e5a1e5a1e")


class Download:
    """A download that ends after so many bytes, and can be gone on with."""

    def __init__(self, port):
        self.port, self.have, self.tag, self.hash, self.status = port, 0, None, hashlib.sha256(), None

    def go_on(self, most):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        fields = {"Range": f"bytes={self.have}-", "If-Range": self.tag} if self.have else {}
        connection.request("GET", "/long.bin", headers=fields)
        answer = connection.getresponse()
        self.status, self.tag = answer.status, answer.headers["ETag"]
        while most > 0 and (piece := answer.read(min(MIB, most))):
            self.hash.update(piece)
            self.have += len(piece)
            most -= len(piece)
        connection.close()
        return self.status


def asked_for(store):
    """What was asked since: how many slices, and how many requests in all, most of which compare what is known."""
    asked = store.proxy.asked()
    return sum("if-match" in one.fields for one in asked), len(asked)


def judge(store):
    path = store.folder / "root" / "bucket" / "site" / "long.bin"
    path.parent.mkdir(parents=True)
    chance = random.Random(21)
    write(path, chance)
    salver = Salver("s3://bucket/site", env=store.env)
    store.proxy.asked()

    with path.open("rb") as file:
        expected = hashlib.file_digest(file, "sha256").hexdigest()
        for _ in range(300):
            start = chance.choice([chance.randrange(LENGTH), chance.randrange(0, LENGTH, SLICE) - 300, LENGTH - 5000])
            start = max(start, 0)
            end = min(start + chance.choice([1, 700, MIB]), LENGTH)
            file.seek(start)
            content = file.read(end - start)
            answer, body = salver.ask("/long.bin", Range=f"bytes={start}-{end - 1}")
            if (answer.status, body) != (206, content):
                check(f"bytes {start}-{end - 1}", False, (answer.status, len(body)))
        check("300 ranges", True)
    got, asked = asked_for(store)
    print(f"     300 ranges: {got} requests for slices of {asked}; the most memory so far {salver.peak_mib()} MiB", flush=True)

    begun = time.monotonic()
    download, statuses = Download(salver.port), []
    while download.have < LENGTH:
        statuses.append(download.go_on(chance.randrange(300 * MIB, 900 * MIB)))
    took = time.monotonic() - begun
    check("a download that is cut and resumed is whole", download.hash.hexdigest() == expected, download.have)
    check("it was resumed, not begun anew", statuses[0] == 200 and set(statuses[1:]) == {206}, statuses)
    got, asked = asked_for(store)
    slices = -(-LENGTH // SLICE)
    print(
        f"     5 GiB in {len(statuses)} parts: {took:.0f} s, {LENGTH / took / 1e6:.0f} MB/s; {got} requests for "
        f"{slices} slices, of {asked}; the most memory so far {salver.peak_mib()} MiB",
        flush=True,
    )
    check("a slice is asked for once, and where a download is resumed once more", got <= slices + len(statuses) * 2, got)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        downloads = [Download(salver.port) for _ in range(8)]
        begun = time.monotonic()
        list(pool.map(lambda download: download.go_on(256 * MIB), downloads))
        took = time.monotonic() - begun
    hashes = {download.hash.hexdigest() for download in downloads}
    with path.open("rb") as file:
        check("8 at once are alike", hashes == {hashlib.sha256(file.read(256 * MIB)).hexdigest()}, hashes)
    got, asked = asked_for(store)
    print(f"     8 x 256 MiB at once: {took:.0f} s, {got} requests for {256 * MIB // SLICE} slices, of {asked}")

    peak = salver.peak_mib()
    check(f"memory is bounded by {MOST_MIB} MiB", peak <= MOST_MIB, peak)
    print(f"     the most memory: {peak} MiB")
    # An object of the same length in its place: no answer has bytes of both.
    download = Download(salver.port)
    # Behind it is a part that both differ in.
    begin = 96 * MIB
    download.go_on(begin)
    with path.open("rb") as file:
        file.seek(begin)
        old = file.read(MIB)
    write(path, random.Random(22))
    os.setxattr(path, "user.etag", b"0b1e0b1e0b1e0b1e0b1e0b1e0b1e0b1e")
    with path.open("rb") as file:
        new = file.read(MIB)
    time.sleep(2.5)
    # As far as it is held it may be sent once as it was, while it is compared.
    tries, until, status = 0, time.monotonic() + 2, None
    while status != 200 and time.monotonic() < until:
        again = Download(salver.port)
        again.have, again.tag, tries = begin, download.tag, tries + 1
        with contextlib.suppress(OSError, http.client.HTTPException):
            again.go_on(MIB)
        status, got = again.status, again.have - begin
        right = (new if status == 200 else old)[:got]
        check(f"bytes of one version, {status}", again.hash.digest() == hashlib.sha256(right).digest(), (status, got))
        time.sleep(0.05)
    print(f"     {tries} answers until that was of what had been put in its place")
    check("what was replaced is not gone on with", status == 200, status)
    code, said = salver.end()
    check("the server ends", code == 0, (code, said[-500:]))


SERVERS[:] = [server for server in SERVERS if server[0] == "versitygw"]
for_each_store(judge)
