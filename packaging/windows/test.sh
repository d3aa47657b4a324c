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
"$cargo" test --locked --target $target --lib -p salver-os -p salver-tls -p salver-passwords -p salver-access-log -p salver-semantics -p salver-rules -p salver-listing -p salver-coding \
	-p salver-coalesce -p salver-config -p salver
"$cargo" test --locked --target $target --test it -p salver-access-log
"$cargo" build --locked --target $target -p salver
"$cargo" build --locked -p salver-conformance --example judge
packaging/windows/test.py target/$target/debug/salver.exe target/debug/examples/judge
