#!/usr/bin/env bash
# Makes the package of every crate that is published, and looks at what is in them.
#   scripts/package.sh [--no-verify]
# Without --no-verify each is also built from its package alone. A warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
MOST_KIB=320 # of one package, compressed

mapfile -t crates < <("$cargo" metadata --locked --no-deps --format-version 1 | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] != []:
        print(package["name"], package["version"])')
options=()
for crate in "${crates[@]}"; do
    options+=(-p "${crate% *}")
done

said=$(mktemp)
trap 'rm -f "$said"' EXIT
# What is not committed yet is packaged, too.
if ! "$cargo" package --locked --allow-dirty "$@" "${options[@]}" 2> "$said"; then
    cat "$said" >&2
    exit 1
fi
if grep -A5 '^warning' "$said" >&2; then
    echo "package: there are warnings" >&2
    exit 1
fi

failed=0
wrong() { echo "package: $*" >&2; failed=1; }
for crate in "${crates[@]}"; do
    name=${crate/ /-}
    file=${CARGO_TARGET_DIR:-target}/package/$name.crate
    files=$(tar -tzf "$file")
    for needed in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE Cargo.toml; do
        grep -qx "$name/$needed" <<< "$files" || wrong "$name has no $needed"
    done
    tar -xzOf "$file" "$name/LICENSE-MIT" | cmp -s - LICENSE-MIT || wrong "$name/LICENSE-MIT is not the licence"
    manifest=$(tar -xzOf "$file" "$name/Cargo.toml")
    for key in description keywords categories documentation license rust-version readme; do
        grep -q "^$key = " <<< "$manifest" || wrong "$name says no $key"
    done
    grep -E '/(node_modules|ui-tests|target|dist)/' <<< "$files" >&2 && wrong "$name has what no one builds it from"
    tar -xzOf "$file" "$name/Cargo.toml" | grep -E 'salver-(conformance|test|system-tests)|^path = "\.\.' >&2 && \
        wrong "$name names what is in this repository only"
    kib=$(($(stat -c %s "$file") / 1024))
    [ "$kib" -le "$MOST_KIB" ] || wrong "$name has $kib KiB: exclude what is not needed"
    echo "$name: $(wc -l <<< "$files") files, $kib KiB"
done
exit "$failed"
