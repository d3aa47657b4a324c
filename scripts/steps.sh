#!/usr/bin/env bash
# Makes targets one after the other until one fails, and says what each of them took, and what tests could not judge.
#   scripts/steps.sh MAKE TARGET...
# The table is also added to the file STEPS_LOG, if that is set.
set -uo pipefail
make=$1
shift
table= status=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for target in "$@"; do
	printf '\n=== %s\n' "$target"
	began=$(date +%s.%N)
	$make --no-print-directory "$target" 2>&1 | tee "$said"
	status=${PIPESTATUS[0]}
	took=$(awk -v from="$began" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", (to - from) / 60 }')
	[ "$status" = 0 ] && verdict= || verdict=' FAILED'
	table+=$(printf '%6s min  %s%s' "$took" "$target" "$verdict")$'\n'
	table+=$(grep -oE '(BUSY MACHINE|SKIPPED), so not .*' "$said" | sed 's/^/            /')
	table=${table%$'\n'}$'\n'
	[ "$status" = 0 ] || break
done
printf '\n%s' "$table"
[ -z "${STEPS_LOG:-}" ] || printf '%s' "$table" >> "$STEPS_LOG"
exit "$status"
