"""The clients, installed or built into target/clients/: Debian packages as root, the rest from what is
pinned here (requirements.txt, go/go.sum)."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent.parent / "target" / "clients"
PYTHON = OUTPUT / "python" / "bin" / "python"
GO = OUTPUT / "go" / "client"
# Programs, and the Debian packages that have them.
COMMANDS = {"curl": "curl", "wget": "wget", "nghttp": "nghttp2-client", "node": "nodejs"}
GO_FOLDERS = ["/usr/local/go/bin", "/usr/lib/go/bin"]
# What one step may take.
LIMIT_SECONDS = 900


class Failed(Exception):
    """A client cannot be had; the text says who must do what."""


def run(command, **options):
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                              timeout=LIMIT_SECONDS, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{command[0]}: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise Failed(f"`{Path(command[0]).name} {command[1]}` failed: {' / '.join(last)}")


def packages():
    missing = [package for command, package in COMMANDS.items() if not shutil.which(command)]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append("python3-venv")
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failed(f"install {' '.join(missing)} and try again")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], env=environment)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "ca-certificates"]
    run([*install, *missing], env=environment)


def python():
    """An environment with the pinned packages, made anew when the pins or this Python have changed."""
    wanted = f"{sys.version}\n{(HERE / 'requirements.txt').read_text()}"
    stamp = OUTPUT / "python" / "stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    run([sys.executable, "-m", "venv", "--clear", OUTPUT / "python"])
    run([PYTHON, "-m", "pip", "install", "--quiet", "--no-compile", "--requirement", HERE / "requirements.txt"])
    stamp.write_text(wanted)


def go():
    path = os.pathsep.join([os.environ.get("PATH", ""), *GO_FOLDERS])
    program = shutil.which("go", path=path)
    if not program:
        raise Failed("install Go of the version that scripts/clients/go/go.mod names, or a newer one")
    run([program, "build", "-trimpath", "-buildvcs=false", "-o", GO, "."], cwd=HERE / "go")


def everything():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    packages()
    python()
    go()
