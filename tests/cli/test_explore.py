"""Sensitivity, solve, optimize, pareto, sweep over axes, merge."""

import csv
import io

import pytest


def test_sensitivity(run):
    done = run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8")
    assert done.code == 0 and "memory bandwidth binds itl" in done.out
    answer = run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "-o", "json").json()
    levers = {row["input"]: row for row in answer["levers"]}
    assert levers["device.memory_bandwidth"]["elasticity"] == pytest.approx(-0.725, abs=0.2)
    assert levers["device.memory_bandwidth"]["value"] == 3350 and levers["device.memory_bandwidth"]["unit"] == "GB/s"
    rows = list(csv.DictReader(io.StringIO(run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "-o", "csv").out)))
    table = {row["input"]: row for row in rows}
    assert rows[0].keys() >= {"unit", "value", "slope", "elasticity", "at_lower", "at_upper"}
    assert table["device.memory_bandwidth"]["slope"] == "smooth" and table["shape.layers"]["slope"] == "step"
    for name in ("shape.layers", "device.memory_bandwidth"):
        assert float(table[name]["elasticity"]) == pytest.approx(levers[name]["elasticity"], rel=1e-12)


def test_tools_on_every_kind_of_resolver(run):
    queue = ("TailLatencyModel", "arrival_rate=10 request/s", "service_latency=50 ms")
    assert run("sensitivity", *queue, "p99_latency").code == 0
    assert run("solve", *queue, "p99_latency <= 1 s", "arrival_rate").code == 0
    best = run("optimize", *queue[:1], "arrival_rate=30 request/s", queue[2], "--axis", "num_replicas=1..16", "--minimize", "p99_latency", "-o", "json")
    assert best.json()["best"][0]["axes"]["num_replicas"] == "16"
    dense = ("ServingModel", "workload=Llama3_70B", "hardware=H100", "tp_size=8")
    assert run("sensitivity", *dense, "ttft").code == 0
    counted = run("optimize", *dense, "--axis", "ep_size=1,2", "--minimize", "itl", "-o", "json").json()
    assert counted["evaluated"] == 1 and "no experts" in str(counted["skip_reasons"])


def test_sensitivity_of_a_law(run):
    done = run("sensitivity", "Roofline", "work=100 GFLOP", "traffic=1 GB", "peak=1 TFLOP/s", "bandwidth=100 GB/s", "time")
    assert done.code == 0 and "does not matter until" in done.out
    bad = run("sensitivity", "Roofline", "work=100 GFLOP", "time")
    assert bad.code == 1 and "needs" in bad.err
    bad = run("sensitivity", "Roofline", "wrk=100 GFLOP", "time")
    assert bad.code == 1 and "work" in bad.err


def test_solve(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8")
    assert done.code == 0 and "meets the condition" in done.out
    answer = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "json").json()
    assert answer["at_value"] <= 30 and answer["exhaustive"]


def test_the_answer_of_solve_as_a_table(run):
    rows = list(csv.DictReader(io.StringIO(run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "csv").out)))
    answer = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "json").json()
    assert float(rows[0]["batch_size"]) == answer["value"] > 1 and float(rows[0]["itl [ms]"]) == pytest.approx(answer["at_value"])
    assert answer["verification"].startswith("checked: ")
    found = run("solve", "Llama3_70B", "H100", "itl <= 12 ms", "tp_size", "--accelerators", "8")
    assert found.code == 0 and "central differences" not in found.out


def test_plans_that_eval_refuses_are_not_feasible(run):
    best = run("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "cached_prefix_len=0..4096+1024", "--minimize", "ttft", "-o", "json").json()
    assert best["best"][0]["axes"]["cached_prefix_len"] == "1024" and best["feasible"] == 2
    spread = run("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "tp_size=4", "--axis", "ep_size=2", "--show", "itl", "-o", "csv").out
    assert [row["feasible"] for row in csv.DictReader(io.StringIO(spread))] == ["no"]


def test_figures_of_the_zoo_at_textbook_fidelity(run):
    words = ("Llama3_70B", "H100", "itl", "--accelerators", "8", "--fidelity", "textbook")
    done = run("sensitivity", *words, "--inputs", "hardware.memory.bandwidth", "-o", "json").json()
    assert done["levers"][0]["elasticity"] < -0.5
    assert "hardware.memory.bandwidth" in run("compare", *words, "--with", "hardware=H200").out
    checkpoint = run("sensitivity", "CheckpointModel", "workload=Llama3_70B", "hardware=H100", "write_time", "-o", "json")
    assert any(row["input"].startswith("hardware.storage") for row in checkpoint.json()["levers"]), checkpoint.err


def test_solve_without_a_solution(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 1 us", "device.memory_bandwidth")
    assert done.code == 2 and "reachable" in done.out
    for words, hint in ((["itl <= 30", "batch_size"], "unit"), (["itll <= 30 ms", "batch_size"], "did you mean 'itl'"),
                        (["itl <= 30 ms", "batch_sise"], "batch_size"), (["batch_size"], "")):
        bad = run("solve", "Llama3_70B", "H100", *words)
        assert bad.code == 1 and hint in bad.err


SPACE = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..64*2", "--axis", "tp_size=2,4,8")


def test_optimize(run):
    answer = run("optimize", *SPACE, "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "--show", "ttft", "-o", "json").json()
    assert answer["total"] == 21 and answer["exactness"] == "enumerated"
    best = answer["best"][0]
    bounded = run("optimize", *SPACE, "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "--strategy", "branch-and-bound", "-o", "json").json()
    assert bounded["exactness"] == "proven" and bounded["best"][0]["index"] == best["index"] and bounded["certificate"]["boxes"] > 0
    assert "ttft" in best["shown"]


def test_nothing_feasible_says_what_would_help(run):
    done = run("optimize", *SPACE, "--minimize", "itl", "--subject-to", "itl <= 1 ms")
    assert done.code == 2 and "excludes" in done.err and "instead of 1 ms admits" in done.out


def test_front(run):
    answer = run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token", "-o", "json").json()
    values = [tuple(p["objectives"].values()) for p in answer["front"]]
    assert len(values) > 3 and not any(a[0] <= b[0] and a[1] <= b[1] for a in values for b in values if a != b)
    assert run("pareto", *SPACE, "--minimize", "itl").code == 1


def test_shards_merge_to_the_bytes_of_one_run(run, tmp_path):
    question = ("optimize", *SPACE, "--minimize", "cost_per_token", "--top", "3", "--strategy", "exhaustive")
    whole = run(*question, "-o", "json").out
    files = [tmp_path / f"{k}.json" for k in (1, 2, 3)]
    for k, file in enumerate(files, 1):
        assert run(*question, "--shard", f"{k}/3", "--state", file).code in (0, 2)
    assert run("merge", files[2], files[0], files[1], "-o", "json").out == whole
    missing = run("merge", files[0], files[2])
    assert missing.code == 1 and "missing" in missing.err
    assert "exists" in run(*question, "--state", files[0]).err
    assert run(*question, "--shard", "1/3", "--state", files[0], "--resume").code in (0, 2)
    other = run("optimize", *SPACE, "--minimize", "itl", "--state", files[0], "--resume")
    assert other.code == 1 and "another" in other.err
    assert run("merge", tmp_path / "none.json").code == 1


def test_rows(run, tmp_path):
    file = tmp_path / "rows.csv"
    question = ("sweep", "Llama3_70B", "H100,H200", "--accelerators", "8", "--axis", "batch_size=1,2", "--show", "itl")
    assert run(*question, "--rows", file).code == 0
    lines = file.read_text().splitlines()
    assert lines[0] == "index,hardware,batch_size,feasible,itl [ms]" and len(lines) == 5 and lines[3].startswith("2,H200,1,1,")
    again = run(*question, "--rows", file)
    assert again.code == 1 and "exists" in again.err
    assert run(*question, "--rows", tmp_path / "rows.jsonl").code == 0
    assert '"hardware":"H100"' in (tmp_path / "rows.jsonl").read_text()
    table = run(*question, "-o", "csv").out.splitlines()
    assert len(table) == 5


def test_axes_from_files(run, tmp_path):
    (tmp_path / "sizes.yaml").write_text("[1, 2, 4]\n")
    (tmp_path / "setups.yaml").write_text("- {name: wide, tp_size: 8, precision: fp16}\n- {name: narrow, tp_size: 2, precision: fp8}\n")
    (tmp_path / "space.yaml").write_text("batch_size: 1..4*2\nhardware: [H100, H200]\n'tp_size, seq_len': [[2, 512], [4, 1024]]\n")
    base = ("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--minimize", "itl", "-o", "json")
    answer = run(*base, "--axis", f"batch_size=@{tmp_path}/sizes.yaml", "--axis", f"setup=@{tmp_path}/setups.yaml").json()
    assert answer["total"] == 6 and answer["axes"][0] == "setup" and answer["best"][0]["axes"]["setup"] in ("wide", "narrow")
    assert run(*base, "--axis", f"@{tmp_path}/space.yaml").json()["total"] == 12
    (tmp_path / "bad.yaml").write_text("batch_size:\n  - 1\n  - 2 GX/s\n")
    bad = run(*base, "--axis", f"@{tmp_path}/bad.yaml")
    assert bad.code == 1 and "bad.yaml:3:" in bad.err
    missing = run(*base, "--axis", f"batch_size=@{tmp_path}/none.yaml")
    assert missing.code == 1 and "none.yaml" in missing.err


BOX = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "device.memory_bandwidth=1 TB/s..8 TB/s:9", "--axis", "tp_size=4,8",
       "--minimize", "device.memory_bandwidth", "--subject-to", "itl <= 14 ms")


def test_gradient(run):
    answer = run("optimize", *BOX, "--strategy", "gradient", "-o", "json")
    if "this build has no gradient search" in answer.err:
        assert answer.code == 1 and "libnlopt-dev" in answer.err
        return
    best = answer.json()["best"][0]
    grid = run("optimize", *BOX, "--strategy", "exhaustive", "-o", "json").json()["best"][0]
    value = "device.memory_bandwidth"
    assert best["between"] and best["objectives"][value] <= grid["objectives"][value]
    assert answer.json()["exactness"] == "heuristic" and "NLopt" in answer.json()["method"]
    solved = run("solve", "Llama3_70B", "H100", "itl <= 14 ms", value, "--accelerators", "8", "--tp-size", "8", "-o", "json").json()
    assert best["objectives"][value] == pytest.approx(solved["value"], rel=1e-6)
    bad = run("optimize", *SPACE, "--minimize", "itl", "--strategy", "gradient")
    assert bad.code == 1 and "no axis is over a continuous number" in bad.err


def test_evolutionary(run):
    question = ("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..512", "--axis", "seq_len=512..4096+8",
                "--axis", "tp_size=2,4,8", "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "-o", "json")
    answer = run(*question, "--strategy", "evolutionary", "--evaluations", "4000")
    if "this build has no evolutionary search" in answer.err:
        assert answer.code == 1 and "libpagmo-dev" in answer.err
        return
    best = run(*question, "--strategy", "branch-and-bound").json()["best"][0]["objectives"]["cost_per_token"]
    found = answer.json()["best"][0]["objectives"]["cost_per_token"]
    assert best <= found * (1 + 1e-12) and found <= best * 1.05
    assert run(*question, "--strategy", "evolutionary", "--evaluations", "4000").out == answer.out
    assert run(*question, "--strategy", "evolutionery").code == 1


def test_a_front_has_a_hypervolume(run):
    answer = run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token", "-o", "json").json()
    volume = answer["hypervolume"]
    points = sorted((p["objectives"]["itl"], p["objectives"]["cost_per_token"]) for p in answer["front"])
    low, high = volume["ideal"], volume["reference"]
    area = sum((b[0] - a[0]) * (high[1] - a[1]) for a, b in zip(points, points[1:])) + (high[0] - points[-1][0]) * (high[1] - points[-1][1])
    assert volume["relative"] == pytest.approx(area / ((high[0] - low[0]) * (high[1] - low[1])), rel=1e-9)
    assert "hypervolume" in run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token").out


def test_constraints_that_contradict_each_other(run):
    question = ("optimize", *SPACE, "--minimize", "itl", "--subject-to", "batch_size >= 64", "--subject-to", "itl <= 12 ms")
    answer = run(*question, "-o", "json")
    assert answer.code == 2 and answer.json()["conflict"]["constraints"] == ["batch_size >= 64", "itl <= 12 ms"]
    assert "without any one of them" in run(*question).out
    never = run("optimize", *SPACE, "--minimize", "itl", "--subject-to", "batch_size >= 2", "--subject-to", "batch_size <= 1")
    assert never.code == 2 and "'batch_size >= 2', 'batch_size <= 1'" in never.out


def test_full_disk(run):
    done = run("sweep", "Llama3_70B", "H100", "--axis", "batch_size=1..20000", "--show", "itl", "--rows", "/dev/full", "--overwrite")
    assert done.code == 1 and "cannot be written" in done.err


def test_questions_that_do_not_read(run):
    for words, hint in ((["--axis", "batch_size=", "--minimize", "itl"], "empty"), (["--axis", "batchsize=1,2", "--minimize", "itl"], "batchsize"),
                        (["--axis", "batch_size=1,2", "--minimize", "itll"], "did you mean 'itl'"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "ttft <= 4"], "unit"),
                        (["--axis", "batch_size=1..1e30", "--minimize", "itl"], "2^32"),
                        (["--axis", "batch_size=1..1e5", "--axis", "seq_len=1..1e5", "--axis", "device.memory_bandwidth=1 TB/s..8 TB/s:100000",
                          "--axis", "device.matrix_rate=1 PFLOP/s..8 PFLOP/s:100000", "--minimize", "itl"], "too many points"),
                        (["--axis", "batch_size=nan..4", "--minimize", "itl"], "nan"),
                        (["--axis", "batch_size=1 GB,2 GB", "--minimize", "itl"], "unit"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "itl"], "compares two values"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "itl <= 4 ms <= 5 ms"], "one comparison"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--shard", "5/4"], "k/n")):
        bad = run("optimize", "Llama3_70B", "H100", *words)
        assert bad.code == 1 and hint in bad.err, bad.err


def test_compare(run):
    answer = run("compare", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--with", "hardware=H200", "-o", "json").json()
    assert answer["terms"][0]["input"] == "device.memory_bandwidth"
    assert sum(t["part"] for t in answer["terms"]) == pytest.approx(answer["at_to"] - answer["at_from"], rel=1e-9)
    assert "add up to" in run("compare", "Llama3_70B", "H100", "itl", "--with", "precision=fp8").out
    assert run("compare", "Llama3_70B", "H100", "itl").code == 1
    assert "precision" in run("compare", "Llama3_70B", "H100", "itl", "--with", "precsion=fp8").err


def test_uncertainty(run):
    question = ("uncertainty", "Llama3_70B", "H100", "itl,cost_per_token", "--accelerators", "8", "--uncertain", "device.memory_share = +-5 %",
                "--uncertain", "device.launch = triangular 1 us..4 us")
    answer = run(*question, "-o", "json")
    row = answer.json()["results"][0]
    assert row["low"] < row["median"] < row["high"] and row["outer_bounds"][0] <= row["low"]
    assert run(*question, "-o", "json").out == answer.out
    ranked = run(*question, "--with", "hardware=H200")
    assert "probability" in ranked.out and ranked.code == 0
    ranking = run(*question, "--with", "hardware=H200", "-o", "json").json()["ranking"]
    assert 0 <= ranking["probability_below"] <= 1 and ranking["flips"] <= ranking["probability_below"]
    bad = run("uncertainty", "Llama3_70B", "H100", "itl", "--uncertain", "device.launch = normal")
    assert bad.code == 1 and "no parameters" in bad.err


def test_uncertainty_of_the_zoo_itself(run):
    answer = run("uncertainty", "Llama3_70B", "H100", "cost_per_token", "--accelerators", "8", "--samples", "256", "-o", "json").json()
    sources = {a["name"]: a["source"] for a in answer["assumptions"]}
    assert "H100 unit_cost" in sources["unit_cost"] and set(answer["figures"]) <= set(sources)
    assert answer["results"][0]["low"] < answer["results"][0]["high"]
    alone = run("uncertainty", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--given-only", "--uncertain", "device.launch = +-5 %", "-o", "json").json()
    assert alone["figures"] == ["device.launch"] and alone["assumptions"] == []
    nothing = run("uncertainty", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--given-only")
    assert nothing.code == 1 and "nothing is uncertain" in nothing.err


def test_compare_with_nothing_says_what_is_wanted(refused):
    refused("compare", parts=("there is nothing to compare", "found no words, and 0 times --against",
                              "expected MODEL HARDWARE RESULT, or --against with a file of measurements",
                              "mlsysim compare --help"))
