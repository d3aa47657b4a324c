#!/usr/bin/env bash
# The image, by podman and crun: read-only, as nobody, asked from outside, looked at by its health check, ended by SIGTERM.
#   packaging/tests/oci.sh BINARY FOLDER ROOT.TAR     as packaging/test.sh calls it
set -euo pipefail
. "$(dirname "$0")/common.sh"
for tool in podman crun skopeo umoci; do
    need "$tool" "$tool"
done

# A program that is not static is tried with the libraries of here.
more=$work/more
mkdir -p "$more/site"
echo '<p>A site.' > "$more/site/index.html"
if [ "$is_static" = no ]; then
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
        install -D "$library" "$more$library"
    done
fi
mapfile -t images < <("$packaging/oci/build.sh" "$program" "$work/one" "$more")
mapfile -t again < <(umask 077; "$packaging/oci/build.sh" "$program" "$work/two" "$more")
check "the image is the same bytes again, whoever's umask it is" cmp "${images[0]}" "${again[0]}"

# Judged by a tool of other make.
mkdir "$work/layout"
tar -xf "${images[0]}" -C "$work/layout"
check "umoci unpacks it" umoci --log error unpack --rootless --image "$work/layout:$version" "$work/bundle"
files=$(cd "$work/bundle/rootfs" && find . -type f -not -path './usr/share/doc/*' -not -path './lib*' | sort | paste -sd ' ')
check "it has the program, the site, and no shell: $files" [ "$files" = './site/index.html ./usr/bin/salver' ]
configured=$(skopeo inspect --config "oci-archive:${images[0]}" | jq -c '.config | [.User, .Entrypoint, .WorkingDir, .StopSignal]')
check "it says how it is run: $configured" \
    [ "$configured" = '["65532:65532",["/usr/bin/salver","serve"],"/site","SIGTERM"]' ]

# One hierarchy of control groups, and limits that may be set where this runs, are what crun wants to see.
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
podman() {
    command podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs --runtime crun --cgroup-manager cgroupfs \
        --events-backend file "$@"
}
limits=(--ulimit nofile=4096:4096 --ulimit nproc=4096:4096)
check "podman loads the one for Docker" podman load --quiet --input "${images[1]}" > /dev/null
image=localhost/salver:$version
healthcheck=$(podman image inspect "$image" | jq -c '.[0].HealthCheck.Test // .[0].Healthcheck.Test')
check "it has a health check: $healthcheck" [ "$healthcheck" = '["CMD","/usr/bin/salver","health"]' ]

echo "# podman run --read-only --cap-drop all --security-opt no-new-privileges $image --listing"
podman run --name salver --read-only --cap-drop all --security-opt no-new-privileges --no-healthcheck --network host --cgroups disabled \
    "${limits[@]}" "$image" --listing 2> "$work/said" &
unit=$!
wait_for_url
check "the site is served" grep -q 'A site' <(curl -fsS "$url/")
# Its first process has no parent within.
process=$(podman inspect --format '{{.State.Pid}}' salver)
users=$(sed -n 's/^[UG]id:\t//p' "/proc/$process/status" | tr '\t' '\n' | sort -u)
check "it is nobody" [ "$users" = 65532 ]
check "it has no capability" grep -q '^CapEff:\s*0*$' "/proc/$process/status"
check "its root is read-only" grep -q '^[^ ]* / [^ ]* ro' "/proc/$process/mounts"
echo "# podman exec salver /usr/bin/salver health"
check "the health check finds it well" [ "$(podman exec salver /usr/bin/salver health)" = ready ]
before=$SECONDS
podman kill --signal TERM salver > /dev/null
wait "$unit"
check "it has ended by itself, with 0, in $((SECONDS - before)) s" eval "! lives $process"
