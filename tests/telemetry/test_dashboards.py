"""The dashboard is what its specification says, and every query of it is answered by a real Prometheus."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
OBSERVE = ROOT / "examples" / "observe"


def dashboard():
    return json.loads((OBSERVE / "dashboards" / "breaks.json").read_text())


def test_generated():
    made = subprocess.run([sys.executable, OBSERVE / "dashboards.py"], capture_output=True, text=True, check=True).stdout
    assert made == (OBSERVE / "dashboards" / "breaks.json").read_text()


def test_structure():
    board = dashboard()
    assert len(board["uid"]) <= 40
    panels, cells = board["panels"], set()
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not own & cells
        cells |= own
        assert panel["datasource"]["uid"] == "${datasource}"
    known = {row["name"] for row in board["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= known


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
def test_alerts():
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "rules_test.yml"]):
        done = subprocess.run(["promtool", *words], cwd=OBSERVE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(bool(servers.missing()), reason="apt-get install prometheus prometheus-pushgateway")
def test_the_demo_and_its_queries(tmp_path):
    done = subprocess.run([sys.executable, OBSERVE / "demo.py", tmp_path / "out"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads((tmp_path / "out" / "queries.json").read_text())
    assert len(answers) == len(dashboard()["panels"])
    for row in answers:
        assert row["rows"], row["expr"]
    (seed,) = (row for row in answers if row["expr"] == "sum by(model, commit, reason)(compile_breaks_total)")
    counts = {(row["labels"]["model"], row["labels"]["commit"], row["labels"]["reason"]): row["value"] for row in seed["rows"]}
    assert counts["facebook/mms-tts-rus", "commit-1", "Dynamic shape operator"] == 7
    assert counts["prajjwal1/bert-tiny", "commit-2", "generic_jump"] == 4
    assert {key[1] for key in counts} == {"commit-1", "commit-2", "commit-3"}
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in page and "http://" not in page and "Dynamic shape operator" in page
    assert "has the same content as" in (tmp_path / "out" / "commit-1" / "notes.txt").read_text()
    assert "mlsysim_compile_breaks_total" in (tmp_path / "out" / "commit-3" / "compile.prom").read_text()
