"""The files that are asked for. All but the small ones are holes, which need no disk and are read like any other."""

import shutil
import time

FILES = 2000  # Of each size; the clients know the number.
SIZES = {"large": 1 << 20, "64k": 64 << 10}
# Servers may treat files with more care that were changed a moment ago.
AT_REST_SECONDS = 12


def make(root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for name, length in (("hot", 1 << 10), ("4k", 4 << 10)):
        (root / name).write_bytes(b"x" * length)
    for name, length in (("huge", 20 << 20), ("greedy", 8 << 20)):
        _sparse(root / name, length)
    for name, length in SIZES.items():
        (root / name).mkdir()
        for number in range(FILES):
            _sparse(root / name / str(number), length)
    _warm(root)
    return root


def at_rest(root):
    """As an earlier run left it, or made now; when this returns nothing of it has changed for a while."""
    done = root.with_suffix(".made")
    if not done.exists():
        make(root)
        done.touch()
    else:
        _warm(root)
    time.sleep(max(0.0, done.stat().st_mtime + AT_REST_SECONDS - time.time()))
    return root


def _sparse(path, length):
    with open(path, "wb") as made:
        made.truncate(length)


def _warm(root):
    """Has all of it in the page cache, as it is not disks that are measured."""
    piece = bytearray(1 << 20)
    for path in root.rglob("*"):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(piece):
                    pass
