"""Differences of two sets of answers, grouped so that a reviewer reads a line for each field that changed."""

import fnmatch
import math

NOTES = ("assumptions", "warnings", "message")
RTOL = 1e-9  # relative difference of numbers that are equal
SHOWN = 40  # fields of a group that are listed


def matches(id, pattern):
    """A pattern with a star covers the whole id; any other is a part of it."""
    if pattern is None:
        return True
    return fnmatch.fnmatchcase(id, pattern) if "*" in pattern else pattern in id


def group_of(id):
    parts = id.split("/")
    return "/".join(parts[:2]) if parts[0] in ("resolver", "question", "units") else parts[0]


def relative(old, new, rtol, least=0):
    """None for values that agree, else how far they are apart; infinite where one is no number.

    `least` is the size against which small numbers are judged.
    """
    numbers = [isinstance(v, (int, float)) and not isinstance(v, bool) for v in (old, new)]
    if not all(numbers) or old == new:
        return None if old == new and numbers[0] == numbers[1] else math.inf
    apart = abs(old - new) / max(abs(old), abs(new), least)
    return apart if apart > rtol else None


def flattened(answer, parts):
    """One mapping of the parts of an answer: fields as they are named, notes under the name of their part."""
    out = {}
    for part in parts:
        value = answer.get(part)
        if part == "fields":
            out.update(value or {})
        elif isinstance(value, dict):
            out.update({f"{part}: {name}": text for name, text in value.items()})
        elif isinstance(value, list):
            out.update({f"{part}: {text}": "said" for text in value})
        elif value is not None:
            out[part] = value
    return out


class Missing:
    """A field that one of two answers does not have."""

    def __repr__(self):
        return "(none)"


MISSING = Missing()


def changes(old, new, rtol, parts):
    """[(field, old, new, relative difference)] of two answers."""
    old, new = flattened(old, parts), flattened(new, parts)
    out = []
    for name in sorted({*old, *new}):
        before, after = old.get(name, MISSING), new.get(name, MISSING)
        # A difference of equal numbers is all rounding: its own size is no measure.
        apart = relative(before, after, rtol, least=1 if "relative" in name.split(".") else 0)
        if apart is not None:
            out.append((name, before, after, apart))
    return out


class Comparison:
    """What recorded and present answers differ in: ids that came and went, changes of values and notes."""

    def __init__(self, old, new, rtol, notes=True):
        self.groups = {}
        for id in {*old, *new}:
            self.groups.setdefault(group_of(id), []).append(id)
        self.added = sorted(set(new) - set(old))
        self.removed = sorted(set(old) - set(new))
        both = sorted(set(old) & set(new))
        self.values = self._of(both, old, new, rtol, ("error", "fields"))
        self.notes = self._of(both, old, new, rtol, NOTES) if notes else {}

    def _of(self, ids, old, new, rtol, parts):
        found = ((id, changes(old[id], new[id], rtol, parts)) for id in ids)
        return {id: rows for id, rows in found if rows}

    def __bool__(self):
        return bool(self.added or self.removed or self.values or self.notes)

    def report(self):
        """The lines of the summary."""
        yield from _listed("asked now, but not in the file", self.added)
        yield from _listed("in the file, but not asked any more", self.removed)
        yield from self._section("values", self.values)
        yield from self._section("notes", self.notes)

    def _section(self, title, changed):
        by_group = {}
        for id, rows in changed.items():
            by_group.setdefault(group_of(id), {})[id] = rows
        for group in sorted(by_group):
            yield f"{title} of {group}: {len(by_group[group])} of {len(self.groups[group])} answers changed"
            yield from _fields(by_group[group])


def _listed(what, ids):
    if ids:
        yield f"{len(ids)} {what}:"
        yield from (f"    {id}" for id in ids[:SHOWN])
        if len(ids) > SHOWN:
            yield f"    and {len(ids) - SHOWN} more"


def _fields(answers):
    """Of each changed field how many answers, how far at most, and the answer where it is farthest."""
    by_field = {}
    for id, rows in answers.items():
        for name, old, new, apart in rows:
            by_field.setdefault(name, []).append((apart, id, old, new))
    ranked = sorted(by_field.items(), key=lambda item: (-len(item[1]), item[0]))
    for name, rows in ranked[:SHOWN]:
        apart, id, old, new = max(rows, key=lambda row: row[0])
        # Of numbers and texts that became each other the distance is infinite and says nothing.
        far = f", up to {apart:.2g}" if math.isfinite(apart) else ""
        yield f"    {name}: {len(rows)} answers{far}"
        yield f"        {id}: {old!r} -> {new!r}"
    if len(ranked) > SHOWN:
        yield f"    and {len(ranked) - SHOWN} more fields; --only and --id show them"
