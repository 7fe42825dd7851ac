"""mlsysim ci: predictions held to budgets and to what was accepted."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ET

import pytest
from conftest import sealed

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
ROOT = pathlib.Path(__file__).parents[2]
MATRIX = """version: "1"
models: [Llama3_8B]
hardware: [H100, A100]
precision: [bf16]
pipelines:
  serve: {batch_size: 4, accelerators: 8}
metrics: {itl: {relative: 0.1 %}, ttft: {relative: 0.1 %}}
fleet: {accelerators: 1000, device_hour: 2 USD}
"""
CELL = "Llama3_8B/H100/bf16/serve"


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "predictions.yaml"
    path.write_text(MATRIX)
    return path


def halve(matrix, cell, metric):
    """The baseline as if a number had been half of what it was."""
    path = matrix.with_name("predictions.baseline.yaml")
    text = path.read_text()
    at = text.index(f'"{metric}": ', text.index(f'  "{cell}":')) + len(metric) + 4
    value, unit = text[at:text.index("\n", at)].split(" ")
    path.write_text(text[:at] + f"{float(value) / 2} {unit}" + text[text.index("\n", at):])


def test_accept_then_run_is_fine_and_the_baseline_is_stable(run, matrix):
    assert run("ci", "accept", matrix).code == 0
    first = matrix.with_name("predictions.baseline.yaml").read_text()
    done = run("ci", "run", matrix, "-j", 2)
    assert done.code == 0 and "0 worse, 0 better, 0 new, 0 gone" in done.out
    assert run("ci", "accept", matrix, "-j", 2).code == 0
    assert matrix.with_name("predictions.baseline.yaml").read_text() == first
    assert CELL in first and '"hardware.memory.bandwidth": 3350 GB/s' in first


def test_reports_in_all_forms(run, matrix, tmp_path):
    run("ci", "accept", matrix)
    halve(matrix, CELL, "itl")
    forms = {form: tmp_path / f"report.{form}" for form in
             ("text", "markdown", "json", "csv", "junit", "html", "gitlab")}
    done = run("ci", "run", matrix, "--annotate", "plain", *[w for f, p in forms.items() for w in ("--report", f"{f}={p}")])
    report = json.loads(forms["json"].read_text())
    assert report["schema"] == "mlsysim/ci_report@1" and len(report["cells"]) == 2
    (difference,) = report["differences"]
    # No figure moved, so it is the equations that are others.
    assert [c["input"] for c in difference["causes"]] == ["equations"]
    assert abs(difference["causes"][0]["part"] - (difference["after"] - difference["before"])) < 1e-12
    assert abs(difference["per_year_usd"] - 1000 * 2 * 8766) < 1
    suite = ET.parse(forms["junit"]).getroot().find("testsuite")
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    html = forms["html"].read_text()
    assert "<script" not in html and "://" not in html and "+100 % itl" in html
    assert len(json.loads(forms["gitlab"].read_text())) == 1
    assert forms["csv"].read_text().startswith("model,hardware,precision,pipeline,status,itl [ms],ttft [ms]")
    assert forms["markdown"].read_text().startswith("## Predictions of ")
    assert forms["text"].read_text() == done.out
    assert done.code == 1 and done.err.startswith(f"error: {matrix}: {CELL}: +100 % itl"), done.err


def test_budgets_break_the_run(run, matrix):
    matrix.write_text(MATRIX + "budgets: ['itl <= 1 us for hardware=\"H100\"', itl <= 1 s]\n")
    done = run("ci", "run", matrix, "--annotate", "plain")
    assert done.code == 1 and "1 budget broken" in done.out
    assert f"{CELL}: budget 'itl <= 1 us for" in done.err and "A100" not in done.err
    assert "there is no baseline" in done.err
    assert run("ci", "run", matrix, "--annotate", "github").err.count("::error file=") == 1


@pytest.mark.parametrize("change, part", [
    (("itl:", "itk:"), "did you mean 'itl'?"), (("models:", "modles:"), "did you mean 'models'?"),
    (("fleet:", "budgets: [itl <= 1 GB]\nfleet:"), "dimension"), (("Llama3_8B]", "]"), "at least one cell")])
def test_matrices_that_cannot_be_used_exit_with_2(run, matrix, change, part):
    matrix.write_text(MATRIX.replace(*change))
    done = run("ci", "run", matrix)
    assert done.code == 2 and part in done.err and done.out == "", (done.code, done.err)


def test_other_exit_codes(run, matrix, tmp_path):
    assert run("ci", "run", tmp_path / "none.yaml").code == 2
    matrix.write_text(MATRIX.replace("[Llama3_8B]", "[Llama3_8B, Llama3_9B]"))
    done = run("ci", "run", matrix, "-o", "json")
    assert done.code == 4 and done.json()["cells"][2]["status"] == "failed"
    matrix.write_text(MATRIX)
    assert run("ci", "run", matrix, "--report", "pdf=x").code == 2
    done = run("ci", "run", matrix, "--history", tmp_path / "missing" / "h.sqlite")
    assert done.code == 5 and "the history cannot be opened" in done.err and "2 cells" in done.out


def test_failures_of_plugins_and_refused_records_exit_with_3(run, matrix, tmp_path):
    damaged = ROOT / "tests/data/compile/tlparse_simple_corrupted_json.log.gz"
    matrix.write_text(MATRIX.replace("pipelines:", f"pipelines:\n  compiled: {{records: {damaged}}}"))
    assert run("ci", "run", matrix).code == 0  # counted, and told
    done = run("ci", "run", matrix, "--strict", "-o", "json")
    cells = {cell["cell"]: cell for cell in done.json()["cells"]}
    assert done.code == 3 and {cell["status"] for cell in cells.values()} == {"ok", "failed"}, done.err
    assert all("the log is damaged" in cell["reason"] for name, cell in cells.items() if name.endswith("/compiled"))
    assert all(cell["status"] == "ok" for name, cell in cells.items() if name.endswith("/serve"))
    # A plugin that does not load, where that is asked for.
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mlsysim-plugin-text.so").write_text("no library\n")
    matrix.write_text(MATRIX)
    done = run("--strict-plugins", "ci", "run", matrix, env={"MLSYSIM_PLUGIN_PATH": str(tmp_path / "plugins")})
    assert done.code == 3 and "mlsysim-plugin-text" in done.err, done.err


def test_history_trend_and_bisect(run, matrix, tmp_path):
    history = tmp_path / "h.sqlite"
    for i, batch in enumerate((4, 4, 8, 8)):
        matrix.write_text(MATRIX.replace("batch_size: 4", f"batch_size: {batch}"))
        assert run("ci", "run", matrix, "--history", history, "--commit", f"c{i}", env={"SOURCE_DATE_EPOCH": str(100 + i)}).code == 0
    rows = run("ci", "trend", "--history", history, "--metric", "itl", "-o", "csv").out.splitlines()
    assert len(rows) == 3 and rows[1].split(",")[1] == "4"
    points = run("ci", "trend", "--history", history, "--metric", "itl", "--cell", CELL, "-o", "csv").out.splitlines()
    assert [p.split(",")[:2] for p in points[1:]] == [[f"c{i}", str(100 + i)] for i in range(4)]
    found = run("ci", "bisect", "--history", history, "--metric", "itl", "--cell", CELL)
    assert found.code == 1 and "last good" in found.out and "c1" in found.out and "c2" in found.out
    assert run("ci", "bisect", "--history", history, "--metric", "itl", "--cell", CELL, "--relative", "10").code == 0
    text = run("ci", "trend", "--history", history, "--metric", "itl", "--openmetrics").out
    assert text.count("\nmlsysim_predicted_latency_seconds{") == 8 and text.endswith("# EOF\n") and " 103.000\n" in text
    if shutil.which("promtool"):
        (tmp_path / "history.om").write_text(text)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", tmp_path / "history.om", tmp_path / "data"],
                       check=True, capture_output=True)
        assert any((tmp_path / "data").iterdir())
    wrong = run("ci", "trend", "--history", history, "--metric", "itk")
    assert wrong.code == 2 and "did you mean 'itl'?" in wrong.err
    assert run("ci", "trend", "--history", matrix, "--metric", "itl").code == 2


def test_the_commit_is_taken_from_the_environment_or_from_git(run, matrix, tmp_path):
    def commit(**env):
        clean = {name: "" for name in ("GIT_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA")}
        return run("ci", "run", matrix, "-o", "json", env={**clean, **env}, cwd=tmp_path).json()["commit"]

    assert commit(GITHUB_SHA="abc") == "abc"
    assert commit() == "unknown"
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\n0123 refs/heads/other\n4567 refs/heads/main\n")
    assert commit() == "4567"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").write_text("89ab\n")
    assert commit() == "89ab"


def test_the_predictions_of_this_project_are_those_that_were_accepted(run):
    """A change of physics or of the zoo shows as a difference here; accept it and explain it in the commit message."""
    done = run("ci", "run", ROOT / "tests" / "ci" / "predictions.yaml", "-j", 2)
    assert done.code == 0, done.out + "\nif this is meant: mlsysim ci accept tests/ci/predictions.yaml"


MANY = """version: "1"
models: {top: 40, by: parameters}
hardware: [H100, H200, A100, B200]
precision: [bf16, fp16]
pipelines: {serve: {batch_size: 4, accelerators: 8}, compile: {resolver: CompilationModel, breaks: 3}}
metrics: {itl: {relative: 0.1 %}, ttft: , compiled: }
budgets: ['itl <= 1 us for hardware="H200"']
"""


def test_a_run_that_is_stopped_keeps_what_is_finished_and_goes_on_to_the_same_bytes(run, matrix, tmp_path):
    matrix.write_text(MANY)
    run("ci", "accept", matrix)
    baseline = matrix.with_name("predictions.baseline.yaml")
    halve(matrix, re.search(r'"([^"]*/A100/bf16/serve)":', baseline.read_text())[1], "itl")
    whole = run("ci", "run", matrix, "-o", "json", "--commit", "c")
    assert whole.code == 1 and whole.json()["complete"]
    assert {run("ci", "run", matrix, "-o", "json", "--commit", "c", "-j", jobs).out for jobs in (1, 3)} == {whole.out}
    cells = whole.json()["cells"]
    state, words = tmp_path / "s.json", ("ci", "run", matrix, "-o", "json", "--commit", "c", "--state", tmp_path / "s.json")
    # A debugger of the kernel would be more exact: SIGINT comes while cells are predicted, wherever that is.
    for _ in range(50):
        child = subprocess.Popen([PROGRAM, *map(str, words), "--history", tmp_path / "h.sqlite"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while child.poll() is None and not pathlib.Path(f"{state}.lock").exists() and not state.exists():
            pass
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate()
        if child.returncode != -signal.SIGINT and state.exists():
            break
    part = json.loads(out)
    assert not part["complete"] and child.returncode in (1, 4) and len(part["cells"]) < len(cells)
    assert f"stopped after {len(part['cells'])} of {len(cells)} cells" in errors and "nothing was stored" in errors
    assert not (tmp_path / "h.sqlite").exists()
    assert [c for c in cells if c["cell"] in {p["cell"] for p in part["cells"]}] == part["cells"]
    assert state.stat().st_mode & 0o777 == 0o600
    kept = state.read_text()
    state.write_text(kept.replace('"cells":{', '"cells":{ ', 1))
    damaged = run(*words, "--resume")
    assert damaged.code == 2 and str(state) in damaged.err and "crc32" in damaged.err, damaged.err
    state.write_text(kept)
    done = run(*words, "--resume")
    assert (done.code, done.out) == (whole.code, whole.out) and not state.exists()


def test_a_state_of_another_matrix_is_not_gone_on_with(run, matrix, tmp_path):
    state = tmp_path / "s.json"
    words = ("ci", "run", matrix, "--commit", "c", "--no-baseline", "--state", state, "--resume")
    assert run(*words).code == 0 and not state.exists()  # nothing to go on with: from the beginning
    another = {"schema": "mlsysim/ci_state@1", "key": "0.1.0 another", "cells": {}}
    for text, part in (("years of work", "did not write"), ('{"schema": "mlsysim/ci_state@1", ', "a run cannot go on"),
                       (json.dumps(another), "no length and checksum"), (sealed(another), "another matrix, zoo, commit or version")):
        state.write_text(text)
        done = run(*words)
        assert done.code == 2 and part in done.err, done.err
    assert run("ci", "run", matrix, "--resume").code == 1


def test_prune_removes_what_no_limit_keeps(run, matrix, tmp_path):
    history = tmp_path / "h.sqlite"
    day = 86400
    matrix.write_text(MATRIX.replace("[H100, A100]", "[H100]"))
    for i in range(6):
        assert run("ci", "run", matrix, "--no-baseline", "--history", history, "--commit", f"c{i}", env={"SOURCE_DATE_EPOCH": str(i * day)}).code == 0
    now = {"SOURCE_DATE_EPOCH": str(6 * day)}

    def prune(*words, code=0):
        done = run("ci", "prune", "--history", history, *words, "-o", "json", env=now)
        assert done.code == code, done.err
        return done.json() if code == 0 else done.err

    def commits():
        points = run("ci", "trend", "--history", history, "--metric", "itl", "--cell", CELL, "-o", "csv").out.splitlines()[1:]
        return [p.split(",")[0] for p in points]

    dry = prune("--keep", 4, "--older-than", "3 day", "--dry-run")
    assert [row["name"] for row in dry["rows"]] == ["c0", "c1"] and commits() == [f"c{i}" for i in range(6)]
    assert prune("--keep", 4, "--older-than", "3 day")["rows"] == dry["rows"] and commits() == ["c2", "c3", "c4", "c5"]
    prune("--keep", 3)
    assert commits() == ["c3", "c4", "c5"]
    other = tmp_path / "other.yaml"
    other.write_text(MATRIX.replace("[H100, A100]", "[A100]"))
    assert [row["name"] for row in prune("--matrix", other, "--dry-run")["rows"]] == [CELL] and commits() == ["c3", "c4", "c5"]
    assert "no commit would stay" in prune("--older-than", "1 hour", code=2) and commits() == ["c3", "c4", "c5"]
    assert "nothing says what goes" in prune(code=2)
    assert run("ci", "prune", "--history", tmp_path / "none.sqlite", "--keep", 1).code == 2 and not (tmp_path / "none.sqlite").exists()
    prune("--matrix", other)
    assert run("ci", "trend", "--history", history, "--metric", "itl").code == 2  # its last cell went


def test_print_config_says_where_every_value_comes_from_and_shows_no_secret(run, matrix, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("me:canary-of-a-file\n")
    config = tmp_path / "observability.yaml"
    config.write_text(f"""version: "1"
times: none
exporters:
- {{form: jsonl, file: events.jsonl}}
- {{form: prometheus, url: "http://me:canary-in-a-url@127.0.0.1:1", credentials: "env:PUSH_USER", job: nightly}}
- {{form: loki, url: "http://127.0.0.1:1", credentials: "file:{secret}"}}
- {{form: otlp, url: "http://127.0.0.1:1", credentials: "env:NOT_THERE"}}
""")
    environment = {"PUSH_USER": "me:canary-of-a-variable", "GIT_COMMIT": "abc", "MLSYSIM_ACME_TOKEN": "canary-of-a-plugin"}
    asked = ("ci", "run", matrix, "--observe", config, "--push", "http://me:canary-of-an-option@127.0.0.1:1", "--credentials-env", "PUSH_USER", "-j", 2)
    done = run(*asked, "--print-config", "-o", "json", env=environment)
    assert done.code == 0 and not (tmp_path / "events.jsonl").exists(), done.err  # nothing was run
    rows = {row["setting"]: (row["value"], row["from"]) for row in done.json()["rows"]}
    assert rows["MATRIX"] == (str(matrix), "command line") and rows["-j,--jobs"] == ("2", "command line")
    assert rows["--push"] == ("http://***@127.0.0.1:1", "command line") and rows["--credentials-env"] == ("PUSH_USER (set)", "command line")
    assert rows["--job"] == ("mlsysim", "default") and rows["GIT_COMMIT"] == ("abc", "environment")
    assert rows["MLSYSIM_ACME_TOKEN"] == ("set, not shown", "environment")
    assert rows["commit"] == ("abc", "environment, GIT_COMMIT") and rows["times"] == ("none", f"{config}:2:8")
    assert rows["exporters[1].url"][0] == "http://***@127.0.0.1:1" and rows["exporters[1].job"] == ("nightly", f"{config}:5:{config.read_text().splitlines()[4].index('nightly') + 1}")
    assert rows["exporters[1].credentials"][0] == "env:PUSH_USER (set)" and rows["exporters[2].credentials"][0] == f"file:{secret} (set)"
    assert rows["exporters[3].credentials"][0] == "env:NOT_THERE (credentials are missing: no variable 'NOT_THERE')"
    assert rows["exporters[2].job"] == ("mlsysim", "default")
    for words in (asked, ("compile", "export", matrix, "--push", "http://me:canary@h"), ("pipeline", "run", "SingleNodeModel")):
        for form in ("text", "json", "csv", "markdown"):
            done = run(*words, "--print-config", "-o", form, env={**environment, "MLSYSIM_OBSERVE": str(config)})
            assert done.code == 0 and "canary" not in done.out + done.err, done.out
    # Without a file of exporters nothing is sent, and that is said.
    done = run("ci", "run", matrix, "--commit", "mine", "--print-config")
    assert done.code == 0 and "nothing is sent" in done.out and "mine" in done.out


def test_without_timestamps_two_runs_give_the_same_bytes(run, matrix, tmp_path):
    forms = {"events.jsonl": "jsonl", "events.log": "logfmt", "events.csv": "csv", "trace.json": "chrome", "spans.json": "otlp", "events.prom": "prometheus", "lines.json": "loki"}
    config = tmp_path / "observability.yaml"
    config.write_text('version: "1"\ncommit: c\nexporters:\n' + "".join(f"- {{form: {form}, file: {name}}}\n" for name, form in forms.items()))
    environment = {"MLSYSIM_OBSERVE": str(config)}
    for words in (("ci", "run", matrix), ("pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100")):
        seen = []
        for _ in range(2):
            assert run(*words, "--no-timestamps", env=environment).code == 0
            seen.append({name: (tmp_path / name).read_bytes() for name in forms})
        assert seen[0] == seen[1] and all(seen[0].values())
        assert run(*words, env=environment).code == 0
        assert (tmp_path / "events.jsonl").read_bytes() != seen[0]["events.jsonl"]
