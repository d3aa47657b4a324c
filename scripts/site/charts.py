"""Bar charts of the tables of BENCHMARKS.md, as SVG within the page: the text of a chart is that of its table.

One chart for each column of figures, a bar for each row. They have the colours of the page, light or dark, and no script.
"""

import html
import re

# Of the tables between markers: what a chart is called before its column ({}: the head of the first), and where equal is
# (None: there is no such line).
STUDIES = {
    "servers": ("CPU per request by that of Salver", 1.0),
    "cached": ("Plain by cached", 1.0),
    "embedded": ("CPU per request by that of salver-tower", 1.0),
    "allocations": ("Allocations per request", None),
    "cost": ("Added to a build {}", None),
    "protocols": ("CPU per request by that of Salver", 1.0),
    "profile": ("Per request", None),
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
WIDTH, ROW, NAMES, VALUES = 320, 20, 124, 48


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text):
    """The rows of a Markdown table, the head first."""
    rows = [cells(line) for line in text.splitlines()]
    return [rows[0]] + rows[2:]


def figure(cell):
    """The number that a cell begins with; None where it has none: `other work`, `-`."""
    number = NUMBER.match(cell)
    return float(number.group()) if number else None


def bars(names, values, labels, equal):
    """The SVG of one chart. A bar of a value that is not there is its label alone."""
    most = max([value for value in values if value is not None] + [equal or 0])
    scale = (WIDTH - NAMES - VALUES) / most
    height = ROW * len(names) + 4
    said = "; ".join(f"{name}: {label}" for name, label in zip(names, labels))
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(said)}">']
    for row, (name, value, label) in enumerate(zip(names, values, labels)):
        top, length = row * ROW, max(0, value or 0) * scale
        parts.append(f'<text x="{NAMES - 6}" y="{top + 14}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<rect class="bar" x="{NAMES}" y="{top + 3}" width="{length:.1f}" height="{ROW - 6}"/>')
        parts.append(f'<text x="{NAMES + length + 4:.1f}" y="{top + 14}">{html.escape(label)}</text>')
    if equal:
        at = NAMES + equal * scale
        parts.append(f'<line class="line" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height}"/>')
    return "".join(parts) + "</svg>"


def chart(rows, column, equal):
    """A figure of one column; None if it has no figures."""
    names = [row[0].replace("`", "") for row in rows[1:]]
    raw = [row[column] for row in rows[1:]]
    values = [figure(cell) for cell in raw]
    if all(value is None for value in values):
        return None
    labels = [NUMBER.match(cell).group() + (" ~" if "~" in cell else "") if value is not None else cell
              for cell, value in zip(raw, values)]
    caption = html.escape(rows[0][column].replace("`", ""))
    return f"<figure><figcaption>{caption}</figcaption>{bars(names, values, labels, equal)}</figure>"


def charts(study, rows):
    """All charts of one of a study's tables, in one block of HTML without an empty line."""
    title, equal = STUDIES[study]
    title = title.format(rows[0][0].replace("`", ""))
    found = [chart(rows, column, equal) for column in range(1, len(rows[0]))]
    title = f"{title}; the dotted line is at {equal:g}" if equal else title
    return f'<p class="charts-title">{html.escape(title)}</p>\n<div class="charts">\n' + "\n".join(one for one in found if one) + "\n</div>"


def put_in(text):
    """The page with the charts of each study behind its tables. A study that has no chart here is an error."""
    def one(match):
        study, inner = match.group(1), match.group(2)
        if study not in STUDIES:
            raise ValueError(f"BENCHMARKS.md has a study {study} without a chart: add it to STUDIES of scripts/site/charts.py")
        inner, found = TABLE.subn(lambda of: f"{of.group()}\n{charts(study, table(of.group()))}\n", inner)
        if not found:
            raise ValueError(f"BENCHMARKS.md has no table for {study}")
        return f"<!-- {study}:begin -->{inner}<!-- {study}:end -->"
    page, count = re.subn(r"<!-- (\w+):begin -->(.*?)<!-- \1:end -->", one, text, flags=re.DOTALL)
    if not count:
        raise ValueError("BENCHMARKS.md has no markers of studies any more")
    return page
