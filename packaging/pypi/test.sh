#!/usr/bin/env bash
# Makes the wheel of a program, has it judged by twine, installs it by pip into an environment of its own, judges the command,
# and removes it again.
#   packaging/pypi/test.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packaging/pypi/build.py "$1" "$work/wheels"
packaging/pypi/build.py "$1" "$work/again" > "$work/said"
diff -r "$work/wheels" "$work/again" || { echo "pypi: two builds differ" >&2; exit 1; }
version=$(python3 -c 'import sys; sys.path.insert(0, "packaging"); import program; print(program.version())')

python3 -m venv "$work/judges"
"$work/judges/bin/pip" install --quiet --disable-pip-version-check twine==7.0.0 pipx==1.18.4
"$work/judges/bin/twine" check --strict "$work"/wheels/*.whl

python3 -m venv "$work/user"
pip=("$work/user/bin/pip" --disable-pip-version-check --quiet)
"${pip[@]}" install --no-index "$work"/wheels/*.whl
packaging/installed.py "$version" "$work/user/bin/salver"
"${pip[@]}" check
"${pip[@]}" uninstall --yes salver
left=$(find "$work/user" -iname '*salver*')
[ -z "$left" ] || { echo "pypi: left behind: $left" >&2; exit 1; }

export PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/bin
said=$("$work/judges/bin/pipx" run --no-cache --spec "$(echo "$work"/wheels/*.whl)" salver --version)
[ "$said" = "salver $version" ] || { echo "pypi: pipx run said: $said" >&2; exit 1; }
echo "pypi: wheels are made alike twice, install without an index, run, and go without a trace"
