#!/usr/bin/env bash
# Runs h2spec (RFC 9113, RFC 7541) against `salver serve`, in the clear and over TLS.
#   scripts/h2spec.sh PROGRAM
# Builds h2spec by Go into target/h2spec, at the version of scripts/h2spec/go.mod. Fails if any test does.
set -euo pipefail
program=$(realpath "$1")
cd "${BASH_SOURCE[0]%/*}"
. ./server.sh
target=$(realpath ..)/target
h2spec=$target/h2spec/h2spec
(cd h2spec && go build -trimpath -buildvcs=false -o "$h2spec" github.com/summerwind/h2spec/cmd/h2spec)

# Longer than the windows that the tests leave open, so that frames are held back.
mkdir "$work/site"
head -c 300000 /dev/urandom > "$work/site/file"

check() { # NAME FLAGS... -- FLAGS OF THE SERVER...
	local name=$1 flags=()
	shift
	while [ "$1" != -- ]; do flags+=("$1"); shift; done
	shift
	start_server "$program" "$work/site" "$@"
	if ! "$h2spec" "${flags[@]}" --strict -h localhost -p "${url##*:}" -P /file > "$work/report"; then
		sed -n '/^Failures:/,$p' "$work/report" >&2
		echo "h2spec: $name: $(grep ' failed$' "$work/report" || tail -n 1 "$work/report")" >&2
		exit 1
	fi
	echo "h2spec: $name: $(tail -n 1 "$work/report")"
	stop_server
}
# A port that speaks HTTP/1.1 too answers to what is no preface in HTTP/1.1, which h2spec does not
# expect.
check 'in the clear' -- --no-http1
check 'over TLS' -t -k -- --tls-self-signed
