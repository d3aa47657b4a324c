"""Starting and stopping one server, alone in a session of its own."""

import json
import os
import signal
import socket
import subprocess
import time

SERVER_CORE = "0"
CLIENT_CORE = "1"


class Failed(Exception):
    """A server or a tool did not do its part; the text says which and why."""


def members(session):
    """The ids of the processes in `session`, from /proc."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended meanwhile
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry))
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server on the first core; leaving the `with` ends all of its processes."""

    def __init__(self, name, command, folder, port, environment=None, patience_seconds=10):
        self.name = name
        self.port = port
        self.log = folder / "output.log"
        self.patience_seconds = patience_seconds
        pinned = ["taskset", "-c", SERVER_CORE, *map(str, command)]
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(pinned, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          cwd=folder, env={**os.environ, **(environment or {})}, start_new_session=True)
        self.session = self.child.pid

    def __enter__(self):
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _wait_until_ready(self):
        until = time.monotonic() + self.patience_seconds
        while time.monotonic() < until:
            if self.child.poll() is not None:
                raise Failed(f"{self.name} ended at its start: {self.last_words()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise Failed(f"{self.name} takes no connections after {self.patience_seconds} s: {self.last_words()}")

    def last_words(self):
        """The end of what it has printed."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][-300:] if lines else "it printed nothing"

    def stop(self):
        """Asks, then insists; returns once nothing of the session is left."""
        for request, seconds in ((signal.SIGTERM, self.patience_seconds / 2), (signal.SIGKILL, 5)):
            for process in members(self.session):
                try:
                    os.kill(process, request)
                except ProcessLookupError:
                    continue
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self.child.poll()
                if not members(self.session):
                    self.child.wait()
                    return
                time.sleep(0.01)
        raise Failed(f"{self.name} does not end")


def cpu_per_request(salver, server, milliseconds, target, *words):
    """The CPU time of a server for a request in microseconds, as `salver bench load` finds it from the client's core."""
    command = ["taskset", "-c", CLIENT_CORE, salver, "bench", "load", f"http://127.0.0.1:{server.port}{target}", *words,
               "--json", "--warm-up", "100ms", "--duration", f"{milliseconds}ms", "--pid", server.child.pid]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if not done.stdout:
        raise Failed(done.stderr.strip())
    return json.loads(done.stdout)["result"]["server"]["cpu_us_per_request"]
