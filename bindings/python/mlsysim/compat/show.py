"""Aligned printing of the other package's tutorials: info, table, banner."""

__all__ = ["banner", "info", "table"]


def _shown(value):
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def info(title=None, **fields):
    """Prints keys and values below a title, aligned."""
    if title is not None:
        print(f"── {title} " + "─" * max(0, 40 - len(title)))
    width = max((len(key) for key in fields), default=0) + 1
    for key, value in fields.items():
        print(f"{key.replace('_', ' ') + ':':<{width}}  {_shown(value)}")


def table(headers, rows, alignments=None):
    """Prints rows below headers. `alignments` has "<" or ">" for each column; numbers stand to the right by default."""
    texts = [[_shown(value) for value in row] for row in rows]
    widths = [max(len(str(head)), *(len(row[i]) for row in texts)) if texts else len(str(head)) for i, head in enumerate(headers)]
    sides = alignments or [">" if rows and isinstance(rows[0][i], (int, float)) else "<" for i in range(len(headers))]
    for line in ([str(head) for head in headers], ["─" * width for width in widths], *texts):
        print("  ".join(f"{text:{side}{width}}" for text, side, width in zip(line, sides, widths)).rstrip())


def banner(text):
    """Prints a title between signs of equality."""
    print(f"\n=== {text} ===")
