"""Tables for people: columns of text, numbers to the right."""


def number(value):
    """Three digits that matter; nothing where there is no value."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def render(head, rows):
    rows = [[cell if isinstance(cell, str) else str(cell) if isinstance(cell, int) else number(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    words = [all(isinstance(row[column], str) and not row[column][:1].isdigit() and row[column] != "-" for row in rows)
             for column in range(len(head))]

    def line(row):
        return "| " + " | ".join(cell.ljust(width) if left else cell.rjust(width) for cell, width, left in zip(row, widths, words)) + " |"

    rule = "|" + "|".join(":" + "-" * (width + 1) if left else "-" * (width + 1) + ":" for width, left in zip(widths, words)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])
