"""What is asked for: each load is a list of files that are requested in turn."""

import dataclasses

import files

# As a browser that prefers Brotli and takes gzip asks; the sizes are asked for without it.
ACCEPT_ENCODING = "br;q=1, gzip;q=0.8"


@dataclasses.dataclass(frozen=True)
class Load:
    name: str
    title: str
    targets: tuple  # below the root, requested in turn
    accept: str     # the value of Accept-Encoding; empty: not sent


def size_title(length):
    return f"{length // files.KIB} KiB" if length < files.KIB * files.KIB else f"{length // files.KIB // files.KIB} MiB"


def size_name(length):
    return size_title(length).replace(" ", "").lower()


def arena(made):
    return Load("arena", "Arena: twenty files of a site in turn, Brotli accepted", tuple(made.arena()), ACCEPT_ENCODING)


def arena_plain(made):
    return Load("arena-plain", "Arena: the same files in turn, no coding accepted", tuple(made.arena()), "")


def size(made, length):
    return Load(size_name(length), f"One random file of {size_title(length)}", (made.size(length),), "")


def every(made):
    return [arena(made)] + [size(made, length) for length in files.SIZES]


def embedded(made):
    """Those of `every`, and one in which the work of those that choose no sibling is the same."""
    return [arena(made), arena_plain(made)] + [size(made, length) for length in files.SIZES]
