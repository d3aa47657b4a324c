"""The files that are served, made from a seed: the same bytes for everybody who runs this.

`arena` holds twenty files as a small site has them, 3 KB to 300 KB: text with .br and .gz siblings
beside it, and what is compressed already. `sizes` holds one random file for each length.
"""

import gzip
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import time

# Raised whenever a seed gives other bytes than before, so that old files are not taken for new.
GENERATION = 1

KIB = 1024
SIZES = [1 * KIB, 10 * KIB, 50 * KIB, 100 * KIB, 500 * KIB, 1024 * KIB]

# Name and about how long, in bytes; the kind is the extension.
ARENA = [
    ("metrics.js", 12_000), ("app.js", 205_000), ("vendor.js", 300_000), ("routes.js", 36_000),
    ("format.js", 22_000), ("widgets.css", 200_000), ("grid.css", 25_000), ("base.css", 8_000),
    ("colours.css", 18_000), ("utility.css", 61_000), ("index.html", 120_000),
    ("about.html", 56_000), ("icons.svg", 70_000), ("mark.svg", 15_000), ("manifest.json", 3_000),
    ("bold.woff2", 22_500), ("regular.woff2", 18_500), ("hero.webp", 46_000), ("face.jpg", 8_200),
    ("badge.png", 6_100),
]

# A file that changed a moment ago may change again, and careful servers treat it so. What is
# measured is a site at rest.
AT_REST_SECONDS = 12
MODIFIED = 1_700_000_000

SYLLABLES = "ba co de fi ga ho in ka la me no or pa ri sa te un ve wi xy ze tra sta pre con".split()


class Words:
    """Words by Zipf's law: few are frequent, many are rare, as in real text."""

    def __init__(self, rng):
        self.rng = rng
        words = {"".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(1500)}
        self.words = sorted(words)
        rng.shuffle(self.words)
        self.weights = [1 / (rank + 3) for rank in range(len(self.words))]

    def take(self, count):
        return self.rng.choices(self.words, self.weights, k=count)

    def one(self):
        return self.take(1)[0]

    def sentence(self):
        return " ".join(self.take(self.rng.randint(6, 18))).capitalize() + "."


def javascript(words, rng):
    name, left, right, call = words.take(4)
    kind = rng.randint(0, 2)
    if kind == 0:
        return (f"export function {name}{call.title()}({left}, {right}) {{\n"
                f"  if (!{left} || {right}.length > {rng.randint(0, 999)}) {{\n    return null;\n  }}\n"
                f"  const {call} = {left}.map((item) => item.{right} + {rng.randint(0, 9999)});\n"
                f"  return this.{name}({call}, '{words.one()}-{words.one()}');\n}}\n\n")
    if kind == 1:
        return (f"const {name} = {{ {left}: {rng.randint(0, 99999)}, {right}: '{words.sentence()}', "
                f"{call}: [{', '.join(str(rng.randint(0, 999)) for _ in range(4))}] }};\n")
    return (f"// {words.sentence()}\nclass {name.title()} extends {left.title()} {{\n"
            f"  constructor({right}) {{\n    super({right});\n    this.{call} = {right}.{words.one()};\n"
            f"  }}\n}}\n\n")


def css(words, rng):
    properties = rng.sample(
        ["display: flex", f"margin: {rng.randint(0, 64)}px", f"padding: {rng.randint(0, 9) / 4}rem",
         f"color: #{rng.randrange(1 << 24):06x}", f"width: calc(100% - {rng.randint(1, 99)}px)",
         f"border-radius: {rng.randint(1, 16)}px", "position: relative", "transition: opacity .2s ease-in-out",
         f"font-size: {rng.randint(10, 48)}px", f"background: rgb({rng.randint(0, 255)} 20 {rng.randint(0, 255)})"],
        k=rng.randint(2, 6))
    selector = f".{words.one()}-{words.one()}" + rng.choice(["", ":hover", " > li", "__" + words.one()])
    return f"{selector} {{\n  " + ";\n  ".join(properties) + ";\n}\n"


def html(words, rng):
    name, other = words.take(2)
    return (f'<section class="{name}-{other}" id="{name}-{rng.randint(0, 9999)}">\n'
            f"  <h2>{words.sentence()}</h2>\n  <p>{words.sentence()} {words.sentence()}</p>\n"
            f'  <a class="button button--{other}" href="/{name}/{other}?page={rng.randint(1, 99)}">'
            f"{words.one()}</a>\n</section>\n")


def svg(words, rng):
    points = " ".join(f"{rng.choice('LCQ')}{rng.randint(0, 240) / 10} {rng.randint(0, 240) / 10}"
                      for _ in range(rng.randint(4, 14)))
    return (f'<symbol id="{words.one()}-{words.one()}" viewBox="0 0 24 24">'
            f'<path fill="none" stroke="currentColor" stroke-width="2" d="M{rng.randint(0, 24)} 0{points}Z"/>'
            "</symbol>\n")


def json(words, rng):
    return (f'  {{ "name": "{words.one()}", "path": "/{words.one()}/{words.one()}", "size": {rng.randint(0, 99999)}, '
            f'"tags": ["{words.one()}", "{words.one()}"], "about": "{words.sentence()}" }},\n')


# What opens a file, what repeats in it, what closes it.
TEXT = {
    "js": ("'use strict';\n", javascript, "export default {};\n"),
    "css": (":root { --space: 8px; }\n", css, "/* end */\n"),
    "html": ("<!doctype html>\n<html lang=\"en\">\n<body>\n", html, "</body>\n</html>\n"),
    "svg": ('<svg xmlns="http://www.w3.org/2000/svg">\n', svg, "</svg>\n"),
    "json": ("[\n", json, "  {}\n]\n"),
}
# What is compressed already begins as its kind does and is noise from there on.
NOISE = {
    "woff2": b"wOF2\x00\x01\x00\x00", "webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
    "jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "png": b"\x89PNG\r\n\x1a\n",
}


def content(name, length, seed):
    """The bytes of one arena file: about `length`, the same for the same name and seed."""
    rng = random.Random(f"{GENERATION}/{seed}/{name}")
    kind = name.rsplit(".", 1)[1]
    if kind in NOISE:
        head = NOISE[kind]
        return head + rng.randbytes(length - len(head))
    opening, piece, closing = TEXT[kind]
    words = Words(rng)
    parts, so_far = [opening], len(opening)
    while so_far + len(closing) < length:
        parts.append(piece(words, rng))
        so_far += len(parts[-1])
    return "".join(parts + [closing]).encode()


def brotli(*arguments, data):
    """What the brotli program makes of `data`."""
    return subprocess.run(["brotli", *arguments, "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


class Directory:
    """Files that are there, to be served as they are; `root` is what servers serve."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()

    def name(self):
        """What they are, in a word or two."""
        return f"`{self.root.name}`"

    def targets(self):
        """All files that are not another one's coded content."""
        found = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        there = set(found)
        return tuple(name for name in found if not (name.endswith((".br", ".gz", ".zst")) and name.rsplit(".", 1)[0] in there))

    def path(self, target):
        return self.root / target

    def sibling(self, target, coding):
        """The path of a precompressed sibling, which need not be there."""
        extension = {"br": ".br", "gzip": ".gz"}[coding]
        return self.root / (target + extension)

    def rest(self):
        """Waits until the files count as being at rest."""
        youngest = max(path.stat().st_ctime for path in self.root.rglob("*"))
        wait = youngest + AT_REST_SECONDS - time.time()
        if wait > 0:
            time.sleep(min(wait, AT_REST_SECONDS))

    def fingerprint(self):
        """The first digits of a hash of all names and bytes, to compare runs by."""
        total = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            if path.is_file():
                total.update(path.relative_to(self.root).as_posix().encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()[:16]


class Files(Directory):
    """A folder of generated files."""

    def __init__(self, folder, seed):
        super().__init__(pathlib.Path(folder) / f"files-{GENERATION}-{seed}")
        self.seed = seed

    def name(self):
        return f"seed {self.seed}"

    def arena(self):
        return [f"arena/{name}" for name, _ in ARENA]

    def size(self, length):
        return f"sizes/{length}.dat"

    def make(self):
        """Makes what is not there yet, and waits until it is at rest."""
        if not self.root.exists():
            making = self.root.with_name(self.root.name + f".{os.getpid()}")
            (making / "arena").mkdir(parents=True)
            (making / "sizes").mkdir()
            try:
                self._fill(making)
                making.rename(self.root)
            finally:
                shutil.rmtree(making, ignore_errors=True)
        self.rest()

    def _fill(self, folder):
        for name, length in ARENA:
            data = content(name, length, self.seed)
            (folder / "arena" / name).write_bytes(data)
            if name.rsplit(".", 1)[1] in TEXT:
                coded = brotli("-q", "11", data=data)
                if brotli("-d", data=coded) != data:
                    raise RuntimeError(f"brotli does not give {name} back")
                (folder / "arena" / (name + ".br")).write_bytes(coded)
                (folder / "arena" / (name + ".gz")).write_bytes(gzip.compress(data, 9, mtime=0))
        rng = random.Random(f"{GENERATION}/{self.seed}/sizes")
        for length in SIZES:
            (folder / "sizes" / f"{length}.dat").write_bytes(rng.randbytes(length))
        for path in folder.rglob("*"):
            os.utime(path, (MODIFIED, MODIFIED))
            path.chmod(0o755 if path.is_dir() else 0o644)
        folder.chmod(0o755)
