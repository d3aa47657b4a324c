#!/usr/bin/env bash
# Serves target/site by Salver, as its own conventions say, and looks at it: every link and anchor by linkchecker, every
# page in Chromium, and what `_headers`, `_redirects`, `404.html` and names with a fingerprint do.
#   scripts/site/check.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/server.sh
start_server "$1" target/site --listing

failed=0
expect() { # NAME PATH PATTERN: the head of the answer to PATH has a line like PATTERN
	curl -sS -o "$work/body" -D "$work/head" "$url$2"
	grep -Eiq "$3" "$work/head" || { echo "site: $1: no '$3' in the answer to $2:" >&2; cat "$work/head" >&2; failed=1; }
}
expect 'a page' / '^HTTP/1.1 200'
expect 'the policy of _headers' / "^content-security-policy: default-src 'self'"
expect 'pages are asked for again' / '^cache-control: no-cache'
# One with a letter: eight digits alone could be a date.
fingerprinted=$(ls target/site | grep -Em 1 -- '-[0-9a-f]*[a-f][0-9a-f]*[.](js|css)$')
expect 'names with a fingerprint are kept' "/$fingerprinted" '^cache-control: .*immutable'
expect 'a short path of _redirects' /from/nginx '^location: /docs/from-nginx.html'
expect 'rules are no files' /_headers '^HTTP/1.1 404'
expect 'the page of what is missing' /nowhere/at/all '^HTTP/1.1 404'
grep -q 'book-' "$work/body" || { echo "site: 404.html is not the content of what is missing" >&2; failed=1; }
expect 'a unit is text' /contrib/systemd/salver.service '^content-type: text/plain'
while read -r short full _; do
	expect "the short path $short" "$short" "^location: $full"
	expect "what $short leads to" "$full" '^HTTP/1.1 200'
done < <(grep '^/[^:]* ' docs/site/_redirects)
[ "$failed" = 0 ] || exit 1

cat > "$work/linkcheckerrc" <<-END
	[checking]
	maxrequestspersecond=1000
	[AnchorCheck]
	[output]
	warnings=1
	[filtering]
	# Redirects that a folder of files has by its nature.
	ignorewarnings=http-redirected
END
linkchecker --config "$work/linkcheckerrc" --no-status "$url/" > "$work/links" || { cat "$work/links" >&2; exit 1; }
tail -n 3 "$work/links"
links=$(grep -Eo '[0-9]+ links? in' "$work/links" | grep -Eo '[0-9]+')
[ "${links:-0}" -gt 250 ] || { echo "site: linkchecker has seen ${links:-no} links, too few" >&2; exit 1; }

SITE=$url CHROMIUM=${CHROMIUM:-$(command -v chromium)} node --test --test-reporter=spec scripts/site/pages.mjs
