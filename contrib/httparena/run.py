#!/usr/bin/env python3
"""Runs Salver as HttpArena does, without Docker: its layout, its validation and load, over four ways.

The command line is the Dockerfile's, with other ports and folders. See README.md beside this file.

exit code: 0 if everything held; 1 if something did not, or failed; 2 for a wrong option.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "bench"))

import clients  # noqa: E402
import files  # noqa: E402
import process  # noqa: E402
import secure  # noqa: E402

OUTPUT = TOP / "target" / "bench"
SHARED = TOP.parent / "shared" / "arena-static"
ACCEPT = "br;q=1, gzip;q=0.8"
SEEN_WITHIN_SECONDS = 2
TYPES = {".css": ("text/css",), ".js": ("text/javascript", "application/javascript"), ".json": ("application/json",),
         ".html": ("text/html",), ".svg": ("image/svg+xml",), ".webp": ("image/webp",), ".jpg": ("image/jpeg",),
         ".png": ("image/png",), ".woff2": ("font/woff2",)}
# Name, the arena's port, scheme, curl's flag, h2load's flags (none: h3load), streams, turns.
WAYS = [("h1", 8080, "http", "--http1.1", ("--h1",), 1, 10), ("h1+tls", 8081, "https", "--http1.1", ("--h1",), 1, 10),
        ("h2", 8443, "https", "--http2", ("--npn-list=h2",), 32, 10), ("h3", 8443, "https", "", (), 64, 3)]


class Verdict:
    """What held and what did not, said as it is found."""

    def __init__(self):
        self.failed = 0

    def say(self, held, what):
        print(("held  " if held else "FAILS ") + what, flush=True)
        self.failed += not held

    def all(self, what, wrong):
        """One line for many checks: `wrong` names those that did not hold."""
        self.say(not wrong, what + (": " + "; ".join(wrong[:3]) if wrong else ""))


def command(salver, folder, ports):
    """The Dockerfile's command line with these ports, and its two mounts in `folder`."""
    line = next(line for line in (HERE / "Dockerfile").read_text(encoding="utf-8").splitlines() if line.startswith("CMD "))
    places = {"salver": salver, "/data": folder / "data", "/certs/server.crt": folder / "certs" / "server.crt",
              "/certs/server.key": folder / "certs" / "server.key", **{str(port): own for port, own in ports.items()}}
    return [places.get(word, word) for word in json.loads(line.removeprefix("CMD "))]


def validate(name, fetch, root, verdict):
    """Types, lengths, codings and the 404, for every file of the set."""
    targets = files.Directory(root).targets()
    types, bytes_, coded, codings = [], [], [], {}
    for target in targets:
        plain = (root / target).read_bytes()
        status, fields, content = fetch(target, "identity")
        if fields.get("Content-Type", "").split(";")[0] not in TYPES.get(pathlib.Path(target).suffix, ("application/octet-stream",)):
            types.append(f"{target} is {fields.get('Content-Type')}")
        if status != 200 or content != plain:
            bytes_.append(f"{target}: status {status}, {len(content)} bytes of {len(plain)}")
        for accept in ("br", "gzip", ACCEPT):
            status, fields, content = fetch(target, accept)
            coding = fields.get("Content-Encoding", "identity")
            codings[coding] = codings.get(coding, 0) + 1
            if status != 200 or decode(coding, content) != plain:
                coded.append(f"{target} in {coding}: status {status}")
    verdict.all(f"{name}: types of {len(targets)} files", types)
    verdict.all(f"{name}: bytes without a coding", bytes_)
    verdict.all(f"{name}: decoded bytes, {', '.join(f'{count} {coding}' for coding, count in sorted(codings.items()))}", coded)
    status, _, _ = fetch("nonexistent.txt", "identity")
    verdict.say(status == 404, f"{name}: 404 for a file that is not there")


def decode(coding, content):
    if coding == "gzip":
        return gzip.decompress(content)
    return files.brotli("-d", data=content) if coding == "br" else content


def replacement(name, fetch, root, verdict):
    """A file and its siblings are written over with as many other bytes; every coding must follow."""
    target = "reset.css" if (root / "reset.css").exists() else files.Directory(root).targets()[0]
    for accept in ("identity", "br", "gzip"):
        fetch(target, accept)
    plain = (root / target).read_bytes()
    new = plain[:-16] + os.urandom(8).hex().encode()
    for path, data in [(root / target, new), (root / (target + ".br"), files.brotli("-q", "11", data=new)),
                       (root / (target + ".gz"), gzip.compress(new, 9, mtime=0))]:
        if path.exists():
            path.write_bytes(data)
    begun, waiting, took = time.monotonic(), ["identity", "br", "gzip"], 0.0
    while waiting and took < SEEN_WITHIN_SECONDS:
        took = time.monotonic() - begun
        for accept in list(waiting):
            status, fields, content = fetch(target, accept)
            if status == 200 and decode(fields.get("Content-Encoding", "identity"), content) == new:
                waiting.remove(accept)
    verdict.say(not waiting, f"{name}: {target} replaced, the same length: seen after {took:.1f} s" + (
        f"; never in {', '.join(waiting)}" if waiting else ""))


def transport_security(name, port, certificate, offered, verdict):
    """What the arena asks of a port with TLS."""
    def handshake(alpn):
        context = ssl._create_unverified_context()
        if alpn:
            context.set_alpn_protocols([alpn])
        with socket.create_connection(("localhost", port), 10) as tcp, context.wrap_socket(tcp, server_hostname="localhost") as tls:
            return tls.version(), tls.cipher()[0], tls.selected_alpn_protocol(), tls.getpeercert(binary_form=True)
    version, suite, selected, leaf = handshake(offered)
    verdict.say(leaf == ssl.PEM_cert_to_DER_cert(certificate.file.read_text()), f"{name}: the certificate is the mounted one")
    verdict.say(version == "TLSv1.3" and suite.startswith("TLS_"), f"{name}: {version} with {suite}")
    verdict.say(selected in (offered, None), f"{name}: {offered} offered, {selected} selected")
    verdict.say(handshake(None)[2] is None, f"{name}: nothing offered, nothing selected")
    old = [flag for flag in ("-tls1", "-tls1_1") if subprocess.run(
        ["openssl", "s_client", "-connect", f"localhost:{port}", flag, "-cipher", "ALL:@SECLEVEL=0"],
        input=b"", capture_output=True, timeout=20, check=False).returncode == 0]
    verdict.all(f"{name}: refuses what is older than TLS 1.2", old)


def load(way, client, port, root, connections, verdict):
    """Every answer is counted, and the content of all must be that of the siblings or files."""
    found = client.run(way, port, connections, way.turns)
    sent = [root / (target.removeprefix("static/") + ".br") for target in way.targets]
    expected = sum((path if path.exists() else path.with_suffix("")).stat().st_size for path in sent) * connections * way.turns
    verdict.say(found["errors"] == 0 and found["content"] == expected,
                f"{way.name}: load: {found['answers']} answers, {found['answers'] / found['us'] * 1e6:.0f} requests/s, p99 {found['p99_us']} us, "
                f"{found['errors']} errors, {found['content']} bytes of {expected}")


def arguments():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", help="the arena's files (default: ../shared/arena-static, or those of `make bench`)")
    parser.add_argument("--salver", metavar="PATH", default=built, type=pathlib.Path, help="the program (default: the release build)")
    parser.add_argument("--connections", metavar="N", type=int, default=64, help="connections of the loads (default 64)")
    options = parser.parse_args()
    if options.set and not pathlib.Path(options.set).is_dir():
        parser.error(f"{options.set} is not a directory")
    return options


def main():
    options = arguments()
    if not options.salver.exists():
        raise process.Failed(f"{options.salver} is not there: run `make build`, or give --salver")
    if not clients.there(OUTPUT):
        raise process.Failed("what is missing is named above")
    given = pathlib.Path(options.set or SHARED)
    if not given.is_dir():
        made = files.Files(OUTPUT, 1)
        made.make()
        given = made.root / "arena"
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="httparena-") as folder:
        folder = pathlib.Path(folder)
        root = folder / "data" / "static"
        shutil.copytree(given, root)
        files.Directory(root).rest()
        (folder / "certs").mkdir()
        certificate = secure.Certificate(folder / "certs", "server", "RSA 2048").make()
        ports = {arena: process.free_port() for arena in (8080, 8081, 8443)}
        with process.Server("salver", command(options.salver.resolve(), folder, ports), folder, ports[8080]):
            for name, arena_port, scheme, curl, flags, streams, turns in WAYS:
                targets = tuple(f"static/{target}" for target in files.Directory(root).targets())
                way = clients.Way(name, targets, ACCEPT, curl, flags, streams, turns, scheme)
                client = clients.H2load(folder) if flags else clients.H3load(OUTPUT / "bin" / "h3load")
                port, get = ports[arena_port], client.get(way)

                def fetch(target, accept, port=port, get=get):
                    return get(port, "static/" + target, accept)
                try:
                    validate(name, fetch, root, verdict)
                    if scheme == "https" and flags:
                        transport_security(name, port, certificate, "h2" if name == "h2" else "http/1.1", verdict)
                    load(way, client, port, root, options.connections, verdict)
                    replacement(name, fetch, root, verdict)
                except (clients.Wrong, process.Failed, OSError) as error:
                    verdict.say(False, f"{name}: {error}")
    print("everything held" if not verdict.failed else f"{verdict.failed} did not hold")
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as failure:
        sys.exit(f"httparena: {failure}")
    except KeyboardInterrupt:
        sys.exit("httparena: interrupted")
