"""The changes that docs/how-to/extend.md shows can be made: each section is applied to a copy of the tree, and undone.

Of each section `## 1. ...` of the page this holds:

* its ```diff blocks apply, each place being found by its lines alone and only once;
* they touch as many files, beside tests and the changelog, as its words `**3 files**` say;
* includes and named laws are in order afterwards, and what it adds to the zoo loads;
* the files after `Compile first:` compile with the flags of the build;
* a row `| path | compiler | text |` of its table is true: without the change to that file the compiler says the text. Other
  checkers that are held: those of CHECKERS, and the program.

Whatever of it does not hold is one sentence that names the section.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from toolchain import Toolchain  # noqa: E402

PAGE = pathlib.Path("docs/how-to/extend.md")
CHECKERS = {"layers.includes": "check_includes.py", "layers.law_calls": "check_law_calls.py"}
ROW = re.compile(r"^\| `([^`]+)` \| `?([\w. ]+?)`? \| (.*) \|$", re.M)


class Broken(Exception):
    """What is wrong with a section, as a part of a sentence."""


class Section:
    """A section of the page: number, title, change of each file, and what it says of them."""

    def __init__(self, number, title, text):
        self.number, self.title = number, title
        self.changes = {}
        for block in re.findall(r"^```diff\n(.*?)^```$", text, re.M | re.S):
            for part in re.split(r"^(?=--- )", block, flags=re.M)[1:]:
                self.changes[re.match(r"--- .*\n\+\+\+ b/(\S+)", part)[1]] = part
        count = re.search(r"\*\*(\d+) files?\*\*", text)
        first = re.search(r"^Compile first: (.*?)\.$", text, re.M | re.S)
        self.count = int(count[1]) if count else None
        self.first = re.findall(r"`([^`]+)`", first[1]) if first else []
        self.rows = [(path, who, re.findall(r"`([^`]+)`", said)) for path, who, said in ROW.findall(text)]

    def __str__(self):
        return f"{PAGE}: section {self.number}, '{self.title}'"

    def own_files(self):
        """The files that count: no tests, no changelog."""
        return [path for path in self.changes if not path.startswith("tests/") and path != "CHANGELOG.md"]


def sections(page):
    parts = re.split(r"^## (\d+)\. (.+)$", page, flags=re.M)[1:]
    return [Section(*parts[i : i + 3]) for i in range(0, len(parts), 3)]


def hunks(change):
    """The lines before and after each place of a change."""
    for text in re.split(r"^@@ .*\n", change, flags=re.M)[1:]:
        lines = text.splitlines()
        yield ["\n".join(l[1:] for l in lines if l[:1] in kept) for kept in ({" ", "-", ""}, {" ", "+", ""})]


def applied(path, change, text):
    """The text of a file after a change; None is a file that is not there."""
    new = change.startswith("--- /dev/null")
    if new != (text is None):
        raise Broken(f"{path} is {'already' if new else 'not'} there")
    text = text or ""
    for before, after in hunks(change):
        found = list(re.finditer(f"^{re.escape(before)}$", text, re.M)) if before else []
        if before and len(found) != 1:
            where = f"there {len(found)} times, so that the place is not certain" if found else "no longer there"
            raise Broken(f"the lines of {path} beside which it is made are {where}:\n{before}")
        text = after + "\n" if new else text[: found[0].start()] + after + text[found[0].end() :]
    return text


def output(command, folder, **variables):
    """(whether a command succeeded, what it printed)."""
    done = subprocess.run([str(c) for c in command], cwd=folder, env={**os.environ, "LC_ALL": "C", **variables},
                          capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


class Tree:
    """A copy of what is in the working tree and not ignored."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        known, names = output(["git", "ls-files", "-coz", "--exclude-standard"], source)
        if not known:
            raise SystemExit(f"git knows no files of {source}: {names}")
        for name in filter(None, names.split("\0")):
            if (source / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, folder / name)

    def apply(self, changes):
        """Makes changes as a reader would, with git; their places were found to be certain."""
        wanted = {path: applied(path, change, self.text(path)) for path, change in changes.items()}
        patch = self.folder / "section.patch"
        patch.write_text("".join(changes.values()))
        done, said = output(["git", "apply", "-p1", patch], self.folder,
                            GIT_CEILING_DIRECTORIES=str(self.folder.parent))
        patch.unlink()
        if not done:
            raise Broken(f"git apply says: {said}")
        for path, text in wanted.items():
            if self.text(path) != text:
                raise Broken(f"git apply changed {path} at another place than the one that its lines name")

    def text(self, path):
        return (self.folder / path).read_text() if (self.folder / path).is_file() else None

    def restore(self, changes):
        for path in changes:
            (self.folder / path).unlink(missing_ok=True)
            if (self.source / path).is_file():
                shutil.copyfile(self.source / path, self.folder / path)


class Checks:
    def __init__(self, toolchain, tree, program):
        self.toolchain, self.tree, self.program = toolchain, tree, program
        self.commands = json.loads((toolchain.binary_dir / "compile_commands.json").read_text())

    def command(self, path):
        """How the build compiles a file, or a neighbour of it, turned to the copy."""
        source, build = str(self.toolchain.source_dir), str(self.toolchain.binary_dir)
        room = path.split("/")[1]
        near = [c for want in (lambda f: f == f"{source}/{path}",
                               lambda f: path.startswith("src/") and re.search(rf"/unity_{room}_\d+_", f),
                               lambda f: path.startswith("tests/unit/") and f"/test_{path.split('/')[2]}.dir/Unity/" in f,
                               lambda f: f.startswith(f"{source}/{pathlib.PurePath(path).parent}/"))
                for c in self.commands if want(c["file"])]
        if not near:
            raise Broken(f"the build compiles neither {path} nor a neighbour")
        words, out = iter(shlex.split(near[0]["command"])), []
        for word in words:
            if word in ("-o", "-c", "-include"):  # the precompiled header is that of the tree, not of the copy
                next(words)
            elif word not in ("-Winvalid-pch", "-fpch-preprocess"):
                moved = source in word and build not in word
                out.append(word.replace(source, str(self.tree.folder)) if moved else word)
        return [*out, "-fsyntax-only", self.tree.folder / path]

    def compiler(self, section):
        """(whether the files that a section names compile, what is said of the first that does not)."""
        for path in section.first:
            if self.tree.text(path) is None:
                raise Broken(f"it says to compile {path}, which is not there")
            well, said = output(self.command(path), self.tree.folder)
            if not well:
                return False, said
        return True, ""

    def zoo(self):
        return output([self.program, "zoo", "lint"], self.tree.folder, MLSYSIM_ZOO_PATH=str(self.tree.folder / "zoo"))

    def said_by(self, who, section):
        """What a checker says of the tree as it is: (whether all is well, its words)."""
        if who == "compiler":
            return self.compiler(section)
        if who == "zoo lint":
            return self.zoo()
        return output([sys.executable, self.tree.folder / "tests/layers" / CHECKERS[who], self.tree.folder], self.tree.folder)

    def holds(self, who):
        return who in CHECKERS or who in ("compiler", "zoo lint")


def step(program, tree, machine):
    """The step of a model that is trained on a machine of the copy, in ms."""
    done, text = output([program, "eval", "Llama3_8B", machine, "--mode", "train", "-b", "1024", "--zero-stage", "3", "-o", "json"],
                        tree.folder, MLSYSIM_ZOO_PATH=str(tree.folder / "zoo"))
    if not done:
        raise Broken(f"mlsysim eval on {machine} says: {text}")
    return json.loads(text)["p_step_latency"]


def check_machines(section, tree, program):
    """Each machine that a section adds answers, and its outermost level is felt: half of its ports take longer."""
    for path in section.changes:
        added = "".join(l[1:] + "\n" for l in section.changes[path].splitlines() if l.startswith("+"))
        for name in re.findall(r"^- name: (\w+)\n(?:.*\n)*?  levels:", added, re.M):
            before, text = step(program, tree, name), tree.text(path)
            levels = re.findall(r"^  - \{.*ports: (\d+),.*\}$", added, re.M)
            (tree.folder / path).write_text(text.replace(f"ports: {levels[-1]},", f"ports: {int(levels[-1]) / 2:g},"))
            slower = step(program, tree, name)
            (tree.folder / path).write_text(text)
            if not slower > before:
                raise Broken(f"half of the ports of its last level leave a step on {name} at {slower} ms")


def check(section, tree, checks):
    """Raises Broken; gives the number of statements that were held."""
    found = len(section.own_files())
    if not section.changes or found != section.count:
        raise Broken(f"says that it takes {section.count} files, and takes {found}: {', '.join(section.own_files())}")
    if not section.first and any(path.endswith("pp") for path in section.changes):
        raise Broken("does not say what to compile first")
    tree.apply(section.changes)
    loads = any(path.startswith("zoo/") for path in section.changes) and not any(
        path.startswith("include/mlsysim/specs/") for path in section.changes)  # the program has not its tables
    for who in [*CHECKERS, "compiler", *(["zoo lint"] if loads else [])]:
        well, said = checks.said_by(who, section)
        if not well:
            raise Broken(f"{who} says:\n{said.strip()}")
    if loads:
        check_machines(section, tree, checks.program)
    for path, who, texts in section.rows:
        if not checks.holds(who):
            continue
        if path not in section.changes or not texts:
            raise Broken(f"the row of {path} names no change of it, or no words of {who}")
        tree.restore(section.changes)
        tree.apply({p: change for p, change in section.changes.items() if p != path})
        well, said = checks.said_by(who, section)
        if well or not all(text in said for text in texts):
            raise Broken(f"without {path} {who} does not say {texts}, but: {said.strip() or 'nothing'}")
    return 1 + len(section.changes) + len(section.first) + sum(checks.holds(who) for _, who, _ in section.rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=pathlib.Path)
    parser.add_argument("--program", required=True, help="the program mlsysim")
    parser.add_argument("--section", help="only the section of this number")
    options = parser.parse_args()
    if not shutil.which("git"):
        print("git is missing: it applies the changes")
        return 77
    toolchain = Toolchain(options.toolchain)
    complaints, held, seen = [], 0, 0
    all_sections = sections((toolchain.source_dir / PAGE).read_text())
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(toolchain.source_dir, pathlib.Path(folder).resolve())
        checks = Checks(toolchain, tree, options.program)
        for section in (s for s in all_sections if options.section in (None, s.number)):
            seen += 1
            try:
                held += check(section, tree, checks)
            except Broken as fault:
                complaints.append(f"{section}, no longer applies: {fault}")
            tree.restore(section.changes)
    if len(all_sections) < 6:
        complaints.append(f"{PAGE}: expected six sections '## 1. ...', found {len(all_sections)}")
    print("\n".join(complaints) or f"{seen} sections, {held} statements hold")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
