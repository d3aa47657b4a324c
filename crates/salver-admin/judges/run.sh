#!/bin/bash
# A server that has answered requests is judged by others: promtool reads its metrics, the alert rules and their tests,
# the parser of prometheus-client its OpenMetrics, and every metric in rules and dashboard must be one that it has.
# As root, on Debian; installs promtool if it is missing. The last line on success is "N passed, 0 failed".
# run.sh PROGRAM
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
root=$(cd "$here/../../.." && pwd)
if ! command -v promtool >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null
fi
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install -q --disable-pip-version-check prometheus-client==0.23.1
mkdir "$folder/site"
echo page >"$folder/site/index.html"
"$program" serve "$folder/site" --port 0 --metrics 0 --tls-self-signed --log "$folder/access.log" 2>"$folder/said" &
server=$!
for _ in $(seq 200); do
    grep -q '^  admin ' "$folder/said" && break
    sleep 0.05
done
url=$(sed -n 's|^  open  *\(https://[^ ,]*\).*|\1|p' "$folder/said" | head -1)
admin=$(sed -n 's|^  admin  *\(http://[^ ,]*\)/.*|\1|p' "$folder/said")
for flag in --http1.1 --http2; do
    curl -sk --noproxy '*' -o /dev/null "$flag" "$url" "$url" "${url}nothing"
    curl -sk --noproxy '*' -o /dev/null "$flag" -X BREW "$url"
done
curl -sS --noproxy '*' "$admin/metrics" >"$folder/metrics.txt"
curl -sS --noproxy '*' -H 'Accept: application/openmetrics-text' "$admin/metrics" >"$folder/openmetrics.txt"
passed=0
check() {
    "$@" || { echo "failed: $*" >&2; exit 1; }
    passed=$((passed + 1))
}
read_metrics() { promtool check metrics <"$folder/metrics.txt"; }
check read_metrics
check promtool check rules "$root/contrib/prometheus/alerts.yml"
check promtool test rules "$root/contrib/prometheus/alerts_test.yml"
check "$folder/python/bin/python" "$here/judge.py" "$folder/openmetrics.txt" "$folder/metrics.txt" \
    "$root/contrib/prometheus/alerts.yml" "$root/contrib/grafana/salver.json"
echo "$passed passed, 0 failed"
