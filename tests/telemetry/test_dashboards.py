"""The dashboards are what their specification says, every query of them is answered by a real Prometheus and understood by Loki, and
the files beside them (alerts, compose, CI) hold what is there."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
OBSERVE = ROOT / "examples" / "observe"
DATA = ROOT / "tests" / "data" / "compile"
PROGRAM = os.environ["MLSYSIM_PROGRAM"]
CACHE = servers.BUILT
sys.path.insert(0, str(OBSERVE))
import boards  # noqa: E402


def saved(name):
    return json.loads((OBSERVE / "dashboards" / f"{name}.json").read_text())


def test_generated_to_the_byte():
    python = CACHE.parent / "venv" / "bin" / "python"
    if importlib.util.find_spec("grafana_foundation_sdk") is not None:
        python = sys.executable
    elif not python.exists():
        pytest.skip("scripts/observe-servers sdk installs Grafana's SDK: that the files are what it writes was not looked at")
    done = subprocess.run([python, OBSERVE / "dashboards.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", boards.BOARDS)
def test_structure(name):
    board, spec = saved(name), boards.BOARDS[name]
    assert (board["title"], board["uid"]) == (spec["title"], f"mlsysim-{name}") and len(board["uid"]) <= 40
    panels, cells = board["panels"], set()
    assert [(p["title"], p["type"], [t["expr"] for t in p["targets"]]) for p in panels] == [(t, k, q) for t, k, _, _, _, q in spec["panels"]]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not own & cells
        cells |= own
        logs = boards.is_logql(panel["type"], panel["targets"][0]["expr"])
        assert panel["datasource"]["uid"] == ("${logs}" if logs else "${datasource}")
    known = {row["name"] for row in board["templating"]["list"]} | {"__range", "__field"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= known


def test_metrics_are_those_that_the_program_writes():
    done = subprocess.run([PROGRAM, "compile", "export", DATA, "--commit", "c", "--alias-compile-breaks"], capture_output=True, text=True, check=True)
    written = set(re.findall(r"^# TYPE (\S+)", done.stdout, re.M)) | {"push_time_seconds"}  # of the gateway
    used = {name: set(re.findall(r"\b(?:mlsysim_\w+|compile_breaks_total|push_time_seconds)", " ".join(q for _, _, q in boards.queries(name)))) for name in boards.BOARDS}
    for name in ("overview", "breaks", "compile-time"):
        assert used[name] and used[name] <= written, used[name] - written
    cells = "".join((ROOT / name).read_text() for name in ("src/components/ops/regression/metrics.cpp", "src/components/ops/export/numbers.cpp"))
    stems, endings = re.findall(r'"(mlsysim_(?:predicted|budget))"', cells), re.findall(r'return "(_\w+)"', cells)
    assert used["predictions"] <= {stem + end for stem in stems for end in endings} | set(re.findall(r'"(mlsysim_\w+)"', cells))
    live = set(re.findall(r'"(mlsysim_watch_\w+)"', "".join(p.read_text() for p in (ROOT / "src").glob("watch/*.cpp"))))
    if not live:
        pytest.skip("there is no `mlsysim watch` in this tree: names of its metrics were not looked at")
    assert used["predicted"] <= live


def test_a_click_leads_from_families_to_models_to_reasons():
    linked = {}
    for name in boards.BOARDS:
        for panel in saved(name)["panels"]:
            for link in panel.get("fieldConfig", {}).get("defaults", {}).get("links", []):
                board, words = link["url"].removeprefix("/d/").split("?")
                chosen = re.findall(r"var-(\w+)=\$\{__field\.labels\.(\w+)\}", words)
                assert board == "mlsysim-breaks" and chosen and all(a == b for a, b in chosen), link
                assert {a for a, _ in chosen} <= {row["name"] for row in saved("breaks")["templating"]["list"]}
                grouped = set(re.findall(r"\w+", re.search(r"by\(([^)]*)\)", panel["targets"][0]["expr"])[1]))
                assert {a for a, _ in chosen} <= grouped
                linked[panel["title"]] = chosen[-1][0]
    assert linked["Breaks by family"] == "model_family" and linked["Breaks by model"] == "model_name" and linked["Reasons with most breaks"] == "reason"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
def test_alerts():
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "rules_test.yml"], ["check", "config", "--syntax-only", "compose/prometheus.yml"]):
        done = subprocess.run(["promtool", *words], cwd=OBSERVE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# What `mlsysim watch` exports of two numbers of one engine, one of them outside of its band.
WATCHED = "".join(
    f'mlsysim_watch_measured_seconds{{{labels}}} {measured}\nmlsysim_watch_outside{{{labels}}} {int(not low <= measured <= high)}\n'
    + "".join(f'mlsysim_watch_predicted_seconds{{{labels},bound="{bound}"}} {value}\n' for bound, value in (("low", low), ("value", value), ("high", high)))
    for labels, measured, low, value, high in (('server="http://a",engine="vllm",model_name="m",number="ttft"', 0.30, 0.1, 0.15, 0.2),
                                               ('server="http://a",engine="vllm",model_name="m",number="itl"', 0.02, 0.015, 0.02, 0.03))
) + 'mlsysim_watch_up{server="http://a"} 1\n'


@pytest.mark.skipif(bool(servers.missing()), reason="apt-get install prometheus prometheus-pushgateway")
def test_queries_of_predicted_against_measured():
    with servers.running() as (gateway, prometheus):
        request = urllib.request.Request(f"{gateway}/metrics/job/watch", data=WATCHED.encode(), method="PUT")
        assert urllib.request.urlopen(request, timeout=5).status == 200
        servers.until("mlsysim_watch_up", lambda: servers.query(prometheus, "mlsysim_watch_up") or None)
        found = {title: servers.query(prometheus, query) for title, _, query in boards.queries("predicted")}
    assert all(found.values()), [title for title, rows in found.items() if not rows]
    ratios = {dict(key)["number"]: value for key, value in found["Measured over predicted"].items()}
    assert ratios == pytest.approx({"ttft": 2, "itl": 1})
    assert list(found["Numbers outside of their band"].values()) == [1]
    assert [dict(key)["number"] for key in found["Outside of the band"]] == ["ttft"]


LOGQL = [query for name in boards.BOARDS for _, kind, query in boards.queries(name) if boards.is_logql(kind, query)]


def test_loki_reads_every_query():
    if not (CACHE / "logql").exists():
        pytest.skip("scripts/observe-servers logql builds the parser of Loki: queries of lines were not read")
    done = subprocess.run([CACHE / "logql"], input="\n".join(LOGQL) + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(LOGQL) == 3, done.stdout
    assert subprocess.run([CACHE / "logql"], input="sum by (x (y)\n", capture_output=True, text=True, check=False).returncode == 1


def test_loki_answers_every_query(tmp_path):
    if not servers.has_loki():
        pytest.skip("scripts/observe-servers loki builds Loki: queries of lines were not asked")
    with servers.running_loki() as url:
        subprocess.run([PROGRAM, "compile", "export", DATA, "--commit", "c", "--loki", url], capture_output=True, check=True)
        lines = servers.until("lines", lambda: servers.query_loki(url, LOGQL[-1]) or None)
        assert len(lines) == 39 and all("reason" in row["labels"]["line"] for row in lines)
        for query in LOGQL[:-1]:
            rows = servers.query_loki(url, query)
            assert sum(row["value"] for row in rows) == 39 or query.startswith("topk") and rows, query


# Files for tools that are not here: they read as what they are, and the commands in them exist.


def helps(*words):
    return subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=False)


def calls(text):
    """The calls of the program in a file, without what a shell puts around them."""
    for words in re.findall(r"\bmlsysim ((?:graph-breaks|ci|watch) [^\n'|>&]*)", text):
        yield words.split()


@pytest.mark.parametrize("path", sorted(p.relative_to(OBSERVE).as_posix() for p in [*OBSERVE.rglob("*.yml"), *OBSERVE.rglob("*.yaml")]))
def test_yaml_reads(path):
    yaml = pytest.importorskip("yaml", reason="apt-get install python3-yaml")
    assert yaml.safe_load((OBSERVE / path).read_text())


@pytest.mark.parametrize("path", ["ci/github.yml", "ci/gitlab.yml", "ci/Jenkinsfile", "ci/plain.sh", "compose/compose.yaml"])
def test_commands_exist(path):
    text = (OBSERVE / path).read_text()
    found = list(calls(text))
    assert found
    for words in found:
        help_text = helps(*words[:2])
        assert help_text.returncode == 0, words
        for option in (word.split("=")[0] for word in words[2:] if word.startswith("--")):
            assert re.search(rf"(?<![\w-]){option}\b", help_text.stdout), (path, option)
    assert "dynamo_export" not in text or (ROOT / "bindings/python/mlsysim/dynamo_export.py").exists()


def test_scripts_and_the_jenkinsfile_parse():
    for script in ("observe-demo", "observe-servers"):
        subprocess.run(["bash", "-n", ROOT / "scripts" / script], check=True)
    subprocess.run(["sh", "-n", OBSERVE / "ci" / "plain.sh"], check=True)
    text, open_brackets = re.sub(r"'[^']*'|\"[^\"]*\"|//.*", "", (OBSERVE / "ci" / "Jenkinsfile").read_text()), []
    for c in text:
        if c in "({[":
            open_brackets.append(c)
        elif c in ")}]":
            assert open_brackets and open_brackets.pop() + c in ("()", "{}", "[]")
    assert not open_brackets and text.count("stage(") >= 1


def test_compose_names_what_is_there():
    yaml = pytest.importorskip("yaml", reason="apt-get install python3-yaml")
    compose = yaml.safe_load((OBSERVE / "compose" / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (OBSERVE / "compose" / source).exists() if source.startswith(".") else source in compose["volumes"], (name, source)
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    config = yaml.safe_load((OBSERVE / "compose" / "prometheus.yml").read_text())
    targets = {target.split(":")[0] for job in config["scrape_configs"] for row in job["static_configs"] for target in row["targets"]}
    assert targets <= set(compose["services"])
