"""Pages stay short and their sentences do too.

usage: prose.py [--fix]

README.md has at most 60 lines, a page at most 1,500 words, and all pages that people write at most 45,000. Of the sentences of all
these pages at most 5 % have more than 30 words. Code blocks are not counted, and a piece of
code in a line is one word. prose.json holds the words and faults that a page may have besides. Faults are sentences of more than 30 words and openings
and words of the list below. The numbers in that file fall only: --fix writes smaller ones and never larger ones. Two sentences and a twentieth of the words are free, so that a changed fact needs
no other work on its page. A page that is not in it may have one
fault in fifty sentences.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
LIMITS = pathlib.Path(__file__).with_name("prose.json")
# Written by programs, with a test or a command that holds each of them to its source.
MADE = {"docs/reference/errors.md", "docs/reference/accuracy.md", "docs/reference/trust.md", "docs/how-to/compiler-messages.md", "docs/reference/ledger.md", "docs/reference/league.md", "docs/reference/speed.md", "docs/reference/resolvers/README.md"}
FREE_SENTENCES, FREE_WORDS = 2, 1.05
PAGE_WORDS, ALL_WORDS, README_LINES, SENTENCE_WORDS, LONG_SHARE = 1500, 45000, 60, 30, 0.05
LISTED = re.compile(r"\b(hangs? on|mends?|mended|nobody|rooms? of the house|asked backwards|smells? of|told apart|is no such)\b|^What [a-z ]+ is,|^Of (them|these|what)\b", re.I)


def prose(text):
    """The text without code, links' targets and tables' rules."""
    text = re.sub(r"^( *)(```+).*?^\1\2 *$", "\n", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]+`", "`code`", text)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"^\|[-: |]+\|$", "", text, flags=re.M))


def sentences(text):
    """Sentences of paragraphs and list items; cells of tables and headings are none."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", prose(text)):
        lines = [line for line in paragraph.splitlines() if not line.lstrip().startswith(("|", "#", "![", "<"))]
        yield from (s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\[])", " ".join(lines).strip(" *-")) if s)


def measure(page):
    text = page.read_text(encoding="utf-8")
    found = list(sentences(text))
    long = [len(s.split()) > SENTENCE_WORDS for s in found]
    return {"words": len(prose(text).split()), "faults": sum(a or bool(LISTED.search(s)) for a, s in zip(long, found)), "long": sum(long),
            "sentences": len(found)}


def pages():
    hand = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((ROOT / "docs").rglob("*.md"))
    return {p.relative_to(ROOT).as_posix(): p for p in hand if p.relative_to(ROOT).as_posix() not in MADE and (p.parent.name != "resolvers")}


def problems(measured, limits):
    for name, m in measured.items():
        held = limits.get(name, {})
        words, faults = held.get("words", PAGE_WORDS), held.get("faults", m["sentences"] // 50)
        if m["words"] > words * FREE_WORDS:
            yield f"{name}: {m['words']} words, at most {words}: cut the page or divide it"
        if m["faults"] > faults + FREE_SENTENCES:
            yield f"{name}: {m['faults']} sentences of more than {SENTENCE_WORDS} words or with listed words, at most {faults}"
    total = sum(m["words"] for m in measured.values())
    if total > ALL_WORDS:
        yield f"all pages: {total} words, at most {ALL_WORDS}"
    long, sentences = (sum(m[key] for m in measured.values()) for key in ("long", "sentences"))
    if long > LONG_SHARE * sentences:
        yield f"all pages: {long} of {sentences} sentences have more than {SENTENCE_WORDS} words, at most {LONG_SHARE:.0%}: divide some"
    lines = len((ROOT / "README.md").read_text().splitlines())
    if lines > README_LINES:
        yield f"README.md: {lines} lines, at most {README_LINES}"
    yield from (f"{LIMITS.name}: there is no page {name}" for name in limits if name not in measured)


def main():
    measured = {name: measure(page) for name, page in pages().items()}
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    if "--fix" in sys.argv:
        new = {}
        for name, m in measured.items():
            held = limits.get(name, {})
            kept = {key: min(m[key], held.get(key, m[key])) for key in ("words", "faults")}
            if kept["words"] <= PAGE_WORDS:
                del kept["words"]
            if kept.get("words") or kept["faults"]:
                new[name] = kept
        LIMITS.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(new.items())) + "\n}\n")
        limits = new
    found = list(problems(measured, limits))
    print("\n".join(found))
    print(f"{len(measured)} pages, {sum(m['words'] for m in measured.values())} words, {sum(m['faults'] for m in measured.values())} of "
          f"{sum(m['sentences'] for m in measured.values())} sentences at fault, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
