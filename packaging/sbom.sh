#!/usr/bin/env bash
# Writes what the program is made of as CycloneDX, packaging/out/salver.cdx.json, by cargo-cyclonedx, and judges it: by the
# schema of CycloneDX, and by cargo's own tree, of which no crate may be missing.
#   packaging/sbom.sh [TARGET]
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${1:-x86_64-unknown-linux-gnu}
command -v cargo-cyclonedx > /dev/null || { echo "sbom: cargo-cyclonedx is not there: cargo install --locked cargo-cyclonedx" >&2; exit 2; }
mkdir -p packaging/out
work=$(mktemp -d)
# It writes beside each manifest of the workspace.
name=salver-sbom-$$
trap 'rm -rf "$work"; find crates docs examples -name "$name.json" -delete' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
export SOURCE_DATE_EPOCH
"$cargo" cyclonedx --quiet --manifest-path crates/salver/Cargo.toml --format json --spec-version 1.5 --target "$target" \
	--no-build-deps --override-filename "$name"
mv "crates/salver/$name.json" "$work/salver.cdx.json"

python3 -m venv "$work/judge"
"$work/judge/bin/pip" install --quiet --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.12.0'
"$cargo" tree --locked -p salver -e normal --target "$target" --prefix none | awk '{ print $1, $2 }' | sort -u > "$work/tree"
"$work/judge/bin/python" - "$work/salver.cdx.json" "$work/tree" <<'END'
import json
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = open(sys.argv[1]).read()
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
if fault:
    sys.exit(f"sbom: not as the schema has it: {fault}")
document = json.loads(text)
named = {(one["name"], one["version"]) for one in document["components"]}
own = document["metadata"]["component"]
named.add((own["name"], own["version"]))
tree = {(name, version.removeprefix("v")) for name, version in (line.split() for line in open(sys.argv[2]))}
if missing := sorted(tree - named):
    sys.exit(f"sbom: in the tree, not in the document: {missing}")
for one in document["components"]:
    if not one.get("licenses"):
        sys.exit(f"sbom: {one['name']} has no licence")
print(f"packaging/out/salver.cdx.json: {len(document['components'])} components")
END
# Neither a folder of this machine nor a number that is another each time is of use to who reads it.
python3 - "$work/salver.cdx.json" packaging/out/salver.cdx.json "$PWD" <<'END'
import sys
text = open(sys.argv[1]).read()
open(sys.argv[2], "w").write(text.replace(f"file://{sys.argv[3]}", "file:///salver"))
END
