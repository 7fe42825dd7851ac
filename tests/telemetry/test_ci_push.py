"""mlsysim ci: what a run sends, to stubs and to a real Pushgateway and Prometheus, and what prune takes off a gateway."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples" / "observe"))
import boards  # noqa: E402

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
DATA = ROOT / "tests" / "data" / "compile"
MATRIX = """version: "1"
models: [Llama3_8B, ResNet50]
hardware: [H100, T4]
precision: [fp16]
pipelines:
  infer: {batch_size: 16}
  compiled: {records: "RECORDS/{model}"}
exclude: ["ResNet50/.*/compiled"]
metrics: [latency, throughput, memory_used, energy, compiled]
budgets: ['latency <= 100 us for hardware="T4", pipeline="infer"', 'compiled <= 1 s for pipeline="compiled"']
"""
needs_servers = pytest.mark.skipif(bool(servers.missing()), reason="apt-get install prometheus prometheus-pushgateway")


@pytest.fixture
def matrix(tmp_path):
    (tmp_path / "records" / "Llama3_8B").mkdir(parents=True)
    shutil.copy(DATA / "break_reasons_mms_tts_rus.pkl", tmp_path / "records" / "Llama3_8B")
    path = tmp_path / "predictions.yaml"
    path.write_text(MATRIX.replace("RECORDS", str(tmp_path / "records")))
    return path


def ci(*words, code=0, env=None):
    done = subprocess.run([PROGRAM, "ci", *map(str, words)], capture_output=True, text=True, timeout=120 * servers.SLOWER, check=False,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **(env or {})})
    assert done.returncode == code, done.stderr
    return done


def test_a_group_for_each_pipeline_and_family(matrix):
    with servers.stub([200]) as (url, taken):
        ci("run", matrix, "--commit", "c", "--push", url, "--job", "nightly", "--otlp", f"{url}/v1/metrics", code=1)
    *pushed, (_, otlp, _, metrics) = taken
    assert {(row[0], row[1]) for row in pushed} == {("PUT", "/metrics/job/nightly" + group) for group in (
        "", "/model_family/language", "/model_family/language/pipeline/infer", "/model_family/language/pipeline/compiled",
        "/model_family/vision/pipeline/infer")}
    text = "".join(row[3].decode() for row in pushed)
    cell = 'commit="c",hardware="T4",model_family="vision",model_name="ResNet50",number="latency",pipeline="infer",precision="fp16"'
    assert f"mlsysim_budget_latency_seconds{{{cell}}} 0.0001\n" in text and f"mlsysim_predicted_latency_seconds{{{cell}}} " in text
    for name in ("throughput_per_second", "memory_bytes", "energy_joules"):
        assert f"mlsysim_predicted_{name}{{" in text
    assert 'mlsysim_cells{commit="c",status="failed"} 0\n' in text and 'mlsysim_build_info{commit="c",version="' in text
    assert 'mlsysim_compile_breaks_total{category="' in text and "compile_breaks_total{commit" not in text
    assert otlp == "/v1/metrics" and "mlsysim_predicted_latency_seconds" in metrics.decode()


def test_servers_that_do_not_want_it_cost_the_exit_code_alone(matrix, tmp_path):
    matrix.write_text(matrix.read_text().split("budgets")[0])
    for words, code, said in (((), 5, "redirected, nothing stored"), (("--push-best-effort",), 0, "warning")):
        with servers.stub([301]) as (url, _):
            done = ci("run", matrix, "--push", url, "--history", tmp_path / "h.sqlite", *words, code=code)
        assert said in done.stderr and "6 cells: 5 ok, 1 infeasible" in done.stdout
        assert (tmp_path / "h.sqlite").exists()
    assert "a push needs a job" in ci("run", matrix, "--push", "http://127.0.0.1:1", "--job", "", code=2).stderr
    with servers.stub([400]) as (url, taken):
        host = url.removeprefix("http://")
        done = ci("run", matrix, "--push", f"http://me:canary1@{host}", "--credentials-env", "SECRET", code=5, env={"SECRET": "me:canary2"})
    assert "canary" not in done.stdout + done.stderr and taken[0][2]["Authorization"].startswith("Basic ")


def test_every_exporter_of_one_file_gets_the_run(matrix, tmp_path):
    with servers.stub([200]) as (url, taken):
        (tmp_path / "observability.yaml").write_text(json.dumps({"version": "1", "exporters": [
            {"form": "prometheus", "file": "run.prom"}, {"form": "jsonl", "file": "run.jsonl"}, {"form": "chrome", "file": "run.trace"},
            {"form": "otlp", "url": f"{url}/v1/metrics"}, {"form": "otlp", "url": f"{url}/v1/traces"}, {"form": "loki", "url": url}]}))
        ci("run", matrix, "--commit", "c", "--observe", tmp_path / "observability.yaml", code=1)
        first = {name: (tmp_path / name).read_bytes() for name in ("run.prom", "run.jsonl", "run.trace")}
        ci("run", matrix, "--commit", "c", env={"MLSYSIM_OBSERVE": str(tmp_path / "observability.yaml")}, code=1)
    assert {row[1] for row in taken} == {"/v1/metrics", "/v1/traces", "/loki/api/v1/push"} and len(taken) == 6
    assert first == {name: (tmp_path / name).read_bytes() for name in first}
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["pipeline_start", "stage_end", "stage_end", "infeasible", "break", *["stage_end"] * 3, "pipeline_end"]
    assert lines[1]["model_family"] == "language" and lines[1]["results"] and lines[4]["reason"] == "infeasible_memory"
    tracks = [e for e in json.loads(first["run.trace"])["traceEvents"] if e["ph"] == "C"]
    assert tracks and all(e["cat"] == "memory" and e["args"]["memory_used"] > 0 for e in tracks)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=first["run.prom"], capture_output=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, b"")


@pytest.mark.skipif(shutil.which("strace") is None, reason="apt-get install strace")
def test_files_alone_make_no_call(matrix, tmp_path):
    (tmp_path / "observability.yaml").write_text(json.dumps({"version": "1", "exporters": [
        {"form": form, "file": f"run.{form}"} for form in ("jsonl", "logfmt", "csv", "chrome", "otlp", "prometheus", "loki")]}))
    trace = tmp_path / "trace"
    done = subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=socket,connect", PROGRAM, "ci", "run", matrix, "--no-baseline", "--observe",
                           tmp_path / "observability.yaml"], capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.returncode == 1 and (tmp_path / "run.loki").stat().st_size > 0
    assert "socket(" not in trace.read_text() and "connect(" not in trace.read_text()


@needs_servers
def test_panels_of_predictions_the_query_of_the_readme_and_groups_that_go(matrix):
    other = matrix.with_name("smaller.yaml")
    with servers.running() as (gateway, prometheus):
        baseline = ci("accept", matrix).stdout
        assert "6 cells accepted" in baseline
        words = ("--push", gateway, "--job", "nightly")
        ci("run", matrix, "--commit", "c1", *words, "--alias-compile-breaks", code=1)
        counts = servers.until(boards.SEED, lambda: servers.query(prometheus, boards.SEED) or None)
        assert {dict(key)["commit"] for key in counts} == {"c1"} and sum(counts.values()) == 19
        found = {title: servers.until(query, lambda query=query: servers.query(prometheus, query) or None, tries=50)
                 for title, _, query in boards.queries("predictions")}
        assert len(found) == len(boards.BOARDS["predictions"]["panels"])
        assert list(found["Broken budgets"].values()) == [1] and len(found["Over budget"]) == 1
        assert list(found["Worse than accepted"].values()) == [0]
        assert found["Breaks of predictions by reason"] == {(("reason", "none"),): 0, (("reason", "infeasible_memory"),): 1}
        # A matrix without vision: its groups stay until they are pruned, and what others pushed stays whatever happens.
        subprocess.run([PROGRAM, "compile", "export", DATA, "--push", gateway, "--job", "nightly", "--group", "run=x"], check=True, capture_output=True)
        other.write_text(matrix.read_text().replace("[Llama3_8B, ResNet50]", "[Llama3_8B]").replace('exclude: ["ResNet50/.*/compiled"]\n', ""))

        def groups():
            rows = json.loads(servers.get(f"{gateway}/api/v1/metrics"))["data"]
            return {tuple(sorted((k, v) for k, v in row["labels"].items() if k != "job")) for row in rows}

        before = groups()
        dry = ci("prune", *words, "--matrix", other, "--dry-run", "-o", "json")
        assert [row["name"] for row in json.loads(dry.stdout)["rows"]] == ["model_family=vision, pipeline=infer"] and groups() == before
        ci("prune", *words, "--matrix", other)
        assert before - groups() == {(("model_family", "vision"), ("pipeline", "infer"))}
        assert "nothing says what goes" in ci("prune", *words, code=2).stderr
    assert "gave nothing that can be read" in ci("prune", *words, "--matrix", other, code=2).stderr


@needs_servers
def test_the_plain_script_of_the_examples_leaves_files_and_fills_a_gateway(matrix, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mlsysim").symlink_to(PROGRAM)
    records = tmp_path / "Audio"
    records.mkdir()
    shutil.copy(DATA / "break_reasons_mms_tts_rus.pkl", records / "mms.pkl")
    matrix.write_text(matrix.read_text().split("budgets")[0])
    ci("accept", matrix)

    def script(*words, commit, code=0):
        env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "GIT_COMMIT": commit, "OUT": str(tmp_path / "out")}
        done = subprocess.run([ROOT / "examples/observe/ci/plain.sh", records, matrix, *words], capture_output=True, text=True, timeout=120 * servers.SLOWER, check=False, env=env)
        assert done.returncode == code, done.stderr
        return done

    with servers.running() as (gateway, prometheus):
        script(gateway, commit="c1")
        rows = servers.until(boards.SEED, lambda: servers.query(prometheus, boards.SEED) or None)
        assert {dict(key)["commit"] for key in rows} == {"c1"} and sum(rows.values()) == 19
        # The next commit takes the place of this one: no group stays behind for each of them.
        groups = {json.dumps(row["labels"], sort_keys=True) for row in json.loads(servers.get(f"{gateway}/api/v1/metrics"))["data"]}
        script(gateway, commit="c2")
        assert groups == {json.dumps(row["labels"], sort_keys=True) for row in json.loads(servers.get(f"{gateway}/api/v1/metrics"))["data"]}
        text = servers.get(f"{gateway}/metrics")
        assert 'commit="c2"' in text and 'commit="c1"' not in text
    # A gateway that is gone fails nothing, and a worse prediction does.
    assert "warning" in script(gateway, commit="c3").stderr
    matrix.write_text(matrix.read_text().replace("batch_size: 16", "batch_size: 64"))
    script(commit="c4", code=1)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"breaks.md", "breaks.log", "compile.prom", "predictions.sqlite", "predictions.xml", "predictions.md", "predictions.html"}


@needs_servers
def test_the_past_is_in_prometheus_where_history_was_filled_in(matrix, tmp_path):
    now, day = int(time.time()), 86400
    text = matrix.read_text().split("budgets")[0]
    for days in (3, 2, 1):
        matrix.write_text(text.replace("batch_size: 16", f"batch_size: {2 ** days}"))
        ci("run", matrix, "--no-baseline", "--history", tmp_path / "h.sqlite", "--commit", f"c{days}", env={"SOURCE_DATE_EPOCH": str(now - days * day)})
    (tmp_path / "history.om").write_text(ci("trend", "--history", tmp_path / "h.sqlite", "--metric", "throughput", "--openmetrics").stdout)
    points = {row.split(",")[0]: float(row.split(",")[2]) for row in ci(
        "trend", "--history", tmp_path / "h.sqlite", "--metric", "throughput", "--cell", "ResNet50/H100/fp16/infer", "-o", "csv").stdout.splitlines()[1:]}
    series = 'mlsysim_predicted_throughput_per_second{model_name="ResNet50",hardware="H100",number="throughput"}'
    with servers.running(history=tmp_path / "history.om") as (_, prometheus):
        for days in (3, 2, 1):
            (value,) = servers.until(series, lambda days=days: servers.query(prometheus, series, now - days * day + 1) or None).values()
            assert value == pytest.approx(points[f"c{days}"], rel=1e-9)
        assert servers.query(prometheus, series, now - 4 * day) == {}
