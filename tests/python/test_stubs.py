"""Stubs: every public name is there."""

import ast
import builtins
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mlsysim

PACKAGE = Path(mlsysim.__file__).parent


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


def undefined_names(stub):
    """Names in annotations, bases and imports that nothing in the stub gives, and classes that it gives twice."""
    known = names_in(stub) | set(dir(builtins))
    tree = ast.parse(stub.read_text())
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        source = isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and stub.parent / f"{node.module}.pyi"
        if source and source.exists():
            given = names_in(source)
            used |= {alias.name for alias in node.names if alias.name not in given}
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return {n for n in used if n not in known} | {n for n in classes if classes.count(n) > 1}


@pytest.mark.parametrize("stub", sorted(PACKAGE.rglob("*.pyi")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_stubs_define_what_they_name(stub):
    assert not undefined_names(stub)


CALLS = """
from mlsysim import HardwareNode, ServingModel, Workload
from mlsysim.results import CompressionResult, CompressionOptimizerResult
from mlsysim.resolvers import CompressionModel, CompressionOptimizer

ServingModel().solve(model="Llama3_8B", hardware="H100")
HardwareNode(name="A", compute={"peak_flops": "10 TFLOP/s"}, memory={"capacity": "8 GB", "bandwidth": "100 GB/s"})
"""


def test_documented_calls_are_well_typed(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "calls.py").write_text(CALLS)
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "calls.py"),
                           *map(str, sorted(PACKAGE.rglob("*.pyi")))], capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, done.stdout


def test_the_calls_of_the_type_check_run():
    exec(CALLS, {})


def test_typed_marker():
    assert (PACKAGE / "py.typed").exists()
