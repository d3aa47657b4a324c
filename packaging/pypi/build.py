#!/usr/bin/env python3
"""Wheels that carry the program: build.py PROGRAM... FOLDER, one for each program.

`pipx run salver`, `uvx salver` and `pip install salver` put it beside Python's own scripts; no Python runs between.
A test is packaging/pypi/test.sh.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program  # noqa: E402

MACHINES = {"windows": {"x86_64": "win_amd64", "aarch64": "win_arm64"}}
# The oldest that tags are made for; a static program asks nothing of either libc.
OLDEST_GLIBC, MUSL = (2, 17), "musllinux_1_2"
README = """# salver

Serves static files over HTTP/1.1, HTTP/2 and HTTP/3: fast, fresh and correct at once.

```sh
pipx run salver dist
pipx run salver dist --spa --port 3000
pipx run salver serve --help
```

It serves `dist` on <http://127.0.0.1:8080>; `salver --help` shows the other commands. This wheel carries the program, which needs
no compiler, and runs without Python once it is installed.
"""
METADATA = """Metadata-Version: 2.4
Name: salver
Version: {version}
Summary: Serves static files: fast, fresh and correct.
Keywords: static,server,http,files,http3
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Programming Language :: Rust
Classifier: Topic :: Internet :: WWW/HTTP :: HTTP Servers
License-Expression: MIT OR Apache-2.0
{licences}Description-Content-Type: text/markdown
Requires-Python: >=3.8

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: salver
Root-Is-Purelib: false
{tags}"""


def tags(one):
    """The platforms that a program runs on, as wheels name them."""
    if one.system == "windows":
        return [MACHINES["windows"][one.machine]]
    glibc = max(one.glibc, OLDEST_GLIBC)
    many = f"manylinux_{glibc[0]}_{glibc[1]}_{one.machine}"
    musl = f"{MUSL}_{one.machine}"
    return {None: [many, musl], "glibc": [many], "musl": [musl]}[one.libc]


def contents(one):
    """The files of a wheel, {name: (content, mode)}, but for its record."""
    version = program.version()
    info, data = f"salver-{version}.dist-info", f"salver-{version}.data"
    licences = {name: (program.ROOT / name).read_bytes() for name in ["LICENSE-MIT", "LICENSE-APACHE"]}
    collected = program.ROOT / "packaging/out/licences.txt"
    if collected.is_file():
        licences["licences.txt"] = collected.read_bytes()
    named = "".join(f"License-File: {name}\n" for name in licences)
    tagged = "".join(f"Tag: py3-none-{tag}\n" for tag in tags(one))
    found = {f"{data}/scripts/{one.name}": (one.path.read_bytes(), 0o755)}
    for name, content in licences.items():
        found[f"{info}/licenses/{name}"] = (content, 0o644)
    found[f"{info}/METADATA"] = (METADATA.format(version=version, licences=named, readme=README).encode(), 0o644)
    found[f"{info}/WHEEL"] = (WHEEL.format(tags=tagged).encode(), 0o644)
    return found, f"{info}/RECORD"


def pack(programs, folder):
    """A wheel for each program: the same bytes for the same program."""
    for one in programs:
        held, record = contents(one)
        lines = []
        for name, (content, _) in held.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        held[record] = (("".join(lines) + f"{record},,\n").encode(), 0o644)
        path = folder / f"salver-{program.version()}-py3-none-{'.'.join(tags(one))}.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
            for name, (content, mode) in held.items():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, content)
        yield path


if __name__ == "__main__":
    sys.exit(program.main(pack, "packaging/pypi/build.py PROGRAM... FOLDER"))
