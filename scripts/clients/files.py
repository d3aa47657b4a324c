"""The files that the clients ask for: pseudo-random bytes, the same in every run."""

import hashlib
import random

KIB = 1024
MIB = 1024 * KIB
LENGTHS = {"1KiB": KIB, "100KiB": 100 * KIB, "1MiB": MIB, "4MiB": 4 * MIB, "16MiB": 16 * MIB, "64MiB": 64 * MIB}


def make(folder):
    """The files in a folder; their hashes by their names."""
    source = random.Random(1)
    hashes = {}
    for name, length in LENGTHS.items():
        content = source.randbytes(length)
        (folder / name).write_bytes(content)
        hashes[name] = hashlib.sha256(content).hexdigest()
    return hashes
