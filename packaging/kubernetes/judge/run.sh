#!/usr/bin/env bash
# Judges the chart and the manifests: by Helm's own library, by the types of the Kubernetes API, by rules, and by starting
# what the pods would start, in namespaces of their own.
#   packaging/kubernetes/judge/run.sh PROGRAM
# SALVER_REWRITE=1 writes the manifests anew, first.
set -euo pipefail
[ $# = 1 ] || { echo "give the program: packaging/kubernetes/judge/run.sh target/debug/salver" >&2; exit 2; }
SALVER_PROGRAM=$(realpath "$1")
export SALVER_PROGRAM
[ -x "$SALVER_PROGRAM" ] || { echo "$1 is no program" >&2; exit 2; }
cd "$(dirname "$0")"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change $unformatted" >&2; exit 1; }
go vet ./...
# Compiled first: what starts the program begins itself again.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/judge" .
"$work/judge" -test.v -test.count=1
