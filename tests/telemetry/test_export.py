"""mlsysim graph-breaks export: files, servers that do not want it, and a real Pushgateway and Prometheus."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
DATA = pathlib.Path(__file__).parents[1] / "data" / "compile"
SEED = "sum by(model, commit, reason)(compile_breaks_total)"


def export(*words, code=0, env=None, before=()):
    done = subprocess.run([*before, PROGRAM, "compile", "export", *map(str, words)], capture_output=True, text=True,
                          timeout=60 * servers.SLOWER, check=False, env={**os.environ, **(env or {})})
    assert done.returncode == code, done.stderr
    return done


def test_forms():
    for form in ("prometheus", "openmetrics", "otlp", "loki", "logfmt", "jsonl", "csv"):
        one, two = (export(DATA, "--form", form, "--time", 1_700_000_000_000_000_000).stdout for _ in range(2))
        assert one == two and one.endswith("\n")
    assert len(export(DATA, "--form", "logfmt").stdout.splitlines()) == 39
    point = json.loads(export(DATA, "--form", "otlp", "--time", 7).stdout)
    metrics = point["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert metrics[0]["name"] == "mlsysim_compile_breaks_total" and metrics[0]["sum"]["isMonotonic"] is True
    assert metrics[0]["sum"]["dataPoints"][0]["timeUnixNano"] == "7"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
def test_the_linter_of_prometheus_has_nothing_to_say():
    for words in ([], ["--alias-compile-breaks"]):
        text = export(DATA, *words).stdout
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_answers_of_servers():
    words = [DATA / "break_reasons_mms_tts_rus.pkl", "--retry-wait", "0", "--push"]
    with servers.stub([503, 429, 200]) as (url, taken):
        export(*words, url)
        assert [row[0] for row in taken] == ["PUT"] * 3 and taken[0][1] == "/metrics/job/mlsysim/model_family/unknown"
    for status, said, tries in ((301, "redirected, nothing stored", 1), (400, "400: said the server", 1),
                                (500, "500: said the server", 3), ("close", "no answer", 3)):
        with servers.stub([status]) as (url, taken):
            done = export(*words, url, code=5)
            assert said in done.stderr and len(taken) == tries
            assert "mlsysim_compile_breaks_total" in done.stdout  # nothing is lost
    with servers.stub([400]) as (url, taken):
        assert "warning" in export(*words, url, "--push-best-effort").stderr
    export(*words, f"http://127.0.0.1:{servers.free_port()}", code=5)


def test_servers_that_hang_trickle_or_end_half_way_are_named_and_cost_bounded_time(tmp_path):
    record = DATA / "break_reasons_mms_tts_rus.pkl"
    for manners, option in (("hang", "--push"), ("trickle", "--push"), ("half", "--push"), ("hang", "--otlp"), ("trickle", "--loki")):
        with servers.stub([manners]) as (url, taken):
            # Three tries of 0.1 s. Without a bound the program would be with the server until export() loses its patience.
            done = export(record, option, url, "--timeout", "0.1", "--retry-wait", "0", code=5)
            assert len(taken) <= 3, (manners, option)
        assert url in done.stderr and "no answer: " in done.stderr, done.stderr
        assert manners == "half" or "within 0.1 s" in done.stderr, done.stderr
        assert "mlsysim_compile_breaks_total" in done.stdout  # nothing is lost
    # What goes to files is there whole, whatever servers do; and each of them is told.
    matrix, config = tmp_path / "predictions.yaml", tmp_path / "observability.yaml"
    matrix.write_text('version: "1"\nmodels: [Llama3_8B]\nhardware: [H100]\npipelines: {serve: {batch_size: 4, accelerators: 8}}\nmetrics: {itl: }\n')
    with servers.stub(["hang"]) as (hangs, _), servers.stub(["half"]) as (half, _):
        config.write_text(f"""version: "1"
times: none
exporters:
- {{form: loki, url: "{hangs}", timeout: 0.2, retry_wait: 0}}
- {{form: jsonl, file: events.jsonl}}
- {{form: prometheus, url: "{half}", timeout: 0.2, retry_wait: 0, file: events.prom}}
- {{form: otlp, file: spans.json}}
""")
        done = subprocess.run([PROGRAM, "ci", "run", matrix, "--observe", config, "-o", "json", "--history", tmp_path / "h.sqlite"], capture_output=True,
                              text=True, timeout=120 * servers.SLOWER, check=False)
    assert done.returncode == 5 and hangs in done.stderr and half in done.stderr, done.stderr
    assert json.loads(done.stdout)["cells"][0]["status"] == "ok" and (tmp_path / "h.sqlite").stat().st_size > 0
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 3
    assert "mlsysim_predicted_latency_seconds" in (tmp_path / "events.prom").read_text()
    assert json.loads((tmp_path / "spans.json").read_text())["resourceSpans"]


def test_secrets_stay_secret():
    with servers.stub([400]) as (url, taken):
        host = url.removeprefix("http://")
        done = export(DATA / "break_reasons_mms_tts_rus.pkl", "--push", f"http://me:canary1@{host}", "--credentials-env",
                      "SECRET", code=5, env={"SECRET": "me:canary2"})
        assert "canary" not in done.stdout + done.stderr
        assert taken[0][2]["Authorization"].startswith("Basic ")
    export(DATA, "--push", "http://127.0.0.1:1", "--credentials-env", "NOT_THERE", code=1)


def test_bad_words():
    file = DATA / "break_reasons_mms_tts_rus.pkl"
    for words, said in ((["--push", "http://h", "--job", ""], "a push needs a job"),
                        (["--push", "http://h", "--group", "commit=x"], "in the key of the group"),
                        (["--push", "h:9091"], "no URL"), (["--time", "soon"], "a whole number")):
        assert said in export(file, *words, code=1).stderr


def test_loki_and_otlp_get_what_they_take():
    with servers.stub([204]) as (url, taken):
        export(DATA, "--loki", url, "--otlp", f"{url}/v1/metrics", "--time", 1_000)
    (_, otlp, _, metrics), (_, loki, headers, body) = taken
    assert (otlp, loki, headers["Content-Type"]) == ("/v1/metrics", "/loki/api/v1/push", "application/json")
    assert json.loads(metrics)["resourceMetrics"]
    (stream,) = json.loads(body)["streams"]
    assert len(stream["stream"]) <= 8 and len(stream["values"]) == 39
    times = [int(row[0]) for row in stream["values"]]
    assert times == sorted(set(times)) and all(set(map(type, row[2].values())) == {str} for row in stream["values"])


def test_loki_gets_lines_in_bodies_that_it_takes_and_is_asked_again_where_it_is_busy(tmp_path):
    # Shapes and limits of Loki's push API: <= 15 labels, lines to 256 KiB, bodies of some MB, times that grow within a stream.
    text = (DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz").read_bytes()
    record = {"schema": "mlsysim.dynamo_explain/1", "model": {"name": "m", "family": "f"}, "status": "ok", "graph_count": 2, "graph_break_count": 1, "op_count": 3,
              "breaks": [{"type": "long", "reason": 'long "\n' * n, "stack": []} for n in (1, 10, 60_000, 200_000)]}
    (tmp_path / "long.json").write_text(json.dumps(record))
    (tmp_path / "text.txt.gz").write_bytes(text)
    with servers.stub([429, 500, 204]) as (url, taken):
        export(tmp_path, "--loki", url, "--retry-wait", "0", "--time", 1_000)
    assert [row[3] == taken[0][3] for row in taken[:3]] == [True] * 3  # the same body until it is taken
    last, count = 0, 0
    for _, path, headers, body in taken[2:]:
        assert path == "/loki/api/v1/push" and headers["Content-Type"] == "application/json" and len(body) <= 1_000_000
        (stream,) = json.loads(body)["streams"]
        assert set(stream["stream"]) <= {"service_name", "job", "env", "level", "kind"} and len(stream["values"]) <= 1000
        for when, line, fields in stream["values"]:
            assert isinstance(when, str) and int(when) > last and len(line.encode()) <= 256 * 1024 and "\n" not in line
            assert all(isinstance(value, str) and len(value.encode()) <= 1024 for value in fields.values())
            last, count = int(when), count + 1
    assert count == 4 + 17
    for status in (400, 301):
        with servers.stub([status]) as (url, taken):
            assert str(status) in export(tmp_path, "--loki", url, code=5).stderr and len(taken) == 1


def test_each_family_is_a_group_and_each_server_has_its_turn(tmp_path):
    for family in ("Audio", "Computer Vision"):
        (tmp_path / family).mkdir()
    shutil.copy(DATA / "break_reasons_mms_tts_rus.pkl", tmp_path / "Audio" / "a.pkl")
    shutil.copy(DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz", tmp_path / "Computer Vision" / "b.txt.gz")
    with servers.stub([200]) as (url, taken):
        export(tmp_path, "--push", url, "--alias-compile-breaks")
    paths = {row[1]: row[3].decode() for row in taken}
    assert set(paths) == {"/metrics/job/mlsysim/model_family/Audio", "/metrics/job/mlsysim/model_family@base64/Q29tcHV0ZXIgVmlzaW9u"}
    for text, model in zip(paths.values(), ("a", "b")):
        assert f'model="{model}"' in text and ('model="a"' in text) != ('model="b"' in text)
    # One that refuses keeps nothing from the others.
    with servers.stub([400]) as (bad, _), servers.stub([200]) as (good, taken):
        done = export(tmp_path, "--push", bad, "--otlp", f"{good}/v1/metrics", "--loki", good, code=5)
        assert bad in done.stderr and {row[1] for row in taken} == {"/v1/metrics", "/loki/api/v1/push"}


def test_a_pipeline_replaces_what_it_pushed_and_nothing_else(tmp_path):
    config = tmp_path / "o.yaml"
    with servers.stub([200]) as (url, taken):
        config.write_text(f'version: "1"\nexporters: [{{form: prometheus, url: "{url}", job: nightly}}]\n')
        for words in (["pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100"],
                      ["sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..4"]):
            subprocess.run([PROGRAM, *words], check=True, capture_output=True, env={**os.environ, "MLSYSIM_OBSERVE": str(config)})
    paths = [row[1] for row in taken]
    assert len(set(paths)) == len(paths) and all(path.startswith("/metrics/job/nightly/") for path in paths), paths  # none is of the job alone
    # A command that runs nothing replaces nothing.
    with servers.stub([200]) as (url, none):
        config.write_text(f'version: "1"\nexporters: [{{form: prometheus, url: "{url}"}}]\n')
        assert subprocess.run([PROGRAM, "pipeline", "run", "NoSuchModel"], check=False, capture_output=True, env={**os.environ, "MLSYSIM_OBSERVE": str(config)}).returncode == 1
    assert not none
    assert any("/pipeline/pipeline" in path and "/model_family/language" in path for path in paths) and any("/sweep" in path for path in paths), paths


def test_a_group_is_deleted_and_lines_need_no_metadata():
    with servers.stub([202]) as (url, taken):
        export("--push", url, "--job", "ci", "--group", "family=a/b", "--delete-group")
    assert [row[:2] for row in taken] == [("DELETE", "/metrics/job/ci/family@base64/YS9i")]
    with servers.stub([500]) as (url, taken):
        assert "500" in export("--push", url, "--delete-group", "--retry-wait", "0", code=5).stderr and len(taken) == 3
    assert "nothing is read for it" in export(DATA, "--push", "http://h", "--delete-group", code=1).stderr
    assert "nothing is there to export" in export("--form", "csv", code=1).stderr
    with servers.stub([204]) as (url, taken):
        export(DATA, "--loki", url, "--loki-no-metadata", "--time", 1_000)
    (stream,) = json.loads(taken[0][3])["streams"]
    assert all(len(row) == 2 for row in stream["values"]) and "model_name=" in stream["values"][0][1]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_no_call_without_a_url():
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("name spaces of networks may not be made here")
    assert export(DATA, before=alone).stdout == export(DATA).stdout
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: that no socket is made was not looked at")
    done = subprocess.run(["strace", "-f", "-e", "trace=socket,connect", PROGRAM, "compile", "export", str(DATA)],
                          capture_output=True, text=True, check=False)
    assert "socket(" not in done.stderr and "connect(" not in done.stderr


@pytest.mark.skipif(bool(servers.missing()), reason="apt-get install prometheus prometheus-pushgateway")
def test_the_first_dashboards_query_is_answered():
    with servers.running() as (gateway, prometheus):
        hostile = "a\\b\"c\nd\té{}=," + "x" * 300
        for commit, model in (("c1", "facebook/mms-tts-rus"), ("c2", hostile)):
            export(DATA / "break_reasons_mms_tts_rus.pkl", "--model", model, "--commit", commit, "--alias-compile-breaks",
                   "--push", gateway, "--job", "a/b", "--group", f"run={commit}")
        rows = servers.until(SEED, lambda: (rows := servers.query(prometheus, SEED)) and len(rows) == 8 and rows or None)
        key = (("commit", "c1"), ("model", "facebook/mms-tts-rus"), ("reason", "Dynamic shape operator"))
        assert rows[key] == 7
        assert {dict(key)["model"] for key in rows} == {"facebook/mms-tts-rus", hostile}
        assert sum(rows.values()) == 38
        # The same again replaces: a pushed counter is the count of its run.
        export(DATA / "break_reasons_mms_tts_rus.pkl", "--model", "facebook/mms-tts-rus", "--commit", "c1",
               "--alias-compile-breaks", "--push", gateway, "--job", "a/b", "--group", "run=c1")
        assert servers.get(f"{gateway}/metrics").count("compile_breaks_total{") == 16
        # What is no UTF-8 is replaced, what is too long is cut and ends in a hash.
        for commit, model in (("c3", b"a\xff\xc0b"), ("c4", b"y" * 10_000)):
            subprocess.run([PROGRAM, "compile", "export", DATA / "break_reasons_mms_tts_rus.pkl", "--model", model, "--commit", commit,
                            "--push", gateway, "--job", "odd", "--group", f"run={commit}"], check=True, capture_output=True)
        odd = servers.until("odd names", lambda: (found := servers.query(prometheus, 'mlsysim_compile_graphs{job="odd"}')) and len(found) == 2 and found or None)
        names = {dict(key)["commit"]: dict(key)["model_name"] for key in odd}
        assert names["c3"] == "a\ufffd\ufffdb" and len(names["c4"]) <= 1024 and names["c4"].startswith("y" * 900) and "..." in names["c4"]
