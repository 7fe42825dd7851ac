#!/usr/bin/env python3
"""Golden answers: what the library says to some thousands of questions, written down to the last digit.

    answers.py make FILE                   asks everything and writes the answers
    answers.py compare FILE [options]      asks everything again; exit code 1 if anything is different

It needs the Python package (PYTHONPATH=<build>/python) and nothing else. README.md says when to make the file
anew.
"""

import argparse
import difflib
import json
import pathlib
import sys
import time

import comparing
from asks import every_ask
from recording import recorded, sorted_by_key


def answers(only=None):
    """{id: answer} of every ask, and the units of the fields of each group as answers of their own."""
    out, units = {}, {}
    for ask in every_ask():
        if not comparing.matches(ask.id, only):
            continue
        out[ask.id], found = recorded(ask)
        group = units.setdefault(f"units/{comparing.group_of(ask.id)}", {})
        for field, unit in found.items():
            group.setdefault(field, set()).add(unit)
    # With a part of the asks the units of a group are not complete.
    if only is None:
        for id, group in units.items():
            named = {field: " or ".join(sorted(names)) for field, names in group.items()}
            out[id] = {"fields": sorted_by_key(named)}
    return out


def read(path, only=None):
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            answer = json.loads(line)
            id = answer.pop("id")
            if comparing.matches(id, only) and not (only is not None and id.startswith("units/")):
                found[id] = answer
    return found


def make(options):
    found = answers()
    with open(options.file, "w", encoding="utf-8") as out:
        for id in sorted(found):
            answer = {"id": id, **found[id]}
            out.write(json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
    groups = {}
    for id in found:
        group = id.split("/")[0]
        groups[group] = groups.get(group, 0) + 1
    size = pathlib.Path(options.file).stat().st_size
    counts = ", ".join(f"{count} {group}" for group, count in sorted(groups.items()))
    print(f"{len(found)} answers, {size / 1e6:.2f} MB: {counts}")
    return 0


def compare(options):
    if options.id:
        return show(options)
    start = time.monotonic()
    old, new = read(options.file, options.only), answers(options.only)
    if not old and not new:
        print(f"no id has '{options.only}' in it")
        return 1
    found = comparing.Comparison(old, new, options.rtol, notes=not options.no_notes)
    for line in found.report():
        print(line)
    print(f"{len(new)} answers: {len(found.values)} with other values, {len(found.notes)} with other notes, "
          f"{len(found.added)} added, {len(found.removed)} gone; {time.monotonic() - start:.1f} s")
    if found:
        print("If this is intended: tests/golden/README.md")
    return 1 if found else 0


def show(options):
    """One answer in full, beside what the file has; exit code as of a comparison of this answer alone."""
    asked = {ask.id: ask for ask in every_ask()}
    old = read(options.file).get(options.id)
    if options.id not in asked and old is None:
        near = difflib.get_close_matches(options.id, asked, n=3, cutoff=0.4)
        print(f"no answer is called '{options.id}'" + "".join(f"\n    {id}" for id in near))
        return 1
    new = recorded(asked[options.id])[0] if options.id in asked else {}
    parts = ("error", "fields", *comparing.NOTES)
    before, after = comparing.flattened(old or {}, parts), comparing.flattened(new, parts)
    apart = {name: far for name, _, _, far in comparing.changes(old or {}, new, options.rtol, parts)}
    for name in [*after, *(name for name in before if name not in after)]:
        value, was = after.get(name, comparing.MISSING), before.get(name, comparing.MISSING)
        print(f"* {name} = {value!r}, was {was!r}" if name in apart else f"  {name} = {value!r}")
    return 1 if apart else 0


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("make", help="write the answers of this build")
    one.add_argument("file")
    one.set_defaults(run=make)
    two = commands.add_parser("compare", help="ask again and say what is different")
    two.add_argument("file")
    two.add_argument("--rtol", type=float, default=1e-9, help="relative difference of equal numbers (1e-9)")
    two.add_argument("--only", metavar="PATTERN", help="only ids with this in them; with a star: like this")
    two.add_argument("--id", help="show this answer in full, beside the one in the file")
    two.add_argument("--no-notes", action="store_true", help="leave out assumptions, warnings and messages")
    two.set_defaults(run=compare)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
