#!/usr/bin/env bash
# Installs the command from the packages that would be published, without a network: `cargo install salver --locked
# --offline`, with all packed crates and all vendored dependencies in one folder and nothing else of cargo's (minutes).
#   packaging/install-test.sh
# KEEP=FOLDER keeps that folder, for another machine.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
built=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CARGO=$cargo scripts/package.sh --no-verify > "$work/packed" || { cat "$work/packed" >&2; exit 1; }
version=$(python3 -c 'import sys; sys.path.insert(0, "packaging"); import program; print(program.version())')

vendor=$work/vendor
"$cargo" vendor --locked --versioned-dirs --quiet "$vendor" > "$work/source"
for crate in "$built"/package/*-"$version".crate; do
	tar -xzf "$crate" -C "$vendor"
	name=$(basename "$crate" .crate)
	printf '{"files":{},"package":"%s"}\n' "$(sha256sum "$crate" | cut -d' ' -f1)" > "$vendor/$name/.cargo-checksum.json"
done

# `cargo install` reads the configuration of its home alone, wherever it is called.
mkdir -p "$work/home"
cat > "$work/home/config.toml" <<-END
	[source.crates-io]
	replace-with = "vendored"
	[source.vendored]
	directory = "$vendor"
END
began=$SECONDS
# Where rustup keeps what it has is not cargo's matter.
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
(cd "$work" && CARGO_HOME=$work/home CARGO_TARGET_DIR=$work/target \
	"$cargo" install salver --version "$version" --locked --offline --quiet --root "$work/installed")
echo "install-test: built in $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s," \
	"$(du -sm "$work/target" | cut -f1) MB of target, $(du -sm "$vendor" | cut -f1) MB of vendored sources"
packaging/installed.py "$version" "$work/installed/bin/salver"
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP"; mv "$vendor" "$KEEP/"; }
