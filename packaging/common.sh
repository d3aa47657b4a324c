# shellcheck shell=bash disable=SC2034 # who sources it uses what it sets
# Sourced by the scripts that make packages: what they ask of the program that is packed, and of this machine.

packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_folder=${packaging%/*}

fail() { echo "${0##*/}: $*" >&2; exit 1; }

# need PROGRAM PACKAGE...: says which Debian package has a program that is not there.
need() { command -v "$1" > /dev/null || fail "there is no $1 here: apt-get install ${*:2}"; }

# The time that files in packages have: that of the commit, so that two builds give the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source_folder" log -1 --format=%ct 2> /dev/null || echo 0)}
export SOURCE_DATE_EPOCH
export LC_ALL=C
# What is packed may be read by everybody, and written by its owner, whoever packs it.
umask 022
# How hard xz tries, 0 to 9: packages that only a test looks at need not be small.
XZ_LEVEL=${XZ_LEVEL:-9}

# read_program BINARY: sets program, version, machine (as uname -m calls it) and is_static.
read_program() {
    program=$(realpath -e "$1" 2> /dev/null) || fail "$1 is not there: make dist builds target/dist/out/salver"
    version=$("$program" --version) || fail "$program does not run here"
    version=${version#salver }
    case $(od -An -j18 -N2 -tu2 "$program" | tr -d ' ') in
    62) machine=x86_64 ;;
    183) machine=aarch64 ;;
    *) fail "$program is for a machine that no package is made for" ;;
    esac
    is_static=yes
    ! LC_ALL=C readelf -d "$program" | grep -q '(NEEDED)' || is_static=no
}

# quoted TEXT: as it stands in the replacement of a command s/// of sed.
quoted() { printf '%s' "$1" | sed 's:[\\/&]:\\&:g'; }

# set_times FOLDER: no file in it tells when it was packed.
set_times() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }
