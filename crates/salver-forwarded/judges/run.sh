#!/bin/bash
# HAProxy sends the PROXY protocol and names clients in fields, Python's proxy-protocol packs and reads headers: what
# this crate makes of them is compared. As root, on Debian; installs what is missing. On success the last line is
# "N passed, 0 failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v haproxy >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends haproxy >/dev/null
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q proxy-protocol==0.11.3
cd "$here/../../.."
cargo build -q --locked -p salver-forwarded --example clients_judged
target=${CARGO_TARGET_DIR:-target}
"$folder/venv/bin/python" "$here/judge.py" "$target/debug/examples/clients_judged" "$folder"
