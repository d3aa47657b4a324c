"""What a server uses, as the kernel counts it."""

import contextlib
import os
import pathlib
import re
import threading
import time

EVERY_SECONDS = 0.1
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# A connection that is established, or whose client has said that it sends no more.
TAKEN = {"01", "08"}


def processes(pid):
    """The process and its children: nginx serves in one."""
    found = [pid]
    with contextlib.suppress(OSError):
        found += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return found


def status(pid, *names):
    """Some MiB of /proc/PID/status; nothing of a process that has ended."""
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return [int(found[1]) / 1024 if (found := re.search(rf"^{name}:\s+(\d+)", text, re.M)) else 0.0 for name in names]
    return [0.0] * len(names)


def resident(pid):
    return sum(status(one, "VmRSS")[0] for one in processes(pid))


def most_resident(pid):
    """The highest since the start, which no sampling misses."""
    return sum(status(one, "VmHWM")[0] for one in processes(pid))


def cpu_seconds(pid):
    total = 0
    for one in processes(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def descriptors(pid):
    """Open ones: the length of the folder, where the kernel tells it (since 6.2)."""
    total = 0
    for one in processes(pid):
        with contextlib.suppress(OSError):
            total += os.stat(f"/proc/{one}/fd").st_size or len(os.listdir(f"/proc/{one}/fd"))
    return total


def tcp_mib():
    """Memory of all TCP sockets of the machine, of both ends."""
    found = re.search(r"^TCP:.* mem (\d+)", pathlib.Path("/proc/net/sockstat").read_text(), re.M)
    return int(found[1]) * PAGE / 2**20


def tcp_limit_mib():
    """Beyond it the kernel drops what arrives and ends connections, whatever the servers do."""
    return int(pathlib.Path("/proc/sys/net/ipv4/tcp_mem").read_text().split()[2]) * PAGE / 2**20


def _hexadecimal(address):
    return "".join(f"{int(part):02X}" for part in reversed(address.split(".")))


def connections(port, but_from):
    """Connections that a server at this port of 127.0.0.1 has taken and not closed, without those of one address.

    Those in the listener's queue and those that a server has closed have no inode.
    """
    local, but = f"{_hexadecimal('127.0.0.1')}:{port:04X}", _hexadecimal(but_from)
    # A set: while connections come and go, the kernel may show one twice.
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        for line in table:
            fields = line.split()
            if fields[1] == local and fields[3] in TAKEN and fields[9] != "0" and not fields[2].startswith(but):
                found.add(fields[2])
    return len(found)


class Watch:
    """Follows a server from a thread of its own until the `with` is left; calls `too_much` beyond `most_mib`."""

    def __init__(self, pid, most_mib):
        self.pid, self.most_mib = pid, most_mib
        self.before = resident(pid)
        self.peak, self.descriptors, self.tcp, self.too_much = self.before, 0, 0.0, False
        self.began, self.cpu_before = time.monotonic(), cpu_seconds(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def look(self):
        self.peak = max(self.peak, resident(self.pid))
        self.descriptors = max(self.descriptors, descriptors(self.pid))
        self.tcp = max(self.tcp, tcp_mib())
        self.too_much = self.too_much or self.peak > self.most_mib

    def _follow(self):
        while not self._ended.wait(EVERY_SECONDS):
            self.look()

    def cpu_percent(self):
        return 100 * (cpu_seconds(self.pid) - self.cpu_before) / (time.monotonic() - self.began)
