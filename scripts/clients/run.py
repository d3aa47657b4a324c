#!/usr/bin/env python3
"""A judgement of a server by clients of other make: run.py PROGRAM [--quick].

Go (net/http, x/net/http2, quic-go), Node, Python (h2, httpx, aioquic), curl, wget and nghttp fetch from
`PROGRAM serve` over every protocol that they speak, all on loopback:

  large    64 MiB in one answer, read in pieces of 512 bytes to 256 KiB
  in turn  200 answers of 100 KiB on one connection, one after the other
  at once  101 answers of 1 MiB on one connection, 100 of them at the same time
  slow     4 MiB, by a reader that pauses and takes three seconds
  cancel   a proxy's connection: 960 small answers and 193 cancelled large ones each second

(nghttp and aioquic have windows of the size, the commands a pipe that is read in such pieces.)
Every answer must be whole by its SHA-256, and no connection may be given up by the server. What a client
says of its rate is no benchmark. The clients are installed into target/clients/.

--quick tries fewer sizes in a minute, for CI; all of it takes five minutes or more. Exit code: 0; 1 if
anything was not whole; 2 if a client is not to be had or the server does not start.
"""

import argparse
import collections
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import files
import install
import judge
import server
from running import Runner

# What all may take, and one client, in seconds.
QUICK_LIMITS = (300, 60)
LIMITS = (2400, 240)
LINE = "{:8}{:16}{:14}{:>8}  {:12}{:>8}  {}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, metavar="PROGRAM", help="the salver to judge")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, for CI")
    parser.add_argument("--client", metavar="WORD", help="only clients with this word in the name")
    parser.add_argument("--kind", help="only this kind: large, 'in turn', 'at once', slow or cancel")
    return parser.parse_args()


def groups(options):
    """Cases, and how many of them run at once: one where the time is spent on bytes, so that the rates
    can be compared; more in a short look and where clients mostly wait."""
    quick = options.quick
    for found, at_once in [
        (cases.large(quick) + cases.kept(quick), 2 if quick else 1),
        (cases.slow(quick), 8),
        (cases.cancelling(quick), 4 if quick else 2),
    ]:
        yield [case for case in found if (options.client or "") in case.client.name
               and options.kind in (None, case.kind)], at_once


def judge_all(options, runner, urls, hashes):
    """The table, printed row by row; how often each result came."""
    print(LINE.format("", "client", "protocol", "read", "result", "MiB/s", "").rstrip(), flush=True)
    results = collections.Counter()
    for found, at_once in groups(options):
        with ThreadPoolExecutor(at_once) as pool:
            try:
                reports = pool.map(lambda case: runner.run(case.client.program, case.order(urls)), found)
                for case, report in zip(found, reports):
                    result, rate, note = "no report", "", report
                    if isinstance(report, dict):
                        result, note = judge.of(case, report, hashes)
                        rate = f"{report['bytes'] / files.MIB / report['seconds']:.1f}"
                    results[result] += 1
                    row = case.kind, case.client.name, case.spoken[0], case.buffer, result, rate, note
                    print(LINE.format(*row).rstrip(), flush=True)
            except BaseException:
                runner.stop()
                raise
    return results


def main():
    options = arguments()
    if not options.program.is_file():
        print(f"clients: there is no {options.program}: build it, or name another program", file=sys.stderr)
        return 2
    # An exit like any other, so that whoever ends this ends the server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        install.everything()
        with tempfile.TemporaryDirectory() as work:
            root = Path(work) / "site"
            root.mkdir()
            hashes = files.make(root)
            with server.Server(options.program.resolve(), root, Path(work) / "log") as running:
                limit, each_seconds = QUICK_LIMITS if options.quick else LIMITS
                start = time.monotonic()
                results = judge_all(options, Runner(work, start + limit, each_seconds), running.urls, hashes)
                seconds = time.monotonic() - start
                wrong = running.stop()
    except (install.Failed, server.Failed, OSError) as error:
        print(f"clients: {error}", file=sys.stderr)
        return 2
    if wrong:
        print(f"clients: {wrong}", file=sys.stderr)
    passed = results.pop(judge.WHOLE, 0)
    rest = ", ".join(f"{count} {result}" for result, count in results.items())
    print(f"{seconds:.0f} s; {rest or 'all whole'}")
    failed = results.total() + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
