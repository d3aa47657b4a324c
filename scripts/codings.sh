#!/usr/bin/env bash
# Fetches every file of a directory in each coding and compares it with the file or its sibling.
#   scripts/codings.sh PROGRAM DIRECTORY
set -euo pipefail
program=$(realpath "$1") root=$(realpath "$2")
# What has no sibling is sent as it is.
export SALVER_NO_COMPRESS=true
. "${BASH_SOURCE[0]%/*}/server.sh"
start_server "$program" "$root"

answers=0
while read -r name; do
	file=$root/$name
	for coding in identity br gzip zstd; do
		case $coding in
		identity) sibling=$file ;;
		br) sibling=$file.br ;;
		gzip) sibling=$file.gz ;;
		zstd) sibling=$file.zst ;;
		esac
		expected=$coding
		if [ ! -e "$sibling" ]; then sibling=$file expected=identity; fi
		# A sibling is used once it has been decoded, which a loader does beside the first answers.
		for _ in $(seq 200); do
			curl -sS -f -D "$work/head" -o "$work/content" -H "Accept-Encoding: $coding" "$url/$name"
			sent=$(sed -n 's/^content-encoding: \([a-z]*\).*/\1/Ip' "$work/head")
			[ "${sent:-identity}" != "$expected" ] || break
			read -r -t 0.05 <> <(:) || true
		done
		if [ "${sent:-identity}" != "$expected" ]; then
			echo "codings: $name was sent as ${sent:-identity}, not $expected" >&2
			exit 1
		fi
		if ! cmp -s "$work/content" "$sibling"; then
			echo "codings: $name in $coding is not $sibling" >&2
			exit 1
		fi
		answers=$((answers + 1))
	done
done < <(cd "$root" && find . -type f -not -path '*/.*' -not -name '*.br' -not -name '*.gz' \
	-not -name '*.zst' -printf '%P\n')
echo "codings: $answers answers are the same byte for byte"
