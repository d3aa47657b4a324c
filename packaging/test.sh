#!/usr/bin/env bash
# Installs every package with its own tool in an empty system, serves a site, upgrades it under load, and removes it again.
#   packaging/test.sh BINARY [deb] [rpm] [oci]
# As root, with a program that is static or not; without a name, all packages. What it does is printed as a transcript. The
# empty Debian is made by mmdebstrap once, and kept as target/packaging/root.tar. It needs mmdebstrap, and what the packages
# are made with: make packages-deps.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || fail "give the program: packaging/test.sh target/dist/out/salver"
[ "$(id -u)" = 0 ] || fail "only root can make an empty system and install there"
need mmdebstrap mmdebstrap
need curl curl
need jq jq
read_program "$1"
shift
[ $# -gt 0 ] || set -- deb rpm oci
kept=${CARGO_TARGET_DIR:-$source_folder/target}/packaging
mkdir -p "$kept"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The newest release of Debian that this machine's own sources have, with the tools that packages are tried with.
if [ ! -f "$kept/root.tar" ]; then
    . /etc/os-release
    [ "${ID:-}" = debian ] || fail "an empty Debian is made of the package sources of this machine, which is none"
    mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.sources' -o -name '*.list' -size +0)
    mmdebstrap --quiet --variant=minbase --include=rpm,logrotate "$VERSION_CODENAME" "$kept/next.tar" "${sources[@]}"
    mv "$kept/next.tar" "$kept/root.tar"
fi

for kind in "$@"; do
    [ -f "$packaging/tests/$kind.sh" ] || fail "there is no package $kind: deb, rpm and oci are"
    printf '\n=== %s\n' "$kind"
    # Nothing that it mounts, starts or listens at is seen by anybody else, and all of it ends with it.
    began=$SECONDS
    unshare --mount --pid --net --fork --kill-child --mount-proc \
        "$packaging/tests/$kind.sh" "$program" "$work/$kind" "$kept/root.tar" || fail "$kind FAILED"
    echo "$kind: as it should be, in $((SECONDS - began)) s"
    rm -rf "${work:?}/$kind"
done
