#!/usr/bin/env python3
"""Compares the public API of the published crates with that of an earlier revision, by cargo-semver-checks.

  scripts/semver.py [REVISION]

Without REVISION it is that of the newest version in CHANGELOG.md, at the commit that wrote its heading: what is published
is what is promised. Before the first version there is nothing to compare with. What rustdoc writes of both (as for
scripts/public_types.py) is compared, in the folder of the build that is there: so no dependency is compiled for it.
Exit code: 0; 1 if the API breaks what the version promises; 2 if something is not there.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import rustdoc_json

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+[^\]]*)\]", re.MULTILINE)
# Where the tool is put if it is not there.
TOOLS = rustdoc_json.TARGET / "tools"
VERSION = "0.51.0"


class NotThere(Exception):
    pass


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotThere(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def newest_version(changelog):
    """The newest version that a changelog has, or None."""
    found = HEADING.search(changelog)
    return found and found.group(1)


def baseline(given):
    """The commit to compare with; None before the first version."""
    if given:
        return git("rev-parse", "--verify", f"{given}^{{commit}}")
    version = newest_version((ROOT / "CHANGELOG.md").read_text())
    if not version:
        return None
    commits = git("log", "--format=%H", f"-S## [{version}]", "--", "CHANGELOG.md").split()
    if not commits:
        raise NotThere(f"no commit here wrote the heading of {version} in CHANGELOG.md: git fetch --unshallow")
    return commits[-1]


def packages(folder):
    """What Cargo says of the crates of a workspace."""
    command = [CARGO, "metadata", "--locked", "--no-deps", "--format-version", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["packages"]


def published(folder):
    """The published crates with a library, {name: version}."""
    return {one["name"]: one["version"] for one in packages(folder)
            if one["publish"] != [] and any("lib" in target["kind"] for target in one["targets"])}


def apart(folder):
    """Settings that keep what is compiled of a workspace apart. To Cargo the crates of two folders are the same if they
    stand alike in them, and what was compiled of the one would be taken for the other's; another profile is another crate."""
    return [f"profile.dev.package.{one['name']}.codegen-units=255" for one in packages(folder)]


def tool():
    """The command of cargo-semver-checks, which is installed if it is not there (minutes)."""
    found = shutil.which("cargo-semver-checks", path=f"{TOOLS / 'bin'}:{os.environ['PATH']}")
    if not found:
        print(f"semver: cargo-semver-checks {VERSION} is installed into {TOOLS} (minutes)", flush=True)
        subprocess.run([CARGO, "install", "--locked", "--quiet", "--root", TOOLS, "--version", VERSION,
                        "cargo-semver-checks"], cwd=ROOT, check=True)
        found = TOOLS / "bin/cargo-semver-checks"
    return [str(found), "semver-checks"]


@contextlib.contextmanager
def checked_out(commit):
    """A folder with the files of a commit, always the same one, so that a second comparison compiles nothing."""
    folder = rustdoc_json.TARGET / "semver" / "baseline"
    shutil.rmtree(folder, ignore_errors=True)
    git("worktree", "prune")
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


def described(folder, crates, into, settings=()):
    """The API of each crate of a source as rustdoc writes it, {name: file}."""
    rustdoc_json.write(folder, settings)
    found = {}
    for crate in crates:
        found[crate] = Path(into) / f"{crate}.json"
        shutil.move(rustdoc_json.path(crate), found[crate])
    return found


def main():
    if len(sys.argv) > 2:
        print("usage: scripts/semver.py [REVISION]", file=sys.stderr)
        return 2
    commit = baseline(sys.argv[1] if sys.argv[1:] else None)
    if commit is None:
        print("semver: CHANGELOG.md has no version yet, so no API is promised (SINCE=REVISION compares with any)")
        return 0
    command = tool()
    now = published(ROOT)
    broken = []
    with tempfile.TemporaryDirectory() as work, checked_out(commit) as folder:
        before = published(folder)
        old, new = Path(work) / "old", Path(work) / "new"
        old.mkdir()
        new.mkdir()
        # That of now comes last: it is what others find where rustdoc writes it.
        files = described(folder, before, old, apart(folder))
        current = described(ROOT, now, new)
        for crate, version in sorted(before.items()):
            if crate not in current:
                print(f"{crate}: not published any more", flush=True)
                broken.append(crate)
                continue
            done = subprocess.run([*command, "--baseline-rustdoc", files[crate], "--current-rustdoc", current[crate]],
                                  cwd=ROOT, capture_output=True, text=True, check=False)
            verdict = "as promised" if done.returncode == 0 else "BREAKS what it promises"
            print(f"{crate}: {version} -> {now[crate]}, {verdict}", flush=True)
            if done.returncode != 0:
                print(done.stdout + done.stderr, file=sys.stderr, flush=True)
                broken.append(crate)
    print(f"semver: {len(before)} crates beside {commit[:12]}, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotThere as error:
        print(f"semver: {error}", file=sys.stderr)
        sys.exit(2)
