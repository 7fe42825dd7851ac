"""Stubs: every public name is there, and the generated parts are those of the tables."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mlsysim

PACKAGE = Path(mlsysim.__file__).parent
SOURCE = Path(os.environ.get("MLSYSIM_SOURCE_DIR", Path(__file__).parents[2]))


def names_in(stub):
    out = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            out.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            out.add(node.target.id)
        elif isinstance(node, ast.Assign):
            out.update(t.id for t in node.targets)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            out.update(a.asname or a.name for a in node.names)
    return out


@pytest.mark.parametrize("module", ["", "units", "arrays", "specs", "registries", "base", "results", "resolvers", "pipelines",
                                    "engine", "errors", "factory", "laws", "zoo", "core/solver"])
def test_every_public_name_is_in_the_stub(module):
    stub = PACKAGE / (module + ".pyi" if module else "__init__.pyi")
    loaded = importlib.import_module(".".join(["mlsysim", *module.split("/")]) if module else "mlsysim")
    public = {n for n in dir(loaded) if not n.startswith("_")} if module in ("", "laws", "resolvers") else set(
        getattr(loaded, "__all__", ()))
    missing = {n for n in public if n not in names_in(stub)}
    assert public and not missing


def test_the_generated_parts_are_current():
    script = SOURCE / "bindings/python/make_stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nrun: PYTHONPATH={PACKAGE.parent} python3 {script}"


def test_methods_of_the_main_classes_are_in_the_stubs():
    for stub, cls in (("_mlsysim.pyi", mlsysim.Quantity), ("pipelines.pyi", mlsysim.Pipeline),
                      ("engine.pyi", mlsysim.SystemEvaluator), ("engine.pyi", mlsysim.SystemEvaluation),
                      ("arrays.pyi", mlsysim.QuantityArray), ("specs.pyi", mlsysim.HardwareNode),
                      ("specs.pyi", mlsysim.Workload)):
        body = next(n for n in ast.parse((PACKAGE / stub).read_text()).body
                    if isinstance(n, ast.ClassDef) and n.name == cls.__name__)
        listed = {n.name for n in body.body if isinstance(n, ast.FunctionDef)}
        listed |= {n.target.id for n in body.body if isinstance(n, ast.AnnAssign)}
        public = {n for n in vars(cls) if not n.startswith("_")} - {"provenance", "replace", "to_dict"}
        assert public <= listed, (cls, public - listed)


def test_typed_marker():
    assert (PACKAGE / "py.typed").exists()
