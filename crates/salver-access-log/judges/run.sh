#!/bin/bash
# GoAccess and fail2ban read the sample logs, hostile lines included: each line is counted, once and rightly.
# As root, on Debian; installs both if they are missing. On success the last line is "N passed, 0 failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v goaccess >/dev/null || ! command -v fail2ban-regex >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends goaccess fail2ban >/dev/null
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$here/../../.."
cargo run -q --locked -p salver-access-log --example sample_log -- "$folder"
python3 "$here/judge.py" "$folder" "$here/salver.conf"
