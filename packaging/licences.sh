#!/usr/bin/env bash
# Collects the licences of all that is compiled into the program in one text, packaging/out/licences.txt, by cargo-about;
# packages carry it. What crates bring along without its notice is in packaging/notices. Each crate of the dependency tree has to be named in it.
#   packaging/licences.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
command -v cargo-about > /dev/null || { echo "licences: cargo-about is not there: cargo install --locked cargo-about --features cli" >&2; exit 2; }
mkdir -p packaging/out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cargo" about generate --fail --offline --locked --config packaging/about.toml --manifest-path crates/salver/Cargo.toml \
	--output-file "$work/licences.txt" packaging/licences.hbs
# Sources of others within a crate, whose notice the crate does not have.
cat packaging/notices/*.txt >> "$work/licences.txt"

# What the program is made of, by cargo itself; proc macros and build scripts are no part of it, but may be named.
missing=0
while read -r name version; do
	grep -qF "  $name ${version#v}" "$work/licences.txt" || { echo "licences: $name $version has none" >&2; missing=1; }
done < <(for target in x86_64-unknown-linux-gnu x86_64-pc-windows-gnu; do
	"$cargo" tree --locked -p salver -e normal,no-proc-macro --target "$target" --prefix none
done | awk '{ print $1, $2 }' | grep -v '^salver' | sort -u)
[ "$missing" = 0 ] || exit 1
mv "$work/licences.txt" packaging/out/licences.txt
echo "packaging/out/licences.txt: $(grep -c '^=====' packaging/out/licences.txt) texts, $(grep -c '^  [a-z].* [0-9]' packaging/out/licences.txt) crates, $(stat -c %s packaging/out/licences.txt) bytes"
