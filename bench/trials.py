"""The rounds: every server runs every load once a round, next to the others, in an order that turns."""

import shutil
import sys
import time

import check
import load as client
import measure
import process

WARM_UP_SECONDS = 0.4
# A run is disturbed when others, or the host, take more than this share of a core.
DISTURBED = 0.10


class Results:
    """Every run, and what was left out and why."""

    def __init__(self):
        self.runs = []
        self.left_out = {}     # server: why it takes no part at all
        self.wrong = []        # (load, server, what was wrong)
        self.work = {}         # (load, server): what the answers are, target by target
        self.rounds = 0
        self.stopped_early = False

    def of(self, load, server):
        return [run for run in self.runs if run["load"] == load and run["server"] == server]

    def same_work(self, load, server, first):
        return self.work.get((load, server)) == self.work.get((load, first))

    def disturbed(self):
        """The runs during which others than server and client took a good part of a core."""
        return [run for run in self.runs if max(run["others"], run["stolen"]) > DISTURBED]

    def failed(self):
        """Whether any answer was wrong or missing."""
        return bool(self.wrong) or any(run["errors"] for run in self.runs)


def order(servers, number):
    """The servers in the order of round `number`: begun with another each time, and every second time backwards."""
    count = len(servers)
    begin = number * (3 if count % 3 else 1)
    step = -1 if number % 2 else 1
    return [servers[(begin + step * place) % count] for place in range(count)]


def start(peer, made, folder):
    """A server that takes connections, with an empty folder for its configuration."""
    place = folder / peer.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    place.chmod(0o755)
    port = process.free_port()
    command = peer.command(made.root, port, place)
    return process.Server(peer.name, command, place, port, peer.environment)


def surroundings():
    """What the whole machine, the host and the ended clients have used so far, in seconds."""
    return (*measure.machine_seconds(), measure.children_seconds())


def spent(server, run):
    """-> what `run` gave; CPU seconds that went meanwhile to the server, to all of the machine, to the
    host, and to clients that have ended"""
    before, around = measure.cpu_seconds(server.session), surroundings()
    found = run()
    cpu = measure.cpu_seconds(server.session) - before
    return found, cpu, *(now - then for now, then in zip(surroundings(), around))


def trial(peer, load, made, folder, options):
    """One run of one server: started, checked, warmed up, measured, stopped. -> (work, run)"""
    with start(peer, made, folder) as server:
        work = check.work(server.port, load, made)
        wrk = client.Client(load, server.port, folder / peer.name, options.connections)
        wrk.warm_up(WARM_UP_SECONDS)
        report, cpu, busy, stolen, client_cpu = spent(server, lambda: wrk.run(options.seconds))
        memory = measure.resident_mib(server.session)
    answers = max(report["answers"], 1)
    expected = sum(length for _, length in work) / len(work)
    # Answers that end early are not always an error to wrk; too few bytes are.
    if report["answers"] and report["bytes"] / answers < 0.98 * expected:
        report["errors"] += 1
        report["short"] = True
    return work, {
        **report, "rps": report["answers"] / (report["us"] / 1e6), "cpu_us": cpu * 1e6 / answers,
        "bytes_per_answer": report["bytes"] / answers, "mib": memory,
        # Shares of one core that went to neither the server nor the client.
        "others": max(0.0, busy - cpu - client_cpu) / options.seconds, "stolen": stolen / options.seconds,
    }


def available(peers, results):
    """Those that are installed; the others are named in the results."""
    for peer in peers:
        if peer.program() is None:
            results.left_out[peer.name] = "not installed (`make bench-deps` says why)"
    return [peer for peer in peers if peer.name not in results.left_out]


def run(peers, loads, made, folder, options, until, one_trial=trial):
    """All rounds; no round is begun that would not be over by `until` (of time.monotonic)."""
    results = Results()
    servers = available(peers, results)
    longest = 0.0
    for number in range(options.rounds):
        begun = time.monotonic()
        if begun + longest > until:
            results.stopped_early = True
            break
        for load in loads:
            for peer in order(servers, number):
                if any(wrong[:2] == (load.name, peer.name) for wrong in results.wrong):
                    continue
                try:
                    work, one = one_trial(peer, load, made, folder, options)
                except (check.Wrong, process.Failed) as error:
                    results.wrong.append((load.name, peer.name, str(error)))
                    print(f"{load.name}: {peer.name}: {error}", file=sys.stderr)
                    continue
                before = results.work.setdefault((load.name, peer.name), work)
                if before != work:
                    results.wrong.append((load.name, peer.name, "its answers changed between the rounds"))
                results.runs.append({"round": number, "load": load.name, "server": peer.name,
                                     "work": check.describe(work), **one})
        results.rounds = number + 1
        longest = max(longest, time.monotonic() - begun)
        print(f"round {number + 1} of {options.rounds}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return results
