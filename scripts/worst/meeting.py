"""One crowd of the worst clients meets one server: what it costs, and what an ordinary client sees of it."""

import dataclasses
import time

import child
import watch

ORDINARY = "127.0.0.2"
CROWD = "127.0.1.1"  # And those after it.
# What the crowd does, as the clients' program knows it, and what it speaks.
KINDS = {
    "h1-pipeline": ("h1-pipeline", "h1"),
    "h1-large": ("h1-large", "h1"),
    "tls-large": ("tls-large", "h1s"),
    "tls-idle": ("tls-idle", "h1s"),
    "h1-halfhead": ("h1-halfhead", "h1"),
    "h2-stalled": ("h2-stalled", "h2c"),
    "h2-stalled-tls": ("h2-stalled", "h2"),
    "h2-halfblock": ("h2-halfblock", "h2c"),
    "h2-bodies": ("h2-bodies", "h2c"),
    "h3-idle": ("h3-idle", "h3"),
    "h3-stalled": ("h3-stalled", "h3"),
    "h3-gaps": ("h3-gaps", "h3"),
}
IN_THE_CLEAR = {"h1", "h2c"}
# The ordinary client speaks the same, but in the clear HTTP/1.1: nginx leaves Nagle's algorithm on for HTTP/2 there, and
# what would be measured is a wait of 40 ms for an acknowledgement.
ORDINARY_SPEAKS = {"h2c": "h1"}
OPENING_SECONDS = {"h3": 300}  # Otherwise 60.
WARM_SECONDS = 0.5
REST_SECONDS = 2
AFTER_SECONDS = 3


@dataclasses.dataclass
class Measured:
    """What was seen; memory in MiB, and what clients saw as they report it."""

    held: int
    crowd: dict
    cut: bool
    before: float
    peak: float
    end: float
    tcp: float
    descriptors: int
    cpu_percent: float
    rest: dict
    kept: dict
    new: dict


def meet(kind, server, root, folder, clients, options):
    does, protocol = KINDS[kind]
    ordinary_protocol = ORDINARY_SPEAKS.get(protocol, protocol)
    opening = OPENING_SECONDS.get(protocol, 60)
    life = ["-life", f"{opening + options.seconds + 90:.0f}s"]
    with server.run(root, folder, protocol not in IN_THE_CLEAR) as (process, at):
        asks = ["ordinary", "-protocol", ordinary_protocol, "-target", at[ordinary_protocol], "-from", ORDINARY, "-every", "10ms", "-anew"]
        comes = ["crowd", "-protocol", protocol, "-target", at[protocol], "-from", CROWD, "-addresses", options.addresses,
                 "-kind", does, "-connections", options.connections, "-opening", f"{opening}s"]
        with child.Client(clients, asks + life, realtime=True) as ordinary:
            ordinary.line()
            time.sleep(WARM_SECONDS)
            ordinary.ask()
            time.sleep(REST_SECONDS)
            rest = ordinary.ask()["kept"]
            with child.Client(clients, comes + life) as crowd, watch.Watch(process.pid, options.stop_at) as watched:
                cut = _stay(crowd, watched, options.seconds, process)
                if process.poll() is not None:
                    raise child.Failed(f"the server ended with {process.returncode} while the crowd was there")
                seen = ordinary.ask()
                taken = watch.connections(int(at[protocol].rpartition(":")[2]), ORDINARY)
                cpu, was = watched.cpu_percent(), crowd.ask()
                crowd.leave()
                watched.look()
        time.sleep(AFTER_SECONDS)
        end = watch.resident(process.pid)
        peak = max(watched.peak, end, watch.most_resident(process.pid))
    return Measured(was["held"] if protocol == "h3" else taken, was, cut, watched.before, peak, end, watched.tcp,
                    watched.descriptors, cpu, rest, seen["kept"], seen["new"])


def _stay(crowd, watched, seconds, server):
    """Waits for the crowd to be there, and then for its time. -> whether it has to be cut short"""
    def cut():
        return watched.too_much or server.poll() is not None
    while not crowd.heard(0.1):
        if cut():
            return True
    crowd.line()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if cut():
            return True
        time.sleep(0.05)
    return False
