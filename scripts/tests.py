#!/usr/bin/env python3
"""Compiles test programs of the workspace, or runs them side by side.

  scripts/tests.py build NAME...
  scripts/tests.py run PROGRAMS NAME... [-- ARGUMENT...]

PROGRAMS is how many run at the same time: most of their time they wait, and their last tests wait alone. NAME is that of
integration tests, or `units` for those beside the code. The arguments are for each program. What each prints stands
together, in the order in which they end. `run` does not ask Cargo, which may compile something else beside it: it runs
what was compiled last.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "tests.json"
# Those that take the longest come first, by the times of the tests of two cores.
LONGEST = ["salver/it", "salver-server/it", "salver-assets/it", "salver-bench/it", "salver-conformance/units", "salver-assets/allocations",
           "salver/huge", "salver/strategies", "salver-server/soak"]


def main():
    match sys.argv[1:]:
        case ["build", *names] if names:
            return build(names)
        case ["run", programs, *names] if programs.isdecimal() and programs != "0" and names:
            split = names.index("--") if "--" in names else len(names)
            return run_all(int(programs), names[:split], names[split + 1:])
        case _:
            print(f"usage: {sys.argv[0]} build NAME... | run PROGRAMS NAME... [-- ARGUMENT...]", file=sys.stderr)
            return 2


def build(names):
    """Compiles, and writes down the name, program and folder of the package of each test."""
    # With the units in any case, so that dependencies have the same features, whatever is named.
    tests = [argument for name in names if name != "units" for argument in ("--test", name)]
    command = [os.environ.get("CARGO", "cargo"), "test", "--no-run", "--locked", "--workspace", "--lib",
               *tests, "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        return built.returncode
    tests = []
    for line in built.stdout.splitlines():
        said = json.loads(line)
        if said["reason"] != "compiler-artifact" or not said["profile"]["test"] or not said["executable"]:
            continue
        folder, target = pathlib.Path(said["manifest_path"]).parent, said["target"]
        name = target["name"] if target["kind"] == ["test"] else "units"
        tests.append((f"{folder.name}/{name}", said["executable"], str(folder)))
    BUILT.write_text(json.dumps(tests, indent=0))
    return 0


def run_all(programs, names, arguments):
    if not BUILT.exists():
        sys.exit("tests: nothing is compiled yet: scripts/tests.py build")
    every = json.loads(BUILT.read_text())
    if missing := set(names) - {name.partition("/")[2] for name, _, _ in every}:
        sys.exit(f"tests: there is no test {', '.join(sorted(missing))}")
    tests = [test for test in every if test[0].partition("/")[2] in names]
    tests.sort(key=lambda test: LONGEST.index(test[0]) if test[0] in LONGEST else len(LONGEST))
    rustc = os.environ.get("RUSTC", "rustc")
    sysroot = subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True, check=True)
    libraries = pathlib.Path(sysroot.stdout.strip()) / "lib"
    failed = []
    with concurrent.futures.ThreadPoolExecutor(programs) as pool:
        running = [pool.submit(run, *test, arguments, libraries) for test in tests]
        for done in concurrent.futures.as_completed(running):
            name, seconds, work, code, said = done.result()
            print(f"\n--- {name}, {seconds:.1f} s, {work:.1f} s of them at work\n{said}", flush=True)
            if code != 0:
                failed.append(f"{name} (exit code {code})")
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def run(name, program, folder, arguments, libraries):
    """Runs a test program where Cargo would; its work is that of its children as well."""
    began = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": folder, "LD_LIBRARY_PATH": str(libraries)}
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([program, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        work = usage.ru_utime + usage.ru_stime
        return name, time.monotonic() - began, work, process.returncode, said.read()


if __name__ == "__main__":
    sys.exit(main())
