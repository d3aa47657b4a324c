#!/usr/bin/env python3
"""The tests of salver.exe under wine: test.py EXE JUDGE. JUDGE is the example `judge` of salver-conformance for this
machine; wine shares its loopback. Fails if a row of the exchange table differs that `differs.txt` has not."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
SETUPS = {
    "Default": [],
    "NoCache": ["--no-cache"],
    "Dotfiles": ["--dotfiles"],
    "Spa": ["--spa"],
    "SpaFile": ["--spa=shell.html"],
    "SymlinksNone": ["--symlinks", "none"],
    "Mount": ["--mount", "/files={}/mounted", "--mount", "/nested/over={}/over", "--mount", "/one-file.txt={}/one-file.txt"],
    "GzipOnly": ["--precompressed", "gzip"],
    "Index": ["--index", "home.html"],
}
# What a start under wine may take on a busy machine, in seconds.
START = 300


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Served:
    """A server of a directory, until it is left."""

    def __init__(self, program, root, flags):
        self.port = free_port()
        command = ["wine", program, "serve", f"Z:{root}", "--port", str(self.port), *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            if line.strip().startswith("open"):
                break
        else:
            raise SystemExit(f"salver.exe did not start: {''.join(self.lines)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def get(self, path, fields=None):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as sock:
            lines = "".join(f"{name}: {value}\r\n" for name, value in (fields or {}).items())
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n".encode("latin-1"))
            answer = b""
            while more := sock.recv(65536):
                answer += more
        head, _, content = answer.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        return status, head.decode("latin-1").lower(), content


def check(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: {found!r}, expected {expected!r}")


def refusals(program):
    """What the platform lacks is refused by name, in one line, with exit code 2."""
    flags = [["--user", "x"], ["--log", "x"], ["--tls-self-signed"], ["--metrics", "9090"], ["--live-reload"],
             ["--cache-status"], ["--sandbox", "on"]]
    for flag in flags:
        done = subprocess.run(["wine", program, "serve", ".", *flag], stderr=subprocess.PIPE, text=True, timeout=START)
        said = [line for line in done.stderr.splitlines() if line.startswith("salver")]
        check((done.returncode, said), (2, [f"salver: {flag[0]}: not on Windows: see docs/platforms.md"]), flag)
    for command in ["bench", "status", "reload"]:
        done = subprocess.run(["wine", program, command], stderr=subprocess.PIPE, text=True, timeout=START)
        check(f"salver: {command}: not on Windows: see docs/platforms.md" in done.stderr, True, command)
    return len(flags) + 3


def names(program, folder):
    """A file has one name: nothing else leads to it, and nothing leads out."""
    root = folder / "root"
    (root / "Sub").mkdir(parents=True)
    (folder / "secret").write_text("secret")
    for name in ["a.txt", "Sub/b.txt", "A long name.html", ".env"]:
        (root / name).write_text(name)
    right = {"/a.txt": "a.txt", "/Sub/b.txt": "Sub/b.txt", "/A%20long%20name.html": "A long name.html"}
    wrong = ["/A.TXT", "/a.TXT", "/sub/b.txt", "/SUB/b.txt", "/ALONGN~1.HTM", "/a.txt.", "/a.txt%20", "/a.txt::$DATA",
             "/a.txt:s", "/Sub::$INDEX_ALLOCATION/b.txt", "/Sub./b.txt", "/Sub%5Cb.txt", "/..%5Csecret",
             "/Sub%5C..%5C..%5Csecret", "/C:/windows/win.ini", "/c:%5Cwindows%5Cwin.ini", "/%5C%5C?%5CC:", "/CON", "/con",
             "/nul", "/NUL.txt", "/COM1", "/aux.html", "/Sub/PRN", "/LPT1.js", "/a%3Ftxt", "/a%2A", "/%3C", "/.env",
             "/.ENV", "/.env.", "/.env::$DATA", "/%2eenv", "/a.txt%ff"]
    outside = ["/../secret", "/%2e%2e/secret", "/Sub/../../secret"]
    with Served(program, root, []) as server:
        for path, content in right.items():
            status, _, found = server.get(path)
            check((status, found.decode()), (200, content), path)
        for path in wrong:
            check(server.get(path)[0], 404, path)
        for path in outside:
            check(server.get(path)[0], 400, path)
    with Served(program, root, ["--dotfiles"]) as server:
        check(server.get("/.env")[0], 200, "/.env with --dotfiles")
        for path in ["/.ENV", "/.env.", "/.env::$DATA"]:
            check(server.get(path)[0], 404, path)
    return len(right) + len(wrong) + len(outside) + 4


def features(program, folder):
    """Freshness, validators, rules, listing, sites."""
    root = folder / "site"
    root.mkdir()
    (root / "index.html").write_text("one")
    (root / "_headers").write_text("/*\n  X-Tested: yes\n")
    (root / "_redirects").write_text("/old /index.html 301\n")
    (root / "404.html").write_text("our page")
    (root / "files").mkdir()
    (root / "files" / "x.bin").write_bytes(b"0123456789")
    with Served(program, root, ["--listing", "--compat", "netlify", "--no-cache"]) as server:
        pass
    with Served(program, root, ["--listing", "--compat", "netlify", "--statistics"]) as server:
        status, head, content = server.get("/")
        check((status, content, "x-tested: yes" in head), (200, b"one", True), "/")
        tag = re.search(r"\netag: (\S+)", head)[1]
        check(server.get("/", {"If-None-Match": tag})[0], 304, "a validator")
        check(server.get("/files/x.bin", {"Range": "bytes=2-4"})[::2], (206, b"234"), "a range")
        check(server.get("/old")[0], 301, "a redirect")
        check(server.get("/missing")[::2], (404, b"our page"), "an error page")
        check(b"x.bin" in server.get("/files/")[2], True, "a listing")
        new = root / "new"
        new.write_text("two")
        os.replace(new, root / "index.html")
        # One second is what is promised; the rest is for a busy machine.
        end = time.monotonic() + 60
        while server.get("/")[2] != b"two":
            if time.monotonic() > end:
                raise SystemExit("a changed file was not seen within a minute")
    return 7


def conformance(program, judge, folder):
    known = {}
    for line in (HERE / "differs.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, why = line.partition(" | ")
            known[pattern.strip()] = why
    unknown, seen = [], set()
    for setup, flags in SETUPS.items():
        tree = folder / setup
        (tree / "site").mkdir(parents=True)
        if setup == "Mount":
            # What is mounted has to be there at the start: the judge makes it anew.
            for name in ["mounted", "over"]:
                (tree / name).mkdir()
            (tree / "one-file.txt").write_text("")
        # Whether a coding that is made is ready yet is no matter of the table.
        flags = ["--no-compress", *(flag.format(f"Z:{tree}") for flag in flags)]
        with Served(program, tree / "site", flags) as server:
            command = [judge, "semantic", f"127.0.0.1:{server.port}", str(tree), setup]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not done.stdout:
            raise SystemExit(f"{setup}: {done.stderr}")
        rows = [line for line in done.stdout.splitlines() if re.match(r"- (?!skipped)", line)]
        for row in rows:
            known_as = next((name for name in known if re.match(name, row[2:])), None)
            if known_as is None:
                unknown.append(f"{setup}: {row}")
            else:
                seen.add(known_as)
        print(done.stdout.splitlines()[0] + f" ({len(rows)} rows)", flush=True)
        if "-v" in sys.argv:
            print(done.stdout)
    for name in sorted(set(known) - seen):
        print(f"note: {name!r} does not differ any more: take it out of differs.txt")
    if unknown:
        raise SystemExit(f"{len(unknown)} rows differ that differs.txt has not:\n" + "\n".join(unknown[:200]))


def main():
    program, judge = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print(f"refusals: {refusals(program)} passed", flush=True)
        print(f"names: {names(program, folder)} passed", flush=True)
        print(f"features: {features(program, folder)} passed", flush=True)
        conformance(program, judge, folder)


main()
