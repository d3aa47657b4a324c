#!/bin/sh
# The tests of Windows under wine: those of the crates that are meant to be portable, then the program's.
set -eu
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
target=x86_64-pc-windows-gnu
# Where rustup has no std for it, one is built.
exports=$(packaging/windows/toolchain.sh)
eval "$exports"
# One of its own, so that nobody's is changed.
WINEPREFIX=$PWD/target/wine
export WINEPREFIX WINEDEBUG=-all CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine
if [ ! -d "$WINEPREFIX" ]; then wine wineboot --init; fi
x86_64-w64-mingw32-gcc -shared -O2 -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" \
	packaging/windows/bcryptprimitives.c -ladvapi32
# Those that wine cannot pass, by name and reason.
skips=$(sed -n 's/^\([a-z0-9_:]*\) | .*/--skip=\1/p' packaging/windows/differs-tests.txt)
# Without salver-server: its loop is made of what Linux has (docs/platforms.md).
for crate in os semantics rules listing coding coalesce config tls passwords access-log http1 fields forwarded store assets \
	embed tower; do
	set -- "$@" -p "salver-$crate"
done
# shellcheck disable=SC2086 # one word for each
"$cargo" test --locked --no-fail-fast --target $target --all-features --lib --test it --test messages --test fingerprint_corpus "$@" -- \
	$skips
"$cargo" test --locked --target $target --lib -p salver
"$cargo" build --locked --target $target -p salver
"$cargo" build --locked -p salver-conformance --example judge
packaging/windows/test.py target/$target/debug/salver.exe target/debug/examples/judge
