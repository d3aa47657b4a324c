#!/usr/bin/env python3
"""Packages for npm: build.py PROGRAM... FOLDER, a program for each platform.

Makes `salver`, whose command looks for the package of its platform, and for each program that package, such as
`salver-linux-x64`: npm installs the one that fits. A test is packaging/npm/test.sh.
"""

import gzip
import io
import json
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program  # noqa: E402

SYSTEMS = {"linux": "linux", "windows": "win32"}
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
README = """# salver

Serves static files over HTTP/1.1, HTTP/2 and HTTP/3: fast, fresh and correct at once.

    npx salver dist
    npx salver dist --spa --port 3000
    npx salver serve --help

It serves `dist` on <http://127.0.0.1:8080>; `npx salver --help` shows the other commands. This package carries the
program, which needs neither Node nor a compiler.
"""


def manifest(name, **more):
    return {
        "name": name,
        "version": program.version(),
        "description": "Serves static files: fast, fresh and correct.",
        "license": "MIT OR Apache-2.0",
        "keywords": ["static", "server", "http", "files", "http3"],
        **more,
    }


def platform(one):
    """The name of the package for a program's platform."""
    return f"salver-{SYSTEMS[one.system]}-{MACHINES[one.machine]}"


def tarball(path, files):
    """A package with these files, {name: (content, mode)}: the same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode, entry.mtime = len(content), mode, 499162500  # as npm has it
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))
    return path


def files(described, **more):
    found = {"package.json": (json.dumps(described, indent=2).encode() + b"\n", 0o644)}
    for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
        found[name] = ((program.ROOT / name).read_bytes(), 0o644)
    licences = program.ROOT / "packaging/out/licences.txt"
    if licences.is_file() and more.get("bin"):
        found["licences.txt"] = (licences.read_bytes(), 0o644)
    return found


def pack(programs, folder):
    """One package for each program, and the one that leads to them."""
    names = [platform(one) for one in programs]
    if len(set(names)) != len(names):
        raise program.NotPacked(f"two programs are for one platform: {', '.join(names)}")
    for one, name in zip(programs, names):
        described = manifest(name, os=[SYSTEMS[one.system]], cpu=[MACHINES[one.machine]])
        if one.libc:
            described["libc"] = [one.libc]
        held = files(described, bin=True)
        held[f"bin/{one.name}"] = (one.path.read_bytes(), 0o755)
        held["README.md"] = (f"# {name}\n\nThe program of the package salver for one "
                             "platform. Install `salver`.\n".encode(), 0o644)
        yield tarball(folder / f"{name}-{program.version()}.tgz", held)
    described = manifest("salver", bin={"salver": "bin/salver.js"}, engines={"node": ">=18"},
                         optionalDependencies={name: program.version() for name in sorted(names)})
    held = files(described)
    held["bin/salver.js"] = ((Path(__file__).parent / "salver.js").read_bytes(), 0o755)
    held["README.md"] = (README.encode(), 0o644)
    yield tarball(folder / f"salver-{program.version()}.tgz", held)


if __name__ == "__main__":
    sys.exit(program.main(pack, "packaging/npm/build.py PROGRAM... FOLDER"))
