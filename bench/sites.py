#!/usr/bin/env python3
"""What sites and rules cost: the configuration of each case, and the instructions per request in it.

  bench/sites.py config CASE ROOT                  prints a salver.toml, for any measurement: bench/sites.py --help
  bench/sites.py instructions --salver PROGRAM     counts by valgrind's callgrind, the kernel's not among them; a
                                                   turn of the loop for each request
  bench/sites.py cpu --salver PROGRAM --root DIR   CPU time of the server for a request of DIR, in many short turns,
                                                   and its ratio to that of `one` within a round

`one` is a site without hosts; `thousand` are 1,000 sites of the same root, of which requests are for the last; `rules`
is one site with 100 rules that match every path and 100 that match none, `fields` one with one rule, whose answers have
the same ten fields: what `rules` costs beyond these is the rules' own; `pages` is one with an error page. `log`, of
`cpu` alone, is `one` with an access log and metrics.
"""

import argparse
import contextlib
import pathlib
import shutil
import statistics
import sys
import tempfile

import callgrind
import process
import ratios

SITES = 1000
RULES = 100
CASES = ("one", "thousand", "rules", "fields", "pages")
LENGTH = 1024


def quoted(text):
    """Text as TOML has it."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def config(case, root):
    """The text of a salver.toml for requests whose host is 127.0.0.1."""
    site = f"[[site]]\nroot = {quoted(root)}\n"
    if case == "thousand":
        hosts = [[f"site-{number}.test", f"*.site-{number}.test"] for number in range(1, SITES)] + [["127.0.0.1"]]
        return "".join(f"{site}hosts = [{', '.join(map(quoted, names))}]\n" for names in hosts)
    if case == "rules":
        matching = [f'[[site.rule]]\npath = "/**"\nset = {{ X-{number % 10} = "{number}" }}\n' for number in range(RULES)]
        others = [f'[[site.rule]]\nfrom = "/other-{number}/:name"\nredirect = "/:name"\n' for number in range(RULES)]
        return site + "".join(matching + others)
    if case == "fields":
        fields = ", ".join(f'X-{number} = "{RULES - 10 + number}"' for number in range(10))
        return site + f'[[site.rule]]\npath = "/**"\nset = {{ {fields} }}\n'
    if case == "pages":
        return site + 'error-pages = { 404 = "lost.html" }\n'
    return site


def instructions(salver, case, number):
    """What each function of the server took in a run with so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root = folder / "root"
        root.mkdir()
        (root / "file.txt").write_bytes(b"x" * LENGTH)
        (root / "lost.html").write_bytes(b"lost")
        (folder / "salver.toml").write_text(config(case, root), encoding="utf-8")
        port = process.free_port()
        command = ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                   f"--callgrind-out-file={folder}/callgrind.out", salver, "serve", "-c", folder / "salver.toml",
                   "--port", port, "--workers", "1", "--revalidate", "1h"]
        with process.Server(case, command, folder, port, patience_seconds=120):
            request = f"GET /file.txt HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            callgrind.ask(port, [request], number, connections=1)
        return callgrind.self_costs((folder / "callgrind.out").read_text(errors="replace"))


def cpu(options):
    """Prints the CPU time of the server for a request in each case: the server has one core, the client another."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for case in (*CASES, "log"):
            configuration = folder / f"{case}.toml"
            configuration.write_text(config(case, options.root.resolve()), encoding="utf-8")
            port = process.free_port()
            command = [options.salver, "serve", "-c", configuration, "--port", port, "--workers", "1"]
            if case == "log":
                command += ["--log", folder / "access.log", "--metrics", process.free_port()]
            servers[case] = stack.enter_context(process.Server(case, command, folder, port))

        def measure(case):
            return process.cpu_per_request(options.salver, servers[case], options.milliseconds, "/", "--root", options.root,
                                           "--accept-encoding", "gzip, deflate, br, zstd", "-c", "64")

        for case in servers:
            measure(case)
        found = list(ratios.in_turns(servers, options.rounds, measure))
    for case in servers:
        middle = statistics.median(took[case] for took in found)
        print(f"{case:10}{middle:6.2f} us  {ratios.described([took[case] / took['one'] for took in found])}")
    own = ratios.described([took["rules"] / took["fields"] for took in found])
    print(f"`rules` by `fields`: {own}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    written = commands.add_parser("config")
    written.add_argument("case", choices=CASES)
    written.add_argument("root", type=pathlib.Path)
    counted = commands.add_parser("instructions")
    counted.add_argument("--salver", required=True, type=pathlib.Path)
    counted.add_argument("--requests", type=int, default=2000)
    counted.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    timed = commands.add_parser("cpu")
    timed.add_argument("--salver", required=True, type=lambda path: pathlib.Path(path).resolve())
    timed.add_argument("--root", required=True, type=pathlib.Path)
    timed.add_argument("--rounds", type=int, default=61)
    timed.add_argument("--milliseconds", type=int, default=400, help="of each case in a round")
    options = parser.parse_args()
    if options.command == "config":
        sys.stdout.write(config(options.case, options.root.resolve()))
        return
    if options.command == "cpu":
        try:
            cpu(options)
        except process.Failed as failed:
            sys.exit(str(failed))
        return
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing")
    salver, first = options.salver.resolve(), None
    for case in options.cases:
        once = instructions(salver, case, options.requests)
        twice = instructions(salver, case, 2 * options.requests)
        total = sum(cost for _, cost in callgrind.difference(once, twice, options.requests))
        first = first or total
        print(f"{case:10}{total:8.0f} instructions per request, {total / first - 1:+.1%}", flush=True)


if __name__ == "__main__":
    main()
