"""Servers of the pages: each is started as its block says, and ended with everything that it has started."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

START_SECONDS = 120
END_SECONDS = 15
NGINX = """daemon off;
pid /srv/.nginx.pid;
error_log stderr;
events {{ }}
http {{
include /etc/nginx/mime.types;
{block}
}}
"""


class DidNotStart(Exception):
    pass


def theirs(block):
    """The command that a block of another server is."""
    match block.language:
        case "nginx":
            Path("/srv/.nginx.conf").write_text(NGINX.format(block=block.text))
            return "exec nginx -c /srv/.nginx.conf"
        case "caddyfile":
            Path("/srv/.Caddyfile").write_text(block.text)
            return "exec caddy run --config /srv/.Caddyfile --adapter caddyfile"
        case "sh":
            return block.text
    raise DidNotStart(f"nobody reads a block of {block.language}")


def ours(blocks):
    """The commands that the blocks of Salver are; a file of configuration is written first."""
    commands = []
    for block in blocks:
        match block.language:
            case "toml":
                Path("/srv/salver.toml").write_text(block.text)
            case "sh":
                commands.append(block.text)
            case language:
                raise DidNotStart(f"nobody reads a block of {language}")
    return "\n".join(commands)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def ended(process):
    """Whether nobody of a server's group is there any more. This program is process 1 of its machine, so who is left over
    by a parent becomes its child: the group is gone with the last child of it."""
    process.poll()
    try:
        while os.waitpid(-process.pid, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


def end(process):
    """Ends a server and what it has started: they are a group of their own. The first of them may end before the others,
    who have yet to write what they log."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    limit = time.monotonic() + END_SECONDS
    while not ended(process):
        if time.monotonic() > limit:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.05)


@contextlib.contextmanager
def running(command, folder, ports, environment):
    """A server by a command line, once it listens at its ports; whether it still ran at the end is looked at."""
    if taken := [port for port in ports if listens(port)]:
        raise DidNotStart(f"somebody else listens at {taken}: answers would not be those of: {command.strip()}")
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(["sh", "-e", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=subprocess.STDOUT, start_new_session=True)

        def fail(why):
            said.seek(0)
            text = said.read().decode(errors="replace")
            raise DidNotStart(f"{why}: {command.strip()}\n{text}")
        try:
            limit = time.monotonic() + START_SECONDS
            while not all(listens(port) for port in ports):
                if process.poll() is not None:
                    fail(f"ended with {process.returncode}")
                if time.monotonic() > limit:
                    fail(f"does not listen at {ports}")
                time.sleep(0.05)
            yield process
            if process.poll() is not None:
                fail(f"ended with {process.returncode} while it was asked")
        finally:
            end(process)
            # The next one has the same ports.
            limit = time.monotonic() + START_SECONDS
            while any(listens(port) for port in ports) and time.monotonic() < limit:
                time.sleep(0.05)
