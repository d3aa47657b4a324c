#!/bin/bash
# What is written from the table of settings, judged by programs of other make: the manual page by mandoc, completions
# by the shells that they are for, the schema by Python's jsonschema.
#   scripts/settings.sh PROGRAM
# It needs mandoc, zsh, fish, and python3 (3.11 or newer) with jsonschema.
set -eu -o pipefail
program=$(realpath "${1:?give the program: target/release/salver, say}")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for command in "" serve check bench "bench load" completions man; do
  # shellcheck disable=SC2086 -- words of a command
  "$program" man $command >"$scratch/page.1"
  # It knows neither the date of a page nor the operating system.
  mandoc -T lint -W warning "$scratch/page.1" >"$scratch/said" || true
  if grep -v -e 'missing date' -e 'cannot parse date' "$scratch/said"; then
    echo "scripts/settings.sh: the page of \`salver $command\` is not well formed" >&2
    exit 1
  fi
  test "$(mandoc -T ascii "$scratch/page.1" | wc -l)" -gt 10
done

for shell in bash zsh fish; do
  "$program" completions "$shell" >"$scratch/completions"
  "$shell" -n "$scratch/completions"
done
# bash offers what begins so.
offered=$(bash -c '
  source "$1"
  COMP_WORDS=(salver serve --send-t) COMP_CWORD=2
  _salver salver --send-t serve
  echo "${COMPREPLY[*]}"' _ <("$program" completions bash))
test "$offered" = --send-timeout

python3 - crates/salver-config/tests/samples docs/salver.schema.json <<'EOF'
import json, pathlib, re, sys, tomllib
from jsonschema import Draft202012Validator

samples, schema = map(pathlib.Path, sys.argv[1:])
schema = json.loads(schema.read_text())
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
count = 0
for path in sorted(samples.glob("*/*.toml")):
    text = path.read_text()
    errors = [error.message for error in validator.iter_errors(tomllib.loads(text))]
    is_right = path.parent.name == "right" or "# The schema does not tell." in text
    if is_right != (not errors):
        sys.exit(f"{path}: {errors or 'the schema finds nothing wrong'}")
    count += 1
for path in sorted(pathlib.Path("docs").glob("*.md")):
    for text in re.findall(r"^```toml\n(.*?)^```", path.read_text(), re.M | re.S):
        example = tomllib.loads(text)
        # The documentation has manifests, too.
        if not example.keys() & {"dependencies", "profile"} and (errors := list(validator.iter_errors(example))):
            sys.exit(f"{path}: {errors[0].message} in\n{text}")
        count += 1
for rule in [{"pahts": "/"}, {"redirect": {"to": "/"}}, {"cors": {"origin": "*"}}, {"status": "301"}]:
    if validator.is_valid({"rule": [rule]}):
        sys.exit(f"the schema finds nothing wrong in the rule {rule}")
    count += 1
print(f"{count} samples, each as it should be")
EOF
