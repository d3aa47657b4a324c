#!/usr/bin/env python3
"""The slope of a server's memory while its files change: scripts/worst/memory_slope.py PROGRAM MINUTES

Sixteen files, from 3 kB to 1.5 MB, are replaced, truncated and written anew, written in place, or grow, each at a pace of
its own; three loads of PROGRAM ask for all of them over HTTP/1.1, 2 and 3. PROGRAM runs on core 0, all else on core 1.
Prints the resident memory of the server each minute, and the slope of all samples from the third minute on by least
squares, with its standard error as if each minute were one sample. Half an hour shows more than ten minutes: memory goes down by much now and then.
"""

import contextlib
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import child
import servers
import watch

LENGTHS = (3_000, 100_000, 600_000, 1_500_000)
PAUSES = (0.003, 0.04, 0.25, 1.7)
WARM_UP = 120


def content(version, length):
    block = random.Random(version).randbytes(4096)
    return (version.to_bytes(8, "little") + block * (length // 4096 + 1))[:length]


def replace(path, version, length):
    other = path.with_name(path.name + ".new")
    other.write_bytes(content(version, length + version % 7 * 500))
    other.rename(path)


def truncate(path, version, length):
    whole = content(version, length + version % 7 * 500)
    with path.open("wb", buffering=0) as file:
        for part in range(0, len(whole), length // 3):
            file.write(whole[part:part + length // 3])


def overwrite(path, version, length):
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content(version, length))


def grow(path, version, length):
    if version % 2000 == 1:
        replace(path, version, length)
    with path.open("ab") as file:
        file.write(b"0123456789abcde\n")


def write(way, path, length, pause, over):
    version = 0
    while not over.is_set():
        version += 1
        way(path, version, length)
        over.wait(pause)


@contextlib.contextmanager
def changing(root):
    """The names of files in a folder that change until this ends."""
    over, writers = threading.Event(), {}
    for way in (replace, truncate, overwrite, grow):
        for length in LENGTHS:
            pause = PAUSES[(len(writers) + len(writers) // 4) % 4]
            if way is grow:
                pause = min(pause, PAUSES[1])
            name = f"{way.__name__}-{length}"
            way(root / name, 1, length)
            writers[name] = threading.Thread(target=write, args=(way, root / name, length, pause, over))
    for writer in writers.values():
        writer.start()
    try:
        yield list(writers)
    finally:
        over.set()
        for writer in writers.values():
            writer.join()


@contextlib.contextmanager
def load(program, version, address, names, seconds):
    scheme = "http" if version == "1" else "https"
    command = [program, "bench", "load", *(f"{scheme}://{address}/{name}" for name in names), "--http", version,
               "-d", f"{seconds:.0f}s", "--rate", 350, "-c", 24, "-q", "--insecure"]
    process = child.start(command, child.CLIENT_CORE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        child.stop(process)


def slope(samples):
    """In KiB a minute, and its error."""
    line = statistics.linear_regression(*zip(*samples))
    rest = sum((kib - line.intercept - line.slope * at) ** 2 for at, kib in samples)
    mean = statistics.fmean(at for at, _ in samples)
    spread = sum((at - mean) ** 2 for at, _ in samples)
    minutes = len(samples) / 60
    return line.slope * 60, (rest / spread * 60 / max(minutes - 2, 1)) ** 0.5 * 60


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2]) * 60
    os.sched_setaffinity(0, {child.CLIENT_CORE})
    with contextlib.ExitStack() as stack:
        root, folder = (pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        names = stack.enter_context(changing(root))
        server, addresses = stack.enter_context(servers.Salver(program).run(root, folder, True))
        for version, protocol in (("1", "h1"), ("2", "h2"), ("3", "h3")):
            stack.enter_context(load(program, version, addresses[protocol], names, seconds))
        samples, began = [], time.monotonic()
        while (at := time.monotonic() - began) < seconds:
            samples.append((at, watch.resident(server.pid) * 1024))
            if len(samples) % 60 == 1:
                print(f"{at:6.0f} s {samples[-1][1]:8.0f} KiB", flush=True)
            time.sleep(1)
        rise, error = slope([sample for sample in samples if sample[0] >= min(WARM_UP, seconds / 2)])
        print(f"slope: {rise:+.0f} +/- {error:.0f} KiB a minute")


main()
