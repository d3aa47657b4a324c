#!/usr/bin/env python3
"""Judges `salver serve s3://…` before S3 servers of others, over loopback.

  judge.py PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND...

Before each of them COMMAND is run with the environment in which buckets are found: the suite for sources, and the exchange table. Then
PROGRAM serves a bucket. What it answers is compared with what boto3 has put there, and a proxy between counts what is
asked. versitygw judges the signature of each request."""

import concurrent.futures
import gzip
import hashlib
import json
import signal
import subprocess
import time
import urllib.parse

from common import COMMAND, PROGRAM, REVALIDATE, SECRET, SLICE, Salver, check, for_each_store

LONG = 10 * SLICE + 17


def changed(ask, is_new):
    """The answer once it is new: who asks first after a change has it compared, and is told what was known."""
    for _ in range(100):
        answer, body = ask()
        if is_new(answer, body):
            break
        time.sleep(0.1)
    return answer, body


def judge(store):
    env, s3, put = store.env, store.s3, store.put
    for bucket in ("judged", "judged-beside", "judged-versions"):
        s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket="judged-versions", VersioningConfiguration={"Status": "Enabled"})
    judged = env | {
        "SALVER_JUDGE_BUCKET": "judged",
        "SALVER_JUDGE_OTHER_BUCKET": "judged-beside",
        "SALVER_JUDGE_VERSIONED_BUCKET": "judged-versions",
    }
    suite = subprocess.run(COMMAND, env=judged, check=False)
    check("the suite for sources, and the exchange table", suite.returncode == 0, suite.returncode)

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

    for path, content in files.items():
        put(path, content)
    www = store.folder / "www"
    www.mkdir()
    (www / "local.txt").write_text("local")
    salver = Salver(str(www), "--mount", "/b=s3://bucket/site", "--listing", "--no-compress", env=env)
    store.asked()

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
    store.asked()
    answer, body = salver.ask("/b/list/", Accept="application/json")
    names = [entry["name"] for entry in json.loads(body)["entries"]] if answer.status == 200 else []
    asked = [target for _, target in store.asked()]
    check("a listing has all names", len(names) == 300, (answer.status, len(names)))
    check("a listing asks for no file", not any("list/0" in target.split("?")[0] for target in asked), asked[:5])

    put("cold.js", b"cold" * 1000)
    store.asked()
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: salver.ask("/b/cold.js"), range(1000)))
    right = sum((answer.status, body) == (200, b"cold" * 1000) for answer, body in answers)
    got = store.got("cold.js")
    check("1,000 who ask at once are all answered", right == 1000, right)
    check("1,000 who ask at once are few requests", 1 <= got <= 1 + 60 / REVALIDATE, got)
    print(f"     1,000 requests over 200 connections: {got} GET of the object")

    time.sleep(REVALIDATE * 2)
    store.asked()
    salver.ask("/b/cold.js")
    # By itself, or by a list of all that is in use.
    check("what is known is not asked for twice", store.got("cold.js") <= 1)

    put("cut.bin", long)
    store.asked()
    for start, end in ((0, 9), (SLICE - 5, SLICE + 4), (LONG - 10, LONG - 1), (SLICE * 2, SLICE * 4 - 1)):
        answer, body = salver.ask("/b/cut.bin", Range=f"bytes={start}-{end}")
        check(f"bytes {start}-{end}", (answer.status, body) == (206, long[start : end + 1]), answer.status)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sums = set(pool.map(lambda _: hashlib.sha256(salver.ask("/b/cut.bin")[1]).hexdigest(), range(8)))
    check("8 downloads of 40 MiB", sums == {hashlib.sha256(long).hexdigest()}, sums)
    got = store.got("cut.bin")
    check("8 downloads are a few requests for each slice", got <= 60, got)
    peak = salver.peak_mib()
    check("memory is bounded", peak < 400, peak)
    print(f"     8 downloads of 40 MiB and 4 ranges: {got} requests; the most memory so far {peak} MiB")

    put("app.js", b"let b = 2;\n")
    s3.delete_object(Bucket="bucket", Key="site/app.js.gz")
    time.sleep(REVALIDATE * 2)
    answer, body = changed(lambda: salver.ask("/b/app.js", Accept_Encoding="gzip"), lambda _, body: body == b"let b = 2;\n")
    check("what is replaced is seen", (answer.status, body) == (200, b"let b = 2;\n"), (answer.status, body[:20]))
    s3.delete_object(Bucket="bucket", Key="site/empty")
    time.sleep(REVALIDATE * 2)
    answer, _ = changed(lambda: salver.ask("/b/empty"), lambda answer, _: answer.status == 404)
    check("what is removed is gone", answer.status == 404, answer.status)

    salver.ask("/b/index.html")
    store.process.send_signal(signal.SIGSTOP)
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
    store.process.send_signal(signal.SIGCONT)
    for _ in range(100):
        answer, body = salver.ask("/b/docs/")
        if answer.status == 200:
            break
        time.sleep(0.2)
    check("a store that is back is asked", (answer.status, body) == (200, files["docs/index.html"]), answer.status)

    s3.put_object(Bucket="bucket", Key="odd/a.txt", Body=b"a")
    s3.put_object(Bucket="bucket", Key="odd/NoSuchBucket", Body=b"b")
    others = (
        ("no bucket", "s3://no-such-bucket/x", {}, 500, "NoSuchBucket"),
        ("a wrong key", "s3://bucket/odd", {"AWS_SECRET_ACCESS_KEY": "wrong"}, 503, "SignatureDoesNotMatch"),
    )
    for name, url, more, status, told in others:
        if store.name == "moto" and more:
            # It judges no signature.
            continue
        other = Salver(url, env=env | more)
        answer, _ = other.ask("/a.txt")
        check(f"{name} is {status}", answer.status == status, answer.status)
        code, said = other.end()
        check(f"{name} is said", code == 0 and told in said and SECRET not in said, said)
    other = Salver("s3://bucket/odd", env=env)
    check("a name is no code", other.ask("/NoSuchBucket.html")[0].status == 404)
    other.end()

    store.process.kill()
    store.process.wait()
    answer, _ = salver.ask("/b/never-asked")
    check("a store that is gone is 503", answer.status == 503, answer.status)
    code, said = salver.end()
    check("the server ends", code == 0, (code, said[-500:]))
    refused = subprocess.run([PROGRAM, "serve", "s3://user:secret@bucket/"], env=env, capture_output=True, text=True, check=False)
    check("credentials in a URL are refused", refused.returncode == 2 and "secret" not in refused.stderr, refused.stderr)


for_each_store(judge)
