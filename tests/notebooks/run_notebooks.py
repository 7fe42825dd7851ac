"""Runs the notebooks of examples/notebooks, cell by cell in one namespace, and shows the last value of each cell.

The kernel of a notebook does the same; without one this runs wherever the package does. What a notebook would show must be
there: an SVG, a table or words. Notebooks are kept without outputs.
"""

import ast
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"
SHOWN = ("_repr_mimebundle_", "_repr_svg_", "_repr_html_", "__repr__")


def run(cell, names, where):
    """Runs a cell. @return its last value, or None"""
    tree = ast.parse(cell, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), names)


def shown(value):
    """The first form in which a notebook would show the value."""
    for name in SHOWN:
        if hasattr(value, name):
            return getattr(value, name)()
    raise AssertionError(f"{value!r} cannot be shown")


def main():
    faults, pictures = [], 0
    notebooks = sorted(FOLDER.glob("*.ipynb"))
    for path in notebooks:
        names = {"__name__": "__main__"}
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            where = f"{path.name}, cell {number + 1}"
            if cell["cell_type"] != "code":
                continue
            if cell["outputs"] or cell["execution_count"] is not None:
                faults.append(f"{where} keeps an output")
            try:
                value = run("".join(cell["source"]), names, where)
                form = None if value is None else shown(value)
                pictures += isinstance(form, dict) and "<svg" in form["image/svg+xml"]
                if form is not None and not form:
                    faults.append(f"{where} shows nothing")
            except Exception as e:
                faults.append(f"{where}: {type(e).__name__}: {e}")
    print(f"{len(notebooks)} notebooks, {pictures} pictures")
    print("\n".join(faults))
    return 1 if faults or len(notebooks) < 7 or pictures < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
