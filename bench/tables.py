"""From documents to Markdown whose columns stand in line, so that it can be read as it is."""

import re
import statistics

# A cell that stands to the right: a number, with its unit, range or mark.
NUMBER = re.compile(r"$|-$|[\d.]+[kx%]?($|/| \[| \(| ~| \?| cheaper)")
# What the tool says of the second server, by its CPU per request.
WORDS = {"faster": "cheaper", "slower": "dearer", "same": "same", "undecided": "undecided"}
MARKS = {"faster": " cheaper", "slower": "", "same": " ~", "undecided": " ?"}
ARENA, SIZES = "/arena/", "/sizes/"
# From so much on, what others took of the machine is named.
DISTURBED_CORES = 0.1


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


def spread(values):
    """`1.20 [1.18-1.24]`: the median and between what."""
    return f"{statistics.median(values):.2f} [{min(values):.2f}-{max(values):.2f}]" if values else "-"


def microseconds(value):
    return f"{value:.0f}" if value < 10_000 else f"{value / 1000:.1f}k"


def size_name(length):
    kib = int(length) // 1024
    return f"{kib}kib" if kib < 1024 else f"{kib // 1024}mib"


def load_of(path):
    """The load that a path is part of: `arena`, or its length."""
    return "arena" if path.startswith(ARENA) else size_name(path.removeprefix(SIZES).removesuffix(".dat"))


def cpu(path):
    """The figure by which servers are judged, of one path; None where it was not measured."""
    return next((figure for figure in path["figures"] if figure["metric"] == "server-cpu" and figure["ratio"]), None)


def groups(comparison):
    """The paths of a comparison by load: those that both answer alike, and how many are other work."""
    differ = {one["path"] for one in comparison["document"]["differences"]}
    found = {}
    for path in comparison["document"]["paths"]:
        same, other = found.setdefault(load_of(path["path"]), ([], []))
        (other if path["path"] in differ else same).append(path)
    return found


def ratio(paths):
    """The second server's CPU by the first's for one request of each path, in words, and the verdicts on the paths.

    Of one path it is the tool's ratio with its interval; of several the quotient of the sums, with the
    smallest and the largest of the paths."""
    figures = [cpu(path) for path in paths]
    if not figures or None in figures:
        return "-", []
    verdicts = [(figure["verdict"] or {"kind": "undecided"})["kind"] for figure in figures]
    if len(figures) == 1:
        one = figures[0]["ratio"]
        return f"{one['ratio']:.2f} ({one['low']:.2f}-{one['high']:.2f})", verdicts
    whole = sum(figure["b"] for figure in figures) / sum(figure["a"] for figure in figures)
    ratios = [figure["ratio"]["ratio"] for figure in figures]
    return f"{whole:.2f} [{min(ratios):.2f}-{max(ratios):.2f}]", verdicts


def said(verdicts):
    """`dearer`, or `18 dearer, 2 undecided` of several paths."""
    if len(verdicts) == 1:
        return WORDS[verdicts[0]]
    counted = {word: [WORDS[one] for one in verdicts].count(word) for word in WORDS.values()}
    return ", ".join(f"{count} {word}" for word, count in counted.items() if count)


def mark(verdicts):
    """How a ratio is marked where there is no room for words: alike for all paths, or by the most."""
    return MARKS[max(MARKS, key=verdicts.count)] if verdicts else ""


def brief(comparisons):
    """Each server's CPU per request as a multiple of the first's, load by load."""
    loads, rows = [], {}
    for comparison in comparisons:
        for load, (same, other) in groups(comparison).items():
            name = load if comparison["way"] == "http/1.1" else comparison["way"]
            if name not in loads:
                loads.append(name)
            words, verdicts = ratio(same)
            rows.setdefault(comparison["server"], {})[name] = "other work" if other else words.split(" ")[0] + mark(verdicts)
    first = comparisons[0]["first"]
    return table([f"CPU / {first}'s", *loads], [[server, *(cells.get(load, "-") for load in loads)] for server, cells in rows.items()])


def one_side(paths, side):
    """Medians of the trials of one side over all paths, each path counting once."""
    def mean(value):
        return statistics.fmean(statistics.median(value(one) for one in path["trials"] if one["side"] == side) for path in paths)

    def latency(name):
        return microseconds(mean(lambda one: one["raw"][name]))
    trials = [one for path in paths for one in path["trials"] if one["side"] == side]
    codings = {coding: sum(coding in one["codings"] for one in trials) for one in trials for coding in one["codings"]}
    return [", ".join(sorted(codings)), f"{mean(lambda one: one['requests_per_second']):.0f}", latency("p50_us"), latency("p99_us"), latency("p999_us"),
            f"{mean(lambda one: one['server']['cpu_us_per_request'] if one['server'] else 0):.2f}",
            f"{mean(lambda one: one['content_bytes'] / max(one['requests'], 1)):.0f}",
            sum(sum(one["errors"].values()) for one in trials),
            f"{max(one['server']['resident_bytes'] if one['server'] else 0 for one in trials) / 2 ** 20:.1f}"]


def full(comparisons):
    """All figures, load by load: of each server, and of the first one as it was beside it."""
    head = ["server", "codings", "requests/s", "p50 us", "p99 us", "p99.9 us", "CPU us/request", "content/answer", "errors", "MiB", "CPU ratio", "verdict"]
    parts, rows = [], {}
    for comparison in comparisons:
        for load, (same, other) in groups(comparison).items():
            title = f"{comparison['title']}: {load}"
            words, verdicts = ratio(same)
            judged = [words, said(verdicts)] if verdicts and not other else ["-", "other work: not compared" if other else "not measured"]
            paths = same + other
            rows.setdefault(title, []).extend([[comparison["server"], *one_side(paths, "b"), *judged],
                                               [f"{comparison['first']} beside it", *one_side(paths, "a"), "1.00", "-"]])
    for title, lines in rows.items():
        parts += [f"## {title}", table(head, lines)]
    return "\n\n".join(parts)


def others_took(comparison):
    """Cores that others, and the host, took while it was measured."""
    others = comparison["document"]["environment"]["others"]
    return others["cores"] + others["stolen_cores"] if others else 0


def doubts(comparisons, left_out):
    """Lines that name what was left out, what failed, and what may not be believed."""
    lines = [f"- **{name}** is left out: {why}." for name, why in left_out.items()]
    for comparison in comparisons:
        errors = sum(path["errors"] for path in comparison["document"]["paths"])
        if errors:
            lines.append(f"- **{comparison['server']}**, {comparison['way']}: {errors} requests failed.")
        taken = others_took(comparison)
        if taken >= DISTURBED_CORES:
            lines.append(f"- **{comparison['server']}**, {comparison['way']}: others took {taken:.2f} cores meanwhile.")
    return "\n".join(lines)


def doubts_in_short(comparisons, left_out):
    """The same in one line, or none."""
    lines = [f"Left out: {', '.join(left_out)}."] if left_out else []
    failed = sum(path["errors"] for comparison in comparisons for path in comparison["document"]["paths"])
    if failed:
        lines.append(f"{failed} requests failed.")
    disturbed = [cores for cores in map(others_took, comparisons) if cores >= DISTURBED_CORES]
    if disturbed:
        lines.append(f"Others took {max(disturbed):.2f} cores at most, in {len(disturbed)} of {len(comparisons)} comparisons.")
    return " ".join(lines)


def cached(report):
    """The report of `salver bench cache`."""
    head = ["size", "plain req/s", "cached req/s", "plain p50/p99 us", "cached p50/p99 us", "plain CPU us", "cached CPU us", "CPU plain / cached", "verdict"]
    rows = []
    for row in report["rows"]:
        both = [series["measured"] for series in row["series"]]
        speed_up = (row["speed_up"] or {}).get("server_cpu")
        rows.append([
            row["name"], *(f"{one['requests_per_second']:.0f}" for one in both),
            *("/".join(microseconds(one["raw"][key]) for key in ("p50_us", "p99_us")) for one in both),
            *(f"{one['server']['cpu_us_per_request']:.2f}" if one["server"] else "-" for one in both),
            f"{speed_up['ratio']:.2f} ({speed_up['low']:.2f}-{speed_up['high']:.2f})" if speed_up else "-", row["verdict"] or "-"])
    return table(head, rows)


def cached_in_short(report):
    """How many times better the cache is, by both figures that it is judged by."""
    def words(interval):
        return f"{interval['ratio']:.2f} ({interval['low']:.2f}-{interval['high']:.2f})" if interval else "-"
    rows = [[row["name"], *(words((row["speed_up"] or {}).get(name)) for name in ("requests", "server_cpu")), row["verdict"] or "-"]
            for row in report["rows"]]
    return table(["size", "requests/s, cached by plain", "CPU, plain by cached", "verdict"], rows)
