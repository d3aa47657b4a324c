#!/usr/bin/env bash
# Builds the program that is handed on: one static file, the same bytes wherever it is built.
#   packaging/binary.sh [FOLDER]
# FOLDER (target/dist/out) gets the program without symbols, and salver.debug, which gives backtraces their names.
# TARGET is another target of Rust, such as x86_64-unknown-linux-gnu; docs/install.md says why it is musl by default.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=${1:-${CARGO_TARGET_DIR:-target}/dist/out}
cargo=${CARGO:-cargo}
target=${TARGET:-$(uname -m)-unknown-linux-musl}
need() { echo "binary: $*" >&2; exit 1; }

sysroot=$(rustc --print sysroot)
[ -d "$sysroot/lib/rustlib/$target" ] || need "Rust has no $target here: rustup target add $target"
case $target in
*-musl) command -v musl-gcc > /dev/null || need "musl-gcc is not there: apt-get install musl-tools" ;;
esac

# The folders of this machine are called alike in every build: those of the source, of what is downloaded, and of Rust.
# Those of the build come first, as they may lie beneath the source.
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
downloaded=$(realpath -m "${CARGO_HOME:-$HOME/.cargo}")
# A static program of glibc finds no getrandom(2) by its name and would read a file instead, which an image may not have.
rust_flags=(-C target-feature=+crt-static --cfg 'getrandom_backend="linux_getrandom"')
c_flags=()
for renamed in "$source=/salver" "$built=/target" "$downloaded=/cargo" "$sysroot=/rust"; do
    rust_flags+=(--remap-path-prefix "$renamed")
    c_flags+=("-ffile-prefix-map=$renamed")
done
separator=$'\x1f'
CARGO_ENCODED_RUSTFLAGS=$(IFS=$separator; echo "${rust_flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
unset RUSTFLAGS
# What C code is told is for this target alone: build scripts run here.
declare -x "CFLAGS_${target//-/_}=${c_flags[*]}"
# Of a commit that is given as nothing, the build script finds it by itself.
[ -n "${SALVER_COMMIT:-}" ] || unset SALVER_COMMIT
# No tool takes the time of the build for anything.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Other files of other builds are never mixed in.
export CARGO_INCREMENTAL=0

"$cargo" build --profile dist --locked -p salver --target "$target"
scripts/split.sh "${CARGO_TARGET_DIR:-target}/$target/dist/salver" "$folder"
