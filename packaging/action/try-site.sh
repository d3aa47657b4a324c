#!/usr/bin/env bash
# What the action does with a site: PROGRAM is the salver, the variables SITE_* are the inputs of action.yml.
set -euo pipefail
wrong() { echo "::error::salver: $*"; failed=1; }
failed=0
work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2> /dev/null || true
	[ -z "$server" ] || wait "$server" || true
	rm -rf "$work"
}
trap finish EXIT

if [ -n "$SITE_PATH" ] && [ -n "$SITE_CONFIG" ]; then
	wrong "path and config are both given: leave out path, the configuration says root"
	exit 1
fi
serve=()
if [ -n "$SITE_CONFIG" ]; then serve+=(-c "$SITE_CONFIG"); else serve+=("${SITE_PATH:-.}"); fi
if [ -n "$SITE_FLAGS" ]; then
	# As a shell reads words, without running anything: xargs knows quotes.
	mapfile -d '' -t flags < <(printf '%s' "$SITE_FLAGS" | xargs -r printf '%s\0')
	serve+=("${flags[@]}")
fi

if [ -n "$SITE_IMPORT" ]; then
	"$PROGRAM" import "$SITE_IMPORT" -o "$work/salver.toml" 2> "$work/said" || { cat "$work/said"; wrong "$SITE_IMPORT cannot be imported"; exit 1; }
	cat "$work/said"
	if grep -q '^# Not taken' "$work/salver.toml"; then wrong "$SITE_IMPORT has what is not taken: see above"; fi
fi

"$PROGRAM" check "${serve[@]}" || { wrong "the configuration is not right: see above"; exit 1; }

"$PROGRAM" serve "${serve[@]}" --host 127.0.0.1 --port 0 --admin-socket "$work/admin" 2> "$work/log" &
server=$!
for _ in $(seq 300); do
	"$PROGRAM" health --admin-socket "$work/admin" > "$work/health" 2>&1 && break
	kill -0 "$server" 2> /dev/null || { cat "$work/log"; wrong "the server has ended"; exit 1; }
	# Waits without another process.
	read -r -t 0.1 <> <(:) || true
done
cat "$work/health" "$work/log"
url=$(grep -Eom1 'https?://127\.0\.0\.1:[0-9]+' "$work/log") || { wrong "it does not say where it serves"; exit 1; }

ask() { curl -sS -k -o "$work/body" -w '%{http_code}' "$url$1"; }
asked=0
while read -r page; do
	[ -n "$page" ] || continue
	status=$(ask "$page") || status=none
	asked=$((asked + 1))
	[ "$status" = 200 ] || wrong "$page is answered by $status, not 200"
done <<< "$SITE_PAGES"
[ "$asked" -gt 0 ] || wrong "no page was named: pages is empty"
if [ -n "$SITE_MISSING" ]; then
	status=$(ask "$SITE_MISSING") || status=none
	[ "$status" = 404 ] || wrong "$SITE_MISSING is answered by $status, not 404"
fi
[ "$failed" = 0 ] && echo "salver: $asked pages are served as they should be"
exit "$failed"
