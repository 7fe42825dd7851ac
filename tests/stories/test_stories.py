"""What a user does from begin to end, one test for each story.

    ctest --test-dir BUILD -R stories         or, from the root:
    MLSYSIM_BUILD=BUILD PYTHONPATH=BUILD/python python3 -m pytest tests/stories
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import mlsysim

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["MLSYSIM_BUILD"])
PROGRAM = BUILD / "bin" / "mlsysim"
PLUGINS, BAD, PROBE = BUILD / "plugins", BUILD / "tests" / "plugin" / "bad", BUILD / "tests" / "plugin" / "probe"
PREFIX = BUILD / "tests" / "consumer" / "prefix"
RECORDS = ROOT / "tests" / "data" / "compile"
sys.path[:0] = [str(ROOT / "tests" / "telemetry"), str(ROOT / "tests" / "web"), str(ROOT / "examples" / "observe")]
import boards  # noqa: E402
import browser  # noqa: E402
import servers  # noqa: E402


@pytest.fixture
def say(tmp_path):
    """Runs the program as a user who has no plugins but those of a test; gives what it says."""

    def call(*words, code=0, program=PROGRAM, **environment):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MLSYSIM_")}
        own = {"XDG_DATA_HOME": tmp_path / "data", "XDG_CACHE_HOME": tmp_path / "cache", "MLSYSIM_PLUGIN_PATH": "", **environment}
        done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True, timeout=120 * servers.SLOWER, check=False,
                              env={**clean, **{key: str(value) for key, value in own.items()}})
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    return call


def put(source, target):
    """Puts a library where another may be mapped: a rename, never a write into it."""
    shutil.copy(source, target.with_suffix(".new"))
    target.with_suffix(".new").rename(target)


# Plugins


@pytest.mark.parametrize("language", ["c", "python"])  # C++ takes the compiler longer: tests/plugin/out_of_tree.py
def test_s1_a_plugin_from_the_template_is_everywhere(say, tmp_path, language):
    if not (PREFIX / "bin").exists():
        pytest.skip("ctest -R consumer.install installs the package that this story builds against")
    installed, source = PREFIX / "bin" / "mlsysim", tmp_path / "my_power"
    say("plugin", "new", "my_power", "--lang", language, "--folder", source, program=installed)
    if language == "c":
        for words in (["-S", source, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={PREFIX}"], ["--build", tmp_path / "build"]):
            subprocess.run(["cmake", *words], check=True, capture_output=True)
        (library,) = (tmp_path / "build").glob("mlsysim-plugin-*.so")
        assert " 0 failed" in say(library, program=PREFIX / "bin" / "mlsysim-plugin-check")
        name, found = "my_power/PassEnergy", {"MLSYSIM_PLUGIN_PATH": library.parent}
        (row,) = json.loads(say("plugin", "list", "-o", "json", program=installed, **found))["plugins"]
        assert row["registers"] == [{"kind": "model", "name": name}]
        assert name in say("resolver", "list", program=installed, **found)
        sweep = json.loads(say("optimize", name, "hardware=H100", "duration=1 ms", "--axis", "duration=1 ms..20 ms:20", "--maximize",
                               "pass_energy", "-o", "json", program=installed, **found))
        assert sweep["evaluated"] == 20 and "14" in json.dumps(sweep["best"][0])  # 700 W for 20 ms
        card = json.loads(say("eval", "Llama3_8B", "H100", "--also", name, "-o", "json", program=installed, **found))
        assert "duration" in json.dumps(card["levels"][name])  # the card says what a scenario lacks
        setup = "mlsysim.plugins.load_all()"
    else:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index", "--target", tmp_path / "site", source],
                       check=True, capture_output=True)
        name, found, setup = "PassEnergy", {"PYTHONPATH": f"{tmp_path / 'site'}:{os.environ['PYTHONPATH']}"}, ""
        assert say("-m", "mlsysim.plugins", "check", "my_power", program=sys.executable, **found)
    # In Python and by an agent, in a process that knows nothing of this one.
    code = f"""
import json, mlsysim
from mlsysim.mcp.calls import run
{setup}
inputs = {{"hardware": "H100", "duration": "20 ms"}}
told, refused = run("resolve_{name.replace('/', '_')}", inputs)
asked = mlsysim.ask("{name}", hardware=mlsysim.Hardware.H100, duration=mlsysim.Q_("1 ms"))
swept = asked.optimize({{"duration": ["10 ms", "20 ms"]}}, maximize="pass_energy").evaluated
card = mlsysim.SystemEvaluator.evaluate("x", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, also="{name}")
print(json.dumps([refused, told, "{name}" in mlsysim.ResolverFactory.list_available(), swept, list(card.further)]))
"""
    found = {"PYTHONPATH": os.environ["PYTHONPATH"], **found}
    refused, told, listed, swept, further = json.loads(say("-c", code, program=sys.executable, **found))
    assert not refused and told["result"]["pass_energy"] == {"value": 14, "unit": "J"}
    assert listed and swept == 2 and further == [name]


def test_s2_twelve_broken_plugins_and_two_good_ones(say, tmp_path):
    folder = tmp_path / "data" / "mlsysim" / "plugins"  # of the user
    folder.mkdir(parents=True)
    hello, efficiency = PLUGINS / "hello_c/mlsysim-plugin-hello-c.so", PLUGINS / "acme_efficiency/mlsysim-plugin-acme-efficiency.so"
    for source in (hello, efficiency):
        shutil.copy(source, folder)
    (folder / "mlsysim-plugin-text.so").write_text("I am no library\n")
    for eighths in (0, 2, 4, 6):
        (folder / f"mlsysim-plugin-cut{eighths}.so").write_bytes(hello.read_bytes()[: hello.stat().st_size * eighths // 8])
    # What is only seen when the library is opened, which happens in a process of its own.
    for case in ("no_entry", "undefined_symbol", "null_table", "table_too_small", "needs_newer_host", "entry_aborts", "constructor_crashes"):
        shutil.copy(BAD / f"mlsysim-plugin-{case}.so", folder)
    rows = json.loads(say("plugin", "list", "-o", "json"))["plugins"]
    reasons = {row["name"]: row["failure"]["message"] for row in rows if "failure" in row}
    assert len(rows) == 14 and len(reasons) == 12 and all(reasons.values()), rows
    for name, part in (("text", "ELF"), ("cut4", "truncated"), ("no_entry", "mlsysim_get_plugin_api"), ("entry_aborts", "SIGABRT"), ("constructor_crashes", "SIGSEGV")):
        assert part in reasons[name], (name, reasons[name])
    floor = ("pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB")
    assert "4.776" in say(*floor)  # 16 GB at 3.35 TB/s
    assert "1.41286 TFLOP/s/W" in say("pipeline", "run", "acme/PowerEfficiencyModel", "hardware=H100")  # 989 TFLOP/s at 700 W
    say("--strict-plugins", *floor, code=3)


def test_s3_three_resolvers_in_python_and_cpp_agree_to_the_last_bit(tmp_path, monkeypatch):
    # The package is installed as pip records it: a folder of metadata with its entry points.
    source = ROOT / "plugins" / "acme_python"
    info = tmp_path / "acme_python-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-python\nVersion: 1.0.0\n")
    groups = re.findall(r'\[project\.entry-points\."([\w.]+)"\]\n(\w+) = "([\w:]+)"', (source / "pyproject.toml").read_text())
    assert len(groups) == 3
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{name} = {value}\n" for group, name, value in groups))
    shutil.copy(source / "acme_python.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("mlsysim.factory._loaded", None)
    plugin = mlsysim.plugins.load(PLUGINS / "acme_efficiency/acme-efficiency.plugin.yaml")
    try:
        get, compared = mlsysim.ResolverFactory.get, 0
        devices = [device for device in mlsysim.Hardware.list() if device.tdp is not None and device.compute.dense]
        asked = [("PowerEfficiencyModel", {"hardware": device}) for device in devices]
        asked += [("RequiredBandwidthSolver", {"model": model, "target_latency": mlsysim.Q_("10 ms")}) for model in mlsysim.Models.list()[:20]]
        asked += [("CheapestHardwareOptimizer", {"min_rate": mlsysim.Q_(f"{rate} TFLOP/s")}) for rate in (1, 100, 300, 900)]
        for name, inputs in asked:
            python, cpp = get(name)().solve(**inputs), get(f"acme/{name}")().solve(**inputs)
            for field in ("flops_per_watt", "is_efficient", "required_bw", "cheapest_cost", "hardware_name", "total_searched"):
                if hasattr(cpp, field):
                    one, other = getattr(python, field), getattr(cpp, field)
                    assert one == other, (name, inputs, field)  # quantities compare in base units, every bit
                    compared += 1
        assert compared > 2 * len(devices) > 100
        bare = mlsysim.HardwareNode(name="NoTDP", compute={"dense": {"fp16": "100 TFLOP/s"}, "default_precision": "fp16"})
        for name in ("PowerEfficiencyModel", "acme/PowerEfficiencyModel"):
            with pytest.raises((ValueError, mlsysim.PluginError), match="NoTDP has no TDP"):
                get(name)().solve(hardware=bare)
    finally:
        mlsysim.plugins.unload(plugin)


def test_s4_support_of_every_program_on_every_device_by_two_backends(say):
    programs = sorted(path for path in (ROOT / "tests" / "data" / "programs").rglob("*") if path.suffix in (".onnx", ".mlir", ".bc", ".hlo", ".log"))
    found = json.loads(say("support", *programs, "-o", "json", MLSYSIM_PLUGIN_PATH=PLUGINS / "acme_npu"))["answers"]
    assert {row["verdict"] for row in found} == {"yes", "no", "maybe"} and {row["backend"] for row in found} == {"mlsysim", "acme_npu/NPU1"}
    devices = {device.name for device in mlsysim.Hardware.list()}
    for program in programs:  # nothing fails fast: every pair has its answer, and every refusal its reasons
        own = [row for row in found if row["program"] == str(program)]
        assert {row["hardware"] for row in own if row["backend"] == "mlsysim"} >= devices, program
        assert any(row["backend"] == "acme_npu/NPU1" for row in own), program
    assert all(reason["code"] and reason["op"] for row in found for reason in row["reasons"])
    assert all(row["reasons"] for row in found if row["verdict"] != "yes")
    future = [row for row in found if row["program"].endswith("invalid_future_version.mlir.bc")]
    assert len(future) > len(devices) and {(row["verdict"], row["reasons"][0]["code"]) for row in future} == {("no", "version")}


def test_s5_a_plugin_is_reloaded_while_a_sweep_runs(tmp_path):
    pytest.importorskip("numpy", reason="columns of sweeps are arrays of numpy")
    library, points = tmp_path / "mlsysim-plugin-probe.so", 10_000
    put(PROBE / "mlsysim-plugin-probe.so", library)
    name = mlsysim.plugins.load(library)
    sweeps, failures, stop = [], [], threading.Event()

    def sweep():
        try:
            while not stop.is_set():
                asked = mlsysim.ask("probe/Model", x=1.0)
                rows = asked.sweep({"x": [float(i) for i in range(1, points + 1)]}, ["y", "again"])
                sweeps.append((rows.columns["x"], rows.columns["y"], rows.columns["again"]))
        except Exception as error:  # noqa: BLE001 (whatever it is, the test fails for it)
            failures.append(error)

    runner = threading.Thread(target=sweep)
    runner.start()
    versions = []
    try:
        for i in range(20):
            before = len(sweeps)
            put(PROBE / f"mlsysim-plugin-probe{'-3' if i % 2 == 0 else ''}.so", library)
            versions.append(mlsysim.plugins.reload(name)["new_version"])
            servers.until("a sweep", lambda before=before: failures or len(sweeps) > before or None)
    finally:
        stop.set()
        runner.join()
        mlsysim.plugins.unload(name)
    assert not failures and versions == ["3.0.0", "2.0.0"] * 10 and len(sweeps) >= 20
    # One sweep, one version: y and again, which is taken later, are the same multiple of every x.
    factors = [{*(y / x).tolist(), *(again / x).tolist()} for x, y, again in sweeps]
    assert all(len(x) == points for x, _, _ in sweeps)
    assert all(len(one) == 1 for one in factors) and set.union(*factors) == {2.0, 3.0}, factors


def test_s9_a_process_killed_in_the_middle_of_a_sweep_costs_one_point():
    """A process of an isolated plugin gets SIGKILL: one break plugin_error, everything else complete and right."""
    points, library = 40_000, BAD / "mlsysim-plugin-good.so"
    run = subprocess.Popen([PROGRAM, "--plugin", library, "--isolated", "bad", "optimize", "bad/Model", "x=2 s", "--axis", f"x=2 s..{points + 1} s:{points}",
                            "--maximize", "y", "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def worker():
        tasks = pathlib.Path(f"/proc/{run.pid}/task").glob("*/children")
        for child in " ".join(task.read_text() for task in tasks).split():
            if "mlsysim-plugin-worker" in os.readlink(f"/proc/{child}/exe"):
                return int(child)
        return None

    def is_under_way(pid):
        """It waits for every call, which the kernel counts."""
        waits = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
        return int(waits[1]) > 1000 or None

    try:
        pid = servers.until("the process of the plugin", worker)
        servers.until("the sweep", lambda: is_under_way(pid))
        os.kill(pid, signal.SIGKILL)
        out, errors = run.communicate(timeout=120 * servers.SLOWER)
    finally:
        run.kill()
    assert run.returncode == 0, errors
    answer = json.loads(out)
    assert [answer[key] for key in ("total", "evaluated", "feasible", "skipped")] == [points, points - 1, points - 1, 1]
    reasons = json.dumps(answer["skip_reasons"])
    assert "plugin_error" in reasons and "SIGKILL" in reasons
    assert str(2 * (points + 1)) in json.dumps(answer["best"][0])


# Graph breaks and predictions


@pytest.mark.skipif(bool(servers.missing()), reason="apt-get install prometheus prometheus-pushgateway")
def test_s6_graph_breaks_of_three_commits_on_a_real_prometheus(tmp_path):
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, ROOT / "examples" / "observe" / "demo.py", out], capture_output=True, text=True, timeout=120 * servers.SLOWER, check=False,
                          env={**os.environ, "MLSYSIM_PROGRAM": str(PROGRAM)})
    assert done.returncode == 0, done.stderr
    answers = json.loads((out / "queries.json").read_text())
    assert [row["expr"] for row in answers] == [query for name in ("overview", "breaks", "compile-time", "predictions") for _, kind, query in boards.queries(name)
                                                if servers.has_loki() or not boards.is_logql(kind, query)]
    for row in answers:
        assert row["rows"] or row["title"] == "Failed compilations", row["expr"]
    seed = next(row for row in answers if row["expr"] == "sum by(model, commit, reason)(compile_breaks_total)")
    counts = {(row["labels"]["model"], row["labels"]["commit"], row["labels"]["reason"]): row["value"] for row in seed["rows"]}
    assert counts["facebook/mms-tts-rus", "commit-1", "Dynamic shape operator"] == 7
    assert counts["prajjwal1/bert-tiny", "commit-2", "generic_jump"] == 4
    assert {key[1] for key in counts} == {"commit-1", "commit-2", "commit-3"}
    trend = next(row for row in answers if row["title"] == "Predicted latency, and its budget")
    assert {row["labels"]["model_name"] for row in trend["rows"]} == {"Llama3_8B", "ResNet50"}
    page = (out / "index.html").read_text()
    assert "<script" not in page and "http://" not in page and "Dynamic shape operator" in page
    assert "has the same content as" in (out / "commit-1" / "notes.txt").read_text()
    assert "mlsysim_compile_breaks_total" in (out / "commit-3" / "compile.prom").read_text()


def test_s7_a_changed_constant_flags_the_cells_that_hang_on_it_and_no_others(say, tmp_path):
    matrix = tmp_path / "predictions.yaml"
    matrix.write_text("""version: "1"
models: [Llama3_8B]
hardware: [H100, A100]
precision: [bf16]
pipelines: {serve: {batch_size: 4, accelerators: 8}}
metrics: {itl: {relative: 0.1 %}, ttft: {relative: 0.1 %}}
""")
    say("ci", "accept", matrix)
    # The change is made where people make it: in an entry of the zoo. A tenth less bandwidth of the H100.
    zoo = tmp_path / "zoo"
    shutil.copytree(ROOT / "zoo", zoo)
    (source,) = [p for p in zoo.rglob("*.yaml") if "\n- name: H100\n" in p.read_text()]
    text = source.read_text()
    at = text.index("\n- name: H100\n")
    assert "3.35 TB/s" in text[at:at + 4000]
    source.write_text(text[:at] + text[at:].replace("3.35 TB/s", "3.015 TB/s", 1))
    page = say("ci", "run", matrix, "-o", "markdown", code=1, MLSYSIM_ZOO_PATH=zoo)
    assert "Llama3_8B/H100/bf16/serve" in page and "A100" not in page
    assert "of it from hardware.memory.bandwidth 3350 GB/s -> 3015 GB/s" in page


def test_s8_a_trace_log_is_priced_on_two_devices_and_its_breaks_are_seen(say, tmp_path):
    log, html = RECORDS / "bert_tiny_print_breaks.log.gz", tmp_path / "story.html"
    matrix = tmp_path / "story.yaml"
    matrix.write_text(f"""version: "1"
models: ["{log}"]
hardware: [H100, A100]
pipelines: {{compiled: {{records: "{{model}}", recompiles: 0}}}}
metrics: {{breaks: , lost_to_breaks: , lost_per_break: , payback_steps: , compile_time: , eager: , compiled: }}
""")
    cells = json.loads(say("ci", "run", matrix, "-o", "json", "--report", f"html={html}"))["cells"]
    assert [cell["hardware"] for cell in cells] == ["H100", "A100"]
    (record,) = json.loads(say("compile", "ingest", log, "-o", "json"))["records"]
    for cell in cells:
        numbers = {name: number["value"] for name, number in cell["numbers"].items()}
        assert cell["status"] == "ok" and numbers["breaks"] == record["graph_break_count"] > 0
        assert 0 < numbers["lost_per_break"] <= numbers["lost_to_breaks"] < numbers["compiled"]
        assert abs(numbers["compile_time"] - record["compile_times"]["total"]) < 1e-9
        # The law itself, asked without the matrix, with the same number of breaks.
        alone = say("resolver", "run", "CompilationModel", "--workload", log, "--hardware", cell["hardware"], "--breaks", int(numbers["breaks"]),
                    "--compile-time", f"{numbers['compile_time']} s", "-o", "csv")
        (compiled,) = [line.split(",")[5] for line in alone.splitlines() if ",compiled," in line]
        assert abs(float(compiled) / numbers["compiled"] - 1) < 1e-9
    page = html.read_text()
    assert "<h2>Breaks</h2>" in page and "<script" not in page
    if browser.program() is None:
        pytest.skip("no Chromium: that the breaks are seen on the page was not looked at")
    with browser.Browser() as tab:
        tab.open(html.as_uri(), ready="document.readyState === 'complete'")
        seen = tab.run("document.body.innerText")
        places = record["breaks"]
        assert "Breaks" in seen and all(f"{row['file'].rsplit('/', 1)[-1]}:{row['line']}" in seen for row in places if row.get("file")), seen
        assert tab.run("document.querySelectorAll('h2').length > 0 && document.body.getBoundingClientRect().height > 200")
