#!/usr/bin/env python3
"""Compares Salver with other servers over TLS: HTTP/1.1, HTTP/2 and HTTP/3, by server CPU per request.

The server runs alone on core 0 with one worker, the client with one thread on core 1: h2load for HTTP/1.1
and HTTP/2, bench/h3load (quic-go) for HTTP/3. All servers have the same certificate and negotiate
the same cipher. Each is started anew for each run; its answers are compared with the files over the
protocol in question, it is warmed up, and then asked for a fixed number of requests, so that every
run is the same bytes. CPU time is that of all processes of the server; ratios are taken within a round.

exit code: 0; 1 if any answer was wrong or missing, or something failed; 2 for a wrong option.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import check
import files
import install
import machine
import measure
import page
import process
import protocol_load
import report
import secure
import trials
import workload

TOP = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = TOP / "target" / "bench"
WAYS = [  # name, title, curl's flag, h2load's flags, streams, turns
    ("h1+tls", "HTTP/1.1 over TLS, one request at a time on each connection", "--http1.1", ("--h1",), 1, 30),
    ("h1+tls-pipelined", "HTTP/1.1 over TLS, 32 requests at a time on each connection", "--http1.1", ("--h1",), 32, 30),
    ("h2+tls", "HTTP/2 over TLS, 32 streams on each connection", "--http2", ("--npn-list=h2",), 32, 60),
    ("h3", "HTTP/3, 32 streams on each connection", "", (), 32, 10),
]


def arguments():
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--salver", metavar="PATH", help="the program to measure (default: the release build)")
    parser.add_argument("--server", metavar="NAME", action="append", help="only these servers; repeatable")
    parser.add_argument("--way", metavar="NAME", action="append", choices=[way[0] for way in WAYS], help="only these ways; repeatable")
    parser.add_argument("--root", metavar="DIR", help="ask for the files of DIR, instead of generated ones like a site's")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="rounds (default 6; fewer than 3 prove little)")
    parser.add_argument("--connections", type=int, default=64, metavar="N", help="connections (default 64)")
    parser.add_argument("--minutes", type=float, default=12, metavar="N",
                        help="no round is begun that would not be over by then (default 12)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the files (default 1)")
    parser.add_argument("--json", metavar="FILE", help="keep every run in FILE")
    parser.add_argument("--write", metavar="PAGE", help="replace the section `protocols` of this Markdown page")
    options = parser.parse_args()
    if min(options.rounds, options.connections) < 1:
        parser.error("--rounds and --connections are at least 1")
    options.own_build = options.salver is None
    options.salver = pathlib.Path(options.salver).resolve() if options.salver else built
    return options


def client(way, folder):
    return protocol_load.H2load(folder) if way.h2load else protocol_load.H3load(OUTPUT / "bin" / "h3load")


def trial(peer, way, made, folder, options):
    """One run of one server: started, checked, warmed up, measured, stopped. -> (work, run)"""
    with trials.start(peer, made, folder) as server:
        asking = client(way, folder / peer.name)
        work = check.work(server.port, way, made, asking.get(way))
        asking.run(way, server.port, options.connections, 1)
        found, cpu, busy, stolen, own = trials.spent(
            server, lambda: asking.run(way, server.port, options.connections, way.turns))
        memory = measure.resident_mib(server.session)
    answers, seconds = max(found["answers"], 1), found["us"] / 1e6
    expected = options.connections * way.turns * sum(length for _, length in work)
    if found["content"] != expected:
        found["errors"] += 1
        print(f"{way.name}: {peer.name}: {found['content']} bytes of content, not {expected}", file=sys.stderr)
    return work, {**found, "rps": answers / seconds, "cpu_us": cpu * 1e6 / answers, "client_us": own * 1e6 / answers, "mib": memory,
                  "bytes_per_answer": found["content"] / answers,
                  "others": max(0.0, busy - cpu - own) / seconds, "stolen": stolen / seconds}


def table(results, way, servers):
    head = ["server", "work", "requests/s", "p50 us", "p99 us", "CPU us/request", "requests/s of a full core", "client CPU us/request",
            "content/answer", "errors", "MiB", "CPU / Salver's", "Salver's / CPU", "verdict (95 % interval)"]
    rows = []
    for server in servers:
        runs = results.of(way.name, server)
        if not runs:
            continue
        ratios = report.ratios(results, way.name, server)
        inverse = f"{statistics.median(1 / ratio for ratio in ratios):.2f}" if ratios else "-"
        cpu = report.median(runs, "cpu_us")
        rows.append([
            server, check.describe(results.work[way.name, server]), f"{report.median(runs, 'rps'):.0f}",
            *(report.microseconds(report.median(runs, key)) for key in ("p50_us", "p99_us")),
            f"{cpu:.2f}", f"{1e6 / cpu:.0f}", f"{report.median(runs, 'client_us'):.2f}",
            f"{report.median(runs, 'bytes_per_answer'):.0f}", sum(run["errors"] for run in runs), f"{report.median(runs, 'mib'):.1f}",
            *(["1.00", "-", "-"] if server == report.FIRST else [report.spread(ratios), inverse, report.judged(results, way.name, server)]),
        ])
    return report.table(head, rows)


def negotiated(results, way):
    """What each server negotiated, in one line if it is the same."""
    found = {}
    for run in results.runs:
        if run["load"] == way.name:
            found.setdefault(run["negotiated"], {})[run["server"]] = True
    return "Negotiated: " + "; ".join(f"{what} ({', '.join(who)})" for what, who in found.items()) + "."


def heading(rounds, options, facts):
    return "\n".join(f"- {name}: {value}" for name, value in facts.items()) + (
        f"\n\nUp to {rounds} rounds, {options.connections} connections; each connection asks for all files in turn, as often in every "
        "run. Medians of the rounds; errors are added up; handshakes are in the figures. `Salver's / CPU`: what Salver needs of the "
        "server's CPU time. With many requests under way, p50 and p99 are those of a queue before a full server or client.")


def tables(results, ways, servers):
    parts = []
    for way in ways:
        parts += [f"### {way.title}", table(results, way, [peer.name for peer in servers]), negotiated(results, way)]
    return parts + [notes for notes in [report.remarks(results)] if notes]


def main():
    options = arguments()
    until = time.monotonic() + options.minutes * 60
    if not install.over_tls(OUTPUT):
        raise process.Failed("what is missing is named above")
    if len(os.sched_getaffinity(0)) < 2:
        raise process.Failed("two cores are needed: one for the server, one for the client")
    certificate = secure.Certificate(OUTPUT / "certificate").make()
    made = files.Directory(options.root) if options.root else files.Files(OUTPUT, options.seed)
    targets = made.targets() if options.root else tuple(made.arena())
    if not options.root:
        made.make()
    ways = [protocol_load.Way(name, title, targets, "br", curl, flags, streams, turns)
            for name, title, curl, flags, streams, turns in WAYS if not options.way or name in options.way]
    salver, caddy = secure.Salver(options.salver, certificate), secure.Caddy(OUTPUT, certificate)
    groups = [([salver, secure.Nginx(certificate), secure.H2o(certificate)], [way for way in ways if way.h2load]),
              ([salver, caddy], [way for way in ways if not way.h2load])]
    groups = [([peer for peer in servers if not options.server or peer.name in options.server], some) for servers, some in groups if some]
    everyone = list(dict.fromkeys(peer for servers, _ in groups for peer in servers))
    facts = machine.describe(everyone, made, options.own_build)
    facts |= {"clients": install.clients(), "certificate": certificate.note}
    facts |= {f"`{peer.name}`": peer.note for peer in everyone}
    parts, runs, failed = [heading(options.rounds, options, facts)], [], False
    for servers, some in groups:
        results = trials.run(servers, some, made, OUTPUT / "run", options, until, trial)
        parts += tables(results, some, servers)
        runs += results.runs
        failed |= results.failed()
    written = "\n\n".join(parts)
    print(written)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"machine": facts, "runs": runs}, indent=1) + "\n", encoding="utf-8")
    if options.write:
        page.write(options.write, {"protocols": written})
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as failure:
        sys.exit(f"protocols: {failure}")
    except KeyboardInterrupt:
        sys.exit("protocols: interrupted")
