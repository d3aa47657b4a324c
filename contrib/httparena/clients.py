"""The clients: curl and h2load for HTTP/1.1 and HTTP/2, h3load beside this file for HTTP/3.

Both ask for a number of requests, not for a time, so that the answers of every run add up to the
same bytes, and a run with other bytes is an error.
"""

import base64
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess

import install
import process

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {"h2load": "nghttp2-client", "curl": "curl", "openssl": "openssl", "taskset": "util-linux", "brotli": "brotli"}

PINNED = ["taskset", "-c", process.CLIENT_CORE]
# The suite that all of the servers have and prefer on a machine with AES instructions.
CIPHER = "TLS_AES_128_GCM_SHA256"
PATIENCE_SECONDS = 120


class Wrong(Exception):
    """An answer that is not the file."""


@dataclasses.dataclass(frozen=True)
class Way:
    """A load over one protocol: files that are requested in turn."""

    name: str
    targets: tuple  # below the root
    accept: str     # the value of Accept-Encoding
    curl: str       # curl's flag for the protocol
    h2load: tuple   # h2load's; none: HTTP/3 by h3load
    streams: int    # requests under way on each connection
    turns: int      # how often each connection asks for all targets
    scheme: str = "https"


def there(folder):
    """Installs and builds them. -> whether all are there."""
    trouble = install.apt(install.packages(PROGRAMS))
    if not trouble:
        go = install.go()
        trouble = "h3load needs Go" if go is None else install.build(
            [go, "build", "-C", HERE / "h3load", "-trimpath", "-o", (folder / "bin" / "h3load").resolve(), "."])
    if trouble:
        print(trouble)
    return not trouble


def urls(way, port):
    return [f"{way.scheme}://localhost:{port}/{target}" for target in way.targets]


class H2load:
    """Debian's h2load."""

    def __init__(self, folder):
        self.folder = folder

    def get(self, way):
        """What the checks asks with: curl over the protocol of `way`."""
        def fetch(port, target, accept):
            head, content = self.folder / "head", self.folder / "content"
            done = subprocess.run(["curl", "-sk", way.curl, "-D", head, "-o", content, "-H", f"accept-encoding: {accept}",
                                   "-w", "%{http_code} %{http_version}", f"{way.scheme}://localhost:{port}/{target}"],
                                  capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
            if done.returncode:
                raise Wrong(f"/{target}: curl ended with {done.returncode}")
            status, version = done.stdout.split(" ")
            if way.curl != f"--http{version}":
                raise Wrong(f"/{target}: {way.curl} got HTTP/{version}")
            fields = dict(line.split(": ", 1) for line in head.read_text().splitlines() if ": " in line)
            return int(status), {name.title(): value.strip() for name, value in fields.items()}, content.read_bytes()
        return fetch

    def run(self, way, port, connections, turns):
        """One run: answers, microseconds, bytes of content, percentiles, errors, what was negotiated."""
        uris, log = self.folder / "uris", self.folder / "requests.log"
        uris.write_text("\n".join(urls(way, port)) + "\n")
        log.unlink(missing_ok=True)
        total = connections * turns * len(way.targets)
        command = [*PINNED, "h2load", *way.h2load, "-t1", f"-c{connections}", f"-m{way.streams}", f"-n{total}", "-i", uris,
                   "-H", f"accept-encoding: {way.accept}", f"--tls13-ciphers={CIPHER}", f"--log-file={log}"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        return self.read(done.stdout, log.read_text() if log.exists() else "", total)

    @staticmethod
    def read(printed, log, total):
        """h2load's report; the percentiles are those of its log, which has each request."""
        counted = re.search(r"^finished in ([\d.]+)(m?s), .*\nrequests: .* (\d+) succeeded, .*\n"
                            r"status codes: (\d+) 2xx.*\ntraffic: .* \((\d+)\) data$", printed, re.MULTILINE)
        if not counted:
            raise process.Failed("h2load gave no report: " + printed[-300:])
        length, unit, succeeded, right, content = counted.groups()
        answers = min(int(succeeded), int(right))
        took = sorted(int(line.split("\t")[2]) for line in log.splitlines() if line.split("\t")[1] == "200") or [0]
        negotiated = [found.group(1) for found in (re.search(rf"^{what}: (.+)$", printed, re.MULTILINE) for what in
                                                   ("TLS Protocol", "Cipher", "Server Temp Key", "Application protocol")) if found]
        return {"answers": answers, "us": float(length) * (1e3 if unit == "ms" else 1e6), "content": int(content),
                "p50_us": took[len(took) * 50 // 100], "p99_us": took[len(took) * 99 // 100],
                "errors": total - answers, "negotiated": ", ".join(negotiated)}


class H3load:
    """h3load, a client on quic-go."""

    def __init__(self, program):
        self.program = program

    def _ask(self, port, targets, accept, *flags):
        lines = "".join(f"https://localhost:{port}/{target}\n" for target in targets)
        done = subprocess.run([*PINNED, "env", "GOMAXPROCS=1", self.program, "-accept", accept, *map(str, flags)], input=lines,
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        if done.returncode:
            raise process.Failed(done.stderr.strip()[-300:] or "h3load failed")
        return json.loads(done.stdout)

    def get(self, _way):
        """What the checks asks with."""
        def fetch(port, target, accept):
            answer = self._ask(port, [target], accept, "-get")[0]
            return answer["status"], {name: values[0] for name, values in answer["fields"].items()}, base64.b64decode(answer["content"])
        return fetch

    def run(self, way, port, connections, turns):
        found = self._ask(port, way.targets, way.accept,
                          "-c", connections, "-m", way.streams, "-n", connections * turns * len(way.targets))
        if found["failure"]:
            raise process.Failed(f"{found['errors']} errors over HTTP/3: {found['failure']}")
        return {"answers": found["requests"], "us": found["seconds"] * 1e6, "content": found["bytes"], "p50_us": found["p50_us"],
                "p99_us": found["p99_us"], "errors": found["errors"], "negotiated": f"TLSv1.3, {found['cipher']}, h3"}
