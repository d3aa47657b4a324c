#!/usr/bin/env bash
# The RPM package in an empty system: installed by rpm, upgraded under load, removed.
#   packaging/tests/rpm.sh BINARY FOLDER ROOT.TAR     as packaging/test.sh calls it
# The system is a Debian with rpm, whose packages rpm does not know: so it is told not to look for what this one needs.
set -euo pipefail
. "$(dirname "$0")/common.sh"

first=$("$packaging/rpm/build.sh" "$program" "$work/one")
again=$(umask 077; "$packaging/rpm/build.sh" "$program" "$work/two")
next=$(REVISION=2 "$packaging/rpm/build.sh" "$program" "$work/one")
check "the package is the same bytes again, whoever's umask it is" cmp "$first" "$again"

make_root
# The folders that the package `filesystem` has where rpm is at home.
mkdir -p "$root"/usr/share/{bash-completion/completions,fish/vendor_completions.d,licenses,zsh/site-functions}
list > "$work/before"
cp "$first" "$next" "$root/tmp/"
name() { echo "/tmp/${1##*/}"; }
rpm_in_root() { in_root rpm --nodeps --force-debian "$@"; }
in_root rpm --initdb
rpm_in_root --install "$(name "$first")"
in_root salver --version
judge_units
upgrade() { rpm_in_root --upgrade "$(name "$next")"; }
serve_and_upgrade
check "rpm finds its files as they were" [ "$(quietly_in_root rpm --verify --nodeps salver | grep -v ' [cg] ' || true)" = "" ]

# Where systemd runs, what it is told; the one that tells is no part of this system.
printf '#!/bin/sh\necho "$@" >> /tmp/systemctl\n' > "$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
mkdir -p "$root/run/systemd/system"
rpm_in_root --erase salver
check "systemd is told to end the service and its socket" grep -q 'disable --now salver.socket salver.service' "$root/tmp/systemctl"
rm -r "$root/usr/bin/systemctl" "$root/tmp/systemctl" "$root/run/systemd"
check "no process of it is left" none_runs
rm -r "$root/srv/site"
list > "$work/after"
# As other packages of services do: accounts, logs that were turned away, and a configuration that was changed.
diff "$work/before" "$work/after" | grep '^[<>]' | grep -v -e '^> salver:' -e '^> ./var/log/salver' > "$work/left" || true
check "nothing is left but the account, old logs and the configuration that was changed" \
    diff "$work/left" <(printf '> ./etc/salver\n> ./etc/salver/salver.toml.rpmsave\n')
