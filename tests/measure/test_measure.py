"""Tests of measure.py: the pure parts without PyTorch, and one short run on a CPU where PyTorch is installed.

No test holds a time against a limit: on a busy machine a run measures fewer points, and what it wrote is checked all the same.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "src" / "components" / "validation" / "measure"
sys.path.insert(0, str(HERE))
import measure  # noqa: E402


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- points
def test_each_point_says_what_it_identifies_and_why():
    for p in measure.POINTS:
        assert p.identifies and p.why and p.table in measure.COLUMNS
        assert p.seconds > 0 and p.cpu_seconds > 0 and p.needs in ("", "accelerator", "fp8", "power")


def test_the_points_are_those_of_the_brief():
    def count(**wanted):
        return sum(all(getattr(p, k, p.size.get(k)) == v for k, v in wanted.items()) and p.turn == 1 and not p.size.get("sustained")
                   for p in measure.POINTS)
    assert count(table="gemm", dtype="wide") == 16 and count(table="gemm", dtype="fp8") == 8
    assert count(table="attention", op="decode") == 6 and count(table="attention", op="prefill", causal=1) >= 5
    assert sum(bool(p.size.get("sustained")) for p in measure.POINTS) == 3
    assert {p.size["rows"] * p.size["columns"] for p in measure.POINTS if p.op == "add"} >= {1024, 1 << 28}
    checks = [p for p in measure.POINTS if p.identifies == "not fitted"]
    assert {p.table for p in checks} == {"decoder", "training"}
    first = {p.op for p in measure.POINTS if p.table == "overhead" and p.turn == 1 and not p.op.startswith("copy")}
    assert first == {p.op for p in measure.POINTS if p.table == "overhead" and p.turn == 2}


def test_no_point_is_there_twice():
    keys = [(p.name, p.size.get("sustained")) for p in measure.POINTS]
    assert len(set(keys)) == len(keys)


def test_two_minutes_hold_the_whole_plan():
    assert sum(p.seconds for p in measure.POINTS) < measure.DEADLINE - 15


@pytest.mark.parametrize("cpu", [False, True])
@pytest.mark.parametrize("seconds", [0, 1, 5, 20, 45, 1000])
def test_a_deadline_drops_the_least_valuable_first(cpu, seconds):
    kept = measure.fitting(measure.POINTS, seconds, cpu)
    assert kept == list(measure.POINTS[:len(kept)])  # what is dropped stands behind all that is kept
    total = sum(p.expected(cpu) for p in kept)
    assert total <= seconds + 1e-6
    if len(kept) < len(measure.POINTS):
        assert total + measure.POINTS[len(kept)].expected(cpu) > seconds  # nothing is dropped without need


def test_a_slow_machine_drops_more():
    fast, slow = (measure.fitting(measure.POINTS, 40, False, pace) for pace in (1.0, 3.0))
    assert 0 < len(slow) < len(fast)


def test_points_that_a_machine_cannot_do_are_left_out():
    there = measure.available(measure.POINTS, set())
    assert there and all(not p.needs for p in there)
    assert len(measure.available(measure.POINTS, {"accelerator", "fp8", "power"})) == len(measure.POINTS)


def test_sizes_for_a_core_are_smaller_and_valid():
    for p in measure.POINTS:
        small = measure.shrunk(p)
        assert all(small.size[k] <= v for k, v in p.size.items() if isinstance(v, int))
        if p.table == "attention":
            assert small.size["heads"] % small.size["kv_heads"] == 0
            assert small.size["new_tokens"] in (1, small.size["context"])


def test_the_plan_needs_no_pytorch():
    done = subprocess.run([sys.executable, "-S", str(HERE / "measure.py"), "--plan", "--deadline", "20"], capture_output=True, text=True)
    assert done.returncode == 0 and "[dropped]" in done.stdout and "efficiency.matrix" in done.stdout
    assert done.stdout.count(" s  ") == len(measure.POINTS)


# ---- points that a decision asks for
def request(*points, **more):
    return json.dumps({"schema": "mlsysim/measure-request@1", "points": list(points), **more})


PRODUCT = {"hardware": "H200", "table": "gemm", "op": "mm", "size": {"m": 24, "n": 512, "k": 1024}, "why": "31 % of a decode step"}
CACHE = {"table": "attention", "op": "decode", "size": {"batch": 2, "context": 128, "heads": 8, "kv_heads": 2, "head_dim": 64}}


def test_points_of_a_decision_are_those_of_the_device(tmp_path):
    file = tmp_path / "points.json"
    file.write_text(request(PRODUCT, CACHE, PRODUCT))
    asked = measure.asked_points(file)
    assert [p.name for p in measure.points_on(asked, "H200")] == [
        "gemm: mm dtype=wide m=24 n=512 k=1024", "attention: decode batch=2 new_tokens=1 context=128 heads=8 kv_heads=2 head_dim=64 causal=0"]
    assert [p.table for p in measure.points_on(asked, "B200")] == ["attention"]
    file.write_text(request(PRODUCT))
    with pytest.raises(ValueError, match="H200.*B200"):
        measure.points_on(measure.asked_points(file), "B200")


@pytest.mark.parametrize("text, said", [
    ("{", "no JSON"), ("[]", "no list of points"), (request(), "no points"), (request(1), "no list of points"),
    (request({**PRODUCT, "op": "mv"}), "gemm mv"), (request({**PRODUCT, "table": ["gemm"]}), "expected one of"),
    (request({**PRODUCT, "size": {"m": 1}}), "m, n, k"), (request({**PRODUCT, "size": [1]}), "m, n, k"),
    *((request({**PRODUCT, "size": {"m": value, "n": 1, "k": 1}}), "whole number") for value in (0, -1, 1.5, True, "1", None, 1e300, float("inf"), float("nan"))),
    (request({**PRODUCT, "size": {"m": 1 << 20, "n": 1 << 20, "k": 1}}), "operand"),
    (request({**CACHE, "size": {**CACHE["size"], "kv_heads": 3}}), "divisor")])
def test_a_damaged_file_of_points_is_refused(tmp_path, text, said):
    (tmp_path / "points.json").write_text(text)
    with pytest.raises(ValueError, match=said):
        measure.asked_points(tmp_path / "points.json")


# ---- output
def test_rows_are_on_the_disk_at_once(tmp_path):
    out = measure.Output(tmp_path, {"gemm": {"gemm_bf16": "schema: x\n"}})
    out.row("gemm", {"op": "mm", "m": 1, "us": 12.3456789, "skipped": None})
    out.row("gemm", {"op": "mm", "m": 2, "skipped": "out of memory"})
    rows = rows_of(tmp_path / "gemm.csv")  # before it is closed
    assert [r["us"] for r in rows] == ["12.3457", ""] and rows[1]["skipped"] == "out of memory"
    assert list(rows[0]) == measure.COLUMNS["gemm"]
    assert (tmp_path / "gemm_bf16.yaml").exists()


def test_an_unknown_column_is_an_error(tmp_path):
    with pytest.raises(KeyError, match="no column"):
        measure.Output(tmp_path).row("gemm", {"microseconds": 1})


def test_texts_with_commas_are_quoted(tmp_path):
    out = measure.Output(tmp_path)
    out.row("decoder", {"execution": "compiled layers, graph"})
    assert rows_of(tmp_path / "decoder.csv")[0]["execution"] == "compiled layers, graph"


def test_columns_begin_as_those_of_the_measured_tables():
    folder = Path(os.environ.get("MEASURED_H100", ROOT.parent / "shared" / "validation" / "measured_h100"))
    if not folder.exists():
        pytest.skip("the measured tables are not here")
    for table, columns in measure.COLUMNS.items():
        theirs = (folder / f"{table}.csv").read_text().splitlines()[0].split(",")
        assert columns[:len(theirs)] == theirs, table


def test_definitions_name_columns_that_exist():
    for table, texts in measure.definitions_for("H100", "bf16", "{kind: measured}").items():
        for name, text in texts.items():
            assert f"data: {table}.csv" in text and text.startswith("schema: mlsysim/validation@1")
            for word in ("column: ",):
                for at in text.split(word)[1:]:
                    assert at.split(",")[0].split("}")[0].strip() in measure.COLUMNS[table], name


# ---- figures
def test_power_is_the_slope_between_edges():
    edges = [(f"{t / 10}", f"{50 * t / 10}", "1980", "40") for t in range(30)]  # 50 W, a new value each 0.1 s
    row = measure.power_between(edges, 0.45, 2.05)
    assert row["power_w"] == pytest.approx(50) and row["edges"] == 16 and row["sm_mhz"] == 1980 and row["celsius"] == 40


def test_two_edges_are_no_power():
    assert measure.power_between([("0", "0", "", ""), ("1", "50", "", "")], 0, 2) == {"edges": 2}


def test_without_a_meter_the_sampler_ends(tmp_path):
    def absent():
        raise OSError("no library")
    measure.sample_power(str(tmp_path / "edges.csv"), absent)
    assert (tmp_path / "edges.csv").read_text() == "# \n"


def test_the_sampler_writes_a_line_for_each_new_value(tmp_path, monkeypatch):
    values, parents = iter([0.0, 5.0, 5.0, 10.0, 15.0, 15.0]), iter([1, 1, 1, 1, 1, 1, 2])
    monkeypatch.setattr(measure.os, "getppid", lambda: next(parents))
    measure.sample_power(str(tmp_path / "edges.csv"), lambda: lambda: (next(values), 1980, None))
    lines = (tmp_path / "edges.csv").read_text().splitlines()
    assert lines[0] == "# NVML energy counter" and [line.split(",")[1] for line in lines[1:]] == ["5.000000", "10.000000", "15.000000"]
    assert lines[1].endswith("1980.000000,")


def test_the_spread_does_not_see_one_outlier():
    row = measure.statistics_of("us", [10, 10.1, 9.9, 10, 10.1, 9.9, 50], spread=True)
    assert row["us"] == 10 and row["us_max"] == 50 and row["us_spread"] < 0.02 and row["replays"] == 7


def test_out_of_memory_has_one_name():
    for text in ("CUDA out of memory. Tried to allocate", "HIP out of memory", "DefaultCPUAllocator: can't allocate memory: you tried"):
        assert measure.reason_of(RuntimeError(text)) == "out of memory"
    assert measure.reason_of(MemoryError()) == "out of memory"
    assert measure.reason_of(TypeError("no argument enable_gqa\nmore")) == "failed: TypeError: no argument enable_gqa"


def test_parameters_of_a_known_model():
    assert measure.parameters_of(measure.MODELS["Llama3_2_1B"]) == 1235814400


def test_the_list_of_points_is_that_of_the_script():
    assert (HERE / "measure_points.json").read_text() == measure.points_json() + "\n", "measure.py --write-points > measure_points.json"


# ---- a run
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
PROGRAM = os.environ.get("MLSYSIM_PROGRAM", "")
SECONDS = "20"


def run(*arguments):
    return subprocess.run([sys.executable, str(HERE / "measure.py"), *arguments], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def run_of_the_script(tmp_path_factory):
    """A folder that the script wrote on a CPU, and machine.json."""
    folder = tmp_path_factory.mktemp("measured")
    done = run("--device", "cpu", "--deadline", SECONDS, "--out", str(folder), "--verbose")
    assert done.returncode == 0, done.stderr
    return folder, json.loads((folder / "machine.json").read_text())


@needs_torch
def test_a_short_run_on_a_cpu(run_of_the_script):
    folder, machine = run_of_the_script
    assert machine["threads"] == 1 and machine["device_kind"] == "cpu"
    rows = [(table.stem, row) for table in (folder / "tables").glob("*.csv") for row in rows_of(table)]
    assert len(rows) == machine["points"] and machine["points"] + len(machine["dropped"]) > 40
    for table, row in rows:
        assert row.get("skipped") or float(row.get("us") or row.get("ms") or row.get("power_w") or 0) > 0, (table, row)
    for file in ("definitions.md", "zoo/models.yaml", "zoo/sources.yaml", *(f"tables/{name}.yaml" for name in machine["fitted"] + machine["checks"])):
        assert (folder / file).exists()
    if rows:
        assert run("--device", "cpu", "--deadline", SECONDS, "--out", str(folder)).returncode == 1  # it overwrites nothing


@needs_torch
@pytest.mark.skipif(not PROGRAM, reason="no mlsysim program")
def test_the_output_calibrates(run_of_the_script):
    folder, machine = run_of_the_script
    if not (folder / "zoo" / "device.yaml").exists():
        pytest.skip("the machine was too busy for the points of a device entry")
    tables = sum((["--table", str(folder / "tables" / f"{name}.yaml")] for name in machine["fitted"]), [])
    fit = subprocess.run([PROGRAM, "calibrate", "--zoo", str(folder / "zoo"), "--device", "this_machine", *tables, "--force",
                          "--write", str(folder / "calibrated.yaml"), "-o", "json"], capture_output=True, text=True)
    assert fit.returncode == 0, fit.stderr
    assert json.loads(fit.stdout)["rows"] >= 2 and (folder / "calibrated.yaml").exists()
    checks = subprocess.run([PROGRAM, "validate", "--zoo", str(folder / "zoo"), "--tables", str(folder / "tables"), "-o", "json"], capture_output=True, text=True)
    assert checks.returncode == 0, checks.stderr


@needs_torch
def test_out_of_memory_and_failures_are_rows(tmp_path):
    import torch

    torch.set_num_threads(1)
    device = measure.Device(torch, "cpu")
    huge = measure.mm(1 << 24, 64, 1 << 24, "nothing", "a product that fits nowhere")
    row = measure.measured_row(device, None, huge, "", 30)
    assert row["skipped"] == "out of memory" and row["m"] == 1 << 24
    row = measure.measured_row(device, None, measure.stream("no such kernel", 1, 8, "nothing", "fails"), "", 30)
    assert row["skipped"].startswith("failed: KeyError")


@needs_torch
def test_a_point_that_outlasts_the_deadline_is_a_row():
    import torch

    device = measure.Device(torch, "cpu")
    p = measure.held(measure.mm(8, 64, 64, "", ""), "nothing", "two seconds in half a second")

    class NoPower:
        def window(self, *_):
            return {}
    assert "TimeoutError" in measure.measured_row(device, NoPower(), p, "", 0.5)["skipped"]


@needs_torch
def test_operands_rotate_over_four_caches():
    import torch

    device = measure.Device(torch, "cpu")
    device.cache = 1 << 20
    sets = device.sets([(256, 256), (64, 64)], outputs=[(64,)])
    each = sum(x.numel() * 4 for x in sets[0])
    assert len(sets) * each >= measure.CACHES * device.cache
    starts = {x.data_ptr() for operands in sets for x in operands}
    assert len(starts) == 3 * len(sets)
