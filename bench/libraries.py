"""Libraries that serve files within a program: one program each, made of them as their users do.

All of them: one thread that serves, TCP_NODELAY, mimalloc; precompressed siblings where the library
knows of them. Those of axum differ in nothing else.
"""

import pathlib
import re

import peers

PROGRAMS = pathlib.Path(__file__).resolve().parent / "embedders"


class Library(peers.Built):
    """A program of bench/embedders/: `with-NAME ROOT PORT`."""

    locked = ()           # the packages whose versions count
    counting = "-counting"

    def __init__(self, folder):
        super().__init__(folder)
        self.path = self.path.with_name(self.package())

    @classmethod
    def package(cls):
        return "with-" + cls.name

    def counted(self):
        """The same program, made to count what it allocates: `... ROOT PORT COUNTS`."""
        return self.path.with_name(self.path.name + self.counting)

    def command(self, root, port, folder):
        return [self.path, root, port]

    def version(self):
        lock = (PROGRAMS / "Cargo.lock").read_text(encoding="utf-8")
        return " with ".join(f"{name} " + re.search(rf'name = "{name}"\nversion = "([^"]+)"', lock).group(1) for name in self.locked)


class SalverTower(Library):
    name = "salver-tower"
    note = "axum and salver-tower's `Assets`, every default"
    locked = ("salver-tower", "axum")


class SalverEmbed(Library):
    name = "salver-embed"
    note = "axum and `Assets` over the same files, which salver-embed put into the program with their siblings"
    locked = ("salver-embed", "axum")


class ServeDir(Library):
    name = "servedir"
    note = "axum and tower-http's `ServeDir`, `precompressed_br`, `precompressed_gzip`, one thread, mimalloc"
    locked = ("tower-http", "axum")


class ServeFile(Library):
    name = "servefile"
    note = "axum and tower-http's `ServeFile` with the same settings, a route for each file"
    locked = ("tower-http", "axum")


class ActixFiles(Library):
    name = "actix-files"
    note = "actix-web with one worker and `Files::new(\"/\", root).try_compressed()`; its HTTP is its own, not hyper's"
    locked = ("actix-files", "actix-web")


class RustEmbed(Library):
    name = "rust-embed"
    note = ("axum and the handler of rust-embed's examples with an entity tag of its hash; the files lie in the program. "
            "It knows neither siblings nor ranges, and can compress by zstd or deflate only, which few browsers prefer")
    locked = ("rust-embed", "axum")


class Map(Library):
    name = "axum"
    note = ("axum and a map of the files in memory that is never compared with the disk, and knows neither conditions nor "
            "ranges: no server of files, but what axum and hyper take for themselves")
    locked = ("axum",)


LIBRARIES = (SalverTower, SalverEmbed, ServeDir, ServeFile, ActixFiles, RustEmbed, Map)


def everyone(built):
    """salver-tower first, then the others."""
    return [library(built) for library in LIBRARIES]
