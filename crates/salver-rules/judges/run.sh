#!/bin/sh
# Runs the hosts' own programs and Salver over the same files and requests, as values and as a running `salver serve`
# answers them over sockets, and compares; VERBOSE=1 shows the differences that stand in docs/conventions.md too. Needs
# Node 20; everything stays on this machine but for the packages, which npm installs beside this script as the lock file
# names them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
cd "$here"
npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
cargo build --quiet --manifest-path "$root/Cargo.toml" -p salver-rules --example judged -p salver --bin salver
target=${CARGO_TARGET_DIR:-$root/target}/debug
exec node judge.mjs "$target/examples/judged" "$root/docs/conventions.md" "$target/salver"
