"""What a server has used: CPU time and memory of every process in the session that it leads."""

import os
import resource
import time


def members(session):
    """The ids of the processes in `session`, from /proc."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended meanwhile
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry))
    return found


def cpu_seconds(session):
    """User and system time of the session's processes, in seconds.

    It is what utime and stime of /proc/PID/stat add up to, read from each process's CPU clock
    instead: that one counts nanoseconds where /proc counts hundredths of a second, which is one
    per cent of a run of one second.
    """
    total = 0
    for process in members(session):
        try:
            # How the kernel numbers the CPU clock of another process; CPUCLOCK_SCHED is 2.
            total += time.clock_gettime_ns((~process << 3) | 2)
        except OSError:
            continue
    return total / 1e9


def ticks_seconds(session):
    """The same from utime and stime of /proc/PID/stat; what cpu_seconds() is checked against."""
    total = 0
    for process in members(session):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def resident_mib(session):
    """Resident memory in MiB; what processes share counts once (Pss)."""
    kib = 0
    for process in members(session):
        try:
            with open(f"/proc/{process}/smaps_rollup", encoding="utf-8") as rollup:
                kib += next((int(line.split()[1]) for line in rollup if line.startswith("Pss:")), 0)
        except OSError:
            continue
    return kib / 1024


def machine_seconds():
    """What all cores have spent on work, and what the host has taken from them (steal), in seconds."""
    with open("/proc/stat", encoding="utf-8") as stat:
        user, nice, system, _, _, interrupts, soft, stolen = map(int, stat.readline().split()[1:9])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + interrupts + soft) / ticks, stolen / ticks


def children_seconds():
    """CPU time of the children of this process that have ended: the client's."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
