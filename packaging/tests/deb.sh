#!/usr/bin/env bash
# The Debian package in an empty Debian: installed by apt, upgraded under load, removed, purged.
#   packaging/tests/deb.sh BINARY FOLDER ROOT.TAR     as packaging/test.sh calls it
set -euo pipefail
. "$(dirname "$0")/common.sh"

first=$("$packaging/deb/build.sh" "$program" "$work/one")
again=$(umask 077; "$packaging/deb/build.sh" "$program" "$work/two")
next=$(REVISION=2 "$packaging/deb/build.sh" "$program" "$work/one")
check "the package is the same bytes again, whoever's umask it is" cmp "$first" "$again"
if command -v lintian > /dev/null; then
    # The project has no address; a program for tests has its symbols.
    tags=bogus-mail-host,bogus-mail-host-in-debian-changelog,unstripped-binary-or-object
    lintian --fail-on error --suppress-tags "$tags" "$first" > "$work/lintian" 2>&1 || { cat "$work/lintian" >&2; fail "lintian finds errors"; }
fi

make_root
list > "$work/before"
cp "$first" "$next" "$root/tmp/"
name() { echo "/tmp/${1##*/}"; }
in_root apt-get install -y -qq "$(name "$first")" > "$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "apt does not install it"; }
in_root salver --version
judge_units
upgrade() { in_root dpkg --install "$(name "$next")"; }
serve_and_upgrade
check "dpkg finds its files as they were" [ "$(quietly_in_root dpkg --verify salver | grep -v ' c ' || true)" = "" ]

# As an administrator has it who wants no capability.
need systemctl systemd
systemctl --root="$root" --quiet enable salver.socket
in_root apt-get remove -y -qq salver > /dev/null
check "no process of it is left" none_runs
check "the configuration stays until it is purged" [ -f "$root/etc/salver/salver.toml" ]
check "systemd does not listen for what is gone" [ "$(readlink "$root/etc/systemd/system/salver.socket")" = /dev/null ]
in_root apt-get purge -y -qq salver > /dev/null
rm -r "$root/srv/site"
list > "$work/after"
check "nothing is left of it" diff "$work/before" "$work/after"

# Somebody may be called so.
quietly_in_root useradd --create-home --shell /bin/bash salver
in_root apt-get install -y -qq "$(name "$first")" > "$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "apt does not install it"; }
in_root apt-get purge -y -qq salver > /dev/null
check "an account that the package did not make stays" quietly_in_root getent passwd salver
