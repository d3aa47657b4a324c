"""Clients that run, each for a bounded time and in a session of its own, so that all of it can be ended."""

import json
import os
import signal
import subprocess
import threading
import time


class Runner:
    """A runner of clients until a moment that holds for all of them; what they leave lies in the folder."""

    def __init__(self, folder, until, each_seconds):
        self.environment = {**os.environ, "TMPDIR": str(folder)}
        self.until = until
        self.each_seconds = each_seconds
        self.lock = threading.Lock()
        self.running = set()
        self.has_stopped = False

    def run(self, program, order):
        """The client's report; or a text that says why there is none."""
        seconds = min(self.each_seconds, self.until - time.monotonic())
        with self.lock:
            if seconds <= 0 or self.has_stopped:
                return "the time for all was over before it began"
            client = subprocess.Popen([*map(str, program), json.dumps(order)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                      env=self.environment, start_new_session=True)
            self.running.add(client)
        try:
            output, errors = client.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"it was ended after {seconds:.0f} s"
        finally:
            self._end(client)
        try:
            return json.loads(output.splitlines()[-1])
        except (IndexError, ValueError):
            said = " / ".join(errors.strip().splitlines()[-2:])
            return f"the client failed with {client.returncode}: {said}"

    def _end(self, client):
        with self.lock:
            self.running.discard(client)
            self._kill(client)
        client.wait()
        client.stdout.close()
        client.stderr.close()

    @staticmethod
    def _kill(client):
        # Its number is its own until it was waited for.
        if client.returncode is None:
            os.killpg(client.pid, signal.SIGKILL)

    def stop(self):
        """The end of all that runs; nothing begins after that."""
        with self.lock:
            self.has_stopped = True
            for client in self.running:
                self._kill(client)
