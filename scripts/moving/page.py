"""The pages `docs/from-*.md` as what a reader would type: sections, each with what others need and what Salver needs."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


@dataclass(frozen=True)
class Section:
    """What stands first is theirs, the rest is Salver's."""
    page: str
    heading: str
    theirs: Block
    ours: tuple


def sections(name):
    """The sections of a page that have blocks of code."""
    text = (ROOT / "docs" / name).read_text()
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0]
        blocks = [Block(*match) for match in BLOCK.findall(part)]
        if blocks:
            found.append(Section(name, heading, blocks[0], tuple(blocks[1:])))
    return found
