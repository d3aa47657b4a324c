"""Clients that are commands: command_clients.py curl|wget|nghttp ORDER.

One answer comes through a pipe that is read in pieces of the buffer's size, and holds so little that who
is slow at one end is slow at the other. Several answers go to files.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from client import Body, Report, Wrong, order

PAGE = 4096


def curl(wanted, folder):
    secure = wanted.url.startswith("https")
    version = {"h1": "--http1.1", "h2": "--http2" if secure else "--http2-prior-knowledge"}[wanted.protocol]
    command = ["curl", "--disable", "--silent", "--show-error", "--no-progress-meter", "--fail", "--insecure"]
    command += ["--noproxy", "*", version]
    command += ["--write-out", "%{stderr}connects %{num_connects}\\n"]
    if wanted.rate:
        command += ["--limit-rate", str(wanted.rate)]
    if wanted.at_once > 1:
        command += ["--parallel", "--parallel-max", str(wanted.at_once)]
    if wanted.count > 1:
        return [*command, "--output", f"{folder}/#1", f"{wanted.url}?[1-{wanted.count}]"]
    return [*command, wanted.url]


def wget(wanted, folder):
    command = ["wget", "--no-config", "--no-hsts", "--no-proxy", "--no-check-certificate", "--tries", "1"]
    command += ["--progress", "dot:giga"]
    if wanted.rate:
        command += ["--limit-rate", str(wanted.rate)]
    if wanted.count > 1:
        urls = [f"{wanted.url}?{turn}" for turn in range(wanted.count)]
        return [*command, "--directory-prefix", str(folder), *urls]
    return [*command, "--output-document", "-", wanted.url]


def nghttp(wanted, _):
    """With windows of less than the buffer's size, for the stream and for the connection."""
    bits = str(wanted.buffer.bit_length() - 1)
    return ["nghttp", "--no-verify-peer", "--window-bits", bits, "--connection-window-bits", bits, wanted.url]


COMMANDS = {"curl": curl, "wget": wget, "nghttp": nghttp}
# What the command says of each connection that it makes; nghttp makes one and says nothing.
CONNECTED = {"curl": r"^connects 1\b", "wget": r"^Connecting to ", "nghttp": None}


def take(pipe, body, size):
    """A pipe, read to its end no faster than the rate allows."""
    while piece := os.read(pipe.fileno(), size):
        body.take(piece)
        if pause := body.pause():
            time.sleep(pause)


def fetch(name, wanted, report, folder):
    said = folder / "said"
    files = folder / "answers"
    files.mkdir()
    body = Body(report, wanted.rate)
    with open(said, "wb") as errors:
        command = subprocess.Popen(COMMANDS[name](wanted, files), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, pipesize=PAGE, env={**os.environ, "LC_ALL": "C"})
    with command:
        take(command.stdout, body, wanted.buffer)
    text = said.read_text(errors="replace")
    report.connections = len(re.findall(CONNECTED[name], text, re.MULTILINE)) if CONNECTED[name] else 1
    if command.returncode:
        last = [line for line in text.splitlines() if line.strip() and not line.startswith("connects ")][-1:]
        raise Wrong(f"{name} ended with {command.returncode}: {' '.join(last)}")
    if wanted.count == 1:
        body.end()
    for file in files.iterdir():
        body = Body(report)
        body.take(file.read_bytes())
        body.end()


def main():
    name = sys.argv.pop(1)
    wanted, report = order(), Report()
    with tempfile.TemporaryDirectory() as folder:
        try:
            fetch(name, wanted, report, Path(folder))
        except (OSError, Wrong) as error:
            report.fail(error)
        report.write()


main()
