"""BENCHMARKS.md: what is generated stands between markers and is replaced there."""

import pathlib

import process


def replace(text, section, generated):
    """`text` with what stands between `<!-- SECTION:begin -->` and `<!-- SECTION:end -->` replaced."""
    begin, end = f"<!-- {section}:begin -->", f"<!-- {section}:end -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise process.Failed(f"the page has no place for `{section}`: put {begin} and {end} where it belongs")
    return f"{before}{begin}\n\n{generated.strip()}\n\n{end}{after}"


def write(path, sections):
    """Replaces each section of the page at `path`."""
    page = pathlib.Path(path)
    text = page.read_text(encoding="utf-8")
    for section, generated in sections.items():
        text = replace(text, section, generated)
    page.write_text(text, encoding="utf-8")
