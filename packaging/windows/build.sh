#!/bin/sh
# The program for Windows, cross-compiled with mingw-w64: target/windows/salver-VERSION-windows-x86_64.zip.
set -eu
cd "$(dirname "$0")/../.."
target=x86_64-pc-windows-gnu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=salver-$version-windows-x86_64
out=target/windows
command -v x86_64-w64-mingw32-gcc > /dev/null ||
	{ echo "build.sh: no mingw-w64: install gcc-mingw-w64-x86-64" >&2; exit 1; }
# Where rustup has no std for it, one is built.
exports=$(packaging/windows/toolchain.sh)
eval "$exports"
# Without a history the program says that it does not know.
commit=$(git rev-parse HEAD 2> /dev/null || true)
[ -z "$commit" ] || export SALVER_COMMIT="$commit"
"${CARGO:-cargo}" build --release --locked --target $target -p salver
rm -rf "$out/$name" "$out/$name.zip"
mkdir -p "$out/$name"
cp "target/$target/release/salver.exe" README.md LICENSE-MIT LICENSE-APACHE docs/platforms.md "$out/$name/"
# The licences of what is compiled in, if packaging/licences.sh has collected them.
[ ! -f packaging/out/licences.txt ] || cp packaging/out/licences.txt "$out/$name/"
# The same bytes from the same commit: the times are those of it.
date=$(git log -1 --format=%cI 2> /dev/null || echo 2000-01-01)
find "$out/$name" -exec touch -d "$date" {} +
(cd "$out" && TZ=UTC zip -q -X -r "$name.zip" "$name")
ls -l "$out/$name.zip" "$out/$name/salver.exe"
