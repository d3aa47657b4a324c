#!/usr/bin/env python3
"""What the worst clients cost: a server's memory, and the time of other clients.

  scripts/worst/run.py PROGRAM worst [options] [-- flags of the server]
      Thousands of connections that each do the worst they may, kind by kind: memory of the server, and what
      an ordinary client sees meanwhile.
  scripts/worst/run.py PROGRAM greedy [options] [-- flags of the server]
      Downloads as fast as they can be read, beside an ordinary client.

PROGRAM is a release build of salver. It runs on core 0, all clients on core 1, all over loopback. The clients are
built by Go into target/worst. 10,000 connections need a hard limit of 12,500 descriptors. As root, the ordinary client has
real-time priority, and all of it goes before what else runs.

exit code: 0; 1 if a bound that was asked for is exceeded, or something failed; 2 for a wrong option.
"""

import argparse
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import child
import greedy
import meeting
import servers
import worst

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "target" / "worst"


def arguments():
    given, flags = sys.argv[1:], []
    if "--" in given:
        at = given.index("--")
        given, flags = given[:at], given[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, default_seconds in (("worst", 20), ("greedy", 5)):
        command = commands.add_parser(name)
        command.add_argument("--nginx", action="store_true", help="the same against nginx")
        command.add_argument("--against", metavar="PROGRAM", help="the same against another build")
        command.add_argument("--seconds", type=float, default=default_seconds, metavar="N", help=f"how long (default {default_seconds})")
        if name == "worst":
            command.add_argument("--connections", type=int, default=10000, metavar="N", help="of each crowd (default 10000)")
            command.add_argument("--addresses", type=int, default=16, metavar="N", help="that it comes from (default 16)")
            command.add_argument("--only", action="append", choices=meeting.KINDS, metavar="KIND",
                                 help="only this kind; repeatable: " + ", ".join(meeting.KINDS))
            command.add_argument("--restless", action="store_true",
                                 help="files that were changed a moment ago, which servers may have to treat with more care")
            command.add_argument("--bound", type=float, metavar="MIB", help="fail if the server ever has more memory")
            command.add_argument("--p99", type=float, metavar="MS",
                                 help="fail if the ordinary client's p99 is above it, where failures take for ever")
            command.add_argument("--stop-at", type=float, metavar="MIB", default=available_mib() / 2,
                                 help="cut a crowd short when the server has more memory (default: half of what is free)")
        else:
            command.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
            names = sorted({load[0].split()[0] for load in greedy.LOADS})
            command.add_argument("--only", action="append", choices=names, metavar="LOAD", help="repeatable: " + ", ".join(names))
    options = parser.parse_args(given)
    options.flags = flags
    if min(options.seconds, getattr(options, "rounds", 1), getattr(options, "connections", 1)) <= 0:
        parser.error("times and numbers are above 0")
    if not 1 <= getattr(options, "addresses", 1) <= 250:
        parser.error("--addresses is 1 to 250")
    return options


def available_mib():
    return int(re.search(r"^MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)[1]) / 1024


def built():
    program = BUILT / "worst"
    if subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-o", program, "."], cwd=HERE / "client").returncode:
        raise child.Failed("the clients were not built; Go 1.26 or newer is needed")
    return program


def salver(program, name, flags):
    path = pathlib.Path(program).resolve()
    if not os.access(path, os.X_OK):
        raise child.Failed(f"{program} is no program")
    return servers.Salver(path, name, flags)


def main():
    options = arguments()
    # An end by signal is one of the kind that stops what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        if not {child.SERVER_CORE, child.CLIENT_CORE} <= os.sched_getaffinity(0):
            raise child.Failed("cores 0 and 1 are needed: one for the server, one for the clients")
        compared = [salver(options.program, "salver", options.flags)]
        if options.against:
            compared.append(salver(options.against, "against", options.flags))
        if options.nginx:
            compared.append(servers.Nginx())
        clients = built()
        child.all_descriptors()
        os.sched_setaffinity(0, {child.CLIENT_CORE})
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, child.NICE)
        return (worst if options.command == "worst" else greedy).run(compared, clients, options)
    except child.Failed as failed:
        print(f"worst: {failed}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
