#!/usr/bin/env python3
"""Golden answers: what the library says to some thousands of questions, written down to the last digit.

    answers.py make FILE                   asks everything and writes digests of the answers, and some of them
    answers.py make --full FILE            writes all of them, for a comparison with another build
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
import digests
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


def kept(id, only):
    return comparing.matches(id, only) and not (only is not None and id.startswith("units/"))


def read(path, only=None):
    """({id: answer}, {group: Digest}) of a file; without digests it has every answer."""
    found, sums = {}, {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            answer = json.loads(line)
            if "group" in answer:
                sums[answer.pop("group")] = digests.Digest(**answer)
                continue
            id = answer.pop("id")
            if kept(id, only):
                found[id] = answer
    return found, sums


def written(out, line):
    out.write(json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def make(options):
    found = read(options.source)[0] if options.source else answers()
    sums = {} if options.full else digests.digests(found)
    full = found if options.full else digests.chosen(found)
    with open(options.file, "w", encoding="utf-8") as out:
        for group in sorted(sums):
            written(out, {"group": group, "answers": sums[group].answers, **sums[group].parts})
        for id in sorted(full):
            written(out, {"id": id, **full[id]})
    groups = {}
    for id in found:
        group = id.split("/")[0]
        groups[group] = groups.get(group, 0) + 1
    size = pathlib.Path(options.file).stat().st_size
    counts = ", ".join(f"{count} {group}" for group, count in sorted(groups.items()))
    digested = f" in {len(sums)} digests, {len(full)} in full" if sums else ""
    print(f"{len(found)} answers{digested}, {size / 1e6:.2f} MB: {counts}")
    return 0


def compare(options):
    if options.id:
        return show(options)
    start = time.monotonic()
    old, sums = read(options.file, options.only)
    new = answers(options.only)
    if not old and not new:
        print(f"no id has '{options.only}' in it")
        return 1
    groups = of_groups(sums, new, options) if sums else {}
    # Beside digests stand some answers in full: what else is asked is no addition.
    full = {id: answer for id, answer in new.items() if id in old} if sums else new
    found = comparing.Comparison(old, full, 0 if options.exact else options.rtol, notes=not options.no_notes)
    for line in [*found.report(), *(f"{group}: {', '.join(said)}" for group, said in sorted(groups.items()))]:
        print(line)
    counted = f"{len(groups)} groups differ; of {len(old)} in full " if sums else ""
    print(f"{len(new)} answers: {counted}{len(found.values)} with other values, {len(found.notes)} with other notes, "
          f"{len(found.added)} added, {len(found.removed)} gone; {time.monotonic() - start:.1f} s")
    if found or groups:
        print("If this is intended: tests/golden/README.md, which also says how to see every answer that changed")
    return 1 if found or groups else 0


def of_groups(old, answered, options):
    """{group: what differs} by the digests of a file; those that cannot be judged are counted on a line."""
    if options.rtol != comparing.RTOL:
        print("digests hold for the usual --rtol alone: only answers in full are compared")
        return {}
    new = digests.digests(answered)
    if options.only is not None:
        whole = {group for group, digest in new.items() if group in old and digest.answers == old[group].answers}
        if len(whole) < len(new):
            print(f"{len(new) - len(whole)} groups are asked in part; of these only answers in full are compared")
        old, new = ({group: digest for group, digest in one.items() if group in whole} for one in (old, new))
    out = {}
    for group in {*old, *new}:
        if group not in new:
            out[group] = ["not asked any more"]
        elif group not in old:
            out[group] = [f"new, {new[group].answers} answers"]
        elif said := old[group].differences(new[group], not options.no_notes, options.exact):
            out[group] = said
    last = sum(group not in out and old[group].last_digits(new[group]) for group in new)
    if last:
        print(f"{last} groups have other values behind the digit {digests.DIGITS} (--exact)")
    return out


def show(options):
    """One answer in full, beside what the file has; exit code as of a comparison of this answer alone."""
    asked = {ask.id: ask for ask in every_ask()}
    answered, sums = read(options.file)
    old = answered.get(options.id)
    if options.id not in asked and old is None:
        near = difflib.get_close_matches(options.id, asked, n=3, cutoff=0.4)
        print(f"no answer is called '{options.id}'" + "".join(f"\n    {id}" for id in near))
        return 1
    new = recorded(asked[options.id])[0] if options.id in asked else {}
    parts = ("error", "fields", *comparing.NOTES)
    if old is None and sums:
        print("the file has only the digest of its group, so there is nothing to compare it with")
        old = new
    before, after = comparing.flattened(old or {}, parts), comparing.flattened(new, parts)
    apart = {name: far for name, _, _, far in comparing.changes(old or {}, new, 0 if options.exact else options.rtol, parts)}
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
    one.add_argument("--full", action="store_true", help="every answer in full, and no digests")
    one.add_argument("--from", dest="source", metavar="FULL", help="the answers of this file of --full; nothing is asked")
    one.set_defaults(run=make)
    two = commands.add_parser("compare", help="ask again and say what is different")
    two.add_argument("file")
    two.add_argument("--rtol", type=float, default=comparing.RTOL, help="relative difference of equal numbers (1e-9)")
    two.add_argument("--exact", action="store_true", help="numbers are equal to the last bit")
    two.add_argument("--only", metavar="PATTERN", help="only ids with this in them; with a star: like this")
    two.add_argument("--id", help="show this answer in full, beside the one in the file")
    two.add_argument("--no-notes", action="store_true", help="leave out assumptions, warnings and messages")
    two.set_defaults(run=compare)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
