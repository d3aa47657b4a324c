#!/usr/bin/env bash
# Shows that the program is the same bytes wherever it is built: the last commit, in two new folders of other names.
#   packaging/reproducible.sh [FOLDER]
# FOLDER (a temporary one) is where; it needs 2 GB there, and twice the time of a build. Exit code 1: they differ.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    work=$(realpath "$1")
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
commit=$(git rev-parse HEAD)
folders=("$work/one" "$work/another/folder")
for folder in "${folders[@]}"; do
    if [ ! -d "$folder" ]; then
        mkdir -p "${folder%/*}"
        git clone --quiet --no-hardlinks "$PWD" "$folder"
    fi
    git -C "$folder" checkout --quiet --detach "$commit"
    # Whatever this was called with, each build has a folder of its own.
    env -u CARGO_TARGET_DIR "$folder/packaging/binary.sh" > /dev/null
done

failed=0
for file in salver salver.debug; do
    paths=("${folders[@]/%//target/dist/out/$file}")
    sha256sum "${paths[@]}"
    cmp "${paths[@]}" || failed=1
    # No folder of this machine is told.
    for name in "$work" "${CARGO_HOME:-$HOME/.cargo}" "$(rustc --print sysroot)"; do
        if grep -aq "$name" "${paths[0]}"; then
            echo "reproducible: $file names $name" >&2
            failed=1
        fi
    done
done
[ "$failed" = 0 ] && echo "reproducible: two builds of $commit are the same bytes"
exit "$failed"
