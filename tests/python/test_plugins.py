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
def test_an_exporter_of_a_third_party_is_told_of_stages_breaks_and_sweeps(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_EVENTS", str(tmp_path / "table"))
    name = mlsysim.plugins.load(BUILD / "acme_events/mlsysim-plugin-acme-events.so")
    try:
        mlsysim.Pipeline([mlsysim.SingleNodeModel()]).run(model=mlsysim.Models.Llama3_8B, hardware=mlsysim.Hardware.H100)
        load = {"seq_len": 1024, "arrival_rate": "2 request/s", "target_latency": "1 ms"}
        mlsysim.Pipeline([mlsysim.BatchingOptimizer()]).run(model=mlsysim.Models.Llama3_8B, hardware=mlsysim.Hardware.H100, **load)
        subject = mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)
        subject.optimize({"batch_size": "1..64*2"}, minimize="itl")
        subject.sweep({"batch_size": "1..32*2"}, show=["itl"])
    finally:
        mlsysim.plugins.unload(name)
    rows = [line.split("\t") for line in (tmp_path / "table").read_text().splitlines()]
    assert ["stage", "SingleNodeModel", "SingleNodeModel"] in [row[:3] for row in rows]
    assert ["break", "BatchingOptimizer", "infeasible_constraint", "1"] in rows
    assert ["sweep", "BatchingOptimizer", "", "256"] in rows  # the search of a stage
    assert [row for row in rows if row[:3] == ["sweep", subject.title, ""]][-2:] == [["sweep", subject.title, "", "7"], ["sweep", subject.title, "", "6"]]


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


BAD = BUILD.parent / "tests/plugin/bad"
PROBE = BUILD.parent / "tests/plugin/probe/mlsysim-plugin-probe.so"
needs_bad = pytest.mark.skipif(not (BAD / "mlsysim-plugin-good.so").exists(), reason="the bad plugins are not built")


@needs_plugins
@needs_bad
def test_a_library_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    name = mlsysim.plugins.load(BAD / "mlsysim-plugin-aborts.so", isolated=True, limits={"timeout": "5 s", "memory": "1 GiB"})
    try:
        row = next(r for r in mlsysim.plugins.list_plugins() if r["name"] == name)
        assert row["isolated"] and row["state"] == "initialised"
        with pytest.raises(mlsysim.PluginError, match="SIGABRT"):
            mlsysim.ResolverFactory.get("bad/Model")().solve(x="1 s")
    finally:
        mlsysim.plugins.unload(name)
    name = mlsysim.plugins.load(HELLO)
    try:
        with pytest.raises(mlsysim.PluginError, match="runs in this process already"):
            mlsysim.plugins.load(HELLO, isolated=True)
        with pytest.raises(mlsysim.PluginError, match="runs in this process already"):
            mlsysim.plugins.load(name, isolated=True)
    finally:
        mlsysim.plugins.unload(name)


@needs_bad
def test_a_call_that_takes_too_long_is_ended():
    name = mlsysim.plugins.load(BAD / "mlsysim-plugin-loops.so", isolated=True, limits={"timeout": "300 ms"})
    try:
        with pytest.raises(mlsysim.PluginError, match="no answer after 300 ms"):
            mlsysim.ResolverFactory.get("bad/Model")().solve(x="1 s")
    finally:
        mlsysim.plugins.unload(name)


@needs_plugins
def test_limits_are_checked():
    for limits, words in (({"timeout": "1 s"}, "in this process"), ({"time": "1 s"}, "'time'")):
        with pytest.raises(mlsysim.InputError, match=words):
            mlsysim.plugins.load(HELLO, limits=limits)
    with pytest.raises(mlsysim.InputError, match="at least 1 ms"):
        mlsysim.plugins.load(HELLO, isolated=True, limits={"timeout": "0 s"})
    with pytest.raises(TypeError, match="a list of names"):
        mlsysim.plugins.load_all(isolated="hello-c")


@needs_plugins
@needs_bad
def test_load_all_isolates_and_is_strict(tmp_path, monkeypatch):
    for file in (HELLO, BAD / "mlsysim-plugin-entry_aborts.so"):
        shutil.copy(file, tmp_path)
    # The sources of a process are looked at once, so each of these is a process of its own.
    def run(code):
        env = {**os.environ, "MLSYSIM_PLUGIN_PATH": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "none"),
               "PYTHONPATH": os.pathsep.join([str(pathlib.Path(mlsysim.__file__).parents[1]), *sys.path])}
        env.pop("MLSYSIM_PLUGINS", None)
        return subprocess.run([sys.executable, "-W", "ignore", "-c", "import mlsysim\n" + textwrap.dedent(code)], capture_output=True, text=True, env=env)

    done = run("""
        print(mlsysim.plugins.load_all(isolated=True))
        print([r["isolated"] for r in mlsysim.plugins.list_plugins() if r["name"] == "hello-c"])
        try:
            mlsysim.plugins.load_all(isolated=True, strict=True)
        except mlsysim.PluginError as error:
            print("strict", "entry_aborts" in str(error))
        """)
    assert done.stdout.split("\n")[:3] == ["['hello-c']", "[True]", "strict True"], done.stdout + done.stderr
    (tmp_path / "mlsysim-plugin-entry_aborts.so").unlink()
    done = run("""
        print(mlsysim.plugins.load_all(isolated=["hello-c"], strict=True))
        print([r["isolated"] for r in mlsysim.plugins.list_plugins()])
        try:
            mlsysim.plugins.load_all(isolated=["helo"])
        except mlsysim.PluginError as error:
            print("'helo' cannot be run" in str(error))
        """)
    assert done.stdout.split("\n")[:3] == ["['hello-c']", "[True]", "True"], done.stdout + done.stderr


@needs_bad
def test_callbacks_of_libraries_watch_pipelines():
    class Own(mlsysim.BaseModel):
        """A stage of Python beside it."""
        requires = ("w",)

        class produces(mlsysim.SolverResult):
            z: float

        def solve(self, w: float):
            return self.produces(z=2 * w)

    name = mlsysim.plugins.load(PROBE)
    try:
        pipeline = mlsysim.Pipeline([mlsysim.ResolverFactory.get("probe/Model"), Own])
        seen = [list(pipeline.run(x=float(i), w=1.0).values())[0].events for i in range(3)]
        assert seen[0] == 0 and 0 < seen[1] < seen[2]
    finally:
        mlsysim.plugins.unload(name)


@needs_plugins
def test_descriptions_answers_and_texts(tmp_path, efficiency):
    about = mlsysim.plugins.describe(efficiency)
    assert about["version"] == "1.0.0" and about["abi"]["major"] == 1
    assert {"name": "acme/PowerEfficiencyModel", "tier": "model"}.items() <= next(
        r for r in about["resolvers"] if r["name"] == "acme/PowerEfficiencyModel").items()
    with pytest.raises(mlsysim.LookupError, match="no plugin 'nobody' is loaded"):
        mlsysim.plugins.describe("nobody")
    npu, config = (mlsysim.plugins.load(BUILD / path) for path in ("acme_npu/acme-npu.plugin.yaml", "acme_reader/acme-reader.plugin.yaml"))
    try:
        device = mlsysim.Hardware.H100
        with pytest.raises(mlsysim.LookupError, match="does not know the device"):
            mlsysim.plugins.support("acme_npu/NPU1", mlsysim.Models.Llama3_8B, device)
        answer = mlsysim.plugins.support("NPU1", mlsysim.Models.Llama3_8B, mlsysim.Hardware.Acme_NPU1)
        assert answer["verdict"] == "yes" and answer["mode"] == "conservative" and answer["effort"] == 2
        answer = mlsysim.plugins.support("NPU1", mlsysim.Models.Llama3_70B, mlsysim.Hardware.Acme_NPU1, mode="aggressive")
        assert answer["verdict"] == "no" and answer["reasons"]
        with pytest.raises(mlsysim.InputError, match="this is no model"):
            mlsysim.plugins.support("NPU1", "Llama3_8B", device)
        assert {"name": "acme_reader/Ops", "direction": "import", "format": ".acmeops"} in mlsysim.plugins.converters()
        sample = tmp_path / "net.acmeops"
        sample.write_text("product mlp/up 8 256 64\n")
        assert "rows: 8, columns: 256, depth: 64" in mlsysim.plugins.import_text("Ops", sample)
        assert mlsysim.import_model(sample).name == "Acme_net"
        assert "memory.bandwidth," in mlsysim.plugins.export_text("acme_reader/FiguresCsv", device)
        with pytest.raises(mlsysim.InputError, match="this is no entry"):
            mlsysim.plugins.export_text("acme_reader/FiguresCsv", "H100")
    finally:
        mlsysim.plugins.unload(npu)
        mlsysim.plugins.unload(config)
    assert "Acme_NPU1" not in mlsysim.Hardware


def test_names_of_packages_are_those_of_pep_503(packages, monkeypatch):
    """setuptools records my_power as my-power."""
    packages("my-power", "[mlsysim.models]\nPowerEfficiencyModel = my_power:PowerEfficiencyModel\n",
             my_power=(SOURCES / "acme_python/acme_python.py").read_text())
    assert mlsysim.plugins.check("my_power") == [] and mlsysim.plugins.check("My.Power") == []
    for name in ("my_power", "my-power", "My.Power"):
        monkeypatch.setenv("MLSYSIM_PLUGINS", name)
        assert [p.name for p in mlsysim.plugins.entry_points()] == ["PowerEfficiencyModel"]
        rows = [r for r in mlsysim.plugins.list_plugins() if "power" in r["name"].lower()]
        assert [(r["name"], r["state"], r["source"]) for r in rows] == [("my-power", "found", "python")]
    monkeypatch.setenv("MLSYSIM_PLUGINS", "my-power,nobody")
    rows = {r["name"]: r for r in mlsysim.plugins.list_plugins()}
    assert "is not found" in rows["nobody"]["failure"]["message"]


@needs_bad
def test_a_misspelt_variable_is_a_warning(monkeypatch):
    monkeypatch.setenv("MLSYSIM_PLUGIN_PROBE_GAINN", "5")
    with pytest.warns(UserWarning, match="MLSYSIM_PLUGIN_PROBE_GAINN names no option of 'probe'"):
        name = mlsysim.plugins.load(PROBE)
    mlsysim.plugins.unload(name)


def test_a_class_of_a_package_is_a_resolver_of_the_library(packages):
    acme(packages)
    asked = mlsysim.ask("PowerEfficiencyModel", hardware=mlsysim.Hardware.H100)
    assert asked.title == "PowerEfficiencyModel" and not asked.exact
    card = mlsysim.SystemEvaluator.evaluate("Beside", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, also="PowerEfficiencyModel")
    assert "PowerEfficiencyModel" in card.further
    with pytest.raises(mlsysim.LookupError, match="there is no resolver 'Nobody'"):
        mlsysim.ask("Nobody")
