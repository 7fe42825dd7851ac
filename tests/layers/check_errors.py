"""Checks that every id of an error stands for one error, that docs/reference/errors.md lists them all, and that texts of others raise no others.

An id is a literal such as "mlsysim.unit.003". It stands in one place of the code, or in several that say the same words. The
table is written from the code (--fix): what the message says, and where. Where the words come from elsewhere (a helper that
several faults of one kind go through), the meaning is written by hand in the table and stays.

usage: check_errors.py <top folder> [--fix]
"""

import argparse
import ast
import collections
import pathlib
import re
import sys

TABLE = "docs/reference/errors.md"
TOPS = ("include/mlsysim", "src", "bindings", "plugins")
ID = re.compile(r'"(mlsysim\.[a-z]+\.\d{3})"')
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
# What is known of the reasons that errors state.
KINDS = "src/pipeline/break_reason.cpp"
STATED = re.compile(r"BreakReason::(\w+)")
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
MESSAGE = re.compile(r"\.message\s*=")
NEXT_MEMBER = re.compile(r"\.(?:id|key|found|expected|hint|where|excerpt|reason)\s*=")
ROW = re.compile(r"^\| `(mlsysim\.[a-z]+\.\d{3})` \| (.*) \| (.*) \|$")
PART = re.compile(r'"mlsysim\.[a-z]+\.(?:\{\})?"')
UNKNOWN = "?"

HEAD = """# Errors

Every error carries an id that stays the same while its words may change: `error.id` in Python, `Error::id()` in C++, and in
brackets at the end of a message. An id stands for one error. "..." is what the message fills in, "/" parts its variants.

`tests/layers/check_errors.py . --fix` writes this table from the code.

| id | what is wrong | raised in |
| --- | --- | --- |
"""

Place = collections.namedtuple("Place", "file line message reason")


def enclosed(text, at):
    """From `at` to the end of the brackets around it; strings are stepped over."""
    depth, i = 0, at
    while i < len(text):
        if text[i] == '"':
            i = TEXT.match(text, i).end()
            continue
        depth += (text[i] in "({[") - (text[i] in ")}]")
        if depth < 0:
            break
        i += 1
    return text[at:i]


def words_of(code):
    """The literals of an expression that are words, as one text."""
    code = re.sub(r'"\s+"', "", code)  # one literal in several
    code = re.sub(r'"\s*\+[^"?]*\+\s*"', "{}", code)  # what stands between two
    code = re.sub(r'^[^"?(]*\+\s*"', '"{}', code.strip())
    words = [w for w in TEXT.findall(code) if not ID.fullmatch(f'"{w}"')]
    words = [re.sub(r"\{[^{}]*\}", "...", w).replace("\\'", "'").replace('\\"', '"').strip() for w in words]
    return " / ".join(w for w in words if " " in w)


def message_in(text, at):
    """What the error says whose id ends at `at`."""
    rest = enclosed(text, at)
    start = MESSAGE.search(rest)
    if start:
        code = enclosed(rest, start.end())
        end = NEXT_MEMBER.search(code)
        return words_of(code[:end.start()] if end else code)
    if NEXT_MEMBER.match(rest.lstrip(", \n")):
        return ""  # each throw has words of its own
    words = TEXT.findall(rest)
    return words_of(f'"{words[0]}"') if words else ""


def places_in_cpp(name, text):
    text = COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " " * len(m[0]), text)
    for found in ID.finditer(text):
        reason = STATED.search(enclosed(text, found.end()))
        yield found[1], Place(name, text.count("\n", 0, found.start()) + 1, message_in(text, found.end()), reason and reason[1])


def text_of(node):
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "..."
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(v) for v in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.IfExp):
        return f"{text_of(node.body)} / {text_of(node.orelse)}"
    return "..."


def places_in_python(name, text):
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        for value in [*call.args, *(k.value for k in call.keywords)]:
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and ID.fullmatch(f'"{value.value}"'):
                first = text_of(call.args[0]) if call.args and call.args[0] is not value else ""
                yield value.value, Place(name, value.lineno, first if " " in first else "", None)


def places_of(root):
    """{id: places}, in order of ids."""
    found = collections.defaultdict(list)
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            read = {".cpp": places_in_cpp, ".hpp": places_in_cpp, ".h": places_in_cpp, ".py": places_in_python}.get(path.suffix)
            name = path.relative_to(root).as_posix()
            if read is None:
                continue
            for error, place in read(name, path.read_text()):
                found[error].append(place)
    return dict(sorted(found.items()))


def table_of(root):
    """{id: (meaning, files)} as written."""
    path = root / TABLE
    rows = (ROW.match(line) for line in path.read_text().splitlines()) if path.exists() else ()
    return {row[1]: (row[2], row[3]) for row in rows if row}


def rows_of(places, written):
    """{id: (meaning, files)} as it should be."""
    rows = {}
    for error, at in places.items():
        meaning = at[0].message.replace("|", "\\|") or written.get(error, (UNKNOWN,))[0]
        rows[error] = meaning, ", ".join(f"`{name}`" for name in sorted({p.file for p in at}))
    return rows


def composed(root):
    """Places that put an id together, where nobody finds it."""
    for top in TOPS:
        for path in sorted((root / top).rglob("*.?pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if PART.search(line):
                    yield f"{path.relative_to(root).as_posix()}:{number}: the id of an error is written whole, as one literal"


DUMP = re.compile(r"\.dump\(")
JSON_TEXT = "include/mlsysim/units/detail/json_text.hpp"


def strict_texts(root):
    """Places that write JSON by nlohmann's own function, which throws what is no error of ours where a name of somebody else is no UTF-8."""
    for top in TOPS:
        for path in sorted((root / top).rglob("*.?pp")):
            text = path.read_text()
            for call in () if path == root / JSON_TEXT else DUMP.finditer(text):
                line = text.count("\n", 0, call.start()) + 1
                yield f"{path.relative_to(root).as_posix()}:{line}: dump() throws at names that are no UTF-8; {JSON_TEXT} has what replaces them"


def doubles(places):
    """Ids that stand for several errors."""
    out = []
    for error, at in places.items():
        if len(at) > 1 and (len({p.message for p in at}) > 1 or not at[0].message):
            out.append(f"{error} stands for several errors; each needs an id of its own")
            out += [f"  {p.file}:{p.line}: {p.message or 'words from elsewhere'}" for p in at]
    return out


BREAKS = """
## Breaks

A break is a place where there is no full answer: a stage of a pipeline, a cell of a matrix, a candidate. Its reason is one of this list, which is a label of
metrics and a field of events; its id stays with it and is not used again. `error`: there is no answer; `degraded`: there is one that rests on less than it
should. An error states its reason where it is thrown. For one that states none, the type of the error gives the reason.

| id | reason | severity | what | hint | errors |
| --- | --- | --- | --- | --- | --- |
"""


def breaks_of(root, places):
    """The table of breaks, from the code; nothing where their ids are not in order."""
    code = (root / KINDS).read_text()
    names = re.findall(r"\w+", re.search(r"enum class BreakReason [^{]*\{([^}]*)\}", (root / "include/mlsysim/units/error.hpp").read_text())[1])
    known = collections.defaultdict(list)
    for error, at in places.items():
        if at[0].reason:
            known[at[0].reason].append(f"`{error}`")
    rows = re.findall(r'\{"(MB\d{3})",\s*"(\w+)",\s*"([^"]*)",\s*"([^"]*)"\}', code)
    if [row[0] for row in rows] != [f"MB{i:03}" for i in range(1, len(names) + 1)]:
        return None
    return BREAKS + "".join(f"| `{number}` | `{name}` | {severity} | {text} | {hint} | {', '.join(known[name])} |\n"
                            for name, (number, severity, text, hint) in zip(names, rows))


def complaints_of(root):
    places, written = places_of(root), table_of(root)
    due = rows_of(places, written)
    found = [*composed(root), *strict_texts(root), *doubles(places)]
    found += [f"{TABLE}: {error} is not in the code" for error in written if error not in due]
    if (root / KINDS).exists():
        breaks = breaks_of(root, places)
        if breaks is None:
            found.append(f"{KINDS}: reasons have the ids MB001, MB002, ... in the order of breaks.hpp")
        elif not (root / TABLE).read_text().endswith(breaks):
            found.append(f"{TABLE}: the breaks are not as in the code; --fix writes them")
        found += [f"{error} states several reasons" for error, at in places.items() if len({p.reason for p in at}) > 1]
    for error, row in due.items():
        if row[0] == UNKNOWN:
            at = places[error][0]
            found.append(f"{TABLE}: {error} ({at.file}:{at.line}) needs its meaning by hand: its words come from elsewhere")
        elif written.get(error) != row:
            found.append(f"{TABLE}: {error} is not as in the code; --fix writes it")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true", help="write the table")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.fix:
        places = places_of(root)
        rows = rows_of(places, table_of(root))
        (root / TABLE).write_text(HEAD + "".join(f"| `{e}` | {meaning} | {files} |\n" for e, (meaning, files) in rows.items())
                                  + (breaks_of(root, places) or "" if (root / KINDS).exists() else ""))
    found = complaints_of(root)
    print("\n".join(found) if found else "every id stands for one error, and is in the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
