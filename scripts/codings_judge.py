#!/usr/bin/env python3
"""Judges the codings that `salver serve` makes, by other decoders, while all goes wrong that can.

  scripts/codings_judge.py PROGRAM [SECONDS]

Two servers have one site and one `--cache-dir`; one of them has little memory. Meanwhile files are replaced by rename,
each with a version of its own; the servers are killed by SIGKILL in turn and started again; files of the cache directory
are cut, changed, exchanged, replaced by links and removed; and for root, the directory is a file system that is full
after 200 KiB. Clients ask for files, parts and heads with Accept-Encoding of browsers and of odd clients.

What must hold: each answer, decoded by `brotli`, `zstd` and `gzip`, is a version of the file that was there by then,
and the same bytes whenever it has the same entity tag; a part is a part of it; none is in a coding that was not accepted.
Then curl and wget fetch every file in each coding that they take, and have to make the file of it.

It ends with the number of answers by coding, and with 1 if anything was wrong."""

import collections
import hashlib
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FILES = 60
CLIENTS = 4
DECODERS = {"br": ["brotli", "-dc"], "zstd": ["zstd", "-dcq"], "gzip": ["gzip", "-dc"]}
# What is asked for, and what may come.
ACCEPT = {
    "gzip, deflate, br, zstd": {"", "br", "zstd", "gzip"},  # Chromium, Firefox
    "gzip, deflate, br": {"", "br", "gzip"},  # Safari
    "gzip, deflate": {"", "gzip"},  # in the clear, and many programs
    "br;q=1.0, gzip;q=0.8, *;q=0.1": {"", "br", "zstd", "gzip"},
    "x-gzip": {"", "gzip"},
    "GZIP;Q=1": {"", "gzip"},
    "zstd": {"", "zstd"},
    "br;q=0, *": {"", "zstd", "gzip"},
    "deflate, compress, sdch": {""},
    "identity": {""},
    "": {""},
    ",,;q=,br;;": {""},
    None: {""},
}


def text(number, version):
    """A version of a file: from some hundred bytes to some hundred KiB, as its number says."""
    rng = random.Random(f"{number} {version}")
    words = ["salver", "serves", "files", "once", str(number), str(version), "and", "again"]
    count = 40 * (2 ** (number % 11))
    return (f"{number} {version}\n" + " ".join(rng.choice(words) for _ in range(count))).encode()


class Site:
    """Files that change, and what they were."""

    def __init__(self, root):
        self.root = root
        self.versions = [0] * FILES
        for number in range(FILES):
            self.write(number)

    def write(self, number):
        # Before it can be seen.
        self.versions[number] += 1
        new = self.root / ".new"
        new.write_bytes(text(number, self.versions[number]))
        new.rename(self.root / f"{number}.txt")


class Server:
    def __init__(self, program, root, kept, more):
        self.command = [program, "serve", root, "--port", "0", "--cache-dir", kept, "--cache-dir-size", "8MiB", *more]
        self.port = None
        self.start()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SALVER_")}
        self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        for line in self.child.stderr:
            if found := re.search(r"://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                threading.Thread(target=self.read, args=[self.child.stderr], daemon=True).start()
                return
        sys.exit("codings: the server does not start")

    def read(self, lines):
        for line in lines:
            if "panicked" in line or "report this" in line or " ERROR " in line:
                print(line, end="", file=sys.stderr, flush=True)
                FAULTS.append(line)

    def kill(self):
        self.port = None
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()


# Clients that decode by themselves, with what they ask for, and the coding that they get at last.
CURL = ["curl", "--silent", "--show-error", "--max-time", "60", "--noproxy", "*", "--compressed"]
DECODING = [
    (["wget", "--quiet", "--no-proxy", "--output-document=-", "--compression=gzip"], "gzip", "gzip"),
    (CURL, "deflate, gzip, br, zstd", "br"),
    *[([*CURL, "--header", f"Accept-Encoding: {coding}"], coding, coding) for coding in DECODERS],
]

FAULTS = []
# The decoded content of coded bytes.
DECODED = {}


def decoded(coding, body):
    if not coding:
        return body
    key = (coding, hashlib.sha256(body).digest())
    if key not in DECODED:
        done = subprocess.run(DECODERS[coding], input=body, capture_output=True, check=False)
        DECODED[key] = done.stdout if done.returncode == 0 else None
    return DECODED[key]


class Client(threading.Thread):
    def __init__(self, number, site, servers, ends):
        super().__init__(daemon=True)
        self.rng = random.Random(number)
        self.site, self.servers, self.ends = site, servers, ends
        self.seen = collections.Counter()
        self.tags = {}

    def run(self):
        try:
            while not FAULTS and time.monotonic() < self.ends:
                self.ask()
        except Exception as error:  # whatever it is, the run is not to pass
            FAULTS.append(repr(error))
            raise

    def ask(self):
        port = self.rng.choice(self.servers).port
        number = self.rng.randrange(FILES)
        accept, allowed = self.rng.choice(list(ACCEPT.items()))
        method = self.rng.choices(["GET", "HEAD"], [9, 1])[0]
        fields = {} if accept is None else {"Accept-Encoding": accept}
        part = method == "GET" and self.rng.random() < 0.1
        if part:
            fields["Range"] = "bytes=10-29"
        if port is None:
            return time.sleep(0.01)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.putrequest(method, f"/{number}.txt", skip_accept_encoding=True)
            for name, value in fields.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            # It was killed meanwhile; an answer that is cut short says so.
            self.seen["cut off"] += 1
            return None
        finally:
            connection.close()
        coding, tag = answer.headers.get("Content-Encoding", ""), answer.headers["ETag"]
        said = f"{method} /{number}.txt {fields}: {answer.status} {coding!r} {tag}"
        if answer.status != (206 if part else 200) or coding not in allowed:
            FAULTS.append(said)
            return None
        # Whatever can be coded may come so tomorrow. For long ones a server with little memory has no room.
        if (coding or len(text(number, 1)) < 20_000) and "Accept-Encoding" not in answer.headers.get("Vary", ""):
            FAULTS.append(f"{said}: Vary")
        self.seen["part" if part else method if method == "HEAD" else coding or "identity"] += 1
        if method == "HEAD":
            return None
        if part:
            if not any(text(number, version)[10:30] == body for version in self.those_of(number)):
                FAULTS.append(f"{said}: no part of any version")
            return None
        digest = hashlib.sha256(body).digest()
        if tag.startswith('"') and self.tags.setdefault((number, tag), digest) != digest:
            FAULTS.append(f"{said}: other bytes under the same tag")
        content = decoded(coding, body)
        if content is None:
            FAULTS.append(f"{said}: it does not decode")
            return None
        version = int(content.split(b"\n", 1)[0].split()[1]) if content[:1].isdigit() else 0
        if version not in self.those_of(number) or content != text(number, version):
            FAULTS.append(f"{said}: no version of the file")
        return None

    def those_of(self, number):
        return range(1, self.site.versions[number] + 1)


def damage(rng, kept):
    """Does to a file of the cache directory what a disk or a stranger may."""
    files = [path for path in kept.iterdir() if not path.name.startswith(".") and path.is_file()]
    if len(files) < 2:
        return
    path, other = rng.sample(files, 2)
    try:
        content = bytearray(path.read_bytes())
        match rng.randrange(6):
            case 0:
                path.unlink()
            case 1:
                os.truncate(path, len(content) // 2)
            case 2:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
                path.write_bytes(content)
            case 3:
                shutil.copyfile(other, path)
            case 4:
                path.unlink()
                path.symlink_to(other)
            case 5:
                path.unlink()
                os.mkfifo(path)
    except OSError:
        # It has gone meanwhile, or the disk is full.
        pass


def fetched(server, name, accept):
    """The coding and the content of a file, asked for over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.putrequest("GET", f"/{name}", skip_accept_encoding=True)
    connection.putheader("Accept-Encoding", accept)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.headers.get("Content-Encoding"), content


def decoded_by_clients(server, root):
    """Has clients fetch all files once these are coded; returns how many answers they have decoded."""
    answers = 0
    for path in sorted(root.glob("[0-9]*.txt")):
        content = path.read_bytes()
        # The last change may be younger than what the cache looks at once a second.
        ends = time.monotonic() + 60
        while fetched(server, path.name, "identity")[1] != content and time.monotonic() < ends:
            time.sleep(0.01)
        for command, accept, expected in DECODING:
            # Small ones may be shorter in another coding, or in none.
            while len(content) > 2000:
                coding, _ = fetched(server, path.name, accept)
                if coding == expected or coding and "," in accept:
                    break
                time.sleep(0.01)
            url = f"http://127.0.0.1:{server.port}/{path.name}"
            done = subprocess.run([*command, url], capture_output=True, check=False)
            if done.returncode or done.stdout != content:
                FAULTS.append(f"{' '.join(command)} {url}: {done.returncode} {done.stderr[-200:]}")
            answers += 1
    return answers


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    needed = [words[0] for words in DECODERS.values()] + ["curl", "wget"]
    if missing := [name for name in needed if not shutil.which(name)]:
        sys.exit(f"codings: {', '.join(missing)} is needed")
    program, seconds = str(pathlib.Path(sys.argv[1]).resolve()), float(sys.argv[2]) if len(sys.argv) == 3 else 60
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root, kept = folder / "site", folder / "kept"
        root.mkdir()
        kept.mkdir()
        is_full = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", kept], capture_output=True, check=False).returncode == 0
        try:
            site = Site(root)
            memory = [["--compress-cpu", "100"], ["--compress-cpu", "100", "--cache-size", "24MiB"]]
            servers = [Server(program, root, kept, more) for more in memory]
            ends = time.monotonic() + seconds
            clients = [Client(number, site, servers, ends) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            rounds = kills = 0
            while not FAULTS and time.monotonic() < ends:
                rounds += 1
                time.sleep(0.02)
                # Half of them change so rarely that their codings are sent for a while.
                site.write(rng.randrange(FILES // 2) if rounds % 20 else rng.randrange(FILES))
                damage(rng, kept)
                if rounds % 150 == 0:
                    kills += 1
                    server = servers[kills % 2]
                    server.kill()
                    server.start()
            for client in clients:
                client.join()
            by_clients = decoded_by_clients(servers[0], root)
            for server in servers:
                server.kill()
        finally:
            if is_full:
                subprocess.run(["umount", kept], check=True)
    seen = sum((client.seen for client in clients), collections.Counter())
    print(f"codings: {dict(sorted(seen.items()))} answers, {sum(site.versions)} versions, {kills} kills, "
          f"{'a full disk, ' if is_full else ''}{len(DECODED)} codings decoded, {by_clients} answers by curl and wget, {len(FAULTS)} wrong")
    for fault in FAULTS[:10]:
        print(f"codings: {fault}", file=sys.stderr)
    return 1 if FAULTS or not all(seen[coding] for coding in DECODERS) else 0


if __name__ == "__main__":
    sys.exit(main())
