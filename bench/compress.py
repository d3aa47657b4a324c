#!/usr/bin/env python3
"""Compares `salver compress` with what else writes siblings for a build: `brotli -q 11`, `gzip -9`, `zstd -19` and
zopfli, each in a loop over as many processes as there are cores, and `precompress` of npm.

  bench/compress.py deps                   three sites, into target/bench/compress; installs by npm
  bench/compress.py run [PROGRAM]          measures, and prints the table as Markdown (minutes)

The sites are those of real tools: the documentation of a crate by cargo doc, Vite's own example with React, and the
documents of this repository as a site by VitePress. Every program gets the same files, copied afresh: those whose type
`salver compress` takes for compressible, and which have 64 bytes at least. Times are of one run each, of the whole
command, the programs in turn, with what they read in memory. Bytes are counted of the files for which `salver compress`
made a sibling, and every one of ours is decoded by the other program and compared with its file."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
HERE = TOP / "target" / "bench" / "compress"
CORES = len(os.sched_getaffinity(0))
# Pinned, so that who repeats it gets the same sites.
VITE = {"create-vite": "9.3.0"}
VITEPRESS = "1.6.4"
# The newest that node 20 runs; it makes br and gz.
PRECOMPRESS = "12.0.7"
# What decodes a sibling, by extension.
DECODERS = {".br": ["brotli", "-dc"], ".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dcq"]}
# What each program is run as, {} being a file, and the extension of what it writes.
LOOPS = {
    "`brotli -q 11`": (["brotli", "-f", "-k", "-q", "11", "{}"], ".br"),
    "`zstd -19`": (["zstd", "-q", "-f", "-k", "-19", "{}"], ".zst"),
    "`gzip -9`": (["gzip", "-f", "-k", "-n", "-9", "{}"], ".gz"),
    "zopfli": (["zopfli", "{}"], ".gz"),
}


def run(*command, cwd=None, **more):
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False, text=True, capture_output=True, **more)
    if done.returncode:
        sys.exit(f"compress: {' '.join(map(str, command))}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def cargo_doc(site):
    run("cargo", "doc", "--locked", "--no-deps", "-p", "salver-semantics", "-p", "salver-listing",
        "--target-dir", HERE / "cargo", cwd=TOP)
    shutil.copytree(HERE / "cargo" / "doc", site)
    (site / ".lock").unlink(missing_ok=True)


def vite(site):
    work = HERE / "vite"
    shutil.rmtree(work, ignore_errors=True)
    run("npm", "exec", "--yes", f"create-vite@{VITE['create-vite']}", "--", "vite", "--template", "react-ts",
        "--no-interactive", cwd=HERE, stdin=subprocess.DEVNULL)
    run("npm", "install", "--no-audit", "--no-fund", cwd=work)
    run("npm", "run", "build", cwd=work)
    shutil.copytree(work / "dist", site)


def vitepress(site):
    work = HERE / "vitepress"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for page in [*(TOP / "docs").glob("*.md"), *(TOP / "docs" / "internals").glob("*.md")]:
        # Braces and tags are text in our documents, and code in those of Vue.
        text = page.read_text(encoding="utf-8").replace("{{", "{").replace("<", "&lt;")
        (work / page.name).write_text(text, encoding="utf-8")
    for picture in (TOP / "docs").glob("*.png"):
        shutil.copy(picture, work)
    (work / "index.md").write_text("# Salver\n", encoding="utf-8")
    (work / ".vitepress").mkdir()
    (work / ".vitepress" / "config.mjs").write_text(
        "export default { title: 'Salver', ignoreDeadLinks: true, themeConfig: { search: { provider: 'local' } } }\n")
    (work / "package.json").write_text('{"private": true, "type": "module"}\n')
    run("npm", "install", "--no-audit", "--no-fund", f"vitepress@{VITEPRESS}", cwd=work)
    run("npm", "exec", "--", "vitepress", "build", cwd=work)
    shutil.copytree(work / ".vitepress" / "dist", site)


SITES = {"cargo doc": cargo_doc, "Vite": vite, "VitePress": vitepress}


def folder(name):
    return HERE / "sites" / name.replace(" ", "-").lower()


def deps():
    HERE.mkdir(parents=True, exist_ok=True)
    for name, make in SITES.items():
        site = folder(name)
        shutil.rmtree(site, ignore_errors=True)
        site.parent.mkdir(exist_ok=True)
        make(site)
        files = [path for path in site.rglob("*") if path.is_file()]
        print(f"{name}: {len(files)} files, {sum(path.stat().st_size for path in files)} bytes", flush=True)
    (HERE / "npm").mkdir(exist_ok=True)
    (HERE / "npm" / "package.json").write_text('{"private": true}\n')
    run("npm", "install", "--no-audit", "--no-fund", f"precompress@{PRECOMPRESS}", cwd=HERE / "npm")


def copied(site, files, to):
    """A folder with these files of a site."""
    for path in files:
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(site / path, target)
    return to


def timed(command, **more):
    begun = time.monotonic()
    run(*command, **more)
    return time.monotonic() - begun


def in_a_loop(command, site, files):
    """Runs a command for each file, on all cores."""
    names = "\0".join(str(site / path) for path in files)
    replaced = ["xargs", "-0", "-n", "1", "-P", CORES, "-I", "{}", *command]
    return timed(replaced, input=names)


def lengths(site, files, extension):
    """The bytes of the siblings of these files; `None` where there is none."""
    found = {}
    for path in files:
        sibling = site / f"{path}{extension}"
        found[path] = sibling.stat().st_size if sibling.exists() else None
    return found


def judge(site, files):
    """Decodes all siblings of ours by other programs."""
    for path in files:
        for extension, decoder in DECODERS.items():
            sibling = site / f"{path}{extension}"
            if sibling.exists():
                decoded = subprocess.run([*decoder, sibling], capture_output=True, check=True).stdout
                if decoded != (site / path).read_bytes():
                    sys.exit(f"compress: {sibling} does not decode to its file")


def compressible(program, site):
    """The files that ours makes siblings of, and the bytes of all files of their types."""
    with tempfile.TemporaryDirectory(dir=HERE) as copy:
        whole = shutil.copytree(site, pathlib.Path(copy) / "site")
        run(program, "compress", whole, "--codings", "gzip", "-q")
        files = [path.relative_to(whole) for path in sorted(whole.rglob("*.gz"))]
        return [path.with_suffix("") for path in files]


def measure(program, name, rows):
    site = folder(name)
    files = compressible(program, site)
    plain = sum((site / path).stat().st_size for path in files)
    ours = {}
    with tempfile.TemporaryDirectory(dir=HERE) as copies:
        def fresh():
            copy = pathlib.Path(tempfile.mkdtemp(dir=copies))
            return copied(site, files, copy)

        def row(tool, seconds, sizes, against=None):
            cells = {"tool": tool, "seconds": seconds}
            for extension, found in sizes.items():
                both = [path for path, length in found.items() if length is not None and ours[extension].get(path)]
                cells[extension] = sum(found[path] for path in both)
                if against is not None:
                    cells["larger"] = sum(ours[against][path] > found[path] for path in both)
            rows.append({"site": name, "files": len(files), "plain": plain, **cells})
            print(rows[-1], file=sys.stderr, flush=True)

        copy = fresh()
        seconds = timed([program, "compress", copy, "-q"])
        judge(copy, files)
        ours.update({extension: lengths(copy, files, extension) for extension in DECODERS})
        row("`salver compress`", seconds, {extension: ours[extension] for extension in DECODERS})
        again = timed([program, "compress", copy, "-q"])
        row("the same again", again, {})
        for tool, (command, extension) in LOOPS.items():
            if tool == "zopfli":
                copy = fresh()
                seconds = timed([program, "compress", copy, "-q", "--best", "--codings", "gzip"])
                judge(copy, files)
                ours["best"] = lengths(copy, files, ".gz")
                row("`salver compress --best --codings gzip`", seconds, {".gz": ours["best"]})
            for coding in [extension.strip(".")] if tool != "zopfli" else []:
                copy = fresh()
                names = {"br": "br", "zst": "zstd", "gz": "gzip"}
                seconds = timed([program, "compress", copy, "-q", "--codings", names[coding]])
                row(f"`salver compress --codings {names[coding]}`", seconds, {extension: lengths(copy, files, extension)})
            copy = fresh()
            seconds = in_a_loop(command, copy, files)
            row(tool, seconds, {extension: lengths(copy, files, extension)}, "best" if tool == "zopfli" else extension)
        copy = fresh()
        types = "br,gz"
        seconds = timed([HERE / "npm" / "node_modules" / ".bin" / "precompress", copy, "-t", types])
        sizes = {f".{kind}": lengths(copy, files, f".{kind}") for kind in types.split(",")}
        row(f"`precompress` {PRECOMPRESS} (npm)", seconds, sizes)


def table(rows):
    """The rows as Markdown."""
    lines = []
    for name in dict.fromkeys(row["site"] for row in rows):
        of_site = [row for row in rows if row["site"] == name]
        files, plain = of_site[0]["files"], of_site[0]["plain"]
        lines += [f"**{name}**: {files} files, {plain:,} bytes", "",
                  "| | seconds | br | zstd | gzip | files in which ours is larger |",
                  "| --- | ---: | ---: | ---: | ---: | ---: |"]
        for row in of_site:
            cells = [f"{row[extension]:,}" if extension in row else "" for extension in (".br", ".zst", ".gz")]
            larger = row.get("larger", "")
            lines.append(f"| {row['tool']} | {row['seconds']:.2f} | {' | '.join(cells)} | {larger} |")
        lines.append("")
    return "\n".join(lines)


def main():
    match sys.argv[1:]:
        case ["deps"]:
            deps()
        case ["run", *program]:
            program = pathlib.Path(program[0] if program else TOP / "target/release/salver").resolve()
            rows = []
            for name in SITES:
                measure(program, name, rows)
            (HERE / "result.json").write_text(json.dumps(rows, indent=1) + "\n")
            print(table(rows))
        case _:
            sys.exit(__doc__)


main()
