"""A built program, as those have to know it who pack it: what it runs on, and what version it is."""

import re
import struct
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MACHINES = {62: "x86_64", 183: "aarch64"}
WINDOWS_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64"}
PT_INTERP = 3


class NotPacked(Exception):
    """A reason why a file cannot be packed."""


@dataclass(frozen=True)
class Program:
    path: Path
    system: str  # linux, windows
    machine: str  # x86_64, aarch64
    libc: str | None  # glibc, musl; None: static, or not Linux
    glibc: tuple  # the newest version of glibc that it asks for; (0, 0) without

    @property
    def name(self):
        return "salver.exe" if self.system == "windows" else "salver"


def linux(path, content):
    machine, = struct.unpack_from("<H", content, 18)
    offset, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    libc = None
    for index in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", content, offset + index * size)
        if kind == PT_INTERP:
            libc = "musl" if b"musl" in content[start:start + length] else "glibc"
    versions = [(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", content)]
    newest = max(versions, default=(0, 0)) if libc == "glibc" else (0, 0)
    return Program(path, "linux", MACHINES.get(machine, ""), libc, newest)


def windows(path, content):
    at, = struct.unpack_from("<I", content, 60)
    if content[at:at + 4] != b"PE\0\0":
        raise NotPacked(f"{path} is no program of Windows")
    machine, = struct.unpack_from("<H", content, at + 4)
    return Program(path, "windows", WINDOWS_MACHINES.get(machine, ""), None, (0, 0))


def read(path):
    """A program from its file. Raises NotPacked, with what to do."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotPacked(f"{path}: {error.strerror}: make dist builds target/dist/out/salver") from error
    try:
        if content[:5] == b"\x7fELF\x02":
            found = linux(path, content)
        elif content[:2] == b"MZ":
            found = windows(path, content)
        else:
            raise NotPacked(f"{path} is no program of Linux (64 bit) or Windows")
    except struct.error as error:
        raise NotPacked(f"{path} is cut short") from error
    if not found.machine:
        raise NotPacked(f"{path} is for a processor that no package is made for: x86_64 and aarch64 are")
    return found


def version():
    """The version that the workspace has."""
    with open(ROOT / "Cargo.toml", "rb") as file:
        return tomllib.load(file)["workspace"]["package"]["version"]


def main(pack, usage):
    """Runs a packer over the programs that are named, and prints the files that it has made."""
    if len(sys.argv) < 3:
        print(f"usage: {usage}", file=sys.stderr)
        return 2
    folder = Path(sys.argv[-1])
    try:
        programs = [read(path) for path in sys.argv[1:-1]]
        folder.mkdir(parents=True, exist_ok=True)
        for made in pack(programs, folder):
            print(f"{made}: {made.stat().st_size} bytes")
    except (NotPacked, OSError) as error:
        print(f"{Path(sys.argv[0]).parent.name}: {error}", file=sys.stderr)
        return 1
    return 0
