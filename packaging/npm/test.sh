#!/usr/bin/env bash
# Makes the packages for npm of a program, installs them from their files as somebody would, and judges the command.
#   packaging/npm/test.sh PROGRAM
# NODE is another node than that in PATH, to be tried besides.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packaging/npm/build.py "$1" "$work/packages"
packaging/npm/build.py "$1" "$work/again" > "$work/said"
diff -r "$work/packages" "$work/again" || { echo "npm: two builds differ" >&2; exit 1; }
version=$(python3 -c 'import sys; sys.path.insert(0, "packaging"); import program; print(program.version())')

# Installed without a registry: all that it needs is in the files.
mkdir "$work/project"
echo '{ "private": true }' > "$work/project/package.json"
(cd "$work/project" && npm install --offline --no-audit --no-fund --loglevel=error "$work"/packages/*.tgz > /dev/null)
command=$work/project/node_modules/.bin/salver
packaging/installed.py "$version" "$command"
(cd "$work/project" && [ "$(npx --offline salver --version)" = "salver $version" ]) || { echo "npm: npx finds no salver" >&2; exit 1; }
[ -z "${NODE:-}" ] || packaging/installed.py "$version" "$NODE" "$work/project/node_modules/salver/bin/salver.js"

# Without the package of the platform it says what to do, on one line.
rm -r "$work"/project/node_modules/salver-*
if "$command" --version 2> "$work/said"; then echo "npm: it runs without a program" >&2; exit 1; fi
grep -q 'is not installed' "$work/said" && [ "$(wc -l < "$work/said")" = 1 ] || { cat "$work/said" >&2; exit 1; }
echo "npm: packages are made alike twice, install offline, run, and say what is missing"
