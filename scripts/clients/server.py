"""The server that is judged: one process on loopback, ended by its own number whatever happens."""

import os
import re
import subprocess
import time

START_SECONDS = 20
# Longer than it lets answers that are under way be finished.
STOP_SECONDS = 15


class Failed(Exception):
    """The server did not start; the text says what it said."""


class Server:
    """A running `salver serve` of a directory, with TLS at one port and without at another."""

    def __init__(self, program, folder, log):
        self.log = log
        command = [program, "serve", folder, "--tls-self-signed", "--port", "0", "--http-port", "0"]
        # Its flags are also variables: nothing but what stands here sets it up.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SALVER_")}
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            env=environment)

    def __enter__(self):
        try:
            self.urls = self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _wait(self):
        """The addresses with TLS and without, once it says that both are open."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            said = self.log.read_text(errors="replace")
            found = {scheme: url for url, scheme in re.findall(r"((https?)://127\.0\.0\.1:\d+)/", said)}
            if len(found) == 2:
                return found
            time.sleep(0.02)
        raise Failed(f"the server did not start: {self.log.read_text(errors='replace').strip()}")

    def stop(self):
        """Its end; what was wrong with that, or None."""
        early = self.process.poll()
        if early is not None:
            return f"the server had ended by itself with {early}: {self._last_words()}"
        self.process.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"the server did not end within {STOP_SECONDS} s"
        return f"the server ended with {code}: {self._last_words()}" if code else None

    def _last_words(self):
        return " / ".join(self.log.read_text(errors="replace").strip().splitlines()[-3:])
