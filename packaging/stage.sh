#!/usr/bin/env bash
# Lays out what every package of a distribution installs: the program, its unit, its configuration and what is read.
#   packaging/stage.sh BINARY FOLDER
# The program must run here: its manual pages and completions are what it prints.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || fail "give the program and a folder: packaging/stage.sh target/dist/out/salver FOLDER"
read_program "$1"
mkdir -p "$2"
root=$(realpath "$2")
files=$packaging/files

install -D -m 755 "$program" "$root/usr/bin/salver"
install -D -m 644 "$files/salver.toml" "$root/etc/salver/salver.toml"
install -D -m 644 "$files/salver.logrotate" "$root/etc/logrotate.d/salver"
install -D -m 644 "$files/index.html" "$root/usr/share/salver/site/index.html"
install -d -m 750 "$root/var/log/salver"

# The units, for the program where packages have it, without what tells how to install them by hand.
units=$root/usr/lib/systemd/system
mkdir -p "$units"
for unit in salver.service salver.socket; do
    sed -e '1,/^$/d' -e 's:/usr/local/bin/salver:/usr/bin/salver:' "$source_folder/contrib/systemd/$unit" > "$units/$unit"
    grep -q '^\[Unit\]' "$units/$unit" || fail "contrib/systemd/$unit begins otherwise than this script thinks"
done

# A page for the program, and one for each command.
pages=$root/usr/share/man/man1
mkdir -p "$pages"
page() { "$program" man "$@" > "$pages/$(IFS=-; echo "salver${*:+-$*}").1"; }
commands() { "$program" ${1+"$1"} --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -vx help; }
page
for command in $(commands); do
    page "$command"
done
for command in $(commands bench); do
    page bench "$command"
done
gzip -9 -n "$pages"/*.1

completions() { mkdir -p "$root/${2%/*}"; "$program" completions "$1" > "$root/$2"; }
completions bash usr/share/bash-completion/completions/salver
completions zsh usr/share/zsh/site-functions/_salver
completions fish usr/share/fish/vendor_completions.d/salver.fish

# What it may be used by: ours, and the licences of what is compiled in, which packaging/licences.sh collects.
documents=$root/usr/share/doc/salver
install -D -m 644 "$source_folder/LICENSE-MIT" "$documents/LICENSE-MIT"
install -D -m 644 "$source_folder/LICENSE-APACHE" "$documents/LICENSE-APACHE"
for licences in "$packaging"/out/licences.*; do
    [ ! -f "$licences" ] || install -m 644 "$licences" "$documents/${licences##*/}"
done
set_times "$root"
