#!/usr/bin/env bash
# Judges action.yml by the schema of its host, and runs its steps over good and bad sites.
#   packaging/action/test.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/judges"
"$work/judges/bin/pip" install --quiet --disable-pip-version-check check-jsonschema==0.39.0 ruamel.yaml==0.19.1
"$work/judges/bin/check-jsonschema" --builtin-schema vendor.github-actions packaging/action/action.yml
"$work/judges/bin/python" packaging/action/test.py "$1"
