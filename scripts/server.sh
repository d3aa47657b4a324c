# Sourced by the scripts beside it: a server for the time of a script.
#   start_server PROGRAM DIRECTORY [FLAGS...]: sets $url; what it says goes to $work/log.
#   stop_server: ends it, for another one.
# $work is a directory for the script's own files; both are gone when the script ends.

work=$(mktemp -d)
server=
stop_server() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	[ -z "$server" ] || wait "$server" || true
	server=
}
finish() {
	stop_server
	rm -rf "$work"
}
trap finish EXIT

start_server() {
	"$1" serve "$2" --port 0 "${@:3}" 2>"$work/log" &
	server=$!
	url=
	for _ in $(seq 200); do
		url=$(grep -Eo 'https?://[0-9.]*:[0-9]*' "$work/log" | head -n 1 || true)
		[ -n "$url" ] && return
		# Waits without another process.
		read -r -t 0.05 <> <(:) || true
	done
	cat "$work/log" >&2
	echo "${0##*/}: the server did not start" >&2
	exit 1
}
