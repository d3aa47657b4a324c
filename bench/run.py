#!/usr/bin/env python3
"""Measures Salver beside others on this machine, keeps each run whole, and makes the tables from what is kept.

studies:
  servers      Salver and its peers over HTTP/1.1: a set like a site's files, and files of six lengths
  cached       Salver with its cache against the same without, for the six lengths (`salver bench cache`)
  embedded     libraries within a program (salver-tower, ServeDir, ...)
  protocols    over TLS: HTTP/1.1, HTTP/2 and HTTP/3
  profile      system calls and instructions per request
  allocations  what the libraries ask of memory per request
  cost         packages and compile time that libraries of ours and their features add to a program
and:
  check        start every server and compare its answers with the files, without measuring
  render       make the tables again from the runs that are kept
  deps         install or build what the comparison needs; names what cannot be had

What is faster is decided by `salver bench compare` alone: servers in turns (A B B A or B A A B by lot), each
started anew for each block on core 0 with one worker, the client on the other cores; the server's CPU time
per request as a ratio of neighbouring trials, with its interval and verdict. This program starts peers and
makes tables. A run goes whole to STUDY.json, and all its figures to STUDY.md, with commit, machine and date:
in target/bench/results, or with --write in bench/results, and then a summary into BENCHMARKS.md too.

exit code: 0; 1 if any answer was wrong or missing, or something failed; 2 for a wrong option.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import allocations
import compare
import cost
import files
import install
import launch
import machine
import page
import process
import profile
import tables

TOP = pathlib.Path(__file__).resolve().parent.parent
PUBLISHED = TOP / "bench" / "results"
UNPUBLISHED = launch.OUTPUT / "results"
PAGE = TOP / "BENCHMARKS.md"
COMPARED = ("servers", "embedded", "protocols")
STUDIES = (*COMPARED, "cached", "profile", "allocations", "cost")


def arguments(words=None):
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target") / "release" / "salver"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="+", choices=[*STUDIES, "check", "render", "deps"])
    parser.add_argument("--salver", metavar="PATH", help="the program to measure (default: the release build)")
    parser.add_argument("--server", metavar="NAME", action="append", help="only these servers beside the first; repeatable")
    parser.add_argument("--path", metavar="PATH", action="append", help="only these files (/arena/app.js, /sizes/1024.dat); repeatable")
    parser.add_argument("--seconds", type=float, default=0.25, metavar="N", help="length of one trial in seconds (default 0.25)")
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="no comparison is begun that would not be over by then (default 60)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of `cost`; 0: only count packages (default 3)")
    parser.add_argument("--table", choices=cost.STUDIES, action="append", help="of `cost`: these alone, beside what is kept of the others; repeatable")
    parser.add_argument("--requests", type=int, default=1000, metavar="N", help="of `allocations` and `profile` (default 1000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the files (default 1)")
    parser.add_argument("--quick", action="store_true", help="three files in short trials: a look, which is never published")
    parser.add_argument("--results", metavar="DIR", type=pathlib.Path, help="where runs are kept (default: target/bench/results, with --write bench/results)")
    parser.add_argument("--write", action="store_true", help="publish: rewrite these studies in bench/results and BENCHMARKS.md")
    options = parser.parse_args(words)
    if options.seconds <= 0 or options.requests < 1 or options.rounds < 0:
        parser.error("--seconds and --requests are more than 0, --rounds is at least 0")
    if options.write and not options.quick and (options.server or options.path):
        parser.error("--write publishes whole studies: leave out --server and --path")
    options.own_build = options.salver is None
    options.salver = pathlib.Path(options.salver).resolve() if options.salver else built
    options.own_build = options.salver.is_relative_to(built.parent.parent)
    if options.quick:
        options.write = False
        options.seconds = min(options.seconds, 0.1)
        options.path = options.path or [f"{tables.ARENA}app.js", f"{tables.SIZES}1024.dat", f"{tables.SIZES}102400.dat"]
    options.results = options.results or (PUBLISHED if options.write else UNPUBLISHED)
    return parser, options


def ways(study, made, options):
    """By which ways a study compares: name, title, flags of `salver bench compare`, names of servers or none for all."""
    def asked(paths):
        chosen = [path for path in paths if not options.path or path in options.path]
        return [word for path in chosen for word in ("--path", path)]
    arena = ["/" + target for target in made.arena()]
    everything = asked([*arena, *("/" + made.size(length) for length in files.SIZES)]) if options.path else ["--root", made.root]
    browser = ["--accept-encoding", compare.ACCEPT_ENCODING]
    if study == "servers":
        return [("http/1.1", "HTTP/1.1", [*everything, *browser], ())]
    if study == "embedded":
        return [("http/1.1", "HTTP/1.1", [*everything, *browser], ()), ("arena-plain", "No coding accepted", asked(arena), ())]
    tls = [*asked(arena), "--accept-encoding", "br", "--https", "--insecure"]
    return [("h1+tls", "HTTP/1.1 over TLS", tls, ("nginx", "h2o")),
            ("h2+tls", "HTTP/2 over TLS, 32 streams on each connection", [*tls, "--http", 2, "--streams", 32], ("nginx", "h2o")),
            ("h3", "HTTP/3, 32 streams on each connection", [*tls, "--http", 3, "--streams", 32], ("caddy",))]


def servers(parser, study, options):
    """The first server, and those that it is compared with."""
    first, *others = launch.servers(study, options.salver)
    unknown = set(options.server or ()) - {peer.name for peer in others}
    if unknown:
        parser.error(f"no such server: {', '.join(sorted(unknown))}; there are {', '.join(peer.name for peer in others)}")
    if first.program() is None:
        raise process.Failed(f"{first.path} is not there: run `make build` and `make bench-deps`, or give --salver")
    return [first, *(peer for peer in others if not options.server or peer.name in options.server)]


def measure(parser, study, options, made):
    """One study; -> what is kept of it, and whether anything failed"""
    if study in COMPARED:
        if len(os.sched_getaffinity(0)) < 2:
            raise process.Failed("two cores are needed: one for the server, one for the client")
        if study == "protocols":
            launch.secure.Certificate(launch.OUTPUT / "certificate").make()
        chosen = servers(parser, study, options)
        found, left_out = compare.every(options, study, chosen, made, ways(study, made, options))
        kept = {"machine": machine.describe(chosen, made, options.own_build), "settings": {peer.name: peer.note for peer in chosen},
                "comparisons": found, "left_out": left_out}
        return kept, any(path["errors"] for one in found for path in one["document"]["paths"])
    kept = {"machine": machine.describe([], made, options.own_build)}
    if study == "cached":
        done = subprocess.run([options.salver, "bench", "cache", "--json"], capture_output=True, text=True, check=False)
        if not done.stdout:
            raise process.Failed(done.stderr.strip()[-300:])
        report = json.loads(done.stdout)
        for series in (series for row in report["rows"] for series in row["series"]):
            del series["measured"]["raw"]["curve"]
        return {**kept, "report": report}, any(sum(series["measured"]["errors"].values()) for row in report["rows"] for series in row["series"])
    return {**kept, **{"profile": profile, "allocations": allocations, "cost": cost}[study].measure(options, made)}, False


def render(study, kept):
    """The summary of a study, for the page, and all its figures, for a page of its own: nothing but what is kept goes into either."""
    facts = kept["machine"]
    where = f"{facts['date']}, Salver {facts['Salver']}: [all figures, machine and settings](bench/results/{study}.md)."
    heading = [f"# {study}: all figures", f"Written by `bench/run.py {study} --write`, which measures again.",
               "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)]
    if study in COMPARED:
        comparisons, left_out = kept["comparisons"], kept["left_out"]
        if not comparisons:
            raise process.Failed(f"{study}: nothing was compared: {left_out}")
        method = comparisons[0]["document"]["method"]
        summary = [tables.brief(comparisons), tables.doubts_in_short(comparisons, left_out)]
        full = ["How each is set:", "\n".join(f"- `{name}`: {note}" for name, note in kept["settings"].items()),
                f"{method['order']}; {method['interval']}. The same is what differs by no more than {method['margin']:.0%}. Trials of "
                f"{method['trial_seconds']} s, at least {compare.TRIALS} of each side; medians. A ratio in parentheses has its 95 % interval, one in "
                "brackets the smallest and largest of the files. MiB: the resident memory of all processes, what they share counted once.", tables.full(comparisons), tables.doubts(comparisons, left_out)]
    elif study == "cached":
        summary, full = [tables.cached_in_short(kept["report"])], [tables.cached(kept["report"])]
    else:
        of_study = {"profile": profile, "allocations": allocations, "cost": cost}[study]
        summary, full = [of_study.summary(kept)], [of_study.tables(kept)]
    return tuple("\n\n".join(part for part in parts if part) for parts in ([where, *summary], [*heading, *full]))


def publish(study, options, target=PAGE):
    """Writes all figures of the run that is kept beside it; with --write the summary into the page too."""
    kept = json.loads((options.results / f"{study}.json").read_text(encoding="utf-8"))
    summary, full = render(study, kept)
    (options.results / f"{study}.md").write_text(full + "\n", encoding="utf-8")
    print(f"\n## {study}\n\n{summary}", flush=True)
    if options.write:
        page.write(target, {study: summary})


def check(options, made):
    """Every answer of every server; -> whether all are right."""
    right = True
    for kind in ("servers", "embedded"):
        for peer in launch.servers(kind, options.salver):
            wrong = "not installed" if peer.program() is None else compare.check(options, kind, peer, made)
            right &= peer.program() is None or not wrong
            print(f"{kind}: {peer.name}: {wrong or 'every answer is right'}")
    return right


def main():
    parser, options = arguments()
    if "deps" in options.command:
        return 0 if install.everything(launch.OUTPUT, options.seed) else 1
    options.results.mkdir(parents=True, exist_ok=True)
    if "render" in options.command:
        for study in STUDIES:
            if (options.results / f"{study}.json").exists():
                publish(study, options)
        return 0
    if not options.salver.exists() and set(options.command) - {"cost", "allocations"}:
        raise process.Failed(f"{options.salver} is not there: run `make build`, or give --salver")
    made = files.Files(launch.OUTPUT, options.seed)
    made.make()
    if "check" in options.command:
        return 0 if check(options, made) else 1
    failed = False
    for study in options.command:
        kept, wrong = measure(parser, study, options, made)
        kept = {"study": study, "command": sys.argv[1:], **kept}
        (options.results / f"{study}.json").write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
        publish(study, options)
        failed |= wrong
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
