"""What the scripts here share: S3 servers of others behind a counting proxy, the program before them, and checks.

  SCRIPT PROGRAM FOLDER moto|versitygw=SERVER... -- COMMAND..."""

import atexit
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import boto3
import botocore.config

from proxy import Proxy

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
split = sys.argv.index("--")
SERVERS, COMMAND = [word.split("=", 1) for word in sys.argv[3:split]], sys.argv[split + 1 :]
REVALIDATE = 1.0
MIB = 1024 * 1024
SLICE = 4 * MIB
KEY, SECRET = "key-of-the-judge", "secret-of-the-judge"
results = []


def check(name, holds, told=""):
    results.append(bool(holds))
    print(f"{'ok' if holds else 'FAILED'}: {name}{'' if holds else f': {told}'}", flush=True)


def finish():
    """Says how it ended, and ends."""
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if results and all(results) else 1)


def for_each_store(judge, events_to=None):
    """Judges before each server that there is, one after the other. What can send its events to a URL sends them there."""
    for name, server in SERVERS:
        print(f"{name}:", flush=True)
        begun = time.monotonic()
        store = Store(name, server, events_to)
        try:
            judge(store)
        finally:
            store.end()
        print(f"     {name} took {time.monotonic() - begun:.0f} s", flush=True)
    finish()


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


class Store:
    """An S3 server behind a proxy that counts."""

    def __init__(self, name, server, events_to=None):
        self.name, self.folder, port = name, FOLDER / name, free_port()
        self.folder.mkdir()
        for folder in ("root", "versions"):
            (self.folder / folder).mkdir()
        commands = {
            "moto": [server, "-H", "127.0.0.1", "-p", str(port)],
            "versitygw": [
                *(server, "--access", KEY, "--secret", SECRET, "--port", f"127.0.0.1:{port}", "--quiet"),
                *(("--event-webhook-url", events_to) if events_to else ()),
                *("posix", "--versioning-dir", self.folder / "versions", self.folder / "root"),
            ],
        }
        self.log = (self.folder / "log").open("w")
        self.process = subprocess.Popen(commands[name], stdout=self.log, stderr=self.log)
        atexit.register(self.process.kill)
        wait_for(port)
        self.proxy = Proxy(port)
        self.port = port
        self.s3 = self.client("s3", config=botocore.config.Config(s3={"addressing_style": "path"}))
        self.s3.create_bucket(Bucket="bucket")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "AWS_ENDPOINT_URL": self.proxy.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def client(self, service, **settings):
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        return boto3.client(service, endpoint_url=f"http://127.0.0.1:{self.port}", **keys, **settings)

    def asked(self):
        """The requests since this was asked last: method and target."""
        return [(asked.method, asked.target) for asked in self.proxy.asked()]

    def got(self, key):
        """How often just this object was asked for since."""
        return sum(asked.path == f"/bucket/site/{key}" for asked in self.proxy.asked())

    def put(self, path, content):
        self.s3.put_object(Bucket="bucket", Key=f"site/{path}", Body=content)

    def end(self):
        self.process.kill()
        self.process.wait()


class Salver:
    def __init__(self, *arguments, env):
        self.port = free_port()
        self.said = (FOLDER / f"salver-{self.port}.log").open("w+")
        command = [PROGRAM, "serve", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=self.said)
        # Nothing that was started here outlives this.
        atexit.register(self.process.kill)
        wait_for(self.port)

    def ask(self, path, method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def peak_mib(self):
        """The most memory that it has had so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.said.seek(0)
        return code, self.said.read()
