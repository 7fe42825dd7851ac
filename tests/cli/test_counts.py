"""Numbers at their ends, for every option of every command: each is answered or refused, in bounded work."""

import json
import os
import random
import re

import pytest
from conftest import ROOT, call

LONG = os.environ.get("MLSYSIM_LONG")
MOST = 10**15  # the largest count
BEYOND = [str(MOST + 1), "9007199254740993", "1e16", "18446744073709551617", "1e154", "1e300"]
PLAN = json.loads(call("schema", "plan").out)["properties"]
COUNTS = [(section, name) for section, rows in PLAN.items() for name, row in rows.get("properties", {}).items() if row.get("type") == "integer"]


def test_the_schema_states_the_largest_count():
    assert len(COUNTS) > 15
    assert all(PLAN[section]["properties"][name]["maximum"] <= MOST for section, name in COUNTS)


@pytest.mark.parametrize("section, name", COUNTS if LONG else COUNTS[::4])
def test_a_count_beyond_the_largest_is_refused_by_its_name(refused, plan, section, name):
    """As an option, as a key of a plan in YAML and JSON, and as values of an axis."""
    mode = PLAN[section]["properties"][name].get("x-modes", ["serve"])[0]
    for value in BEYOND if LONG else BEYOND[::3]:
        refused("eval", "Llama3_8B", "H100", "--mode", mode, f"--{name.replace('_', '-')}={value}", parts=[f"'{name}'", "out of range", value])
        refused("sweep", "Llama3_8B", "H100", "--mode", mode, "--axis", f"{name}=1,{value}", parts=[name, "out of range"])
    tree = {"version": "1", "name": "x", "workload": {"name": "Llama3_8B"}, "hardware": {"name": "H100"}, "mode": mode}
    tree.setdefault(section, {})[name] = MOST + 1
    refused("eval", plan(json.dumps(tree)), parts=["plan.yaml", name, "out of range"])
    tree[section][name] = "@"
    refused("eval", plan(json.dumps(tree).replace('"@"', "1.0e+300")), parts=["plan.yaml", name, "out of range"])


def test_the_search_of_a_count_ends_at_the_largest(refused, run):
    refused("solve", "Llama3_8B", "H100", "itl <= 30 ms", "batch_size", "--high", "1e19", parts=["batch_size", "out of range"])
    within = ("prlimit", "--cpu=10", f"--as={1 << 30}")
    done = run("solve", "Llama3_8B", "H100", "itl <= 30 ms", "batch_size", "--high", MOST, "-o", "json", before=within)
    assert done.code == 0 and json.loads(done.out)["exhaustive"], done.err
    # Counts of which some have no plan are tried one by one, as many as memory and time allow.
    refused("solve", "Llama3_8B", "H100", "step_latency <= 30 s", "batch_size", "--mode", "train", "--high", MOST, parts=["too many values of 'batch_size'", "--high"],
            before=within)


@pytest.mark.parametrize("option, value", [("--most-devices", "1e300"), ("--most-devices", "0.5"), ("--most-replica-devices", str(MOST + 1))])
def test_counts_of_a_question_pass_the_same_gate(refused, option, value):
    refused("size", "Llama3_8B", "--on", "H100", "--rate", "2/s", "--ttft", "2 s", option, value, parts=[option[2:].replace("-", "_")])


@pytest.mark.parametrize("value", [str(MOST + 1), "1e60", "1e200", "1e-200"])
def test_numbers_of_an_entry_pass_the_same_gate(refused, tmp_path, value):
    entry = call("zoo", "new", "model", "Mine").out
    for key in ("times", "hidden", "heads", "width", "vocab"):
        changed = re.sub(rf"\b{key}: \d+", f"{key}: {value}", entry, count=1)
        assert changed != entry
        (tmp_path / "mine.yaml").write_text(changed)
        refused("eval", tmp_path / "mine.yaml", "H100", parts=["mine.yaml:", key, "out of range", value])


# Every option of the commands that ask ---------------------------------------------------------------------------------

ASKED = {"eval": ["H100"], "memory": ["H100"], "explain": ["H100", "{result}"], "report": ["H100"], "sweep": ["H100", "--axis", "batch_size=1,2"],
         "solve": ["H100", "{result} <= 30 s", "batch_size"], "optimize": ["H100", "--axis", "batch_size=1..8", "--minimize", "{result}"],
         "pareto": ["H100", "--axis", "batch_size=1..8", "--minimize", "{result}", "--minimize", "memory_used"], "size": ["--on", "H100", "--rate", "2/s", "--ttft", "2 s"],
         "decide": ["--on", "H100,H200", "--rate", "2/s", "--ttft", "2 s"], "compare": ["H100", "{result}", "--against", "batch_size=4"],
         "sensitivity": ["H100", "{result}"], "uncertainty": ["H100", "{result}", "--samples", "64"], "export": ["H100", "--to", "vllm"]}
RESULT = {"serve": "itl", "train": "step_latency", "infer": "latency"}
ENDS = ["0", "-1", "1", "0.5", "5e-324", "1e-300", "1e-12", "65537", "1e6", "2147483648", "4294967296", "1e9", "1e12", str(MOST), str(MOST + 1), "9007199254740993",
        "1e17", "1e19", "1e30", "1e100", "1e154", "1e200", "1e300", "1e308", "1.7976931348623157e308", "1e999", "nan", "-inf"]


def numeric_options(command):
    """(option, unit) of every option that takes a number."""
    help_text = call(command, "--help-all").out
    for m in re.finditer(r"^  (?:-\w,)?(--[\w-]+)\S* (N|NUMBER|QUANTITY|LIMIT|TIME)\b(.*(?:\n {20,}.*)*)", help_text, re.M):
        stated = re.search(r"\[([^\[\]]+)\]", m[3])
        yield m[1], stated[1] if stated and m[2] == "QUANTITY" else "s" if m[2] in ("LIMIT", "TIME") else ""


def test_every_number_that_is_typed_is_answered_or_refused(run):
    """Singles, pairs and triples. The processor's seconds stand for evaluations: an answer takes a half, a busy machine changes nothing."""
    chance = random.Random(int(os.environ.get("MLSYSIM_SEED", "20261128")))
    options = {command: sorted(numeric_options(command)) for command in ASKED}
    assert sum(map(len, options.values())) > 500
    for _ in range(int(os.environ.get("MLSYSIM_COUNT", "3000" if LONG else "24"))):
        command, mode = chance.choice(sorted(ASKED)), chance.choice(["serve", "serve", "train", "infer"])
        words = [command, "Llama3_8B", *(word.replace("{result}", RESULT[mode]) for word in ASKED[command])]
        words += ["--mode", mode] if command != "memory" else []
        for option, unit in chance.sample(options[command], min(len(options[command]), chance.choice((1, 1, 2, 3)))):
            words.append(f"{option}={chance.choice(ENDS)} {unit}".rstrip())
        done = run(*words, before=("prlimit", "--cpu=12", f"--as={4 << 30}"))
        shown = " ".join(f"'{w}'" for w in words)
        assert done.code in (0, 1, 2, 3), (shown, done.code, done.err)
        assert not re.search(r"(?<![\w-])(nan|inf)(?!\w)", done.out), (shown, done.out)
        assert (done.code != 1) or (not done.out and done.err.startswith("mlsysim: error: ")), (shown, done.err)
        for raw in ("unexpected:", "json.exception", "terminate called", "std::"):
            assert raw not in done.err, (shown, done.err)
