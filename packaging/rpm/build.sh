#!/usr/bin/env bash
# Makes the RPM package of a program that is built.
#   packaging/rpm/build.sh BINARY FOLDER
# FOLDER gets salver-VERSION-REVISION.ARCHITECTURE.rpm. REVISION (1) counts packages of one version. The same program
# and commit give the same bytes.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
[ $# = 2 ] || fail "give the program and a folder: packaging/rpm/build.sh target/dist/out/salver target/packages"
need rpmbuild rpm
read_program "$1"
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$packaging/stage.sh" "$program" "$work/staged"
# Where RPM has licences.
licences=$work/staged/usr/share/licenses/salver
mkdir -p "${licences%/*}"
mv "$work/staged/usr/share/doc/salver" "$licences"
rmdir "$work/staged/usr/share/doc"

# Nothing is compiled, stripped or told of this machine here; %files and scripts are the spec's.
if ! rpmbuild -bb --quiet --target "$machine" \
    --define "_topdir $work/rpmbuild" \
    --define "staged $work/staged" \
    --define "salver_version ${version//-/\~}" \
    --define "revision ${REVISION:-1}" \
    --define "_buildhost salver" \
    --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" \
    --define "source_date_epoch_from_changelog 0" \
    --define "_binary_payload w$XZ_LEVEL.xzdio" \
    --define "_build_id_links none" \
    --define "__os_install_post %{nil}" \
    --define "debug_package %{nil}" \
    "$packaging/rpm/salver.spec" > "$work/said" 2>&1; then
    cat "$work/said" >&2
    fail "rpmbuild failed"
fi
package=$(find "$work/rpmbuild/RPMS" -name '*.rpm')
install -m 644 "$package" "$out/"
echo "$out/${package##*/}"
