"""Python part of `mlsysim course check`: imports a submission and grades its resolvers and laws.

    python3 -m mlsysim.course grade FOLDER COURSE     grades as JSON, with the same checks as submissions in C++
    python3 -m mlsysim.course kit FOLDER              problems of the entry points in its pyproject.toml

It runs as a separate process, so that a submission may crash or print. After LIMIT_S seconds the process ends.
"""

import importlib.util
import os
import pathlib
import signal
import sys
import tempfile

from . import _mlsysim as _core

__all__ = []
LIMIT_S = 60


def _submission(folder):
    """The module of a submission, imported. What it prints is no part of the answer."""
    words = dict(line.split(":", 1) for line in (folder / "submission.yaml").read_text().splitlines() if ":" in line)
    path = folder / words["file"].strip()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _resolvers(module):
    """Classes of the three tiers and laws of a module, as the registry takes them."""
    from .base import _defined
    from .recording import Law
    from .stages import Stage

    classes = [cls for cls in _defined.values() if cls.__module__ == module.__name__]
    laws = [value._resolver for value in vars(module).values() if isinstance(value, Law)]
    return [Stage(cls).declared("submission", False) for cls in classes] + laws


def _grade(folder, course):
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _core._publish_resolvers(_resolvers(_submission(folder)))
    os.dup2(answer, 1)
    return _core._run_program(["mlsysim", "--no-plugins", "course", "check", str(folder), "--course", str(course), "--loaded", "-o", "json"])


def _kit(folder):
    """Installs nothing: the entry points are those that an installation would have."""
    import tomllib

    from .plugins import check

    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    points = project.get("entry-points", {})
    with tempfile.TemporaryDirectory() as place:
        info = pathlib.Path(place) / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
        (info / "entry_points.txt").write_text("".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items()) for group, rows in points.items()))
        sys.path[:0] = [place, str(folder)]
        try:
            problems = check(project["name"])
        except Exception as error:  # whatever it is, the student is to read it
            problems = [str(error)]
    print("\n".join(problems))
    return 1 if problems else 0


def main(words):
    """Run a command of the course.

    Parameters
    ----------
    words : list of str
        ["grade", FOLDER, COURSE] or ["kit", FOLDER].

    Returns
    -------
    int
        Exit code; 0 if there is no problem.

    Notes
    -----
    The command prints its answer and sets an alarm of LIMIT_S seconds.

    Examples
    --------
    >>> main(["kit", "submission"])                                                         # doctest: +SKIP
    0
    """
    if hasattr(signal, "alarm"):
        signal.alarm(LIMIT_S)
    folder = pathlib.Path(words[1])
    return _grade(folder, words[2]) if words[0] == "grade" else _kit(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
