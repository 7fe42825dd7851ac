"""mlsysim measure: the plan, refusals, signals, and what follows from tables that an interpreter without PyTorch wrote."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from conftest import PROGRAM, TIME_LIMIT_S

# Stands for a Python with PyTorch: it answers the question for torch with yes, and as `python measure.py --out FOLDER` it writes
# tables whose rates are known.
WRITES = """
import importlib.util, json, pathlib, sys
if sys.argv[1] == "-c":
    sys.exit(0)
spec = importlib.util.spec_from_file_location("measure", sys.argv[1])
measure = importlib.util.module_from_spec(spec)
sys.modules["measure"] = measure
spec.loader.exec_module(measure)
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
source = "{kind: measured, ref: own-measurement, recorded: 2026-11-21}"
tables = measure.Output(out / "tables", measure.definitions_for("this_machine", "fp32", source + ""))
points = [(m, n, k) for m in (64, 256, 1024) for n in (256, 1024) for k in (256, 512, 1024)]
for m, n, k in points:
    tables.row("gemm", dict(op="mm", dtype="fp32", m=m, n=n, k=k, us=5 + 2e6 * m * n * k / 60e9, repeats=1, replays=7, turn=1))
for n in range(16, 24):
    tables.row("elementwise", dict(op="add", dtype="fp32", rows=1, columns=1 << n, read=2 << n, written=1 << n, us=2 + 12e6 * (1 << n) / 9e9,
                                   repeats=1, replays=7, turn=1))
model = "MeasureDecoder_Tiny"
tables.row("decoder", dict(model=model, op="decode", execution="eager", dtype="fp32", batch=1, context=256, loop_ms=STEP, ms=STEP))
tables.text("../zoo/models.yaml", measure.model_entries(source))
tables.text("../zoo/sources.yaml", "schema: mlsysim/references@1\\nentries:\\n- {key: own-measurement, text: measured here}\\n")
facts = dict(device="a CPU", device_kind="cpu", dtype="fp32", memory_bytes=16 << 30, cache_bytes=32 << 20)
RATES
(out / "machine.json").write_text(json.dumps(dict(hardware="this_machine", points=27, planned=40, elapsed_s=1.0, dropped=[],
                                                  fitted=["gemm_fp32", "elementwise"], checks=["decode_eager"])))
"""
STEP = "2.2"  # [ms] of the check: between the predictions of a fit and of the prior
ENTRY = 'tables.text("../zoo/device.yaml", measure.own_entry("this_machine", facts, 60e9, 9e9, source))'
# Waits for a signal and says which one came.
WAITS = """
import pathlib, signal, sys
if sys.argv[1] == "-c":
    sys.exit(0)
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
came = []
signal.signal(signal.SIGINT, lambda *_: came.append("SIGINT"))
(out / "waits").write_text("")
while not came:
    signal.pause()
(out / "came").write_text(" ".join(came))
sys.exit(130)
"""


def program(entry=ENTRY):
    """An interpreter that writes tables, with a device entry or without."""
    return WRITES.replace("RATES", entry).replace("STEP", STEP)


@pytest.fixture
def interpreter(tmp_path):
    def make(text):
        file = tmp_path / "python3"
        file.write_text(f"#!{sys.executable}\n{text}")
        file.chmod(0o755)
        return file
    return make


def test_the_plan_needs_no_python(run):
    done = run("measure", "--plan", "-o", "json", env={"PATH": ""})
    assert done.code == 0, done.err
    rows = done.json()["rows"]
    assert len(rows) > 60
    short = run("measure", "--plan", "--deadline", "20").out
    assert "[dropped]" in short and "efficiency.matrix" in short and "not fitted" in short
    assert "[dropped]" not in run("measure", "--plan").out
    cpu = run("measure", "--plan", "--on", "cpu", "-o", "json").json()["rows"]
    assert 0 < len(cpu) < len(rows)


def test_refusals(refused, interpreter, tmp_path):
    bare = interpreter("import sys\nsys.exit(3)\n")
    refused("measure", "--out", tmp_path / "m", "--python", bare, parts=["without PyTorch", "--python PYTHON"])
    refused("measure", "--out", tmp_path / "m", "--python", tmp_path / "none", parts=["that does not run"])
    refused("measure", "--out", tmp_path / "m", parts=["without PyTorch", "pip install torch"],
            env={"PATH": str(tmp_path), "MLSYSIM_PYTHON": str(bare)})
    refused("measure", "--plan", "--on", "tpu", parts=["--on"])
    fails = interpreter("import sys\nsys.exit(0 if sys.argv[1] == '-c' else 7)\n")
    refused("measure", "--out", tmp_path / "m", "--python", fails, parts=["measure.py ended with 7"])
    (tmp_path / "m" / "tables").mkdir(parents=True)
    (tmp_path / "m" / "tables" / "gemm.csv").write_text("")
    refused("measure", "--out", tmp_path / "m", "--python", fails, parts=["gemm.csv", "--force"])
    few = interpreter(program(entry=""))
    refused("measure", "--out", tmp_path / "few", "--python", few, parts=["27 of 40 points", "--deadline 240"])


def test_tables_become_an_entry_and_checks(run, interpreter, tmp_path):
    out = tmp_path / "m"
    done = run("measure", "--out", out, "--python", interpreter(program()), "-o", "json")
    assert done.code == 0, done.err
    answer = done.json()
    fit = {c["field"]: c for c in answer["calibration"]["constants"]}
    assert answer["calibration"]["after"]["median"] < answer["calibration"]["before"]["median"]
    assert any(c["identified"] for c in fit.values())
    (check,) = answer["checks"]
    assert check["measured"] == pytest.approx(2.2e-3)
    assert abs(check["calibrated"] - check["measured"]) < abs(check["predicted"] - check["measured"])
    entry = pathlib.Path(answer["entry"])
    assert entry.parent == out
    shown = run("zoo", "show", "this_machine_calibrated", "--zoo", out / "zoo", "--zoo", entry)
    assert shown.code == 0, shown.err
    again = run("measure", "--out", out, "--python", interpreter(program()), "--force")
    assert again.code == 0 and "your machine" in again.out and "this_machine_calibrated" in again.out


def test_a_fit_that_makes_the_checks_worse_is_refused(run, interpreter, tmp_path):
    out = tmp_path / "m"
    python = interpreter(program().replace(STEP, "3.2"))
    done = run("measure", "--out", out, "--python", python, "-o", "json")
    assert done.code == 3 and "refused" in done.err and "decode_eager" in done.err
    assert done.json()["entry"] is None and not (out / "calibrated.yaml").exists()
    assert run("measure", "--out", out, "--python", python, "--force").code == 0 and (out / "calibrated.yaml").exists()


def test_an_interrupt_reaches_what_measures(interpreter, tmp_path):
    out = tmp_path / "m"
    out.mkdir()
    process = subprocess.Popen([PROGRAM, "measure", "--out", str(out), "--python", str(interpreter(WAITS))], stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={k: v for k, v in os.environ.items() if k != "MLSYSIM_ZOO_PATH"})
    until = time.monotonic() + TIME_LIMIT_S
    while not (out / "waits").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=TIME_LIMIT_S)[1]
    assert process.returncode == 130 and "interrupted" in said
    assert (out / "came").read_text() == "SIGINT"
