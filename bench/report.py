"""Tables: Markdown whose columns stand in line, so that they can be read as they are."""

import re
import statistics

import check
import trials
import verdict

FIRST = "salver"
PLAIN = "salver-plain"
# Those that others are compared with, as the tables call them: the name, and what is its own.
CALLED = {FIRST: ("Salver", "Salver's"), "salver-tower": ("Assets", "Assets'")}
# A cell that stands to the right: a number, with its unit, range or mark.
NUMBER = re.compile(r"$|-$|[\d.]+[kx%]?($|/| \[| ~| \?| cheaper)")


def table(head, rows):
    """A Markdown table; words to the left, numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [head] + rows) for column in range(len(head))]
    numeric = [all(NUMBER.match(row[column]) for row in rows) for column in range(len(head))]

    def line(cells):
        return "| " + " | ".join(cell.rjust(width) if number else cell.ljust(width)
                                 for cell, width, number in zip(cells, widths, numeric)) + " |"
    rule = "|" + "|".join("-" * (width + 1) + (":" if number else "-") for width, number in zip(widths, numeric)) + "|"
    return "\n".join([line(head), rule] + [line(row) for row in rows])


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def microseconds(value):
    return f"{value:.0f}" if value < 10_000 else f"{value / 1000:.1f}k"


def ratios(results, load, server, first=FIRST, key="cpu_us"):
    """The server's value divided by `first`'s, within each round that both have."""
    base = {run["round"]: run[key] for run in results.of(load, first)}
    return [run[key] / base[run["round"]] for run in results.of(load, server) if base.get(run["round"])]


def spread(values):
    """`1.20 [1.18-1.24]`: the median and between what."""
    return f"{statistics.median(values):.2f} [{min(values):.2f}-{max(values):.2f}]" if values else "-"


def judged(results, load, server, first=FIRST):
    """The verdict on a server, and the interval that it rests on."""
    if not results.of(load, first):
        return f"not compared: {CALLED[first][0]} has no result"
    if not results.same_work(load, server, first):
        return "other work: not compared"
    values = ratios(results, load, server, first)
    if not values:
        return f"not compared: never in one round with {CALLED[first][0]}"
    bounds = verdict.interval(values)
    limits = f" ({bounds[0]:.2f}-{bounds[1]:.2f})" if bounds else ""
    return verdict.verdict(values) + limits


def load_table(results, load, servers, first=FIRST):
    head = ["server", "work", "requests/s", "p50 us", "p99 us", "p99.9 us", "CPU us/request", "bytes/answer",
            "errors", "MiB", f"CPU / {CALLED[first][1]}", "verdict (95 % interval)"]
    rows = []
    for server in servers:
        runs = results.of(load.name, server)
        if not runs:
            continue
        rows.append([
            server, check.describe(results.work[load.name, server]), f"{median(runs, 'rps'):.0f}",
            *(microseconds(median(runs, key)) for key in ("p50_us", "p99_us", "p999_us")),
            f"{median(runs, 'cpu_us'):.2f}", f"{median(runs, 'bytes_per_answer'):.0f}",
            sum(run["errors"] for run in runs), f"{median(runs, 'mib'):.1f}",
            *(["1.00", "-"] if server == first else
              [spread(ratios(results, load.name, server, first)), judged(results, load.name, server, first)]),
        ])
    return table(head, rows)


def summary(results, loads, servers):
    """Each server's CPU per request as a multiple of Salver's, load by load."""
    marks = {verdict.DEARER: "", verdict.SAME: " ~", verdict.CHEAPER: " cheaper", verdict.UNJUDGED: " ?"}
    rows = []
    for server in servers:
        if server == FIRST:
            continue
        cells = []
        for load in loads:
            values = ratios(results, load.name, server)
            if not values:
                cells.append("-")
            elif not results.same_work(load.name, server, FIRST):
                cells.append("other work")
            else:
                cells.append(f"{statistics.median(values):.2f}{marks[verdict.verdict(values)]}")
        rows.append([server, *cells])
    return table(["CPU / Salver's", *(load.name for load in loads)], rows)


def shares(results, loads, servers, first):
    """What `first` needs of each server's CPU per request, load by load."""
    marks = {verdict.DEARER: "", verdict.SAME: " ~", verdict.CHEAPER: " more", verdict.UNJUDGED: " ?"}
    rows = []
    for load in loads:
        cells = []
        for server in servers:
            if server == first:
                continue
            values = ratios(results, load.name, server, first)
            if values and results.same_work(load.name, server, first):
                cells.append(spread([1 / value for value in values]) + marks[verdict.verdict(values)])
            else:
                cells.append("other work" if values else "-")
        rows.append([load.name, *cells])
    return table([f"{CALLED[first][0]} / CPU of", *(server for server in servers if server != first)], rows)


def cheaper(results, loads, servers):
    """One line that names every server with the verdict `cheaper`, and the loads."""
    found = [f"{server} ({load.name})" for load in loads for server in servers
             if server != FIRST and judged(results, load.name, server).startswith(verdict.CHEAPER)]
    return "Cheaper than Salver beyond the noise: " + (", ".join(found) if found else "none") + "."


def remarks(results):
    """Lines that name what takes no part, what went wrong, and what disturbed."""
    lines = [f"- **{name}** is left out: {why}." for name, why in results.left_out.items()]
    lines += [f"- **{server}**, {load}: left out from there on: {what}." for load, server, what in results.wrong]
    disturbed = len(results.disturbed())
    if disturbed:
        lines.append(f"- Disturbed: in {disturbed} of {len(results.runs)} runs others on this machine, or its host, took "
                     f"more than {trials.DISTURBED:.0%} of a core. They are in the figures.")
    if results.stopped_early:
        lines.append(f"- The time was up after {results.rounds} rounds.")
    return "\n".join(lines)


def how(results, options):
    return (f"{results.rounds} rounds of {options.seconds} s after {trials.WARM_UP_SECONDS} s of warming up, {options.connections} connections. "
            "Medians of the rounds; errors are added up. A ratio's brackets hold the smallest and the largest of the rounds.")


def peers(results, loads, servers, options):
    """The section on Salver and its peers."""
    parts = [
        how(results, options),
        "CPU time per request as a multiple of Salver's. Above 1: the server needs more. `~`: the same within "
        "the noise; `cheaper`: less than Salver; unmarked: more." if options.rounds > 1 else
        "CPU time per request as a multiple of Salver's. `?`: one round judges nothing.",
        summary(results, loads, servers),
        cheaper(results, loads, servers),
    ]
    for load in loads:
        parts += [f"### {load.title}", load_table(results, load, servers)]
    notes = remarks(results)
    return "\n\n".join(parts + ([notes] if notes else []))


def embedded(results, loads, servers, options, first):
    """The section on libraries within a program."""
    parts = [
        how(results, options),
        f"What {CALLED[first][0]} needs of another's CPU time per request. Below 1: {CALLED[first][0]} needs less. `~`: the same within "
        "the noise; `more`: more than the other; `other work`: the answers differ in coding or length.",
        shares(results, loads, servers, first),
    ]
    for load in loads:
        parts += [f"### {load.title}", load_table(results, load, servers, first)]
    notes = remarks(results)
    return "\n\n".join(parts + ([notes] if notes else []))


def cached(results, loads, options):
    """Salver with its cache against Salver without, in the form of a published table, with what it lacked."""
    head = ["size", "plain req/s", "cached req/s", "speed-up", "plain p50/p99/p99.9 us", "cached p50/p99/p99.9 us",
            "plain CPU us", "cached CPU us", "CPU plain / cached", "errors"]
    rows = []
    for load in loads:
        plain, kept = results.of(load.name, PLAIN), results.of(load.name, FIRST)
        if not plain or not kept:
            continue
        rows.append([
            load.name, f"{median(plain, 'rps'):.0f}", f"{median(kept, 'rps'):.0f}",
            f"{statistics.median(1 / value for value in ratios(results, load.name, PLAIN, key='rps')):.2f}x",
            *("/".join(microseconds(median(runs, key)) for key in ("p50_us", "p99_us", "p999_us")) for runs in (plain, kept)),
            f"{median(plain, 'cpu_us'):.2f}", f"{median(kept, 'cpu_us'):.2f}",
            spread(ratios(results, load.name, PLAIN)), sum(run["errors"] for run in plain + kept),
        ])
    parts = [f"{results.rounds} rounds of {options.seconds} s, {options.connections} connections, both in each round. "
             "Medians; the ratios are taken within a round, smallest and largest in brackets.",
             table(head, rows)]
    notes = remarks(results)
    return "\n\n".join(parts + ([notes] if notes else []))
