"""Each question of docs/reference/questions.md is answered by the command that the page tells a reader to try first.

    ctest --test-dir BUILD -R stories.questions     or, from the root:
    MLSYSIM_BUILD=BUILD PYTHONPATH=BUILD/python python3 -m pytest tests/stories/test_questions.py

The facts of an answer come from its JSON: no sentence is compared. A row of the page without facts here fails, and so do facts without
a row.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import mlsysim

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["MLSYSIM_BUILD"])
PAGE = ROOT / "docs" / "reference" / "questions.md"
ROWS = [m.groups() for m in re.finditer(r"^\| (?!question|---)(.+?) \| `(.+?)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M)]
CONFIG = ROOT / "tests" / "data" / "model_files" / "configs" / "Qwen--Qwen3-30B-A3B.json"
SHAPES = ((4096, 4096, 4096, 620), (8192, 4096, 4096, 1230), (1024, 4096, 4096, 175), (4096, 8192, 4096, 1240), (2048, 4096, 8192, 620))
FILES = {
    "mychip.yaml": "schema: mlsysim/hardware@1\nentries:\n- name: MyChip\n  compute: {dense: {bf16: 500 TFLOP/s}}\n"
                   "  memory: {capacity: 96 GB, bandwidth: 4 TB/s}\n  power: {tdp: 500 W}\n",
    "limits.yaml": 'version: "1"\nname: chat\nworkload: {name: Llama3_70B, batch_size: 16}\nhardware: {name: H100, accelerators: 8}\n'
                   "constraints:\n  assert:\n  - {metric: performance.itl, max: 5 ms}\n",
    "gemm.csv": "hardware,precision,rows,columns,depth,measured [us]\n" + "".join(f"A100,bf16,{m},{n},{k},{us}\n" for m, n, k, us in SHAPES),
    "times.csv": "device,rows,columns,depth,time_us\n" + "".join(f"A100,{m},{n},{k},{us / 1.119}\n" for m, n, k, us in SHAPES),
    "gemm.yaml": "schema: mlsysim/validation@1\ntitle: our matrix products\ndata: times.csv\n"
                 "source: {kind: measured, ref: our-cluster, recorded: 2026-11-21}\nmeasurand: matrix_product\n"
                 "measured: {value: time_us, unit: us}\ninputs: {hardware: {column: device, words: {A100: A100}}, precision: bf16, rows: rows, "
                 "columns: columns, depth: depth}\nlabels: [rows, columns, depth]\n",
    "trace.jsonl": "".join(json.dumps({"timestamp": 400 * k, "input_length": 900 + 40 * (k % 11), "output_length": 90 + k % 50,
                                       "hash_ids": [0, k + 1]}) + "\n" for k in range(200)),
}


def near(value, expected, share=0.3):
    """Within a share of what was known when the question was asked: models may improve, answers may not change their meaning."""
    return abs(value / expected - 1) <= share


class Answer:
    def __init__(self, command, folder, data=True, code=0):
        self.folder, self.command = folder, command
        self.json = json.loads(self.run(f"{command} -o json" if data else command, code)) if data else None

    def run(self, command, code=0):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MLSYSIM_")}
        done = subprocess.run(["bash", "-ec", command], cwd=self.folder, capture_output=True, text=True, timeout=240, check=False,
                              env={**clean, "PATH": f"{BUILD / 'bin'}:{clean['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache"),
                                   "XDG_DATA_HOME": str(self.folder / "data"), "MLSYSIM_PYTHON": sys.executable, "MLSYSIM_PLUGIN_PATH": ""})
        assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def number(self, key):
        return self.json[key]


def remedies(command, folder):
    changes = Answer(command, folder, code=2).json["remedies"]
    return " ".join(row["change"] for row in changes)


def times_hold(answer):
    """The best plan shows the times that were limited, and they hold."""
    shown = answer.json["best"][0]["shown"]
    return shown["itl"] <= 30 and shown["ttft"] <= 2000


# One function for each row of the page, in its order: the facts that make an answer right.


def serving(command, folder):
    a = Answer(command, folder)
    assert a.number("f_status") == "PASS" and near(a.number("p_itl"), 15.2) and near(a.number("f_memory_used_gb"), 21.1)
    assert near(a.number("m_tco_usd"), 8182)


def source_of_itl(command, folder):
    a = Answer(command, folder)
    assert a.json["metric"] == "itl" and sum(row["share"] for row in a.json["operators"]) == pytest.approx(1)


def training(command, folder):
    a = Answer(command, folder)
    assert near(a.number("p_mfu"), 0.45, 0.15) and near(a.json["levels"]["performance"]["metrics"]["training_time"]["value"], 73.8 * 86400)


def large_run(command, folder):
    a = Answer(command, folder)
    assert a.number("f_status") == "PASS" and near(a.number("p_mfu"), 0.38, 0.2)  # Meta: 41 %


def days_of_a_run(command, folder):
    found = Answer(command, folder).json["best"]
    assert near(found["devices"], 2048) and 80 < found["training_time_d"] <= 90


def training_plan(command, folder):
    a = Answer(command, folder)
    assert {"tp_size", "pp_size"} <= set(re.findall(r"\w+", json.dumps(a.json["axes"]))) and a.json["feasible"] > 100


def curve(command, folder):
    (table,) = Answer(command, folder).json["tables"]
    mfu = [row["y"] for row in table["rows"]]
    assert len(mfu) == 6 and mfu == sorted(mfu, reverse=True) and 0.3 < mfu[-1] < mfu[0] < 0.6
    # Where nothing fits the reader learns what would.
    text = subprocess.run(["bash", "-c", command.replace("--zero-stage 2 ", "")], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
    assert text.returncode == 1 and "--zero-stage" in text.stderr and "mlsysim.picture.014" in text.stderr


def fine_tuning(command, folder):
    changes = remedies(command, folder)
    assert "lora_rank" in changes and "offload_states" in changes and "accelerators" in changes
    assert Answer(command + " --lora-rank 16", folder).number("f_status") == "PASS"


def sensitivity(command, folder):
    levers = Answer(command, folder).json["levers"]
    assert all(abs(lever["elasticity"] or 0) < 100 for lever in levers)
    (width,) = [lever for lever in levers if lever["input"] == "plan.kv_bytes"]
    assert width["lower"] == width["value"] / 2  # the next format, which somebody can choose


def validation(command, folder):
    tables = Answer(command, folder).json["tables"]
    assert len(tables) >= 10 and any("llama3" in table["table"] for table in tables)


def script(command, folder):  # noqa: ARG001
    path = ROOT / command.split()[0]
    assert path.is_file() and (path.suffix or os.access(path, os.X_OK))


def citation(command, folder):
    text = Answer(command, folder, data=False).run(command)
    assert re.search(r"version\s*=", text) and re.search(r"Commit [0-9a-f]{40}", text)


def figure(command, folder):
    Answer(command, folder, data=False).run(command)
    assert 'width="480' in (folder / "figure.svg").read_text()


def python_front(command, folder):  # noqa: ARG001
    front = eval(command, {"mlsysim": mlsysim})  # noqa: S307 (the page is ours)
    assert "H200" in json.dumps(front.to_dict()["front"]) and front.feasible == 14


def own_device(command, folder):
    a = Answer(command, folder)
    assert a.number("f_status") == "PASS" and any(x["name"] == "precision" and x["value"] == "bf16" for x in a.json["assumptions"])


def calibration(command, folder):
    fit = json.loads(Answer(command, folder, data=False).run(f"{command} --write fitted.yaml -o json"))
    assert "efficiency.matrix" in json.dumps(fit) and "A100_calibrated" in (folder / "fitted.yaml").read_text()


def residuals(command, folder):
    first = Answer(command, folder).json["rows"][0]
    assert near(first["factor"], 1.119, 0.1) and first["explained"] > 0.9


def search(command, folder):
    assert "DeepSeek_V4_Pro" in [row["name"] for row in Answer(command, folder).json["rows"]]


def stored_format(command, folder):
    a = Answer(command, folder)
    assert a.number("f_status") == "PASS" and near(a.number("f_memory_used_gb"), 118)


def decision(command, folder):
    d = Answer(command, folder).json
    assert {row["machine"] for row in d["options"]} == {"H100", "H200", "MI355X"} and d["flips"] and d["regret"]["most"] >= 0


def batch_under_limits(command, folder):
    a = Answer(command, folder)
    assert near(a.json["feasible"], 27) and times_hold(a)


def plan_under_limits(command, folder):
    a = Answer(command, folder)
    assert times_hold(a) and "concurrency" in json.dumps(a.json["axes"])


def replicas(command, folder):
    found = Answer(command, folder).json["best"]
    assert near(found["devices"], 12, 0.5) and found["itl_ms"] <= 30 and found["p99_ttft_ms"] >= found["ttft_ms"] and found["most_rate_per_s"] >= 10


def rent(command, folder):
    a = Answer(command, folder)
    assert a.number("m_tco_usd") == pytest.approx(8 * 3.2 * 24 * 30)


def cloud(command, folder):
    rented = Answer(command, folder).number("m_tco_usd")
    assert rented > 2 * Answer("mlsysim eval Llama3_70B 8xH100", folder).number("m_tco_usd")


def one_page(command, folder):
    Answer(command, folder, data=False).run(command)
    page = (folder / "decision.html").read_text()
    assert "<script" not in page and "H200" in page and len(page) < 300_000


def comparison(command, folder):
    d = Answer(command, folder).json
    assert d["result"] == "itl" and d["at_to"] < d["at_from"]
    assert sum(term["part"] for term in d["terms"]) == pytest.approx(d["at_to"] - d["at_from"], rel=1e-6)


def interval(command, folder):
    itl = Answer(command, folder).json["intervals"]["itl"]
    assert itl["lower"] < itl["value"] < itl["upper"]


def launch(command, folder):
    a = Answer(command, folder)
    assert a.json["workload"] == "Qwen3_32B" and a.number("f_status") == "PASS"


def own_config(command, folder):
    (folder / "config.json").write_text(CONFIG.read_text())
    ours, theirs = Answer(command, folder).json, Answer("mlsysim eval Qwen3_30B_A3B H100", folder).json
    assert ours["f_memory_used_gb"] == theirs["f_memory_used_gb"] and ours["p_itl"] == pytest.approx(theirs["p_itl"], rel=0.02)


def plan_with_limits(command, folder):
    a = Answer(command, folder, code=3)
    (held,) = a.json["assertions"]
    assert held["passed"] is False and a.json["status"] == "sla_failed"


def exported(command, folder):
    (folder / "launch.sh").write_text(Answer(command, folder, data=False).run(command))
    Answer(command, folder, data=False).run("mlsysim import launch.sh --hardware H100 > again.yaml")
    again, first = (Answer(c, folder).json for c in ("mlsysim eval again.yaml", "mlsysim eval Llama3_70B 8xH100 --batch-size 16 --output-tokens 512 --engine vllm"))
    assert again["p_itl"] == first["p_itl"] and again["p_ttft"] == first["p_ttft"]


def paying_price(command, folder):
    a = Answer(command, folder)
    assert a.json["feasible"] and a.json["at_value"] == pytest.approx(2, rel=1e-6) and near(a.json["value"], 28950)


def traffic(command, folder):
    a = Answer(command, folder)
    assert a.number("f_status") == "PASS" and "2.5" in a.json["load"]  # one each 400 ms


def agents(command, folder):
    tools = json.loads(Answer(command, folder, data=False).run(command))
    assert {"evaluate", "decide", "size"} <= {tool["name"] for tool in tools}


def starter_in_python(command, folder):
    first, second = command.split(" && ")
    a = Answer(first, folder, data=False)
    a.run(first)
    grade = json.loads(a.run(f"{second} -o json", code=3))
    assert grade["status"] == "graded" and grade["points"] == 0 and grade["of"] == 10


def class_of_students(command, folder):
    a = Answer(command, folder, data=False)
    a.run("mlsysim course new a1_law submissions/untouched --lang python")
    (folder / "submissions" / "empty").mkdir()
    a.run(f"ln -s {ROOT / 'examples'} examples && cp -r examples/course/solutions/a1_law/python submissions/solved")
    empty, solved, untouched = json.loads(a.run(f"{command} -o json", code=1))["submissions"]
    assert empty["status"] == "not graded" and solved["points"] == 10 and untouched["points"] == 0


def elsewhere(command, folder):  # noqa: ARG001
    """Compilers: tests of the course and of an installation."""
    assert command


FACTS = [serving, source_of_itl, training, large_run, days_of_a_run, training_plan, curve, fine_tuning, sensitivity, validation, script, citation,
         figure, script, python_front, own_device, calibration, residuals, search, stored_format, decision, batch_under_limits, plan_under_limits,
         replicas, rent, cloud, one_page, comparison, interval, launch, own_config, plan_with_limits, exported, paying_price, traffic, agents, script,
         starter_in_python, elsewhere, class_of_students, elsewhere]


def test_every_question_has_a_command_and_facts():
    assert len(ROWS) == len(FACTS) == PAGE.read_text(encoding="utf-8").count("\n| ") - 2  # the head and the rule below it


@pytest.mark.parametrize(("row", "facts"), zip(ROWS, FACTS), ids=[f"{i + 1}-{f.__name__}" for i, f in enumerate(FACTS)])
def test_the_first_try_answers(row, facts, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    facts(row[1], tmp_path)
