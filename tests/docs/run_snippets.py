"""Runs the code of the documentation: README.md and every page of docs/.

A fenced block takes part when the word `run` follows its language:

    ```cpp run        compiled against this build and executed; lines without a main() are put into one
    ```cpp compile    compiled only
    ```python run     executed; the blocks of a page share one namespace, in order
    ```sh run         executed by bash with the programs of the build first in PATH, in a scratch folder that shows
                      the files of the project
    ```text output    what the block before it must print; a line `...` stands for any number of lines

Python and sh blocks need the module and the program: where the build has none, a page that wants them fails.
"""

import argparse
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import expected  # noqa: E402
from toolchain import Toolchain  # noqa: E402

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>```+)(?P<info>[^`]*)$")
TIME_LIMIT_S = 120


class Snippet:
    """A block that runs: its language, task (run or compile), place, code and expected output if any."""

    def __init__(self, language, task, page, line, code):
        self.language, self.task, self.page, self.line, self.code = language, task, page, line, code
        self.output = None


def blocks(text):
    """(info words, line of the first code line, code) of every fenced block."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        number += 1
        if not fence:
            continue
        start = number
        while number < len(lines) and lines[number].strip() != fence["marks"]:
            number += 1
        indent = len(fence["indent"])
        code = "\n".join(line[indent:] for line in lines[start:number]) + "\n"
        yield fence["info"].split(), start + 1, code
        number += 1


def snippets(page):
    """The snippets of a page, each with the output block that follows it."""
    found = []
    previous = None
    for info, line, code in blocks(page.read_text()):
        language, tags = (info[0], info[1:]) if info else ("", [])
        if language == "text" and "output" in tags:
            if previous is None:
                raise SystemExit(f"{page}:{line}: an output block must follow a block that runs")
            previous.output = code
            previous = None
            continue
        previous = None
        if "run" in tags or "compile" in tags:
            if language not in ("cpp", "python", "sh"):
                raise SystemExit(f"{page}:{line}: '{language}' cannot run; expected cpp, python or sh")
            previous = Snippet(language, "run" if "run" in tags else "compile", page, line, code)
            found.append(previous)
    return found


def whole_program(snippet):
    """C++ text of a snippet; a #line keeps messages at the place in the page."""
    if re.search(r"\bint main\s*\(", snippet.code):
        return f'#line {snippet.line} "{snippet.page}"\n{snippet.code}'
    top, body = [], []
    for number, line in enumerate(snippet.code.splitlines(), snippet.line):
        (top if line.startswith("#include") else body).append(f'#line {number} "{snippet.page}"\n{line}')
    return "\n".join([*top, "int main() {", *body, "}", ""])


def run(command, folder, env, text=None):
    """(output, complaint) of a command."""
    try:
        done = subprocess.run(command, cwd=folder, env=env, input=text, capture_output=True, text=True,
                              timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "", f"ran longer than {TIME_LIMIT_S} s"
    if done.returncode != 0:
        return done.stdout, f"ended with status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout, None


def run_cpp(toolchain, snippet, folder, number):
    source = pathlib.Path(folder) / f"snippet_{number}.cpp"
    source.write_text(whole_program(snippet))
    if snippet.task == "compile":
        return run(toolchain.syntax(source), folder, toolchain.environment())
    program = source.with_suffix("")
    _, complaint = run(toolchain.program(source, program), folder, toolchain.environment())
    return ("", complaint) if complaint else run([str(program)], folder, toolchain.environment())


def run_python_blocks(path):
    """Runs blocks of a page in one namespace (in a process of its own) and prints what each printed, as JSON."""
    import json

    names = {"__name__": "__main__"}
    results = []
    for code, place in json.loads(pathlib.Path(path).read_text()):
        printed = io.StringIO()
        complaint = None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(code, place, "exec"), names)
            except BaseException:  # noqa: BLE001: whatever it is, the page is wrong
                complaint = traceback.format_exc()
        results.append([printed.getvalue(), complaint])
        if complaint:
            break
    print(json.dumps(results))
    return 0


def python_results(toolchain, found, folder):
    """{snippet: (output, complaint)} of the Python snippets of one page."""
    import json

    todo = [s for s in found if s.language == "python"]
    if not todo:
        return {}
    # Blank lines in front keep the line numbers of the page in messages.
    work = [["\n" * (s.line - 1) + s.code, str(s.page)] for s in todo]
    path = pathlib.Path(folder) / "python_blocks.json"
    path.write_text(json.dumps(work))
    output, complaint = run([toolchain.python, __file__, "--python-blocks", str(path)], folder,
                            toolchain.environment())
    if complaint:
        return {s: ("", complaint) for s in todo}
    results = [tuple(result) for result in json.loads(output)]
    results += [("", "not run: the block before it failed")] * (len(todo) - len(results))
    return dict(zip(todo, results))


def scratch(toolchain, folder):
    """A folder that shows the files of the project but takes what a snippet writes."""
    for path in toolchain.source_dir.iterdir():
        if path.name not in (".git", "build", ".venv"):
            os.symlink(path, pathlib.Path(folder) / path.name)


def run_page(toolchain, page):
    """Complaints about a page, and the number of its snippets."""
    found = snippets(page)
    complaints = []
    if not found:
        return complaints, 0
    with tempfile.TemporaryDirectory() as folder:
        scratch(toolchain, folder)
        from_python = python_results(toolchain, found, folder)
        for number, snippet in enumerate(found):
            if snippet.language == "cpp":
                output, complaint = run_cpp(toolchain, snippet, folder, number)
            elif snippet.language == "python":
                output, complaint = from_python[snippet]
            else:
                output, complaint = run(["bash", "-euo", "pipefail", "-s"], folder, toolchain.environment(),
                                        snippet.code)
            where = f"{page}:{snippet.line}"
            if complaint:
                complaints.append(f"{where}: {complaint}")
            elif snippet.output is not None and not expected.matches(snippet.output, output):
                complaints.append(f"{where}: prints something else than the page says\n"
                                  f"{expected.difference(snippet.output, output)}")
    return complaints, len(found)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--python-blocks":
        return run_python_blocks(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toolchain", type=pathlib.Path, help="tests/toolchain.json of a build")
    parser.add_argument("pages", type=pathlib.Path, nargs="*", help="default: README.md and docs/**.md")
    options = parser.parse_args()
    toolchain = Toolchain(options.toolchain)
    root = toolchain.source_dir
    pages = options.pages or [p for p in [root / "README.md"] if p.exists()] + sorted((root / "docs").rglob("*.md"))
    total, failures = 0, []
    for page in pages:
        complaints, count = run_page(toolchain, page)
        total += count
        failures += complaints
    print("\n".join(failures))
    print(f"{len(pages)} pages, {total} snippets, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
