"""What the figures were measured on: a figure without it says nothing."""

import datetime
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent


def first_match(path, pattern, otherwise="unknown"):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        return otherwise
    return found.group(1).strip().strip('"') if found else otherwise


def git(*arguments):
    try:
        done = subprocess.run(["git", "-C", str(TOP), *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def commit(own_build):
    """The commit that Salver was built from, as far as that is known."""
    if not own_build:
        return "unknown (a program given by `--salver`)"
    name = git("log", "-1", "--format=%h of %cs")
    if name is None:
        return "unknown (no repository)"
    changed = git("status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock")
    return name + (", with changes that are not committed" if changed else "")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def describe(peers, made, own_build):
    """Name and value of everything that the figures depend on."""
    kib = int(first_match("/proc/meminfo", r"^MemTotal:\s+(\d+)", "0"))
    flags = first_match("/proc/cpuinfo", r"^flags\s*:\s*(.+)$").split()
    facts = {
        "date": now(),
        "Salver": commit(own_build),
        "processor": first_match("/proc/cpuinfo", r"^model name\s*:\s*(.+)$"),
        "cores": f"{os.cpu_count()}; server on core 0, client on core 1",
        "memory": f"{kib / 1024 / 1024:.0f} GiB",
        "virtual machine": "yes" if "hypervisor" in flags else "no sign of it",
        "system": first_match("/etc/os-release", r"^PRETTY_NAME=(.+)$") + ", Linux " + os.uname().release,
        "congestion control": first_match("/proc/sys/net/ipv4/tcp_congestion_control", r"(\w+)"),
        "kTLS": "yes" if first_match("/proc/sys/net/ipv4/tcp_available_ulp", r"\b(tls)\b") == "tls" else "not in this kernel",
        "files": f"{made.name()}, fingerprint `{made.fingerprint()}`",
    }
    facts["versions"] = ", ".join(f"{peer.name} {peer.version()}" for peer in peers if peer.program() is not None)
    return facts
