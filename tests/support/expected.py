"""Comparison of a printed text with the expected one."""

import difflib


def _lines(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def matches(expected, actual):
    """True where the lines agree; an expected line `...` stands for any number of lines, numbers are text."""
    want, have = _lines(expected), _lines(actual)
    # reach holds the numbers of lines of `have` that the part of `want` read so far can have used up.
    reach = {0}
    for line in want:
        if line.strip() == "...":
            reach = set(range(min(reach), len(have) + 1)) if reach else reach
        else:
            reach = {n + 1 for n in reach if n < len(have) and have[n] == line}
    return len(have) in reach


def difference(expected, actual):
    """The two texts as a unified diff."""
    return "\n".join(difflib.unified_diff(_lines(expected), _lines(actual), "expected", "printed", lineterm=""))
