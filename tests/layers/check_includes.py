"""Checks that includes follow the rooms of docs/explanation/architecture.md.

Reads the fenced block that starts with ```rooms (one line `room: allowed rooms` each), then every #include below
include/mlsysim, src and bindings. Also checks what public headers and the core rooms may take from outside, and that
every installed header has a user: headers in a folder `detail` are not installed.
"""

import argparse
import pathlib
import re
import sys

PAGE = pathlib.Path("docs/explanation/architecture.md")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SUFFIXES = {".hpp", ".h", ".cpp", ".c", ".inl"}

# Headers of the top folder that any room may include.
TOP_HEADERS = {"fwd.hpp", "version.hpp", "export.hpp"}

# Rooms that also compile where there are no threads, files or clock.
CORE_ROOMS = {"units", "scalars", "reflect", "tape", "physics", "specs", "lowering", "resolver_api", "timing", "estimate"}
CORE_FORBIDDEN = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "chrono", "ctime", "time.h",
                  "fstream", "filesystem", "iostream", "cstdio", "stdio.h", "dlfcn.h", "unistd.h"}

# What costs every user seconds of compile time: (pattern, what to do, public headers that are let off).
PUBLIC_FORBIDDEN = [
    (re.compile(r"^yaml-cpp"), "keep YAML in src/zoo", set()),
    (re.compile(r"^nlohmann/(?!json_fwd\.hpp)"), "use <nlohmann/json_fwd.hpp>", set()),
    (re.compile(r"^pybind11"), "keep it in bindings/python", set()),
    (re.compile(r"^Eigen/(Dense|Eigen)$"), "include <Eigen/Core> where arrays are the interface", set()),
    (re.compile(r"^CLI/"), "keep it in src/cli", set()),
    (re.compile(r"^fmt/"), "only units/fmt.hpp may", {"units/fmt.hpp"}),
]


def read_rooms(root):
    """The matrix: room -> rooms it may include, in the order of the page.

    `room/idea` is a folder of a room; such a line lists the ideas of the same room that it may include.
    """
    text = (root / PAGE).read_text()
    block = re.search(r"^```rooms\s*\n(.*?)^```", text, re.M | re.S)
    if not block:
        sys.exit(f"{PAGE}: expected a fenced block that starts with ```rooms, found none")
    rooms = {}
    for line in filter(None, (l.strip() for l in block[1].splitlines())):
        name, colon, allowed = line.partition(":")
        if not colon:
            sys.exit(f"{PAGE}: expected 'room: allowed rooms', found '{line}'")
        # A room may only name earlier rooms, so the matrix itself cannot hold a cycle.
        unknown = [other for other in allowed.split() if other not in rooms]
        if unknown:
            sys.exit(f"{PAGE}: room '{name}' names {', '.join(unknown)}, which no earlier line declares")
        rooms[name.strip()] = set(allowed.split())
    return rooms


def check_tree(root):
    """Complaints about the tree of the page: it names each folder of the library, and nothing else."""
    block = re.search(r"^```tree\s*\n(.*?)^```", (root / PAGE).read_text(), re.M | re.S)
    if not block:
        return [f"{PAGE}: expected a fenced block that starts with ```tree, found none"]
    named = {line.split()[0] for line in block[1].splitlines() if line.strip()}
    here = set()
    for top in ("include/mlsysim", "src"):
        for folder in (path for path in (root / top).rglob("*") if path.is_dir()):
            name = folder.relative_to(root / top).as_posix()
            if not re.search(r"(^|/)(detail|tool|__pycache__)(/|$)|^components(/\w+/cli)?$", name):
                here.add(name.removeprefix("components/"))
    return [f"{PAGE}: the tree does not name {name}" for name in sorted(here - named)] + [
        f"{PAGE}: the tree names {name}, which is not there" for name in sorted(named - here)]


def inside(path, root):
    """Parts of a file's path from its room on: components lie in a folder of their own, and the commands of one are of the room cli."""
    parts = path.relative_to(root).parts
    parts = parts[2:] if parts[0] == "include" else parts[1:]
    if parts[0] == "components":
        parts = parts[1:]
        if "cli" in parts:
            parts = ("cli", *parts)
    return parts


def room_of(path, root):
    """Room of a file, "" for the files of the top folder."""
    if path.relative_to(root).parts[0] == "bindings":
        return "bindings"
    parts = inside(path, root)
    return parts[0] if len(parts) > 1 else ""


def idea_of(inner, rooms):
    """The declared folder of a room that a path below it lies in, or None: what lies beside the folders serves them all."""
    name = "/".join(inner[:2])
    return name if len(inner) > 2 and name in rooms else None


def check_idea(path, root, inner, rooms):
    """What is wrong with an include of one's own room, or None."""
    mine = idea_of(inside(path, root), rooms)
    target = idea_of(inner, rooms)
    if mine and target and target != mine and target not in rooms[mine]:
        return f"{mine} -> {target} is forbidden; {mine} may include: {' '.join(sorted(rooms[mine])) or 'no other idea'}"
    return None


def check_file(path, root, rooms):
    """Complaints about one file."""
    room = room_of(path, root)
    public = path.relative_to(root).parts[0] == "include"
    if room and room not in rooms:
        return [f"{path.relative_to(root)}: folder '{room}' is no room of {PAGE}; known: {' '.join(rooms)}"]
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        name = include[1]
        where = f"{path.relative_to(root)}:{number}"
        if name.startswith("mlsysim/"):
            inner = name.split("/")[1:]
            target = inner[0] if len(inner) > 1 else ""
            if not target:
                if room and inner[0] not in TOP_HEADERS:
                    found.append(f"{where}: {name} is for users; inside the library include what is needed")
            elif public and name == "/".join(path.relative_to(root).parts[1:]):
                found.append(f"{where}: {name} includes itself")
            elif target not in rooms:
                found.append(f"{where}: {name} names '{target}', which is no room; known: {' '.join(rooms)}")
            elif room and target != room and target not in rooms[room]:
                allowed = " ".join(r for r in rooms if r in rooms[room]) or "no other room"
                found.append(f"{where}: {room} -> {target} is forbidden; {room} may include: {allowed}")
            elif room and target == room:
                wrong = check_idea(path, root, inner, rooms)
                if wrong:
                    found.append(f"{where}: {wrong}")
            if "detail" in inner[:-1] and public and "detail" not in path.parts:
                found.append(f"{where}: a public header includes the private {name}")
        elif room and not (path.parent / name).exists() and any((root / top / name).exists() for top in ("src", "src/components")):
            inner = name.split("/")
            wrong = check_idea(path, root, inner, rooms)
            if inner[0] != room:
                found.append(f"{where}: {name} is private to room '{inner[0]}'")
            elif wrong:
                found.append(f"{where}: {wrong}")
        if public:
            this = "/".join(path.relative_to(root).parts[2:])
            for pattern, advice, except_in in PUBLIC_FORBIDDEN:
                if pattern.match(name) and this not in except_in:
                    found.append(f"{where}: <{name}> in a public header; {advice}")
        if room in CORE_ROOMS and name in CORE_FORBIDDEN:
            found.append(f"{where}: <{name}> in {room}; the core has no threads, files, console or clock")
    return found


def check_kernel(root, rooms):
    """The kernel does without components: the rows of its rooms name none of their rooms (src/CMakeLists.txt)."""
    parts = root / "src/CMakeLists.txt"
    text = parts.read_text() if parts.exists() else ""
    of_components = {room.split("/")[0] for call in re.findall(r"^mlsysim_component\(\w+ ROOMS ([a-z_/ ]+)", text, re.M)
                     for room in call.split()}
    kernel = [r for r in rooms if "/" not in r and r not in of_components | {"cli", "bindings"}]
    return [f"{PAGE}: {room} is a room of the kernel and may include {target}, which is one of a component"
            for room in kernel for target in sorted(rooms[room] & of_components)]


# Where users of installed headers are: the command line is a program on the public interface like any other.
USERS = ("include", "src/cli", "src/components/*/cli", "tests", "examples", "plugins", "bindings", "benchmarks")


def check_installed(root):
    """Installed headers that nothing but sources of the library includes."""
    used = set()
    for path in (p for top in USERS for folder in root.glob(top) for p in folder.rglob("*") if p.suffix in SUFFIXES):
        used |= set(re.findall(r'^\s*#\s*include\s*[<"]mlsysim/([^">]+)[">]', path.read_text(), re.M))
    top = root / "include/mlsysim"
    installed = sorted(p.relative_to(top) for p in top.rglob("*") if p.suffix in SUFFIXES and "detail" not in p.parts)
    return [f"include/mlsysim/{p}: is installed, but only sources of the library include it; move it to "
            f"include/mlsysim/{p.parent}/detail" for p in installed
            if len(p.parts) > 1 and p.as_posix() not in used]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    rooms = read_rooms(root)
    files = sorted(path for top in ("include/mlsysim", "src", "bindings") for path in (root / top).rglob("*")
                   if path.suffix in SUFFIXES)
    if not files:
        sys.exit(f"no source found below {root}")
    complaints = check_tree(root) + [text for path in files for text in check_file(path, root, rooms)]
    complaints += check_installed(root) + check_kernel(root, rooms)
    print("\n".join(complaints) if complaints else f"{len(files)} files keep to {sum(1 for r in rooms if '/' not in r)} rooms and their folders")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
