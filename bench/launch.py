#!/usr/bin/env python3
"""Starts one server in the place of this process: launch.py SET NAME ROOT PORT.

`salver bench compare` takes commands in which only the port is open; a server that wants a file of
configuration gets it written here, into a folder of its own.
"""

import os
import pathlib
import shlex
import shutil
import sys

import libraries
import peers
import secure

TOP = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = TOP / "target" / "bench"


def servers(kind, salver):
    """The servers of a set, the one that others are compared with first."""
    if kind == "servers":
        return [*peers.everyone(salver, OUTPUT), libraries.ServeDir(OUTPUT)]
    if kind == "embedded":
        return libraries.everyone(OUTPUT)
    certificate = secure.Certificate(OUTPUT / "certificate")
    return [secure.Salver(salver, certificate), secure.Nginx(certificate), secure.H2o(certificate), secure.Caddy(OUTPUT, certificate)]


def command(kind, peer, root):
    """The command line by which `salver bench compare` starts a server."""
    if isinstance(peer, (peers.Salver, libraries.Library)):
        words = peer.command(root, "{port}", OUTPUT)
    else:
        words = [sys.executable, __file__, kind, peer.name, root, "{port}"]
    return shlex.join(str(word) for word in words)


def main():
    kind, name, root, port = sys.argv[1:]
    peer = next(peer for peer in servers(kind, "salver") if peer.name == name)
    place = OUTPUT / "run" / f"{kind}-{name}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    place.chmod(0o755)
    os.chdir(place)
    words = [str(word) for word in peer.command(root, port, place)]
    os.execvpe(words[0], words, {**os.environ, **peer.environment})


if __name__ == "__main__":
    main()
