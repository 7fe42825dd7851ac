"""Plugins in Python: libraries, and packages with entry points."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import mlsysim

BUILD = pathlib.Path(mlsysim.__file__).parents[2] / "plugins"
SOURCES = pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).parents[2])) / "plugins"
HELLO = BUILD / "hello_c/mlsysim-plugin-hello-c.so"
EFFICIENCY = BUILD / "acme_efficiency/acme-efficiency.plugin.yaml"

needs_plugins = pytest.mark.skipif(not HELLO.exists(), reason="the plugins are not built")


@pytest.fixture
def efficiency():
    name = mlsysim.plugins.load(EFFICIENCY)
    yield name
    mlsysim.plugins.unload(name)


@needs_plugins
def test_a_library_is_like_what_ships():
    name = mlsysim.plugins.load(HELLO)
    try:
        assert name == "hello-c" and mlsysim.plugins.load(HELLO) == name
        cls = mlsysim.ResolverFactory.get("hello/DecodeFloor")
        floor = cls().solve(weights="16 GB", hardware=mlsysim.Hardware.H100).floor
        assert floor.to("ms").magnitude == pytest.approx(16 / 3.35, rel=1e-12)
        assert "hello/DecodeFloor" in mlsysim.ResolverFactory.list_available()
        results = mlsysim.Pipeline([cls()]).run(weights="16 GB", hardware=mlsysim.Hardware.H100)
        assert list(results.values())[0].floor == floor
    finally:
        mlsysim.plugins.unload(name)
        mlsysim.plugins.unload(name)
    assert "hello/DecodeFloor" not in mlsysim.ResolverFactory.list_available()


@needs_plugins
def test_an_error_of_a_plugin_is_a_plugin_error(efficiency):
    bare = mlsysim.HardwareNode(name="NoTDP", compute={"dense": {"fp16": "100 TFLOP/s"}, "default_precision": "fp16"})
    cls = mlsysim.ResolverFactory.get("acme/PowerEfficiencyModel")
    with pytest.raises(mlsysim.PluginError, match="NoTDP has no TDP"):
        cls().solve(hardware=bare)


@needs_plugins
def test_what_cannot_be_loaded_says_why(tmp_path):
    cut = tmp_path / "mlsysim-plugin-cut.so"
    cut.write_bytes(HELLO.read_bytes()[:6000])
    with pytest.raises(mlsysim.PluginError, match="truncated: headers say"):
        mlsysim.plugins.load(cut)
    with pytest.raises(mlsysim.PluginError, match="there is no plugin"):
        mlsysim.plugins.load("nobody")


@needs_plugins
def test_reload_and_features(efficiency):
    report = mlsysim.plugins.reload(efficiency)
    assert report["same_interface"] and report["old_version"] == report["new_version"] == "1.0.0"
    assert mlsysim.plugins.has_feature(efficiency, "zoo_search")
    assert not mlsysim.plugins.has_feature(efficiency, "no_such_feature")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder on the path with the metadata of installed packages."""

    def add(name, entry_points, **files):
        info = tmp_path / f"{name.replace('-', '_')}-1.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\nSummary: A test\n")
        (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))
        for file, text in files.items():
            (tmp_path / f"{file}.py").write_text(text)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("mlsysim.factory._loaded", None)
    return add


def acme(packages):
    packages("acme-python", """\
        [mlsysim.models]
        PowerEfficiencyModel = acme_python:PowerEfficiencyModel
        [mlsysim.solvers]
        RequiredBandwidthSolver = acme_python:RequiredBandwidthSolver
        [mlsysim.optimizers]
        CheapestHardwareOptimizer = acme_python:CheapestHardwareOptimizer
        """, acme_python=(SOURCES / "acme_python/acme_python.py").read_text())


def test_entry_points_are_listed_without_importing(packages):
    acme(packages)
    sys.modules.pop("acme_python", None)
    rows = [r for r in mlsysim.plugins.list_plugins() if r["name"] == "acme-python"]
    assert len(rows) == 1 and ("model", "PowerEfficiencyModel") in rows[0]["provides"]
    assert "acme_python" not in sys.modules
    assert "PowerEfficiencyModel" in mlsysim.ResolverFactory.list_available()
    assert "acme_python" in sys.modules
    assert mlsysim.plugins.check("acme-python") == []


@needs_plugins
def test_python_and_cpp_give_the_same_bits(packages, efficiency):
    acme(packages)
    device, model = mlsysim.Hardware.H100, mlsysim.Models.Llama3_8B
    get = mlsysim.ResolverFactory.get
    for name, field, inputs in (
            ("PowerEfficiencyModel", "flops_per_watt", {"hardware": device}),
            ("RequiredBandwidthSolver", "required_bw", {"model": model, "target_latency": mlsysim.Q_("10 ms")}),
            ("CheapestHardwareOptimizer", "cheapest_cost", {"min_rate": mlsysim.Q_("300 TFLOP/s")})):
        python, cpp = get(name)().solve(**inputs), get("acme/" + name)().solve(**inputs)
        assert getattr(python, field) == getattr(cpp, field), name
    with pytest.raises(ValueError, match="has no TDP"):
        get("PowerEfficiencyModel")().solve(hardware=mlsysim.HardwareNode(
            name="NoTDP", compute={"dense": {"fp16": "100 TFLOP/s"}, "default_precision": "fp16"}))


def test_one_broken_entry_point_is_one_warning(packages):
    acme(packages)
    packages("broken", "[mlsysim.models]\nNothing = no_such_module:Nothing\n")
    with pytest.warns(UserWarning, match="in the package 'broken'.*ModuleNotFoundError") as caught:
        available = mlsysim.ResolverFactory.list_available()
    assert len([w for w in caught if "broken" in str(w.message)]) == 1
    assert "PowerEfficiencyModel" in available and "Nothing" not in available
    assert mlsysim.plugins.check("broken")


def test_discovery_can_be_turned_off(packages, monkeypatch):
    acme(packages)
    monkeypatch.setenv("MLSYSIM_PLUGINS", "none")
    assert not [p for p in mlsysim.plugins.entry_points() if p.value.startswith("acme_python")]
    monkeypatch.setenv("MLSYSIM_PLUGINS", "acme-python")
    assert [p for p in mlsysim.plugins.entry_points() if p.value.startswith("acme_python")]


def test_the_package_installs_without_an_index(tmp_path):
    if any(importlib.util.find_spec(module) is None for module in ("pip", "setuptools", "wheel")):
        pytest.skip("no pip, setuptools and wheel here")
    source = tmp_path / "acme"
    shutil.copytree(SOURCES / "acme_python", source)
    run = subprocess.run([sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--quiet",
                          "--target", str(tmp_path / "site"), str(source)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    code = "import mlsysim.plugins as p; print(p.check('acme-python'))"
    path = os.pathsep.join([str(tmp_path / "site"), *sys.path])
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert out.stdout.strip() == "[]", out.stderr


@needs_plugins
def test_a_resolver_of_a_plugin_stands_in_the_scorecard(efficiency):
    from mlsysim import SystemEvaluator

    card = SystemEvaluator.evaluate("Beside", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, also="acme/PowerEfficiencyModel")
    level = card.further["acme/PowerEfficiencyModel"]
    assert level.status == "PASS" and card.feasibility.status == "PASS"
    own = mlsysim.ResolverFactory.get("acme/PowerEfficiencyModel")().solve(hardware=mlsysim.Hardware.H100)
    assert level["flops_per_watt"] == own.flops_per_watt
    assert card.to_dict()["acme/PowerEfficiencyModel_status"] == "PASS"
    assert not SystemEvaluator.evaluate("Beside", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100).further
