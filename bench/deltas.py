#!/usr/bin/env python3
"""What a new version of a bundle costs who has the former one: `dcb` and `dcz` of RFC 9842 beside gzip, Brotli and Zstandard.

  bench/deltas.py deps        bundles of npm and the judges, into target/bench/deltas; installs by npm, go and cc
  bench/deltas.py run         codes and judges all pairs, and prints the table as Markdown (minutes)

The pairs are consecutive versions of packages on npm, pinned, and of each the file that a site would send. All codings
are made by salver-coding (`codings`, an example of it). Every delta is decoded by two programs of different descent and
compared with its file: `dcb` by Google's decoder in C and by the one in Rust that Salver verifies with, `dcz` by `zstd`
and by a decoder in Go. Its head is read here."""

import hashlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile

TOP = pathlib.Path(__file__).resolve().parent.parent
HERE = TOP / "target" / "bench" / "deltas"
JUDGES = TOP / "bench" / "deltas"
# Package, version before, version after, and the file; where a name has a hash, what it matches.
PAIRS = [
    ("react-dom", "19.2.9", "19.3.0", "cjs/react-dom-client.production.js"),
    ("react-dom", "19.3.0", "19.3.1", "cjs/react-dom-client.production.js"),
    ("three", "0.186.0", "0.186.1", "build/three.core.js"),
    ("three", "0.186.1", "0.187.0", "build/three.core.js"),
    ("monaco-editor", "0.55.0", "0.55.1", "min/vs/editor.api-*.js"),
    ("monaco-editor", "0.56.0", "0.57.0", "min/vs/editor-*.js"),
    ("@angular/core", "22.2.4", "22.2.5", "fesm2022/_debug_node-chunk.mjs"),
    ("@angular/core", "22.2.5", "22.2.6", "fesm2022/_debug_node-chunk.mjs"),
    ("pdfjs-dist", "6.3.289", "6.4.299", "build/pdf.min.mjs"),
    ("pdfjs-dist", "6.4.299", "6.5.438", "build/pdf.min.mjs"),
    ("vue", "3.5.43", "3.5.44", "dist/vue.global.prod.js"),
    ("vue", "3.5.44", "3.5.45", "dist/vue.global.prod.js"),
    ("lodash", "4.17.23", "4.18.0", "lodash.min.js"),
    ("lodash", "4.18.0", "4.18.1", "lodash.min.js"),
    ("chart.js", "4.5.0", "4.5.1", "dist/chart.umd.min.js"),
    ("chart.js", "4.5.1", "4.6.1", "dist/chart.umd.min.js"),
]
PLAIN = ["gzip", "br", "zstd"]
# What a coding begins with; the SHA-256 of the dictionary follows (RFC 9842 sections 4 and 5).
MAGIC = {"dcb": b"\xffDCB", "dcz": b"\x5e\x2a\x4d\x18\x20\0\0\0"}
# A delta is worth it if it costs no more of Brotli than this, in the median.
BOUND_PERCENT = 10
CODINGS = HERE / "cargo" / "release" / "examples" / "codings"


class Failed(Exception):
    """What ends a run, in one line."""


def run(*command, cwd=None, given=None):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, input=given, check=False, capture_output=True)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-2000:]
        raise Failed(f"{' '.join(words)}: {said or f'exit status {done.returncode}'}")
    return done.stdout


def folder(package, version):
    return HERE / "npm" / f"{package.replace('@', '').replace('/', '-')}-{version}"


def bundle(package, version, pattern):
    """The one file of a package that a pattern names."""
    found = sorted((folder(package, version) / "package").glob(pattern))
    if len(found) != 1:
        raise Failed(f"{package} {version} has {len(found)} files like {pattern}: one was expected")
    return found[0]


def fetch(package, version):
    """Unpacks a package that npm has."""
    target = folder(package, version)
    if target.exists():
        return
    name = run("npm", "pack", f"{package}@{version}", "--silent", "--pack-destination", HERE / "npm").decode().split()[-1]
    packed = HERE / "npm" / name
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(packed) as archive:
        archive.extractall(partial, filter="data")
    partial.rename(target)
    packed.unlink()


def brotli_sources():
    """The C sources of Brotli that salver-coding is built from."""
    found = json.loads(run("cargo", "metadata", "--format-version", "1", "--locked", "--features", "salver-coding/dictionary",
                           cwd=TOP))
    for package in found["packages"]:
        if package["name"] == "compu-brotli-sys":
            return pathlib.Path(package["manifest_path"]).parent / "brotli" / "c"
    raise Failed("cargo knows no compu-brotli-sys")


def deps():
    (HERE / "npm").mkdir(parents=True, exist_ok=True)
    for package, *versions, pattern in PAIRS:
        for version in versions:
            fetch(package, version)
            bundle(package, version, pattern)
    sources = brotli_sources()
    parts = [path for part in ("common", "dec") for path in sorted((sources / part).glob("*.c"))]
    run("cc", "-O2", "-w", "-I", sources / "include", "-o", HERE / "dcb", JUDGES / "dcb" / "dcb.c", *parts, "-lm")
    run("go", "build", "-o", HERE / "dcz", ".", cwd=JUDGES / "dcz")
    run("cargo", "build", "--release", "--locked", "-p", "salver-coding", "--features", "dictionary", "--example", "codings",
        "--target-dir", HERE / "cargo", cwd=TOP)


def stream(coding, coded, dictionary):
    """What is behind the head of a delta, which has to name its dictionary."""
    head = MAGIC[coding] + hashlib.sha256(dictionary).digest()
    if not coded.startswith(head):
        raise Failed(f"{coding} does not begin with {head.hex()} but {coded[:len(head)].hex()}")
    return coded[len(head):]


def decoders(coding, coded, file, dictionary):
    """The programs that decode a delta: words and what they read."""
    if coding == "dcb":
        behind = stream(coding, coded, dictionary.read_bytes())
        return {"the decoder of Google, in C": ([HERE / "dcb", dictionary], behind),
                "the decoder of Salver, in Rust": ([CODINGS, "decode", coding, file, dictionary], None)}
    stream(coding, coded, dictionary.read_bytes())
    return {"zstd": (["zstd", "-d", "-q", "-c", "--long=27", f"--patch-from={dictionary}", file], None),
            "the decoder in Go": ([HERE / "dcz", dictionary], coded)}


def judge(coding, coded, dictionary, original):
    """Fails unless both decoders make the original of a delta."""
    file = HERE / f"judged.{coding}"
    file.write_bytes(coded)
    for name, (words, given) in decoders(coding, coded, file, dictionary).items():
        if run(*words, given=given) != original:
            raise Failed(f"{coding} against {dictionary} is decoded to something else by {name}")
    file.unlink()


def measure(package, before, after, pattern):
    old, new = bundle(package, before, pattern), bundle(package, after, pattern)
    original = new.read_bytes()
    lengths = {"identity": len(original)}
    for coding in PLAIN:
        lengths[coding] = len(run(CODINGS, "encode", coding, new))
    for coding in MAGIC:
        coded = run(CODINGS, "encode", coding, new, old)
        judge(coding, coded, old, original)
        lengths[coding] = len(coded)
    return {"package": package, "before": before, "after": after, "file": pattern, "lengths": lengths}


def percent(row, coding):
    """The share of Brotli's bytes that a delta has."""
    return 100 * row["lengths"][coding] / row["lengths"]["br"]


def medians(rows):
    return {coding: statistics.median(percent(row, coding) for row in rows) for coding in MAGIC}


def table(rows):
    """The rows as Markdown, and the medians."""
    heads = ["identity", *PLAIN, *MAGIC]
    lines = ["| | " + " | ".join([*heads, "dcb of br", "dcz of br"]) + " |",
             "| --- |" + " ---: |" * (len(heads) + 2)]
    for row in rows:
        cells = [f"{row['lengths'][coding]:,}" for coding in heads] + [f"{percent(row, coding):.1f} %" for coding in MAGIC]
        lines.append(f"| `{row['package']}` {row['before']} to {row['after']} | {' | '.join(cells)} |")
    found = medians(rows)
    lines.append("| median |" + " |" * len(heads) + "".join(f" {found[coding]:.1f} % |" for coding in MAGIC))
    return "\n".join(lines)


def compare():
    rows = []
    for pair in PAIRS:
        rows.append(measure(*pair))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    (HERE / "result.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    for coding, share in medians(rows).items():
        if share > BOUND_PERCENT:
            raise Failed(f"the median {coding} is {share:.1f} % of br: more than {BOUND_PERCENT} %")


def main(words):
    try:
        match words:
            case ["deps"]:
                deps()
            case ["run"]:
                compare()
            case _:
                return __doc__
    except (Failed, OSError) as error:
        return f"deltas: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
