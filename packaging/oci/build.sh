#!/usr/bin/env bash
# Makes the container image of a program that is built, without a daemon and without the network.
#   packaging/oci/build.sh BINARY FOLDER [ROOT]
# FOLDER gets salver-VERSION-ARCHITECTURE.oci.tar, an image of OCI, and salver-VERSION-ARCHITECTURE.docker.tar, the same
# for `docker load`, which has the health check that OCI knows no place for. ROOT has further files of the image: site/ in
# it, say. The same program and commit give the same bytes of the image of OCI; Docker's has the number of a container.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
[ $# = 2 ] || [ $# = 3 ] || fail "give the program and a folder: packaging/oci/build.sh target/dist/out/salver target/packages"
need buildah buildah
read_program "$1"
mkdir -p "$2"
out=$(realpath "$2")
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/context/root

install -D -m 755 "$program" "$root/usr/bin/salver"
mkdir -p "$root/site"
for licence in "$source_folder"/LICENSE-* "$packaging"/out/licences.*; do
    [ ! -f "$licence" ] || install -D -m 644 "$licence" "$root/usr/share/doc/salver/${licence##*/}"
done
[ $# = 2 ] || cp -rT --preserve=mode "$3" "$root"
[ "$is_static" = yes ] || [ -e "$root/lib64" ] || \
    fail "$program needs libraries that the image does not have: make dist builds one that needs none"
set_times "$work/context"

buildah() {
    command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@" > "$work/said" 2>&1 || {
        cat "$work/said" >&2
        fail "buildah $1 failed"
    }
}
image=localhost/salver:$version
for format in oci docker; do
    # OCI has no place for a health check: Kubernetes has probes of its own.
    sed "$([ "$format" = docker ] || echo /^HEALTHCHECK/d)" "$packaging/oci/Containerfile" > "$work/Containerfile"
    buildah build --format "$format" --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" --arch "$architecture" --layers=false \
        --identity-label=false --file "$work/Containerfile" --tag "$image" "$work/context"
    file=$out/salver-$version-$architecture.$format.tar
    rm -f "$file"
    if [ "$format" = oci ]; then
        # Its own archive would have the time of this moment.
        buildah push "$image" "oci:$work/layout:$version"
        tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go-w \
            -cf "$file" -C "$work/layout" .
    else
        buildah push "$image" "docker-archive:$file:$image"
    fi
    echo "$file"
done
