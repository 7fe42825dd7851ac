"""How the package is known to installers."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import mlsysim

ROOT = pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

FOLDERS = "bindings cmake docs examples packaging plugins scripts src tests/ci tests/plugin tests/consumer .ci".split()
NAME = r"['\"]?mlsysim[-_]cpp(?:\[\w+\])?(?![\w.]|-[\d*$]|\s*@)"
BY_NAME = (rf"(?m)\b(?:pip3?|uv|pipx|poetry|pdm)\s+(?:\w+\s+)*?(?:install|wheel|download|add)\b[^\n#`|;&(]*?(?<![\w/.-]){NAME}",
           rf"(?:dependencies|requires)\s*=\s*\[[^\]]*['\"]mlsysim[-_]cpp",
           rf"(?m)^\s*(?:-\s+)?mlsysim[-_]cpp\s*(?:[<>=~!][^\n]*)?$")


def test_the_distribution_has_a_name_of_its_own():
    found = importlib.metadata.distribution("mlsysim-cpp")
    assert found.version == mlsysim.__version__
    assert pathlib.Path(found.locate_file("mlsysim")) == pathlib.Path(mlsysim.__file__).parent


def test_nothing_installs_the_package_by_its_name():
    """The name is not ours on the index: whoever registers it would be installed. A path, a wheel or a variable is named instead."""
    files = [ROOT / "README.md", ROOT / "pyproject.toml", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())]
    read = 0
    for path in files:
        if path.suffix in {".png", ".svg", ".pyc", ".onnx", ".gz"} or {"node_modules", "__pycache__"} & set(path.parts):
            continue
        text = path.read_text(errors="replace")
        read += 1
        for pattern in BY_NAME:
            found = re.search(pattern, text)
            assert not found, f"{path.relative_to(ROOT)} installs the package by its name: {found[0]}"
    assert read > 200
    for line in ("pip install mlsysim-cpp torch", "- pip install -U 'mlsysim-cpp[mcp]'", "uv pip install torch mlsysim-cpp", "pip wheel mlsysim_cpp==0.1",
                 'dependencies = ["numpy", "mlsysim-cpp"]', "  - mlsysim-cpp>=0.1", "    mlsysim-cpp"):
        assert any(re.search(pattern, line) for pattern in BY_NAME), line
    for line in ("pip install dist/mlsysim_cpp-0.1.0-py3-none-any.whl", 'pip install "$MLSYSIM_WHEEL" torch', "pip install 'mlsysim-cpp @ file:///dist/a.whl'"):
        assert not any(re.search(pattern, line) for pattern in BY_NAME), line


def test_the_package_of_the_same_import_name_is_named(tmp_path):
    packages = tmp_path / "site-packages"
    (packages / "mlsysim-0.3.0.dist-info").mkdir(parents=True)
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(packages)])
    done = subprocess.run([sys.executable, "-c", "import mlsysim"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0 and "mlsysim-0.3.0 of PyPI" in done.stderr and "pip uninstall mlsysim" in done.stderr
    alone = subprocess.run([sys.executable, "-c", "import mlsysim"], capture_output=True, text=True)
    assert alone.stderr == ""
