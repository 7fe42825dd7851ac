"""The commands beside eval: zoo, resolvers, pipelines, schemas, units, completion, help."""

import json
import pathlib
import re
import stat
import subprocess
import sys

import pytest

from conftest import PROGRAM, ROOT, SLOWER, call


def test_version(run):
    done = run("version")
    assert done.code == 0 and done.out.startswith("mlsysim 0.")
    assert run("--version").out == done.out
    assert run("version", "-o", "json").json()["version"] in done.out


def test_conversion_is_exact(run):
    assert run("units", "convert", "3.35 TB/s", "GB/s").out == "3350 GB/s\n"
    assert run("units", "convert", "80 GiB", "B").out == "85899345920 B\n"
    answer = run("units", "convert", "1 kWh", "J", "-o", "json").json()
    assert answer["value"] == 3.6e6 and answer["base_unit"] == "J"


def test_units_list(run):
    out = run("units", "list").out
    for word in ("gCO2e", "token", "refused", "read as"):
        assert word in out


def test_zoo_list(run):
    everything = run("zoo", "list", "-o", "json").json()["rows"]
    hardware = run("zoo", "list", "hardware", "-o", "json").json()
    assert len(everything) > len(hardware["rows"]) > 50
    h100 = next(row for row in hardware["rows"] if row["name"] == "H100")
    assert h100["memory"] == pytest.approx(85.899345920, rel=1e-12) and h100["bandwidth"] == 3350
    units = {c["name"]: c["unit"] for c in hardware["columns"]}
    assert units["memory"] == "GB" and units["bandwidth"] == "GB/s"
    assert run("zoo", "list", "models").out == run("zoo", "list", "model").out
    assert "name,category" in run("zoo", "list", "models", "-o", "csv").out.splitlines()[0]


@pytest.mark.parametrize("kind", ["node", "cluster", "fabric", "grid", "datacenter", "pod", "price", "references", "storage"])
def test_zoo_list_of_every_kind_holds_something(run, kind):
    assert len(run("zoo", "list", kind, "-o", "json").json()["rows"]) > 0


def test_zoo_show(run):
    done = run("zoo", "show", "H100")
    for part in ("H100 (hardware)", "memory.bandwidth", "3.35 TB/s", "datasheet"):
        assert part in done.out
    entry = run("zoo", "show", "H100", "-o", "json").json()
    assert entry["figures"]["memory.bandwidth"]["base_value"] == 3.35e12
    assert entry["source"]["citation"]
    assert run("zoo", "show", "H100", "--yaml").out.startswith("schema: mlsysim/hardware@1")


def test_zoo_search(run):
    found = [row["name"] for row in run("zoo", "search", "llama", "-o", "json").json()["rows"]]
    assert "Llama3_8B" in found and "H100" not in found
    nothing = run("zoo", "search", "qqqqqqqq")
    assert nothing.code == 1 and nothing.out == "" and "qqqqqqqq" in nothing.err


def test_zoo_lint(run, tmp_path):
    clean = run("zoo", "lint")
    assert clean.code == 0 and clean.out.startswith("0 problems")
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: mlsysim/hardware@1\nentries:\n- name: Bad\n  memory: {capacity: 80}\n")
    done = run("zoo", "lint", bad)
    assert done.code == 1 and "bad.yaml:4" in done.out and "80" in done.out
    # Who names a file hears of that file, not of the shipped zoo.
    good = tmp_path / "good.yaml"
    good.write_text("schema: mlsysim/hardware@1\nentries:\n- name: Good\n  source: {kind: convention, ref: mlsysim-py-systems, "
                    "recorded: 2026-11-21}\n  memory: {capacity: 80 GiB, bandwidth: 2 TB/s}\n")
    own = run("zoo", "lint", good, "--verbose")
    assert own.code == 0 and all("good.yaml" in line for line in own.out.splitlines()[:-1]), own.out


def test_the_readme_counts_the_zoo(run):
    text = (ROOT / "README.md").read_text()
    for kind, noun in (("hardware", "devices"), ("model", "models"), ("node", "nodes")):
        said, there = int(re.search(rf"(\d+) {noun}", text)[1]), len(run("zoo", "list", kind, "-o", "json").json()["rows"])
        assert 0.8 * there < said <= there, noun


def test_user_zoo(run, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "schema: mlsysim/hardware@1\nentries:\n- name: Mine\n  compute: {dense: {fp16: 100 TFLOP/s}}\n"
        "  memory: {capacity: 80 GB, bandwidth: 2 TB/s}\n")
    assert run("zoo", "show", "Mine").code == 1
    assert run("--zoo", tmp_path, "zoo", "show", "Mine").code == 0
    done = run("--zoo", tmp_path / "mine.yaml", "eval", "Llama3_8B", "Mine", "-o", "json")
    assert done.code == 0, done.err
    assert done.json()["m_status"] == "SKIPPED"  # it has no TDP


@pytest.mark.parametrize("kind", ["plan", "hardware", "model", "cluster", "references"])
def test_schemas_are_draft_07(run, kind):
    schema = run("schema", kind).json()
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#" and schema["properties"]
    assert schema["additionalProperties"] is False


def test_plan_schema_knows_units_and_choices(run):
    hardware = run("schema").json()["properties"]["hardware"]["properties"]
    assert "GB/s" in hardware["intra_node_bw"]["description"]
    assert "fp8" in hardware["precision"]["enum"]
    assert hardware["accelerators"]["minimum"] == 1 and hardware["accelerators"]["type"] == "integer"


def test_resolvers(run):
    rows = run("resolver", "list", "-o", "json").json()["rows"]
    names = [row["name"] for row in rows]
    assert len(names) == len(set(names)) and {"SingleNodeModel", "ServingModel", "DistributedModel"} <= set(names)
    assert {row["tier"] for row in rows} <= {"model", "solver", "optimizer"}
    for name in names:
        info = run("resolver", "show", name, "-o", "json").json()
        assert info["requires"] and info["produces"], name
    text = run("resolver", "show", "ServingModel").out
    for part in ("ttft", "ms", "time to first token", "required", "fallacy"):
        assert part in text


STAGES = ("ServingModel", "workload=Llama3_8B", "hardware=H100", "precision=bf16", "seq_len=1024")


def test_pipeline_run_agrees_with_the_resolver(run):
    done = run("pipeline", "run", *STAGES, "-o", "csv")
    assert done.code == 0, done.err
    rows = dict((line.split(",")[2], line.split(",")) for line in done.out.splitlines()[1:])
    assert rows["ttft"][4] == "ms" and float(rows["ttft"][5]) == pytest.approx(float(rows["ttft"][3]) / 1e3)
    scorecard = run("serve", "Llama3_8B", "H100", "--burst", "1", "-p", "bf16", "-s", "1024", "-o", "json").json()
    assert float(rows["itl"][3]) == pytest.approx(scorecard["p_itl"], rel=1e-12)
    assert "ttft" in run("pipeline", "run", *STAGES).out
    run("pipeline", "run", *STAGES, "-o", "json").json()


def test_a_stage_that_fails_spares_the_others_unless_it_is_to_end_the_run(run):
    words = ("pipeline", "run", "SingleNodeModel", "TailLatencyModel", "workload=Llama3_8B", "hardware=V100", "precision=fp8",
             "arrival_rate=5 request/s", "service_latency=10 ms", "num_replicas=1", "-o", "json")
    for more, other in (((), "ok"), (("--fail-fast",), "skipped")):
        done = run(*words, *more)
        answer = done.json()
        assert done.code == 1 and "no fp8 arithmetic" in done.err
        assert {s["name"]: s["status"] for s in answer["stages"]} == {"SingleNodeModel": "failed", "TailLatencyModel": other}
        (fault,) = answer["breaks"]
        assert not answer["complete"] and (fault["stage"], fault["id"], fault["reason"]) == ("SingleNodeModel", "MB004", "unsupported_precision")
    assert run(*(w.replace("fp8", "fp16") for w in words)).json()["complete"]


def test_pipeline_forms(run):
    assert run("pipeline", "show", *STAGES, "--format", "dot").out.startswith("digraph")
    assert run("pipeline", "show", *STAGES, "--format", "mermaid").out.startswith(("flowchart", "graph"))
    json.loads(run("pipeline", "show", *STAGES, "--format", "json").out)
    assert "ServingModel" in run("pipeline", "show", *STAGES).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run, shell):
    done = run("completion", shell)
    assert done.code == 0 and "mlsysim __complete" in done.out


def test_bash_reads_its_script_and_completes(run):
    script = run("completion", "bash").out + """
COMP_WORDS=(mlsysim eval Llama3_8)
COMP_CWORD=2
_mlsysim
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", f'PATH="{PROGRAM.rsplit("/", 1)[0]}:$PATH"\n{script}'], capture_output=True, text=True)
    assert "Llama3_8B" in done.stdout.split()


@pytest.mark.parametrize("words,found,absent", [
    (["ev"], "eval", "zoo"),
    (["zoo", ""], "lint", "eval"),
    (["eval", "Llama3_7"], "Llama3_70B", "H100"),
    (["eval", "Llama3_8B", "DGX_"], "DGX_H100", "Llama3_8B"),
    (["train", "Llama3_8B", "Research"], "Research_256", "H100"),
    (["eval", "Llama3_8B", "H100", "--prec"], "--precision", "--batch-size"),
    (["eval", "Llama3_8B", "H100", "--precision", "fp"], "fp8", "int8"),
    (["eval", "Llama3_8B", "H100", "--region", "Que"], "Quebec", "Poland"),
    (["-o", "j"], "json", "text"),
    (["schema", "p"], "plan", "hardware"),
    (["resolver", "show", "Serving"], "ServingModel", "SingleNodeModel"),
    (["completion", ""], "fish", "eval"),
])
def test_completion(run, words, found, absent):
    names = run("__complete", *words).out.split("\n")
    assert found in names and absent not in names


COMMANDS = [[], ["eval"], ["serve"], ["train"], ["explain"], ["sweep"], ["zoo"], ["zoo", "list"], ["zoo", "show"],
            ["zoo", "search"], ["zoo", "lint"], ["pipeline"], ["pipeline", "run"], ["pipeline", "show"], ["resolver"],
            ["resolver", "list"], ["resolver", "show"], ["schema"], ["units"], ["units", "convert"], ["units", "list"],
            ["version"], ["completion"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(run, words):
    done = run(*words, "--help")
    assert done.code == 0 and done.err == ""
    assert "Example" in done.out and "mlsysim " in done.out


def test_help_names_every_option_of_a_scenario(run):
    out = run("eval", "--help-all").out
    schema = run("schema").json()["properties"]
    for section in ("workload", "hardware", "parallelism", "ops"):
        for key in schema[section]["properties"]:
            if key not in ("name",):
                assert "--" + key.replace("_", "-") in out, key


@pytest.mark.parametrize("kind", ["hardware", "model", "node", "fabric", "cluster", "grid"])
def test_a_new_entry_lints_clean(run, tmp_path, kind):
    file = tmp_path / f"{kind}.yaml"
    file.write_text(run("zoo", "new", kind, "Mine").out)
    checked = run("zoo", "lint", str(file), "--verbose")
    assert checked.code == 0 and "0 problems, 0 warnings" in checked.out, checked.out
    assert run("zoo", "show", "Mine", "--zoo", str(file)).code == 0


def test_new_entries_are_used_at_once(run, tmp_path):
    (tmp_path / "chip.yaml").write_text(run("zoo", "new", "hardware", "MyChip").out)
    (tmp_path / "net.yaml").write_text(run("zoo", "new", "models", "MyNet").out)
    answer = run("eval", str(tmp_path / "net.yaml"), str(tmp_path / "chip.yaml"))
    assert answer.code == 0 and "MyNet on MyChip" in answer.out
    wrong = run("zoo", "new", "hardwar", "X")
    assert wrong.code == 1 and "did you mean 'hardware'" in wrong.err


def test_an_unknown_reference_says_how_to_add_one(run, tmp_path):
    file = tmp_path / "chip.yaml"
    file.write_text(run("zoo", "new", "hardware", "Mine").out.replace("kind: illustrative,", "kind: datasheet, ref: my-sheet,"))
    checked = run("zoo", "lint", str(file))
    assert checked.code == 1 and "references.yaml" in checked.out and "'kind: illustrative' with a note needs none" in checked.out


def test_an_empty_plan_is_told_how_a_plan_begins(run, tmp_path):
    (tmp_path / "plan.yaml").write_text("")
    assert "a plan with 'version:" in run("eval", str(tmp_path / "plan.yaml")).err


def test_the_program_becomes_the_server_for_agents(refused, tmp_path):
    package = pathlib.Path(PROGRAM).parents[1] / "python"
    if not (package / "mlsysim").is_dir():
        pytest.skip("the Python package is not built")
    if SLOWER > 1:
        pytest.skip("a program starts an interpreter without the run-time of the sanitizer, which the package needs first")
    here = {"MLSYSIM_PYTHON": sys.executable}
    tools = call("mcp", "--schemas", env=here)
    assert tools.code == 0, tools.err
    assert "evaluate" in [tool["name"] for tool in tools.json()]
    assert call("mcp", "--allow", tmp_path / "nowhere", env=here).code == 2 and "--allow" in call("mcp", "--allow", tmp_path / "nowhere", env=here).err
    refused("mcp", env={"MLSYSIM_PYTHON": str(tmp_path / "none")}, parts=["mlsysim.cli.170", "none", "pip install"])
    without = tmp_path / "python-without"
    without.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'mlsysim'\" >&2\nexit 1\n")
    without.chmod(stat.S_IRWXU)
    refused("mcp", env={"MLSYSIM_PYTHON": str(without)}, parts=["mlsysim.cli.170", "No module named 'mlsysim'"])


def test_no_code_of_the_current_folder_is_run(tmp_path):
    if not (pathlib.Path(PROGRAM).parents[1] / "python/mlsysim").is_dir() or SLOWER > 1:
        pytest.skip("the Python package is not built, or built with a sanitizer")
    for name in ("json", "mlsysim", "argparse", "runpy", "contextlib", "warnings", "importlib", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'a').write({name!r})\n")
    words = {"cwd": tmp_path, "env": {"MLSYSIM_PYTHON": sys.executable, "PYTHONPATH": str(tmp_path)}}
    assert call("mcp", "--schemas", **words).code == 0
    assert call("course", "new", "a1_law", "homework", "--lang", "python", **words).code == 0
    assert "can be imported" not in call("course", "check", "homework", **words).out
    call("measure", "--plan", cwd=tmp_path, env={"MLSYSIM_PYTHON": sys.executable})
    assert not (tmp_path / "owned").exists()



def test_the_citation_is_that_of_the_file(run):
    bibtex = run("report", "--cite").out
    cff = (ROOT / "CITATION.cff").read_text()
    assert bibtex.startswith("@software{") and bibtex.count("{") == bibtex.count("}")
    for key in ("version", "title"):
        value = re.search(rf"^{key}: \"?([^\"\n]+)", cff, re.M)[1]
        assert f"{{{value}}}" in bibtex, value
    head = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%H %cs"], capture_output=True, text=True, check=False).stdout.split()
    if head and (ROOT / ".git").exists():
        commit = re.search(r"Commit ([0-9a-f]{40})\}", bibtex)
        date = re.search(r"date += \{(\d{4}-\d\d-\d\d)\}", bibtex)
        assert commit and date and date[1] <= head[1]  # the program may be of an earlier commit


def test_memory_of_a_model_with_few_positions(run):
    short = run("memory", "whisper_large_v3", "L4")
    assert "1 request of 448 tokens" in short.out and "at most 448 tokens" in short.err
    beyond = run("memory", "GPT2_Large", "L4", "--context", "3000")
    assert "1 request of 3000 tokens" in beyond.out and "3000 are counted as if it took them" in beyond.err


def test_options_have_the_names_of_engines(run):
    ours = run("eval", "Llama3_8B", "H100", "--accelerators", "2", "--tp-size", "2", "--seq-len", "512", "--output-tokens", "64", "-o", "json")
    theirs = run("eval", "Llama3_8B", "H100", "--gpus", "2", "--tensor-parallel-size", "2", "--isl", "512", "--osl", "64", "-o", "json")
    assert ours.code == 0 and ours.out == theirs.out
    assert run("memory", "Llama3_8B", "H100", "--tp-size", "2", "-b", "4").out == run("memory", "Llama3_8B", "H100", "--tensor-parallel", "2", "--requests", "4").out
