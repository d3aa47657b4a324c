#!/bin/bash
# Buckets judged by moto, a local S3 that others make: the suite for sources over it, and the program before it.
#   scripts/object_store/run.sh PROGRAM
# PROGRAM has the feature object-store. Installs moto for this run, by pip, into a folder that goes with it. On success the
# last line is "N passed, 0 failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
cargo=${CARGO:-cargo}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'moto[server]==5.2.5'
cd "$here/../.."
"$folder/venv/bin/python" "$here/judge.py" "$program" "$folder" \
    "$cargo" test --quiet --locked -p salver-object-store --test it -- --ignored s3
