"""Checks that every source file is in the list of its folder, and keeps to the plain rules of headers.

A file that no CMakeLists.txt names is never compiled, and nothing else would notice. Headers start with
`#pragma once`, and no file is longer than 600 lines. The map of a room, src/<room>/README.md, names every file of its
folder and no file that does not exist.

usage: check_lists.py <top folder> [--fix]      --fix writes the lists of the rooms and of their unit tests
"""

import argparse
import pathlib
import re
import sys

LIMIT = 600

# (folder of the files, suffixes, folder of the list); {room} stands for each subfolder.
LISTS = [
    ("include/mlsysim/{room}", {".hpp", ".h"}, "src/{room}"),
    ("src/{room}", {".cpp", ".c"}, "src/{room}"),
    ("tests/unit/{room}", {".cpp"}, "tests/unit/{room}"),
    ("include/mlsysim", {".hpp", ".h"}, "src"),
    ("tests/identity", {".cpp"}, "tests/identity"),
    ("tests/golden", {".cpp"}, "tests/golden"),
    ("tests/fuzz", {".cpp"}, "tests/fuzz"),
    ("tests/plugin", {".cpp"}, "tests/plugin"),
    ("tests/compile_fail/cases", {".cpp"}, "tests/compile_fail"),
    ("benchmarks", {".cpp"}, "benchmarks"),
    ("bindings/python", {".cpp", ".py", ".pyi", ".typed"}, "bindings/python"),
]
# Folders whose files lie at any depth below; the list names them relative to the first.
DEEP = {"include/mlsysim/{room}", "src/{room}", "bindings/python"}


def listed(folder):
    """The words of a CMakeLists.txt, without comments."""
    path = folder / "CMakeLists.txt"
    if not path.exists():
        return None
    text = re.sub(r"#.*", "", path.read_text())
    return set(re.findall(r"[^\s()\"]+", text))


def folders(root, pattern):
    if "{room}" not in pattern:
        return [(root / pattern, "")]
    top = root / pattern.split("/{room}")[0]
    return [(path, path.name) for path in sorted(top.iterdir()) if path.is_dir()] if top.is_dir() else []


def check_lists(root):
    found = []
    for pattern, suffixes, list_pattern in LISTS:
        for folder, room in folders(root, pattern):
            list_folder = root / list_pattern.format(room=room)
            files = folder.rglob("*") if pattern in DEEP else folder.glob("*")
            files = sorted(path for path in files if path.suffix in suffixes)
            if not files:
                continue
            words = listed(list_folder)
            list_file = list_folder.relative_to(root) / "CMakeLists.txt"
            if words is None:
                found.append(f"{list_file}: missing, but {folder.relative_to(root)} holds files")
                continue
            for path in files:
                name = path.relative_to(folder).as_posix()
                if pattern.endswith("cases"):
                    name = path.stem  # cases are listed by name
                if name not in words:
                    found.append(f"{path.relative_to(root)}: not in {list_file}; add the line '{name}'")
    # An example is listed by the name of its folder or script.
    words = listed(root / "examples") or set()
    for path in sorted((root / "examples").glob("cpp/*/main.cpp")) + sorted((root / "examples").glob("python/*.py")):
        name = path.parent.name if path.name == "main.cpp" else path.stem
        if name not in words:
            found.append(f"{path.relative_to(root)}: not in examples/CMakeLists.txt; add an example '{name}'")
    return found


def names_below(folder, suffixes):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.suffix in suffixes)


def fix_room(root, room):
    """Writes the list of a room from its files; its part, its kernels and other lines stay."""
    path = root / "src" / room / "CMakeLists.txt"
    call = re.compile(r"mlsysim_room\(" + re.escape(room) + r" PART (\w+)([^)]*)\)")
    old = path.read_text()
    found = call.search(old)
    if not found:
        sys.exit(f"{path}: expected 'mlsysim_room({room} PART <part> ...)', found none")
    kernels = (re.sub(r"#.*", "", found[2]).split("KERNELS") + [""])[1].split("HEADERS")[0].split("SOURCES")[0].split()
    # A program of the room lies in its folder `tool` and has a target of its own.
    sources = [n for n in names_below(root / "src" / room, {".cpp", ".c"})
               if n not in kernels and not n.startswith("tool/")]
    new = f"mlsysim_room({room} PART {found[1]}"
    for word, names in (("HEADERS", names_below(root / "include/mlsysim" / room, {".hpp", ".h"})),
                        ("SOURCES", sources), ("KERNELS", kernels)):
        if names or word != "KERNELS":
            new += f"\n  {word}" + "".join(f"\n    {name}" for name in names)
    write_if_new(path, old[:found.start()] + new + ")" + old[found.end():])


def fix_tests(root, room):
    """Writes the list of the unit tests of a room from its files."""
    path = root / "tests/unit" / room / "CMakeLists.txt"
    old = path.read_text()
    new = f"mlsysim_room_tests({room}" + "".join(f"\n  {name}" for name in names_below(path.parent, {".cpp"})) + ")"
    write_if_new(path, re.sub(r"mlsysim_room_tests\(" + re.escape(room) + r"\b[^)]*\)", lambda _: new, old))


def write_if_new(path, text):
    if path.read_text() != text:
        path.write_text(text)
        print(f"wrote {path}")


def check_text(root):
    found = []
    for top in ("include", "src", "tests", "bindings", "plugins", "benchmarks", "examples"):
        for path in sorted((root / top).rglob("*")) if (root / top).is_dir() else []:
            if path.suffix not in {".hpp", ".cpp", ".h", ".c", ".py"}:
                continue
            lines = path.read_text().splitlines()
            name = path.relative_to(root)
            if len(lines) > LIMIT:
                found.append(f"{name}: {len(lines)} lines, at most {LIMIT}; split it by idea")
            if path.suffix == ".hpp" and (not lines or lines[0] != "#pragma once"):
                found.append(f"{name}:1: expected '#pragma once', found '{lines[0] if lines else ''}'")
    return found


def check_maps(root):
    """Maps of rooms: files in code spans, relative to the folder of the map or to the headers of the room."""
    found = []
    for page in sorted((root / "src").glob("*/README.md")):
        folder, headers = page.parent, root / "include/mlsysim" / page.parent.name
        named = set(re.findall(r"`([\w./-]+\.(?:hpp|cpp|h|c))`", page.read_text()))
        where = page.relative_to(root)
        found += [f"{where}: names {name}, which does not exist" for name in sorted(named)
                  if not (folder / name).exists() and not (headers / name).exists()]
        for top in (folder, headers):
            found += [f"{where}: does not name {name}" for name in names_below(top, {".cpp", ".c", ".hpp", ".h"})
                      if name not in named]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true", help="write the lists of the rooms and of their unit tests")
    options = parser.parse_args()
    root = options.root.resolve()
    if not (root / "CMakeLists.txt").exists():
        sys.exit(f"{root} is not the top folder of the project: it has no CMakeLists.txt")
    if options.fix:
        for path in sorted((root / "src").glob("*/CMakeLists.txt")):
            if "mlsysim_room(" in path.read_text():
                fix_room(root, path.parent.name)
        for path in sorted((root / "tests/unit").glob("*/CMakeLists.txt")):
            fix_tests(root, path.parent.name)
    complaints = check_lists(root) + check_text(root) + check_maps(root)
    print("\n".join(complaints) if complaints else "every file is listed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
