#!/usr/bin/env python3
"""A judgement of an installed command: installed.py VERSION COMMAND...

COMMAND is what somebody types instead of `salver`. It has to say its version, pass on arguments, streams and exit codes,
serve a site, and end as the program ends at each signal: with answers under way finished, and nothing left behind.
Exit code: 0, or 1 with what is not so.
"""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 60
# Beyond what sockets hold, so that the answer is under way as long as nobody takes it.
LARGE = 64 * 1024 * 1024


class Fault(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Fault(what)


def run(command, *arguments, **options):
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def says(command, version):
    said = run(command, "--version")
    check(said.returncode == 0 and said.stdout.split()[:2] == ["salver", version], f"--version: {said}")
    wrong = run(command, "serve", "--no-such-flag")
    check(wrong.returncode == 2 and "--no-such-flag" in wrong.stderr, f"a wrong flag is not exit code 2: {wrong}")
    gone = run(command, "serve", "/no/such/directory")
    check(gone.returncode in (1, 2) and "/no/such/directory" in gone.stderr, f"a directory that is not there: {gone}")
    hashed = run(command, "hash-password", "ann", "--bcrypt", input="sesame")
    check(hashed.returncode == 0 and hashed.stdout.startswith('ann = "$2'), f"standard input is not passed on: {hashed}")


class Server:
    """The command serving a directory."""

    def __init__(self, command, folder, *flags):
        self.process = subprocess.Popen([*command, "serve", folder, "--port", "0", *flags], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                return
        raise Fault(f"it does not serve: {''.join(said)}")

    def ask(self, path):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return connection

    def get(self, path):
        return rest(self.ask(path))

    def ended(self):
        """The exit code, once it and all that it started have gone."""
        code = self.process.wait(PATIENCE)
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return code
            check(time.monotonic() < limit, "a process is left behind")
            time.sleep(0.02)

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def rest(connection):
    with connection:
        pieces = []
        while piece := connection.recv(1 << 20):
            pieces.append(piece)
    return b"".join(pieces)


def ends_by_ctrl_c(command, folder):
    """At a terminal Ctrl-C reaches the program once: a second signal would cut the answer that is under way."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], [*command, "serve", folder, "--port", "0"])
    try:
        said = b""
        while not (found := re.search(rb"http://127\.0\.0\.1:(\d+)", said)):
            said += os.read(terminal, 1000)
        connection = socket.create_connection(("127.0.0.1", int(found.group(1))), timeout=PATIENCE)
        connection.sendall(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        begin = connection.recv(1000)
        os.write(terminal, b"\x03")
        # It says that it ends: then the signal is there, and a second one would be.
        while b"\n" not in said.partition(b"^C")[2]:
            said += os.read(terminal, 1000)
        _, _, content = (begin + rest(connection)).partition(b"\r\n\r\n")
        check(len(content) == LARGE, f"Ctrl-C cut an answer short: {len(content)} bytes")
        _, status = os.waitpid(pid, 0)
        pid = 0
        check(os.waitstatus_to_exitcode(status) == 0, f"Ctrl-C: exit code {os.waitstatus_to_exitcode(status)}: {said}")
    finally:
        os.close(terminal)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def serves(command, folder):
    for number in [signal.SIGTERM, signal.SIGINT]:
        server = Server(command, folder)
        try:
            check(server.get("/").endswith(b"it works"), "the page is not served")
            # The first piece has come, the rest is under way.
            connection = server.ask("/large.bin")
            begin = connection.recv(1000)
            server.process.send_signal(number)
            whole = begin + rest(connection)
            head, _, content = whole.partition(b"\r\n\r\n")
            check(len(content) == LARGE, f"{number.name} cut an answer short: {len(content)} bytes, {head!r}")
            code = server.ended()
            check(code == 0, f"{number.name}: exit code {code}")
        finally:
            server.kill()
    # The configuration is read again, and it serves on.
    (Path(folder) / "salver.toml").write_text("root = 'site'\nport = 0\n")
    (Path(folder) / "site").mkdir()
    (Path(folder) / "site/index.html").write_text("configured")
    server = Server(command, folder, "-c", str(Path(folder) / "salver.toml"), "--pid-file", str(Path(folder) / "pid"))
    try:
        # It says where it listens before it writes its number.
        limit = time.monotonic() + PATIENCE
        while not (Path(folder) / "pid").read_text().strip() and time.monotonic() < limit:
            time.sleep(0.01)
        told = run(command, "reload", "--pid-file", str(Path(folder) / "pid"))
        check(told.returncode == 0, f"reload: {told}")
        server.process.send_signal(signal.SIGHUP)
        check(server.get("/").startswith(b"HTTP/1.1 200"), "it does not serve after SIGHUP")
        server.process.send_signal(signal.SIGTERM)
        code = server.ended()
        check(code == 0, f"SIGTERM: exit code {code}")
    finally:
        server.kill()


def main():
    if len(sys.argv) < 3:
        print("usage: packaging/installed.py VERSION COMMAND...", file=sys.stderr)
        return 2
    version, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.html").write_text("it works")
        with open(Path(folder) / "large.bin", "wb") as file:
            file.truncate(LARGE)
        try:
            says(command, version)
            serves(command, folder)
            ends_by_ctrl_c(command, folder)
        except (Fault, OSError, subprocess.TimeoutExpired) as fault:
            print(f"{' '.join(command)}: {fault}", file=sys.stderr)
            return 1
    print(f"{' '.join(command)}: version, arguments, exit codes, a site, SIGTERM, SIGINT, SIGHUP, Ctrl-C")
    return 0


if __name__ == "__main__":
    sys.exit(main())
