"""How the package is known to installers."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import mlsysim

ROOT = pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).parents[2]))


def test_the_distribution_has_a_name_of_its_own():
    found = importlib.metadata.distribution("mlsysim-cpp")
    assert found.version == mlsysim.__version__
    assert pathlib.Path(found.locate_file("mlsysim")) == pathlib.Path(mlsysim.__file__).parent


def test_plugins_depend_on_that_name():
    assert 'name = "mlsysim-cpp"' in (ROOT / "pyproject.toml").read_text()
    for file in ("plugins/acme_python/pyproject.toml", "src/components/plugin/cli/plugin_templates.cpp"):
        assert 'dependencies = ["mlsysim-cpp"]' in (ROOT / file).read_text()


def test_the_package_of_the_same_import_name_is_named(tmp_path):
    packages = tmp_path / "site-packages"
    (packages / "mlsysim-0.3.0.dist-info").mkdir(parents=True)
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(packages)])
    done = subprocess.run([sys.executable, "-c", "import mlsysim"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0 and "mlsysim-0.3.0 of PyPI" in done.stderr and "pip uninstall mlsysim" in done.stderr
    alone = subprocess.run([sys.executable, "-c", "import mlsysim"], capture_output=True, text=True)
    assert alone.stderr == ""
