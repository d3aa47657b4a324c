# shellcheck shell=bash
# Sourced by the tests of packages, each of which is called with BINARY FOLDER ROOT.TAR in namespaces of its own.

. "$(dirname "$0")/../common.sh"
read_program "$1"
# Symbols make it large.
[ "$is_static" = yes ] || export XZ_LEVEL=0
work=$2
empty=$3
root=$work/root
url=http://127.0.0.1:8080
pid_file=/run/salver/salver.pid
mkdir -p "$root"

python3 -c '
import fcntl, socket, struct
with socket.socket() as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up
'

# check WHAT COMMAND...: fails, and says what is not so.
check() {
    local what=$1
    shift
    "$@" || fail "$what"
    echo "  $what"
}

# An empty system, in which nothing of the build is. What is asked of the machine is not its business.
make_root() {
    tar -xf "$empty" -C "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/run"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
}

# What is a transcript stays one where a command's output is looked at.
exec 3>&1

# in_root COMMAND...: in the empty system, with nothing of the environment of here.
in_root() {
    echo "# $*" >&3
    quietly_in_root "$@"
}
quietly_in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# Files and accounts of the system, to be compared; what tools keep for themselves is none of the package's.
list() {
    (cd "$root" && find . -xdev \
        \( -path ./proc -o -path ./run -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/rpm -o -path ./var/log/dpkg.log \
        -o -path ./var/log/apt -o -path ./var/log/alternatives.log -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/logrotate \
        -o -path ./var/lib/systemd -o -path ./root/.rpmdb -o -name '*-' \) -prune \
        -o -printf '%p\n' | sort)
    cat "$root/etc/passwd" "$root/etc/group" "$root/etc/shadow" "$root/etc/gshadow"
}

# from_unit KEY: its value in the unit that is installed.
from_unit() { sed -n "s/^$1=//p" "$root/usr/lib/systemd/system/salver.service"; }

# The units as they are installed, judged by systemd, with a program that is there.
judge_units() {
    local unit
    command -v systemd-analyze > /dev/null || fail "there is no systemd-analyze here: apt-get install systemd"
    mkdir "$work/units"
    for unit in salver.service salver.socket; do
        sed 's:/usr/bin/salver:/bin/true:' "$root/usr/lib/systemd/system/$unit" > "$work/units/$unit"
    done
    (cd "$work/units" && systemd-analyze verify --man=no ./salver.service ./salver.socket > "$work/units/said" 2>&1) || true
    check "systemd finds no fault in the units" [ -z "$(grep 'salver\.s' "$work/units/said")" ]
}

# Starts what systemd would: what the unit says, as the user that it names, with the folder and variable that it gives.
start_unit() {
    local user folder
    user=$(from_unit User)
    folder=/run/$(from_unit RuntimeDirectory)
    quietly_in_root install -d -o "$user" -g "$user" "$folder"
    echo "# $(from_unit ExecStart)     (as $user)"
    # shellcheck disable=SC2046 # words of a command
    env -i PATH="$PATH" $(from_unit Environment) chroot --userspec="$user:$user" "$root" $(from_unit ExecStart) 2> "$work/said" &
    unit=$!
    wait_for_url
}

wait_for_url() {
    until curl -fsS -o /dev/null "$url/" 2> "$work/curl"; do
        lives "$unit" || { cat "$work/said" "$work/curl" >&2; fail "nobody answers at $url"; }
        read -r -t 0.1 <> <(:) || true
    done
}

running() { cat "$root$pid_file"; }

# Whether a process goes on; one that only waits for its parent does not.
lives() { grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2> /dev/null; }

# Whether no process runs the program of the package, whether or not its file is there.
none_runs() {
    local process
    for process in /proc/[0-9]*; do
        case $(readlink "$process/exe") in
        *"$root/usr/bin/salver"*) lives "${process#/proc/}" && return 1 ;;
        esac
    done
    return 0
}

# Waits until a process has ended; a minute at most.
wait_for_end() {
    local until=$((SECONDS + 60))
    while lives "$1"; do
        [ "$SECONDS" -lt "$until" ] || fail "process $1 does not end"
        read -r -t 0.05 <> <(:) || true
    done
}

begin_load() {
    "$program" bench load "$url/" --connections 8 --warm-up 0s --duration 10m --quiet --json > "$work/load.json" 2> /dev/null &
    load=$!
    wait_for_answers
}

# Waits until there are a thousand more lines in the log: until so many answers more have ended.
wait_for_answers() {
    local log=$root/var/log/salver/access.log before until=$((SECONDS + 60))
    before=$(wc -l < "$log")
    while [ "$(wc -l < "$log")" -lt $((before + 1000)) ]; do
        [ "$SECONDS" -lt "$until" ] || fail "no answers in $log"
        read -r -t 0.1 <> <(:) || true
    done
}

# Ends the load, and looks that no request has failed.
end_load() {
    wait_for_answers
    kill -INT "$load"
    wait "$load" || true
    jq -c '.result | {requests, statuses, errors, reconnects, asked_again}' "$work/load.json"
    check "no request of the load has failed" jq -e '.result.requests > 1000 and (.result.errors | add) == 0
        and (.result.statuses | keys) == ["200"]' "$work/load.json" > /dev/null
    echo "  no request of the load has failed"
}

# A site of our own instead of the page of the package.
write_site() {
    mkdir -p "$root/srv/site"
    echo '<p>A site.' > "$root/srv/site/index.html"
    chmod -R a+rX "$root/srv/site"
    sed -i 's:^root = .*:root = "/srv/site":' "$root/etc/salver/salver.toml"
}

# The service may write its file: what it says there is done with the rights of its user, and to nobody else.
misled() {
    local own other
    own=$(running)
    sleep 600 &
    other=$!
    echo "$other" > "$root$pid_file"
    curl -fsS -o /dev/null "$url/"
    until [ -s "$root/var/log/salver/access.log" ]; do read -r -t 0.1 <> <(:) || true; done
    if in_root logrotate --force /etc/logrotate.d/salver 2> "$work/said"; then fail "logrotate has told a process of root"; fi
    if quietly_in_root salver reload --pid-file "$pid_file" 2> "$work/said"; then fail "reload has told a process of root"; fi
    check "reload says whose the file and the process are: $(cat "$work/said")" grep -q 'names process' "$work/said"
    check "a process of root lives, whatever the service writes" lives "$other"
    kill "$other"
    echo "$own" > "$root$pid_file"
    kill -USR1 "$own"
}

# What is the same for all packages of distributions: `upgrade` is a function that installs the next one.
serve_and_upgrade() {
    start_unit
    ! none_runs || fail "its process is not seen"
    check "the page of the package is served" grep -q 'Salver runs' <(curl -fsS "$url/")
    write_site
    # Another root is beyond what it may open: as `systemctl restart` does.
    kill -TERM "$(running)"
    wait_for_end "$unit"
    start_unit
    in_root salver reload --pid-file "$pid_file"
    check "the site is served" grep -q 'A site' <(curl -fsS "$url/")
    check "the administrator can ask it" grep -q '^ready' <(quietly_in_root salver health -c /etc/salver/salver.toml)
    # As somebody does who has the site on the screen while the package is upgraded.
    begin_load
    local before
    before=$(running)
    upgrade
    check "another process serves" [ "$(running)" != "$before" ]
    wait_for_end "$before"
    end_load
    check "the configuration is the administrator's" grep -q '^root = "/srv/site"' "$root/etc/salver/salver.toml"
    # While it serves: the next line is in a new file, and the old one keeps all that it has.
    local lines
    in_root logrotate --force /etc/logrotate.d/salver
    until curl -fsS -o /dev/null "$url/" && [ -s "$root/var/log/salver/access.log" ]; do
        [ -d "/proc/$(running)" ] || fail "it has ended"
        read -r -t 0.1 <> <(:) || true
    done
    check "the log goes on in a new file" [ -s "$root/var/log/salver/access.log.1" ]
    misled
    check "its pages are there" [ -s "$root/usr/share/man/man1/salver-serve.1.gz" ]
    lines=$(find "$root/usr/share/bash-completion" "$root/usr/share/zsh" "$root/usr/share/fish" -name '*salver*' -size +1k | wc -l)
    check "completions for three shells are there" [ "$lines" = 3 ]
}
