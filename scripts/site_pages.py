#!/usr/bin/env python3
"""Makes the pages of the site that are not committed: C++ and Python reference, laws, walls, zoo, resolvers, accuracy of each table,
sources of device parameters, and what scripts/check-all tried.

usage: scripts/site_pages.py PROGRAM DOCS      with the package on the path; scripts/site does it for a copy of docs/

Comments, docstrings, units and sources are those of the code, so that a page cannot say something else.
"""

import inspect
import pathlib
import re
import subprocess
import sys

import trust_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
# Pages in generated/ that the navigation names.
PAGES = ("accuracy-tables.md", "cpp.md", "figures.md", "laws.md", "python.md", "trust.md", "walls.md", "zoo.md")


def made(path):
    """Whether a path relative to docs/ is a page that this script makes."""
    return path in {f"generated/{name}" for name in PAGES} or re.fullmatch(r"reference/resolvers/\w+\.md", path) is not None


# ---- C++ ------------------------------------------------------------------------------------------------------------
def declaration(lines):
    """What is declared from the first line on: up to its body, its value or its end."""
    text = ""
    for line in lines:
        text += ("\n" if text else "") + line.rstrip()
        depth = text.count("(") - text.count(")")
        if depth <= 0 and (match := re.search(r"[;{]", re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]), text))):
            return text[:match.start()].rstrip()
        if len(text) > 1200:
            break
    return text


def documented(header):
    """[(comment, declaration)] of a header; the first comment is the header's own and has none."""
    lines, out, at = header.read_text(encoding="utf-8").splitlines(), [], 0
    while at < len(lines):
        if not lines[at].lstrip().startswith("///") or lines[at].lstrip().startswith("///<"):
            at += 1
            continue
        start = at
        while at < len(lines) and lines[at].lstrip().startswith("///"):
            at += 1
        comment = "\n".join(line.lstrip()[3:].removeprefix(" ") for line in lines[start:at])
        own = not out and start <= 2
        indent = len(lines[start]) - len(lines[start].lstrip())
        block = [] if own or at == len(lines) or not lines[at].strip() else [line[indent:] for line in lines[at:at + 40]]
        out.append((comment, declaration(block) if block else ""))
    return out


def plain(comment):
    """A comment as Markdown that shows its signs: units in brackets are no links."""
    return re.sub(r"([<\[\]*_|])", r"\\\1", re.sub(r"@cite (\S+)", r"Source: \1", comment))


def cpp(folder):
    rooms = {}
    for header in sorted((INCLUDE / "mlsysim").rglob("*.hpp")):
        path = header.relative_to(INCLUDE)
        if "detail" not in path.parts and len(path.parts) > 2:
            rooms.setdefault(path.parts[1], []).append((path, documented(header)))
    (folder / "cpp").mkdir(parents=True)
    index = ["# C++ reference", "", "The public headers by room ([what the rooms are for](../explanation/architecture.md)); comments, units, ranges, "
             "errors and sources are those of the headers.", "", "| room | headers | declarations |", "| --- | ---: | ---: |"]
    for room, headers in rooms.items():
        count = sum(bool(what) for _, entries in headers for _, what in entries)
        index.append(f"| [{room}](cpp/{room}.md) | {len(headers)} | {count} |")
        page = [f"# {room}", ""]
        for path, entries in headers:
            page += [f"## {path.as_posix()}", ""]
            for comment, what in entries:
                page += ["```cpp", what, "```", ""] if what else []
                page += [plain(comment), ""]
        (folder / "cpp" / f"{room}.md").write_text("\n".join(page), encoding="utf-8")
    (folder / "cpp.md").write_text("\n".join(index) + "\n", encoding="utf-8")


# ---- Python ---------------------------------------------------------------------------------------------------------
def signature(thing):
    """Signature of a function or class in Python; compiled ones begin their docstrings with it."""
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""


def entry(name, thing, level):
    if not callable(thing) and type(thing).__module__ != "mlsysim.registries":
        return [f"{'#' * level} {name}", "", "```text", f"{name} = {thing}", "```", ""]  # a constant, which has no words of its own
    text = (inspect.getdoc(thing) or "").strip()
    called = f"{name}{signature(thing)}" if callable(thing) else name
    out = [f"{'#' * level} {name}", "", "```text", called, *(["", text] if text else []), "```", ""]
    for member, value in sorted(vars(thing).items() if inspect.isclass(thing) else ()):
        about = (inspect.getdoc(value) or "").strip() if not member.startswith("_") else ""
        if about and (callable(value) or isinstance(value, (property, classmethod, staticmethod))):
            out += ["```text", f"{name}.{member}{signature(value) if callable(value) else ''}", "", about, "```", ""]
    return out


def python(folder):
    import mlsysim

    laws = set(mlsysim.laws.names())
    pages = ["# Laws", "", "Each law is a function of its inputs in C++ (`mlsysim::apply`), Python (`mlsysim.laws.NAME(...)`) and on the command line "
             "(`mlsysim explain NAME key=value ... RESULT`).", ""]
    for name in sorted(laws):
        pages += entry(name, getattr(mlsysim.laws, name), 2)
    (folder / "laws.md").write_text("\n".join(pages), encoding="utf-8")
    from_elsewhere = laws | set(mlsysim.resolvers.__all__)
    listed = sorted(name for name in mlsysim.__all__ if name not in from_elsewhere and not inspect.ismodule(getattr(mlsysim, name)))
    page = ["# Python reference", "", "Names of `import mlsysim`. [Laws](laws.md) and [resolvers](../reference/resolvers/README.md) have pages of their own.", ""]
    for name in listed:
        page += entry(name, getattr(mlsysim, name), 2)
    (folder / "python.md").write_text("\n".join(page), encoding="utf-8")


# ---- what the program knows by name ------------------------------------------------------------------------------------
def said(program, *words):
    return subprocess.run([program, "--no-plugins", *words, "-o", "markdown"], capture_output=True, text=True, check=True).stdout


def named(program, folder):
    (folder / "walls.md").write_text("# The 22 walls\n\n" + said(program, "walls") + "\n", encoding="utf-8")
    kinds = re.search(r"expected one of (.*?) \[", subprocess.run([program, "--no-plugins", "zoo", "list", "?"], capture_output=True, text=True, check=False).stderr)[1]
    (folder / "zoo").mkdir()
    index = ["# The zoo", "", "What is known by name. `mlsysim zoo show NAME` shows every figure of an entry with its source and date.", ""]
    for kind in kinds.split(", "):
        table = said(program, "zoo", "list", kind)
        (folder / "zoo" / f"{kind}.md").write_text(f"# {kind}\n\n{table}\n", encoding="utf-8")
        index.append(f"* [{kind}](zoo/{kind}.md): {max(0, table.count(chr(10) + '|') - 1)}")
    (folder / "zoo.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def write(program, docs):
    folder = docs / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    cpp(folder)
    python(folder)
    named(program, folder)
    subprocess.run([program, "--no-plugins", "resolver", "docs", "--write", docs / "reference/resolvers"], capture_output=True, check=True)
    subprocess.run([program, "--no-plugins", "validate", "--tables-page", folder / "accuracy-tables.md"], capture_output=True, check=True)
    figures = subprocess.run([sys.executable, ROOT / "scripts/figures"], capture_output=True, text=True, check=True).stdout
    (folder / "figures.md").write_text(figures, encoding="utf-8")
    (folder / "trust.md").write_text(trust_page.page_of(trust_page.read(trust_page.PAGE)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
