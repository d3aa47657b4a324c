"""The public API of the libraries as rustdoc writes it in JSON. That is not stable yet: RUSTC_BOOTSTRAP has a stable rustdoc
do it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def write(folder=ROOT, settings=()):
    """Writes that of all crates of the workspace in a folder; the settings are more for Cargo's configuration."""
    # Only rustdoc gets the variable: build scripts that look at it would all be built anew. Of the whole workspace: the
    # features that one package wants of its dependencies are others, and they would be compiled anew, too.
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(TARGET),
        "RUSTDOC": str(ROOT / "scripts/rustdoc-unstable.sh"),
        "RUSTDOCFLAGS": "-Z unstable-options --output-format json",
    }
    subprocess.run(
        [os.environ.get("CARGO", "cargo"), "doc", "--locked", "--quiet", "--lib", "--workspace", "--no-deps",
         *(word for setting in settings for word in ("--config", setting))],
        cwd=folder, check=True, env=environment,
    )


def path(crate):
    """The file of a crate."""
    return TARGET / "doc" / f"{crate.replace('-', '_')}.json"
