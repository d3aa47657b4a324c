"""All kinds of crowds, one after the other: the table, and whether the bounds that were asked for hold."""

import pathlib
import sys
import tempfile

import child
import meeting
import table
import tree
import watch

HEAD = ["kind", "server", "held", "refused", "ended", "rss before", "peak", "end MiB", "TCP MiB", "files", "cpu %", "rest p99",
        "kept p50", "p99", "max ms", "fail", "new p50", "p99", "max ms", "fail"]
LEGEND = """\
held: connections at the end, taken and not closed by the server (QUIC: as the clients see it). refused, ended: by the server,
and tried again a second later. rss: all processes of the server; end: 3 s after the crowd has left. TCP: the kernel's memory
for all sockets, of both ends. files: open descriptors at most. rest: p99 before the crowd came, over the connection
kept. kept, new: what an ordinary client saw while it came and was there, asking for 1 KiB each 10 ms over a
connection that it had before, and over a new one each time; fail: what was not answered 200 within 5 s, or
became due while it waited for that."""


def cells(kind, server, seen):
    made = [kind, server, seen.held, seen.crowd["refused"], seen.crowd["ended"], seen.before, seen.peak, seen.end, seen.tcp,
            seen.descriptors, seen.cpu_percent, seen.rest["p99_ms"]]
    for sight in (seen.kept, seen.new):
        made += [sight[key] if sight["answers"] else None for key in ("p50_ms", "p99_ms", "max_ms")] + [sight["failures"]]
    return made


def notes(seen, options):
    """What the table does not say."""
    said = []
    if seen.cut:
        said.append(f"cut short beyond {options.stop_at:.0f} MiB, when {seen.crowd['opened']} connections had been opened")
    elif seen.crowd["opened"] < options.connections:
        said.append(f"only {seen.crowd['opened']} connections were ever open")
    if seen.tcp > 0.9 * watch.tcp_limit_mib():
        said.append(f"the kernel's memory for TCP was full (tcp_mem: {watch.tcp_limit_mib():.0f} MiB), which ends connections as well")
    for name, sight in (("the crowd", seen.crowd), ("kept", seen.kept), ("new", seen.new)):
        if sight.get("why"):
            most_first = sorted(sight["why"].items(), key=lambda pair: -pair[1])
            said.append(f"{name}: " + ", ".join(f"{text} x {count}" for text, count in most_first))
    return said


def faults(seen, options):
    found = []
    if seen.cut:
        found.append(f"more than {options.stop_at:.0f} MiB, where it is cut short")
    if options.bound and seen.peak > options.bound:
        found.append(f"{seen.peak:.0f} MiB are above the bound of {options.bound:.0f}")
    for name, sight in (("kept", seen.kept), ("new", seen.new)):
        if options.p99 and late(sight, options.p99):
            found.append(f"over connections {name}, the p99 is {sight['p99_ms']:.1f} ms with {sight['failures']} failures; "
                         f"{options.p99:g} ms are allowed")
    return found


def late(sight, limit_ms):
    """Whether the p99 is beyond it, where what was never answered took for ever."""
    asked = sight["answers"] + sight["failures"]
    return asked == 0 or sight["failures"] > asked / 100 or sight["p99_ms"] > limit_ms


def run(servers, clients, options):
    """-> exit code; faults are those of the program, not of who it is compared with"""
    rows, said, wrong = [], [], []
    at_rest = None if options.restless else tree.at_rest(clients.parent / "site")
    for kind in options.only or meeting.KINDS:
        for server in servers:
            if meeting.KINDS[kind][1] not in server.protocols():
                continue
            name = f"{kind}, {server.name}"
            with tempfile.TemporaryDirectory(prefix="worst-") as made:
                folder = pathlib.Path(made)
                try:
                    seen = meeting.meet(kind, server, at_rest or tree.make(folder / "site"), folder, clients, options)
                    rows.append(cells(kind, server.name, seen))
                    said += [f"{name}: {text}" for text in notes(seen, options)]
                    found = faults(seen, options)
                except child.Failed as failed:
                    rows.append([kind, server.name] + [None] * (len(HEAD) - 2))
                    said.append(f"{name}: {failed}")
                    found = [str(failed)]
            if server is servers[0]:
                wrong += [f"{name}: {text}" for text in found]
            print(f"{name}: {'; '.join(found) or 'measured'}", file=sys.stderr, flush=True)
    print(f"{options.connections} connections from {options.addresses} addresses, {options.seconds:g} s after all were open; "
          f"files {'changed a moment before' if options.restless else 'at rest'}\n")
    print(table.render(HEAD, rows))
    print("\n" + LEGEND)
    for text in said:
        print(f"- {text}")
    for text in wrong:
        print(f"worst: {text}", file=sys.stderr)
    return 1 if wrong else 0
