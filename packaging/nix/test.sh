#!/usr/bin/env bash
# Reads the flake and evaluates it over stand-ins for Nixpkgs, which is not to be had without a network: syntax, names and
# paths are looked at, and nothing is built. Needs nix-instantiate (Debian: nix-bin).
#   packaging/nix/test.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v nix-instantiate > /dev/null || { echo "nix: nix-instantiate is not there: apt-get install nix-bin" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NIX_STORE_DIR=$work/store NIX_STATE_DIR=$work/state NIX_LOG_DIR=$work/log
nix=(nix-instantiate --option build-users-group "")
"${nix[@]}" --parse packaging/nix/flake.nix > /dev/null
"${nix[@]}" --eval --strict --json packaging/nix/test.nix > "$work/found"
python3 - "$work/found" "$1" <<'END'
import json
import shlex
import subprocess
import sys
import tempfile
sys.path.insert(0, "packaging")
import program

found = json.load(open(sys.argv[1]))
expected = {
    "pname": "salver", "version": program.version(), "systems": ["aarch64-linux", "x86_64-linux"], "lock": True,
    "source": True, "settings": {"root": "/srv/site"}, "options": ["enable", "package", "settings"],
    "start": "/nix/salver/bin/salver serve -c /etc/salver/salver.toml",
}
assert found == expected, f"nix: {found}"
# What the service starts is understood by the program that there is.
with tempfile.TemporaryDirectory() as folder:
    open(f"{folder}/salver.toml", "w").write(f"root = {folder!r}\n")
    words = shlex.split(found["start"].replace("/etc/salver", folder))[1:]
    subprocess.run([sys.argv[2], "check", *words[1:]], check=True, capture_output=True)
END
echo "nix: the flake is read and evaluated over stand-ins"
