#!/usr/bin/env bash
# Makes the Debian package of a program that is built.
#   packaging/deb/build.sh BINARY FOLDER
# FOLDER gets salver_VERSION-REVISION_ARCHITECTURE.deb. REVISION (1) counts packages of one version, MAINTAINER is the
# address of who hands it on: the project has none. The same program and commit give the same bytes.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
[ $# = 2 ] || fail "give the program and a folder: packaging/deb/build.sh target/dist/out/salver target/packages"
need dpkg-deb dpkg
read_program "$1"
mkdir -p "$2"
out=$(realpath "$2")
here=$packaging/deb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
esac
full_version=$version-${REVISION:-1}
maintainer=${MAINTAINER:-The Salver developers <nobody@salver.invalid>}
[[ $maintainer != *$'\n'* ]] || fail "MAINTAINER has more than one line"

"$packaging/stage.sh" "$program" "$root"
# Where Debian has it.
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_salver" "$root/usr/share/zsh/vendor-completions/_salver"
rmdir "$root/usr/share/zsh/site-functions"
documents=$root/usr/share/doc/salver
rm "$documents/LICENSE-MIT" "$documents/LICENSE-APACHE"
sed 's/^$/./; s/^/ /' "$source_folder/LICENSE-MIT" > "$work/mit"
sed -e "/@MIT@/r $work/mit" -e /@MIT@/d "$here/copyright" > "$documents/copyright"
printf 'salver (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of Salver for what has changed.\n\n -- %s  %s\n' \
    "$full_version" "$maintainer" "$(date -Ru -d "@$SOURCE_DATE_EPOCH")" | gzip -9 -n > "$documents/changelog.Debian.gz"
install -D -m 644 "$here/lintian-overrides" "$root/usr/share/lintian/overrides/salver"

control=$root/DEBIAN
mkdir -p "$control"
depends=passwd
if [ "$is_static" = no ]; then
    # Libraries that it is linked with, as their packages name themselves.
    need dpkg-shlibdeps dpkg-dev
    mkdir -p "$work/debian"
    printf 'Source: salver\n\nPackage: salver\nArchitecture: any\n' > "$work/debian/control"
    found=$(cd "$work" && dpkg-shlibdeps -O "$root/usr/bin/salver" 2> "$work/said") ||
        { cat "$work/said" >&2; fail "dpkg-shlibdeps does not know the packages of its libraries"; }
    depends+=", ${found#shlibs:Depends=}"
fi
sed -e "s/@VERSION@/$full_version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/$(quoted "$depends")/" \
    -e "s/@MAINTAINER@/$(quoted "$maintainer")/" \
    -e "s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f1)/" "$here/control" > "$control/control"
(cd "$root" && find etc -type f -printf '/%p\n' | sort) > "$control/conffiles"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$control/md5sums"
for script in postinst prerm postrm; do
    install -m 755 "$here/$script" "$control/$script"
done
set_times "$root"
dpkg-deb --root-owner-group -Zxz "-z$XZ_LEVEL" --build "$root" "$out/salver_${full_version}_$architecture.deb" > /dev/null
echo "$out/salver_${full_version}_$architecture.deb"
