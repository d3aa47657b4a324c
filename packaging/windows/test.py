#!/usr/bin/env python3
"""The tests of salver.exe under wine: test.py EXE JUDGE. JUDGE is the example `judge` of salver-conformance for this
machine; wine shares its loopback. Fails if a row of the exchange table differs that `differs.txt` has not."""

import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import ssl
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
        command = ["wine", program, "serve", *([f"Z:{root}"] if root else []), "--port", str(self.port), *flags]
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
    flags = [["--user", "x"], ["--log-syslog", "local"], ["--http3"], ["--metrics", "9090"], ["--min-rate", "1KiB"],
             ["--pid-file", "x"], ["--sandbox", "on"]]
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


def curl(server, scheme, host, path, *more, port=None):
    """Status, version of HTTP, fields and content of an answer, asked by curl as if `host` were this machine."""
    port = port or server.port
    command = ["curl", "-sk", "--max-time", "60", "-D", "-", "-w", "\n%{http_version} %{http_code}",
               "--resolve", f"{host}:{port}:127.0.0.1", *more, f"{scheme}://{host}:{port}{path}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{command}: {done.returncode} {done.stderr.decode()}")
    head, _, rest = done.stdout.partition(b"\r\n\r\n")
    content, _, told = rest.rpartition(b"\n")
    version, status = told.decode().split()
    return int(status), version, head.decode("latin-1").lower(), content


def make_certificate(folder, name, *hosts):
    """`name.pem` and `name.key` for these hosts."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-keyout", folder / f"{name}.key",
                    "-out", folder / f"{name}.pem"], check=True, stderr=subprocess.PIPE)


def shown(port, host):
    """The certificate that a client gets who names this host, and the protocol by ALPN of those that it offers."""
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["http/1.1"])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        with context.wrap_socket(plain, server_hostname=host) as stream:
            check(stream.selected_alpn_protocol(), "http/1.1", "ALPN")
            return stream.getpeercert(binary_form=True)


def tls(program, folder):
    """Certificates by host, renewed ones, 421, HSTS, redirects, HTTP/2 by ALPN, and what is no TLS."""
    root = folder / "tls"
    root.mkdir()
    (root / "index.html").write_text("over tls")
    (root / "7.bin").write_bytes(bytes([7]) * 100_000)
    redirects = free_port()
    flags = ["--tls-self-signed", "--hsts=300", "--https-redirect", str(redirects)]
    with Served(program, root, flags) as server:
        for version, flag in ("1.1", "--http1.1"), ("2", "--http2"):
            status, spoken, head, content = curl(server, "https", "localhost", "/", flag)
            check((status, spoken, content), (200, version, b"over tls"), f"HTTP/{version} over TLS")
            check("strict-transport-security: max-age=300" in head, True, "HSTS")
            found = curl(server, "https", "localhost", "/7.bin", flag)
            check((found[0], found[3]), (200, bytes([7]) * 100_000), "what takes more than one record")
        status, _, head, _ = curl(server, "http", "localhost", "/a?b", port=redirects)
        check((status, f"location: https://localhost:{server.port}/a?b" in head), (308, True), "a redirect to TLS")
        check(b"this port speaks HTTPS" in curl(server, "http", "localhost", "/")[3], True, "HTTP at a port with TLS")
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
            stream.sendall(b"\x16\x03\x01\x00\x05hello")
            stream.recv(100)
        check(curl(server, "https", "localhost", "/")[0], 200, "after a handshake that failed")
    for name in "a", "b":
        make_certificate(folder, name, f"{name}.test")
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(name)
    site = """[[site]]
hosts = ["{0}.test"]
root = '{1}'
tls = {{ certificate = '{2}', key = '{3}' }}
"""
    z = lambda path: "Z:" + str(path)
    text = "".join(site.format(name, z(folder / name), z(folder / f"{name}.pem"), z(folder / f"{name}.key")) for name in "ab")
    (folder / "sites.toml").write_text(text)
    with Served(program, None, ["--config", z(folder / "sites.toml")]) as server:
        for name in "a", "b":
            check(curl(server, "https", f"{name}.test", "/")[3], name.encode(), f"the site {name}")
            expected = ssl.PEM_cert_to_DER_cert((folder / f"{name}.pem").read_text())
            check(shown(server.port, f"{name}.test"), expected, f"the certificate of {name}")
        for flag in "--http1.1", "--http2":
            check(curl(server, "https", "a.test", "/", flag, "-H", "Host: b.test")[0], 421, "a host of another certificate")
        make_certificate(folder, "new", "a.test")
        for kind in "pem", "key":
            os.replace(folder / f"new.{kind}", folder / f"a.{kind}")
        expected = ssl.PEM_cert_to_DER_cert((folder / "a.pem").read_text())
        eventually("a renewed certificate", lambda: shown(server.port, "a.test") == expected)
        check(curl(server, "https", "a.test", "/")[3], b"a", "after a renewal")
    return 20


def eventually(what, is_so):
    """Waits until something is so. What is promised is less; the rest is for a busy machine."""
    end = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"not within a minute: {what}")
        time.sleep(0.01)


def access_log(program, folder):
    """Lines in all formats, what is cut short included, and Cache-Status."""
    root = folder / "logged"
    root.mkdir()
    (root / "index.html").write_text("hello")
    long = 64 << 20
    with (root / "long.bin").open("wb") as file:
        file.truncate(long)
    checks = 0
    for name in "common", "combined", "extended", "json":
        path = folder / f"{name}.log"
        flags = ["--log", f"Z:{path}", "--log-format", name, "--cache-status", "--no-compress"]
        with Served(program, root, flags) as server:
            status, head, _ = server.get("/?a=b", {"User-Agent": 'x"y', "Referer": "z"})
            check((status, "\ncache-status: salver; fwd=" in head), (200, True), "the first answer")
            check("\ncache-status: salver; hit" in server.get("/", {"User-Agent": "x"})[1], True, "a hit")
            check(server.get("/none")[0], 404, "nothing")
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
                stream.sendall(b"GET /long.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                stream.recv(1000)
            eventually("four lines", lambda: path.exists() and path.read_bytes().count(b"\n") == 4)
        lines = path.read_text().splitlines()
        if name == "json":
            found = [json.loads(line) for line in lines]
            statuses = [line["http"]["response"]["status_code"] for line in found]
            check(sorted(statuses), [200, 200, 200, 404], "statuses")
            first = next(line for line in found if line["url"].get("query") == "a=b")
            told = (first["url"]["path"], first["user_agent"]["original"], first["client"]["address"],
                    first["http"]["response"]["body"]["size"], first["network"]["protocol"]["version"])
            check(told, ("/", 'x"y', "127.0.0.1", 5, "1.1"), "a line of JSON")
            cut = next(line for line in found if line["url"]["path"] == "/long.bin")
            check(0 < cut["http"]["response"]["body"]["size"] < long, True, "an answer that was cut short")
        else:
            check(sum('"GET /?a=b HTTP/1.1" 200 5' in line for line in lines), 1, lines)
            check(sum('"GET /none HTTP/1.1" 404 ' in line for line in lines), 1, lines)
        checks += 6
    path = folder / "proxied.log"
    with Served(program, root, ["--log", f"Z:{path}", "--trusted-proxies", "127.0.0.1", "--forwarded-field", "x-forwarded-for"]) as server:
        server.get("/", {"X-Forwarded-For": "203.0.113.9"})
        eventually("a line", lambda: path.exists() and path.read_bytes().startswith(b"203.0.113.9 - - "))
    path = folder / "sampled.log"
    with Served(program, root, ["--log", f"Z:{path}", "--log-sample", "1000000"]) as server:
        for _ in range(50):
            server.get("/")
    check(len(path.read_bytes().splitlines()) < 50, True, "a sample")
    return checks + 2


def passwords(program, folder):
    """Hashes, who enters by them, and who tries too often."""
    hashes = {}
    for flags in [], ["--bcrypt"]:
        done = subprocess.run(["wine", program, "hash-password", *flags], input="open sesame\r\n", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=START)
        hashes["bcrypt" if flags else "argon2id"] = done.stdout.strip()
    check(hashes["argon2id"].startswith("$argon2id$"), True, hashes)
    check(hashes["bcrypt"].startswith("$2b$"), True, hashes)
    done = subprocess.run(["wine", program, "hash-password", "jo"], input="a\nb\n", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=START)
    check((done.returncode, done.stdout), (2, ""), "two lines are no password")
    root = folder / "guarded"
    root.mkdir()
    (root / "index.html").write_text("public")
    (root / "secret").mkdir()
    (root / "secret" / "index.html").write_text("secret")
    users = "".join(f"{name} = '{value}'\n" for name, value in hashes.items())
    config = folder / "guarded.toml"
    config.write_text(f"root = 'Z:{root}'\n[[rule]]\npath = '/secret/*'\n[rule.basic-auth]\nrealm = 'Staff'\n"
                      f"[rule.basic-auth.users]\n{users}")

    def field(user, password):
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}

    with Served(program, None, ["--config", f"Z:{config}"]) as server:
        check(server.get("/")[0], 200, "what is public")
        status, head, _ = server.get("/secret/")
        check((status, 'www-authenticate: basic realm="staff"' in head), (401, True), "without a password")
        for user in hashes:
            check(server.get("/secret/", field(user, "open sesame"))[::2], (200, b"secret"), user)
        for number in range(10):
            check(server.get("/secret/", field("argon2id", f"wrong {number}"))[0], 401, "a wrong password")
        status, head, _ = server.get("/secret/", field("argon2id", "wrong"))
        check((status, "retry-after:" in head), (429, True), "the eleventh attempt")
        check(server.get("/secret/", field("bcrypt", "open sesame"))[0], 200, "who is known")
    return 19


def live_reload(program, folder):
    """Pages have the script, and are told of a file that changes."""
    root = folder / "live"
    root.mkdir()
    (root / "index.html").write_text("<body>one</body>")
    with Served(program, root, ["--live-reload"]) as server:
        check(b"/.salver/live-reload.js" in server.get("/")[2], True, "a page with the script")
        check(server.get("/.salver/live-reload.js")[0], 200, "the script")
        status, _, content = server.get("/.salver/live-reload?age=0")
        check((status, b"event: ready" in content), (200, True), "the first event")
        known = re.search(rb"id: (\S+)", content)[1].decode()

        def is_told():
            (root / "index.html").write_text("<body>two</body>")
            return b"event: change" in server.get("/.salver/live-reload", {"Last-Event-ID": known})[2]

        eventually("a change", is_told)
        check(b"two" in server.get("/")[2], True, "the page that changed")
    return 5


def differing(program, judge, folder, setup, flags):
    """The rows of the exchange table that are answered otherwise in a setup."""
    tree = pathlib.Path(tempfile.mkdtemp(prefix=setup, dir=folder))
    (tree / "site").mkdir()
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
    print(done.stdout.splitlines()[0] + f" ({len(rows)} rows)", flush=True)
    if "-v" in sys.argv:
        print(done.stdout)
    return rows


def conformance(program, judge, folder):
    known = {}
    for line in (HERE / "differs.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, why = line.partition(" | ")
            known[pattern.strip()] = why
    unknown, seen = [], set()
    for setup, flags in SETUPS.items():
        rows = differing(program, judge, folder, setup, flags)
        known_as = {row: next((name for name in known if re.match(name, row[2:])), None) for row in rows}
        seen.update(known_as.values())
        if others := [row for row in rows if known_as[row] is None]:
            # A sibling that a busy machine has not verified in time is passed by; not twice.
            again = set(differing(program, judge, folder, setup, flags))
            unknown += [f"{setup}: {row}" for row in others if row in again]
    for name in sorted(set(known) - seen):
        print(f"note: {name!r} does not differ any more: take it out of differs.txt")
    if unknown:
        raise SystemExit(f"{len(unknown)} rows differ that differs.txt has not:\n" + "\n".join(unknown[:200]))


@contextlib.contextmanager
def kept_awake(program):
    """Wine with a program of its own, until it is left: one that begins while wine's server ends is refused."""
    port = free_port()
    command = ["wine", program, "serve", ".", "--port", str(port), "--quiet"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up():
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == 0

    try:
        # What wine starts besides keeps the pipes of who was first: here there are none.
        eventually("wine", is_up)
        yield
    finally:
        process.kill()
        process.wait()


def main():
    program, judge = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    with kept_awake(program), tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print(f"refusals: {refusals(program)} passed", flush=True)
        print(f"names: {names(program, folder)} passed", flush=True)
        print(f"features: {features(program, folder)} passed", flush=True)
        print(f"tls: {tls(program, folder)} passed", flush=True)
        print(f"access log: {access_log(program, folder)} passed", flush=True)
        print(f"passwords: {passwords(program, folder)} passed", flush=True)
        print(f"live reload: {live_reload(program, folder)} passed", flush=True)
        conformance(program, judge, folder)


main()
