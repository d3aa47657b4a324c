#!/usr/bin/env bash
# Mirrors a directory through `salver serve` with wget and compares every file by its hash.
#   scripts/mirror.sh PROGRAM DIRECTORY [LEAST]
# First `wget -r` follows the links from every index.html in the top two levels; then what no link
# leads to is asked for by name. Fails if a file differs, is missing, or there are fewer than LEAST.
set -euo pipefail
program=$(realpath "$1") root=$(realpath "$2") least=${3:-1}
. "${BASH_SOURCE[0]%/*}/server.sh"
start_server "$program" "$root"

# Names, one a line, as they go into a URL: encoded where they must be (RFC 3986 section 3.3).
encode() { sed 's/%/%25/g; s/ /%20/g; s/#/%23/g; s/?/%3F/g; s/\[/%5B/g; s/\]/%5D/g' | sed "s|^|$url/|"; }

mkdir "$work/linked" "$work/named"
(cd "$root" && find . -maxdepth 2 -name index.html -printf '%P\n') | encode > "$work/starts"
if [ -s "$work/starts" ]; then
	# 8: a link that leads nowhere, which documentation may have; what is missing shows below.
	(cd "$work/linked" && wget -q -r -l inf -np -nH --restrict-file-names=nocontrol \
		-i "$work/starts") || [ $? = 8 ]
fi
linked=$(find "$work/linked" -type f | wc -l)
(cd "$work/linked" && find . -type f -not -name '*[?]*' -printf '%P\n' | sort) > "$work/have"
(cd "$root" && find . -type f -not -path '*/.*' -printf '%P\n' | sort) > "$work/all"
comm -23 "$work/all" "$work/have" | encode > "$work/rest"
if [ -s "$work/rest" ]; then
	(cd "$work/named" && wget -q -x -nH --restrict-file-names=nocontrol -i "$work/rest")
fi
cp -rT "$work/named" "$work/linked"

(cd "$root" && xargs -d '\n' -r sha256sum < "$work/all" | sort) > "$work/wanted"
(cd "$work/linked" && xargs -d '\n' -r sha256sum < "$work/all" | sort) > "$work/got" || true
files=$(wc -l < "$work/wanted")
if ! diff "$work/wanted" "$work/got" > "$work/difference"; then
	head -n 20 "$work/difference" >&2
	echo "mirror: $(grep -c '^<' "$work/difference") of $files files differ" >&2
	exit 1
fi
if [ "$files" -lt "$least" ]; then
	echo "mirror: only $files files, expected at least $least" >&2
	exit 1
fi
echo "mirror: $files files are the same by SHA-256, $linked of them found by following links"
