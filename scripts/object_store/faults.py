#!/usr/bin/env python3
"""Spoils what a store answers in every way that a proxy can, and compares each answer of the program with what was uploaded.

  faults.py PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND...

First each fault alone, at each request: what was never asked for is refused, what is held is sent, and all is right once the
fault is over. Then all of them by chance, while objects are replaced, for SECONDS (30) of the environment. An answer may
be refused or end early; it may not have a wrong byte, and a file that is there is never 404. Then a store that is gone while
hundreds of files are asked for, and comes back with all of them changed: how often it is asked in each second is printed.
Then a node that is killed and begins again, while the store is gone, with what it has on its disk. COMMAND is not used."""

import concurrent.futures
import http.client
import os
import random
import threading
import time

from common import FOLDER, MIB, REVALIDATE, Salver, check, for_each_store
from proxy import FAULTS

SECONDS = float(os.environ.get("SECONDS", "30"))
# For how long a store that comes back is asked by one request at a time, at most, and then more slowly than it could be.
LONGEST_PAUSE, PACED = 7, 10
PAGES = 300
CLIENTS = 24
SIZES = {"short.js": 700, "page.html": 60_000, "whole.bin": MIB, "more.bin": 3 * MIB + 1, "long.bin": 20 * MIB + 5}
# The statuses that each fault may have for what is not held; nothing else is an answer.
EXPECTED = {"delay": {200}, "403": {403}, "cut": {200, 503}, "wrong-etag": {200, 500, 503}, "hang": {503}, "stall": {503}}


class Files:
    """What was uploaded: all versions of each file."""

    def __init__(self, store, chance):
        self.store, self.chance = store, chance
        self.versions, self.lock = {name: [] for name in SIZES}, threading.Lock()

    def replace(self, name):
        content = self.chance.randbytes(4096) * (SIZES[name] // 4096 + 1)
        content = content[: SIZES[name]]
        with self.lock:
            self.versions[name].append(content)
        self.store.put(name, content)

    def has(self, name, start, content):
        with self.lock:
            versions = list(self.versions[name])
        return any(version[start : start + len(content)] == content for version in versions)


def ask(salver, path, start=0, length=None):
    """The status and the content, and whether that is as long as it should be."""
    connection = http.client.HTTPConnection("127.0.0.1", salver.port, timeout=90)
    fields = {} if length is None else {"Range": f"bytes={start}-{start + length - 1}"}
    connection.request("GET", path, headers=fields)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read(), True
    except http.client.IncompleteRead as cut:
        return answer.status, cut.partial, False
    except OSError:
        return answer.status, b"", False
    finally:
        connection.close()


def wait_until_it_is_back(salver):
    """Waits until what is not held is had again: the store is asked by one request after a moment."""
    until = time.monotonic() + LONGEST_PAUSE * 2
    while ask(salver, f"/not-there-{time.monotonic()}")[0] != 404 and time.monotonic() < until:
        time.sleep(0.1)


def wait_for_content(salver, path, content):
    """The last answer, once it has this content: it may be sent stale once, and compared meanwhile."""
    for _ in range(50):
        got = ask(salver, path)
        if got == (200, content, True):
            break
        time.sleep(0.1)
    return got


def page(number, version):
    return f"<p>Page {number}, version {version}.\n".encode() * 20


def gone(store):
    """A store that is gone for longer than stale answers are given without asking, and comes back with other content."""
    salver = Salver("s3://bucket/site", "--no-compress", env=store.env)

    def ask_all():
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda number: ask(salver, f"/gone/{number}.html"), range(PAGES)))

    for number in range(PAGES):
        store.put(f"gone/{number}.html", page(number, 1))
    check("gone: all is there before", all(got == (200, page(number, 1), True) for number, got in enumerate(ask_all())))
    store.proxy.fault = lambda asked: "reset"
    store.proxy.asked()
    begun, told = time.monotonic(), []
    while time.monotonic() - begun < 15:
        told += [got == (200, page(number, 1), True) for number, got in enumerate(ask_all())]
    asked = len(store.proxy.asked())
    check("gone: all that is held is sent", all(told), told.count(False))
    check("gone: the store is hardly asked", asked < len(told) // 10, asked)
    print(f"     gone for 15 s: {len(told)} answers, {told.count(False)} wrong; {asked} requests to the store")
    for number in range(PAGES):
        store.put(f"gone/{number}.html", page(number, 2))
    store.proxy.fault = lambda asked: None
    store.proxy.asked()
    seconds, answers, is_new = [], 0, [False] * PAGES
    first = None
    while not all(is_new) and time.monotonic() - begun < 120:
        second = time.monotonic()
        while time.monotonic() - second < 1:
            for number, got in enumerate(ask_all()):
                answers += 1
                is_new[number] = got == (200, page(number, 2), True)
                if not is_new[number] and got != (200, page(number, 1), True):
                    check("gone: either version", False, got)
        count = len(store.proxy.asked())
        if first is None and count:
            first = len(seconds)
        seconds.append(count)
    check("gone: all is new in the end", all(is_new), is_new.count(False))
    back = seconds[first or 0 :]
    most = [32 * 2**number for number in range(len(back))]
    is_slow = all(sum(back[: number + 1]) <= 1 + sum(most[: number + 2]) for number in range(min(len(back), PACED)))
    check("gone: no stampede", is_slow, back)
    print(f"     back: {answers} answers; requests to the store in each second: {seconds}")
    salver.end()


def killed(store):
    """A node that is killed, and begins again while the store is gone."""
    flags = ("s3://bucket/site", "--no-compress", "--cache-dir", str(FOLDER / f"{store.name}-tier"))
    salver = Salver(*flags, env=store.env)
    for number in range(PAGES):
        store.put(f"gone/{number}.html", page(number, 1))
    long = os.urandom(MIB) * 9
    store.put("gone/long.bin", long)
    for number in range(PAGES):
        check_quietly("killed: before", ask(salver, f"/gone/{number}.html") == (200, page(number, 1), True))
    check("killed: a long one before", ask(salver, "/gone/long.bin") == (200, long, True))
    # What is written last is on its way for a moment.
    time.sleep(6)
    salver.process.kill()
    salver.process.wait()
    store.proxy.fault = lambda asked: "reset"
    begun = time.monotonic()
    salver = Salver(*flags, env=store.env)
    first = ask(salver, "/gone/0.html")
    took_first = time.monotonic() - begun
    told = [ask(salver, f"/gone/{number}.html") == (200, page(number, 1), True) for number in range(PAGES)]
    is_long = ask(salver, "/gone/long.bin") == (200, long, True)
    check("killed: all of it is served from the disk without the store", first[0] == 200 and all(told) and is_long, (first, told.count(False), is_long))
    took = time.monotonic() - begun
    print(f"     killed and begun again without a store: the first answer after {took_first:.2f} s, {PAGES} pages and 9 MiB after {took:.2f} s")
    store.proxy.fault = lambda asked: None
    salver.end()


def check_quietly(name, holds):
    if not holds:
        check(name, False)


def alone(store, files, fault):
    """One fault at each request."""
    salver = Salver("s3://bucket/site", "--no-compress", env=store.env)
    held, fresh = "short.js", "page.html"
    content = {name: files.versions[name][-1] for name in SIZES}
    check(f"{fault}: before", ask(salver, f"/{held}")[:2] == (200, content[held]))
    time.sleep(REVALIDATE * 1.2)
    store.proxy.fault = lambda asked: fault
    begun = time.monotonic()
    status, body, _ = ask(salver, f"/{held}")
    allowed = {200, 403} if fault == "403" else {200}
    check(f"{fault}: what is held is sent", status in allowed and (status != 200 or body == content[held]), status)
    for name in (fresh, "long.bin"):
        status, body, is_whole = ask(salver, f"/{name}")
        expected = EXPECTED.get(fault, {503})
        right = status in expected if status != 200 else body == content[name] or not is_whole and content[name].startswith(body)
        check(f"{fault}: {name} is refused, or right", right, (status, len(body), is_whole))
    took = time.monotonic() - begun
    check(f"{fault}: within the time limits", took < 100, took)
    store.proxy.fault = lambda asked: None
    time.sleep(REVALIDATE * 1.2)
    wait_until_it_is_back(salver)
    for name in SIZES:
        got = ask(salver, f"/{name}")
        check(f"{fault}: {name} is right once it is over", got == (200, content[name], True), (got[0], len(got[1]), got[2]))
    code, said = salver.end()
    check(f"{fault}: the server ends", code == 0 and "panicked" not in said, said[-500:])
    print(f"     {fault}: {took:.1f} s", flush=True)


def together(store, files, chance):
    """All faults by chance, for a while."""
    salver = Salver("s3://bucket/site", "--no-compress", "--cache-max-file", "0", env=store.env)
    store.proxy.spoilt.clear()
    # Those that hold a request up for all of its time are rarer.
    weights = [0.2 if fault in ("hang", "stall") else 1 for fault in FAULTS]
    of_proxy = random.Random(4)
    store.proxy.fault = lambda asked: of_proxy.choices(FAULTS, weights)[0] if of_proxy.random() < 0.25 else None
    until = time.monotonic() + SECONDS
    told, wrong = {}, []

    def client(number):
        chance = random.Random(number)
        while time.monotonic() < until:
            name = chance.choice(list(SIZES))
            size = SIZES[name]
            start = chance.randrange(size)
            length = None if chance.random() < 0.3 else chance.randrange(1, min(size - start, 2 * MIB) + 1)
            try:
                status, body, is_whole = ask(salver, f"/{name}", start, length)
            except OSError as error:
                wrong.append((name, "no answer", repr(error)))
                continue
            what = f"{status}" if is_whole else f"{status} cut"
            told[what] = told.get(what, 0) + 1
            if status in (200, 206):
                start = start if status == 206 else 0
                expected = length if status == 206 else size
                if not files.has(name, start, body) or is_whole and len(body) != expected:
                    wrong.append((name, status, start, len(body)))
            elif status not in (403, 500, 503):
                wrong.append((name, status))

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(CLIENTS)]
        while time.monotonic() < until:
            time.sleep(0.7)
            files.replace(chance.choice(list(SIZES)))
        for one in clients:
            one.result()
    store.proxy.fault = lambda asked: None
    time.sleep(REVALIDATE * 1.2)
    wait_until_it_is_back(salver)
    for name in SIZES:
        got = wait_for_content(salver, f"/{name}", files.versions[name][-1])
        check(f"{name} is right in the end", got == (200, files.versions[name][-1], True), (got[0], len(got[1])))
    code, said = salver.end()
    check("the server ends", code == 0 and "panicked" not in said, said[-500:])
    check("no wrong byte", not wrong, wrong[:5])
    answers = ", ".join(f"{count} {what}" for what, count in sorted(told.items()))
    faults = ", ".join(f"{count} {fault}" for fault, count in sorted(store.proxy.spoilt.items()))
    print(f"     {sum(told.values())} answers: {answers}; {len(wrong)} wrong")
    print(f"     faults: {faults}")


def judge(store):
    chance = random.Random(3)
    files = Files(store, chance)
    for name in SIZES:
        files.replace(name)
    for fault in FAULTS:
        alone(store, files, fault)
    together(store, files, chance)
    gone(store)
    killed(store)


for_each_store(judge)
