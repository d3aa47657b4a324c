#!/usr/bin/env python3
"""Judges `salver serve s3://…` before moto, an S3 server, over loopback.

  judge.py PROGRAM FOLDER COMMAND...

COMMAND is run first, with the environment in which buckets are found: the suite for sources. Then PROGRAM serves a bucket.
What it answers is compared with what boto3 has put there, and what moto was asked is counted in its log."""

import concurrent.futures
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import boto3

PROGRAM, FOLDER, COMMAND = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
REVALIDATE = 1.0
LONG = 40 * 1024 * 1024 + 17
SLICE = 4 * 1024 * 1024
passed = failed = 0


def check(name, holds, told=""):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print(f"{'ok' if holds else 'FAILED'}: {name}{'' if holds else f': {told}'}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing listens on {port}")


class Moto:
    """The store, and what it was asked."""

    def __init__(self):
        self.port, self.log = free_port(), FOLDER / "moto.log"
        server = pathlib.Path(sys.executable).with_name("moto_server")
        self.process = subprocess.Popen(
            [server, "-H", "127.0.0.1", "-p", str(self.port)], stdout=subprocess.DEVNULL, stderr=self.log.open("w")
        )
        wait_for(self.port)
        self.seen = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def asked(self):
        """The requests since this was asked last: method and target."""
        lines = self.log.read_text().splitlines()
        new, self.seen = lines[self.seen :], len(lines)
        return re.findall(r'"(GET|HEAD|PUT|DELETE) (\S+) HTTP', "\n".join(new))

    def got(self, key):
        """How often just this object was asked for since."""
        return sum(urllib.parse.urlsplit(target).path == f"/bucket/site/{key}" for _, target in self.asked())


class Salver:
    def __init__(self, *arguments, env):
        self.port = free_port()
        self.said = (FOLDER / f"salver-{self.port}.log").open("w+")
        command = [PROGRAM, "serve", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=self.said)
        wait_for(self.port)

    def ask(self, path, method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def peak_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.said.seek(0)
        return code, self.said.read()


def main():
    moto = Moto()
    env = os.environ | {
        "AWS_ENDPOINT_URL": moto.url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    s3 = boto3.client(
        "s3", endpoint_url=moto.url, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
    )
    for bucket in ("bucket", "judged", "judged-beside"):
        s3.create_bucket(Bucket=bucket)
    judged = env | {"SALVER_JUDGE_BUCKET": "judged", "SALVER_JUDGE_OTHER_BUCKET": "judged-beside"}
    suite = subprocess.run(COMMAND, env=judged, check=False)
    check("the suite for sources", suite.returncode == 0, suite.returncode)

    long = b"".join(hashlib.sha256(str(at).encode()).digest() for at in range(LONG // 32 + 1))[:LONG]
    text = b"let words = 1;\n" * 400
    files = {
        "index.html": b"<p>Hello.\n",
        "app.js": text,
        "app.js.gz": gzip.compress(text),
        "docs/index.html": b"<p>Docs.\n",
        "docs/a b+c#d%e.txt": b"odd",
        "docs/caf\u00e9.txt": b"letters",
        "empty": b"",
        "long.bin": long,
    } | {f"list/{number:03}.txt": b"x" for number in range(300)}

    def put(path, content):
        s3.put_object(Bucket="bucket", Key=f"site/{path}", Body=content)

    for path, content in files.items():
        put(path, content)
    www = FOLDER / "www"
    www.mkdir()
    (www / "local.txt").write_text("local")
    salver = Salver(str(www), "--mount", "/b=s3://bucket/site", "--listing", "--no-compress", env=env)
    moto.asked()

    for path, content in files.items():
        if path.startswith("list/") and not path.endswith("7.txt"):
            continue
        target = "/b/" + urllib.parse.quote(path)
        answer, body = salver.ask(target)
        check(f"GET {path}", (answer.status, body) == (200, content), (answer.status, len(body)))
        answer, body = salver.ask(target, "HEAD")
        length = answer.headers["Content-Length"]
        check(f"HEAD {path}", (answer.status, body, length) == (200, b"", str(len(content))), length)
        answer, body = salver.ask(target, If_None_Match=answer.headers["ETag"])
        check(f"304 {path}", (answer.status, body) == (304, b""), answer.status)
    answer, body = salver.ask("/b/docs/")
    check("an index", (answer.status, body) == (200, files["docs/index.html"]), answer.status)
    answer, _ = salver.ask("/b/docs")
    check("a directory", (answer.status, answer.headers["Location"]) == (308, "/b/docs/"), answer.status)
    for path in ("nothing", "docs/nothing", "../app.js", "docs/..%2f..%2fapp.js", "site/app.js"):
        answer, _ = salver.ask(f"/b/{path}")
        check(f"nothing at {path}", answer.status in (400, 404), answer.status)
    answer, body = salver.ask("/b/app.js", Accept_Encoding="gzip")
    coded = (answer.headers["Content-Encoding"], gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
    check("a coded sibling", coded == ("gzip", text), coded[0])

    time.sleep(REVALIDATE * 2)
    moto.asked()
    answer, body = salver.ask("/b/list/", Accept="application/json")
    names = [entry["name"] for entry in json.loads(body)["entries"]] if answer.status == 200 else []
    asked = [target for _, target in moto.asked()]
    check("a listing has all names", len(names) == 300, (answer.status, len(names)))
    check("a listing asks for no file", not any("list/0" in target.split("?")[0] for target in asked), asked[:5])

    put("cold.js", b"cold" * 1000)
    moto.asked()
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: salver.ask("/b/cold.js"), range(1000)))
    right = sum((answer.status, body) == (200, b"cold" * 1000) for answer, body in answers)
    got = moto.got("cold.js")
    check("1,000 who ask at once are all answered", right == 1000, right)
    check("1,000 who ask at once are few requests", 1 <= got <= 1 + 60 / REVALIDATE, got)
    print(f"     1,000 requests over 200 connections: {got} GET of the object")

    time.sleep(REVALIDATE * 2)
    moto.asked()
    salver.ask("/b/cold.js")
    check("what is known is asked for by one conditional request", moto.got("cold.js") == 1)

    put("cut.bin", long)
    moto.asked()
    for start, end in ((0, 9), (SLICE - 5, SLICE + 4), (LONG - 10, LONG - 1), (SLICE * 2, SLICE * 4 - 1)):
        answer, body = salver.ask("/b/cut.bin", Range=f"bytes={start}-{end}")
        check(f"bytes {start}-{end}", (answer.status, body) == (206, long[start : end + 1]), answer.status)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sums = set(pool.map(lambda _: hashlib.sha256(salver.ask("/b/cut.bin")[1]).hexdigest(), range(8)))
    check("8 downloads of 40 MiB", sums == {hashlib.sha256(long).hexdigest()}, sums)
    got = moto.got("cut.bin")
    check("8 downloads are a few requests for each slice", got <= 60, got)
    peak = salver.peak_kib() // 1024
    check("memory is bounded", peak < 400, peak)
    print(f"     8 downloads of 40 MiB and 4 ranges: {got} requests; the most memory so far {peak} MiB")

    put("app.js", b"let b = 2;\n")
    s3.delete_object(Bucket="bucket", Key="site/app.js.gz")
    time.sleep(REVALIDATE * 2)
    answer, body = salver.ask("/b/app.js", Accept_Encoding="gzip")
    check("what is replaced is seen", (answer.status, body) == (200, b"let b = 2;\n"), (answer.status, body[:20]))
    s3.delete_object(Bucket="bucket", Key="site/empty")
    time.sleep(REVALIDATE * 2)
    check("what is removed is gone", salver.ask("/b/empty")[0].status == 404)

    salver.ask("/b/index.html")
    moto.process.send_signal(signal.SIGSTOP)
    time.sleep(REVALIDATE * 1.5)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        begun = time.monotonic()
        hung = [pool.submit(salver.ask, f"/b/unknown-{number}") for number in range(60)]
        time.sleep(0.3)
        times = []
        for _ in range(50):
            at = time.monotonic()
            answer, body = salver.ask("/local.txt")
            times.append(time.monotonic() - at if (answer.status, body) == (200, b"local") else 99)
        check("a store that hangs holds nobody else up", max(times) < 2, max(times))
        answer, body = salver.ask("/b/index.html")
        check("what is held is sent meanwhile", (answer.status, body) == (200, files["index.html"]), answer.status)
        states = {future.result()[0].status for future in hung}
        took = time.monotonic() - begun
    check("a store that hangs is 503", states == {503}, states)
    check("a store that hangs is 503 in time", took < 40, took)
    print(f"     60 requests of a store that hangs: 503 within {took:.1f} s; local files meanwhile within {max(times) * 1000:.0f} ms")
    moto.process.send_signal(signal.SIGCONT)
    for _ in range(100):
        answer, body = salver.ask("/b/docs/")
        if answer.status == 200:
            break
        time.sleep(0.2)
    check("a store that is back is asked", (answer.status, body) == (200, files["docs/index.html"]), answer.status)

    other = Salver("s3://no-such-bucket/x", env=env)
    check("no bucket is 500", other.ask("/a.txt")[0].status == 500)
    code, said = other.end()
    check("no bucket is said", code == 0 and "NoSuchBucket" in said, said)

    moto.process.kill()
    moto.process.wait()
    answer, _ = salver.ask("/b/never-asked")
    check("a store that is gone is 503", answer.status == 503, answer.status)
    code, said = salver.end()
    check("the server ends", code == 0, (code, said[-500:]))
    refused = subprocess.run([PROGRAM, "serve", "s3://user:secret@bucket/"], env=env, capture_output=True, text=True, check=False)
    check("credentials in a URL are refused", refused.returncode == 2 and "secret" not in refused.stderr, refused.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
