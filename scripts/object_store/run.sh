#!/bin/bash
# Buckets judged by S3 servers that others make: moto, which pip installs, and versitygw, which Go builds and which judges
# signatures. The suite for sources and the exchange table over each, and the program before it.
#   scripts/object_store/run.sh PROGRAM [SCRIPT]
# PROGRAM has the feature object-store; SCRIPT is judge.py or another one beside it. Both servers are installed for this run
# into a folder that goes with it, or are those of MOTO and VERSITYGW. On success the last line is "N passed, 0 failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
script=${2:-judge.py}
cargo=${CARGO:-cargo}
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
if [ -z "${MOTO:-}" ]; then
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'moto[server]==5.2.5'
    MOTO=$folder/venv/bin/moto_server
fi
if [ -z "${VERSITYGW:-}" ]; then
    GOBIN=$folder/bin GOFLAGS=-modcacherw go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
    VERSITYGW=$folder/bin/versitygw
fi
cd "$here/../.."
"$(dirname "$MOTO")/python" "$here/$script" "$program" "$folder" "moto=$MOTO" "versitygw=$VERSITYGW" -- \
    "$cargo" test --quiet --locked -p salver-object-store --test it -- --ignored s3
