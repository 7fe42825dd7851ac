"""Agents: the tools, what they may read, and the server as the client of the SDK sees it."""

import asyncio
import ctypes
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mlsysim
from mlsysim.mcp import calls
from mlsysim.mcp.calls import Limits, run
from mlsysim.mcp.tools import all_tools

CHAT = {"workload": "Llama3_70B", "hardware": "H100", "accelerators": 8}
pytestmark = pytest.mark.filterwarnings("ignore:.* is no tool")  # classes that other tests left behind


def shipped():
    """The tools without those of resolvers that tests define."""
    return [tool for tool in all_tools() if not tool.name.startswith("resolve_")]


def asked(tool, folders=(), **arguments):
    found, refused = run(tool, arguments, folders)
    json.dumps(found, allow_nan=False)
    assert not refused, found
    return found


def refused(tool, folders=(), **arguments):
    found, is_refusal = run(tool, arguments, folders)
    assert is_refusal
    return found


def test_schemas_are_made_from_the_tables():
    tools = {tool.name: tool for tool in shipped()}
    rows = {row["name"]: row for row in mlsysim._mlsysim._scenario_rows()}
    schema = tools["evaluate"].schema
    assert set(schema["properties"]) == set(rows) - {"conventions"} | {"detail", "interval"} and schema["required"] == ["workload"]
    assert schema["properties"]["precision"]["enum"] == list(rows["precision"]["choices"])
    assert schema["properties"]["efficiency"]["maximum"] == 1 and schema["properties"]["fabric_bandwidth"]["examples"] == ["1 GB/s"]
    for tool in tools.values():
        assert tool.about and tool.schema["type"] == "object" and set(tool.schema["required"]) <= set(tool.schema["properties"])
    assert len(json.dumps([tool.schema for tool in tools.values()])) < 29_320  # every agent reads all of it first; size, decide, claim and loads took 1100 of it, intervals 500, pools 800, lengths that differ and tokens of a run 1000, towers 120


def test_evaluate_is_short_and_has_units():
    card = mlsysim.SystemEvaluator.evaluate("x", mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)
    found = asked("evaluate", **CHAT)
    assert found["metrics"]["itl"] == {"value": pytest.approx(card.performance["itl"].m_as("ms"), rel=1e-5), "unit": "ms"}
    assert found["levels"]["feasibility"]["status"] == "PASS" and found["assumptions"] == len(card.assumptions) and "tco" not in found["metrics"]
    whole = asked("evaluate", **CHAT, detail=True)
    assert whole["metrics"]["tco"]["unit"] == "USD" and whole["memory"]["weights"]["unit"] == "GB" and len(json.dumps(whole)) > 2 * len(json.dumps(found))
    assert {"name", "value", "source"} == set(whole["assumptions"][0])
    assert asked("evaluate", workload="Llama3_70B", hardware="H100")["remedies"]
    assert asked("evaluate", workload="Llama3_8B", fleet="Research_256", mode="train", batch_size=512)["mode"] == "train"


def test_questions():
    steady, burst = (asked("solve", scenario={**CHAT, "load": load}, condition="itl <= 30 ms", free="batch_size")["value"]
                     for load in ("concurrency", "burst"))
    assert burst > 100 and 1 < steady < burst  # in steady state prompts of others come between the tokens
    assert not asked("solve", scenario=CHAT, condition="itl <= 1 us", free="batch_size")["feasible"]
    terms = asked("compare", **{"from": {"scenario": CHAT}, "to": {"scenario": {**CHAT, "hardware": "H200"}}, "result": "itl"})["terms"]
    assert terms[0]["input"] == "hardware.memory.bandwidth" and terms[0]["to"] == {"value": 4800, "unit": "GB/s"}
    assert asked("sensitivity", scenario=CHAT, result="itl")["levers"][0]["words"]
    table = asked("sweep", scenario=CHAT, axes={"hardware": ["H100", "H200"], "batch_size": [1, 2, 4]}, show=["itl"], limit=4)
    assert table["points"] == 6 and table["left_out"] == 2 and table["rows"][0][0] == "H100" and table["columns"][2] == {"name": "itl", "unit": "ms"}
    refusals = asked("sweep", scenario=CHAT, axes={"hardware": ["H100", "A100"], "precision": ["fp8"]}, show=["itl"])["refused"]
    assert [one["from_row"] for one in refusals] == [1] and "A100" in refusals[0]["reason"]
    best = asked("optimize", scenario={**CHAT, "load": "burst"}, axes={"batch_size": "1..64"}, maximize="token_throughput", subject_to=["itl <= 20 ms"])
    assert best["best"][0]["axes"] == {"batch_size": "64"} and best["points"] == 64
    text = asked("explain", scenario=CHAT, result="itl")
    assert text["value"]["unit"] == "ms" and text["lines_left_out"] > 0 and asked("explain", scenario=CHAT, result="itl", detail=True)["lines_left_out"] == 0
    at = {n: asked("evaluate", **{**CHAT, **more}, interval=80)["intervals"]["itl"] for n, more in {"here": {}, "H200": {"hardware": "H200"}}.items()}
    assert asked("evaluate", name="chat", **CHAT, interval=80)["intervals"]["itl"] == at["here"]
    sides = asked("compare", **{"from": {"scenario": CHAT}, "to": {"scenario": {**CHAT, "hardware": "H200"}}, "result": "itl"}, interval=80)["intervals"]
    assert [sides[side]["itl"]["model_error"] for side in ("from", "to")] == [one["model_error"] for one in at.values()]
    best = asked("optimize", scenario=CHAT, axes={"hardware": ["H100", "H200"]}, minimize="itl", interval=80)["best"]
    assert best[0]["intervals"]["itl"]["upper"]["value"] == pytest.approx(at["H200"]["upper"]["value"], rel=1e-3)  # other samples
    held = asked("solve", scenario=CHAT, condition="itl <= 30 ms", free="batch_size", interval=80)["intervals"]["itl"]
    assert held["lower"]["value"] < 30 < held["upper"]["value"]
    law = dict(resolver="RingAllReduce", inputs=dict(message="1 GB", ranks=8, bandwidth="50 GB/s", alpha="5 us"))
    assert asked("explain", **law, result="time")["value"] == {"value": 35.07, "unit": "ms"}
    assert asked("validate", tables=["kernels/azure_hbm_a100_h100"])["tables"][0]["errors"]["rows"] == 10


def test_the_zoo():
    assert {"kind": "hardware", "name": "H100_PCIe", "title": "NVIDIA H100 PCIe 80 GB"} in asked("zoo_search", text="h100 pcie")["entries"]
    assert asked("zoo_search", kind="grid", limit=1)["left_out"] > 5
    shown = asked("zoo_show", kind="grid", name="Quebec")
    assert shown["figures"]["carbon_intensity"] == "20 gCO2e/kWh" and "Hydro-Quebec" in shown["source"]
    assert "did you mean 'H100'" in refused("zoo_show", kind="hardware", name="H10")["error"]


@pytest.mark.parametrize("tool, arguments, direct", [
    ("evaluate", {**CHAT, "batch_sise": 1}, lambda: mlsysim.SystemEvaluator.evaluate("x", "Llama3_70B", "H100", accelerators=8, batch_sise=1)),
    ("evaluate", {"workload": "Lama3_70B", "hardware": "H100"}, lambda: mlsysim.SystemEvaluator.evaluate("x", "Lama3_70B", "H100")),
    ("evaluate", {**CHAT, "fabric_bandwidth": "50 GP/s"}, lambda: mlsysim.SystemEvaluator.evaluate(
        "x", "Llama3_70B", "H100", accelerators=8, fabric_bandwidth="50 GP/s")),
    ("solve", {"scenario": CHAT, "condition": "itl <= 30 GB", "free": "batch_size"}, lambda: mlsysim.ask(
        mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8).solve("itl <= 30 GB", "batch_size")),
    ("resolve", {"resolver": "RingAllReduse", "inputs": {}}, lambda: mlsysim.ResolverFactory.get("RingAllReduse")),
    ("resolve", {"resolver": "RingAllReduce", "inputs": {"ranks": 8}}, lambda: mlsysim.ResolverFactory.get("RingAllReduce")().solve(ranks=8)),
    ("check_plan", {"plan": {"name": "x"}}, lambda: mlsysim.plans.check({"name": "x"})),
])
def test_bad_arguments_get_the_errors_of_the_library(tool, arguments, direct):
    with pytest.raises(mlsysim.Error) as error:
        direct()
    found = refused(tool, **arguments)
    assert found["error"] == str(error.value) and found["id"] == error.value.id if error.value.id else found["problems"]


def test_names_of_tools_and_of_their_arguments_are_checked():
    assert "did you mean 'evaluate'" in refused("evalute")["error"]
    assert "did you mean 'condition'" in refused("solve", scenario=CHAT, conditon="itl <= 1 s", free="batch_size")["error"]
    assert "misses 'free'" in refused("solve", scenario=CHAT, condition="itl <= 1 s")["error"]
    assert "about nothing" in refused("explain", result="itl")["error"]
    assert "expected object" in refused("optimize", scenario=CHAT, axes="axes", minimize="itl")["error"]


PLAN = {"version": "1", "name": "x", "workload": {"name": "Llama3_70B"}, "hardware": {"name": "H100", "accelerators": 8},
        "constraints": {"assert": [{"metric": "performance.itl", "max": "5 ms"}]}}


def test_plans():
    found = asked("check_plan", plan=PLAN)
    assert found["status"] == "sla_failed" and found["violations"][0]["limit"] == "5 ms" and "memory" not in found
    assert "memory" in asked("check_plan", plan=PLAN, detail=True)
    assert "once" in refused("check_plan")["error"] and "once" in refused("check_plan", plan=PLAN, file="x")["error"]


# Files ----------------------------------------------------------------------------------------------------------------

SECRET = "hunter2-of-the-user"


class Opened:
    """What is opened in a folder or below it, by whichever process: as the kernel tells it."""

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.queue = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.names = {}
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink() and not path.is_fifo():
                self.names[self.libc.inotify_add_watch(self.queue, os.fsencode(path), 0x20 | 0x1)] = path  # IN_OPEN, IN_ACCESS

    def read(self):
        try:
            data = os.read(self.queue, 1 << 16)
        except BlockingIOError:
            return []
        return [self.names[struct.unpack_from("i", data)[0]]]


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user with secrets: the server works in one folder, may read another, and the rest is private."""
    private, allowed, here = (tmp_path / name for name in ("private", "allowed", "here"))
    plan = json.dumps({**PLAN, "name": SECRET})
    for folder in (private, here):
        (folder / "model").mkdir(parents=True)
        (folder / "plan.yaml").write_text(plan)
        (folder / "values.csv").write_text(f"batch_size\n{SECRET}\n")
        (folder / "secret.mlir").write_text(f"// {SECRET}\n")
        (folder / "t.jsonl").write_text(f'{{"timestamp": 1, "input_length": 8, "output_length": 9, "note": "{SECRET}"}}\n' * 40)
        (folder / "private.log").write_text(f"V0101 00:00:00.000000 1 torch/x.py:1] {SECRET}\n")
        (folder / ".env").write_text(f"TOKEN={SECRET}\n")
        (folder / "model/config.json").write_text(json.dumps({"model_type": "llama", "_name_or_path": SECRET, "hidden_size": 64}))
    (allowed / "logs").mkdir(parents=True)
    (allowed / "plan.yaml").write_text(json.dumps(PLAN))
    (allowed / "model").mkdir()
    (allowed / "link.yaml").symlink_to(private / "plan.yaml")
    (allowed / "up").symlink_to(private)
    (allowed / "logs/l.log").symlink_to(private / "private.log")
    (allowed / "model/config.json").symlink_to(private / "model/config.json")
    (allowed / "points_out.yaml").write_text(json.dumps({**PLAN, "workload": {"name": str(private / "model")}}))
    (allowed / "hides.yaml").write_text(json.dumps(PLAN).replace('"Llama3_70B"', '"\\x2e\\x2e/private/model"'))
    (allowed / "inside.yaml").symlink_to("plan.yaml")
    monkeypatch.chdir(here)
    return private, allowed, here


def hostile(private, allowed, here):
    """Texts that name what may not be read, each in the forms that readers trim, expand and guess."""
    names = [private / "plan.yaml", private / "values.csv", private / "model", private / ".env", private / "t.jsonl",
             private / "private.log", private / "secret.mlir", "plan.yaml", "values.csv", "secret.mlir", ".env", "t.jsonl", "private.log", "./model",
             "model", allowed / "link.yaml", allowed / "up/plan.yaml", allowed / "logs", allowed / "logs/l.log", allowed / "model",
             allowed / "model/config.json", allowed / "../private/plan.yaml", allowed / "points_out.yaml", allowed / "hides.yaml",
             "/proc/self/cwd/plan.yaml", f"{allowed}/./up/../../private/values.csv"]
    for name in map(str, names):
        yield from (name, f"@{name}", f" @{name}", f"@ {name}", f"\t{name}", f"file://{name}", f"{name}\0", f"{name}?batch=1")


def filled(tool, text):
    """Arguments of a tool with a text in every place that takes one."""
    scenario = {"workload": text, "hardware": "H100"}
    of_axis = {"scenario": CHAT, "axes": {"batch_size": text}, "show": ["itl"]}
    yield from {
        "evaluate": ({**CHAT, key: text} for key in ("workload", "hardware", "fleet", "grid", "engine", "name", "plan", "conventions")),
        "check_plan": ({"file": text}, {"plan": {**PLAN, "workload": {"name": text}}}, {"plan": {**PLAN, "hardware": {"name": text}}},
                       {"plan": text}, {"plan": f"version: '1'\nname: x\nworkload: {{name: '{text}'}}\nhardware: {{name: H100}}\n"}),
        "sweep": (of_axis, {**of_axis, "axes": {"hardware": [text]}}, {**of_axis, "axes": {"hardware": text}}, {**of_axis, "axes": {text: [1]}},
                  {**of_axis, "show": [text]}, {**of_axis, "axes": {"batch_size": [1]}, "subject_to": [text]}),
        "optimize": ({"scenario": CHAT, "axes": {"workload": text}, "minimize": "itl"},),
        "compare": ({"from": {"scenario": CHAT}, "to": {"scenario": scenario}, "result": "itl"},),
        "solve": ({"scenario": scenario, "condition": "itl <= 1 s", "free": "batch_size"}, {"scenario": CHAT, "condition": text, "free": text}),
        "sensitivity": ({"scenario": scenario, "result": "itl"},),
        "explain": ({"scenario": scenario, "result": "itl"}, {"scenario": CHAT, "result": text}),
        "validate": ({"tables": [text]},),
        "zoo_search": ({"text": text},),
        "zoo_show": ({"kind": "hardware", "name": text},),
        "traffic": ({"file": text},),
        "compile_report": ({"files": [text]},),
        "resolver_schema": ({"resolver": text},),
        "resolve": ({"resolver": "ServingModel", "inputs": {"workload": text, "hardware": "H100"}}, {"resolver": text, "inputs": {}}),
        "list_available": (),
    }.get(tool) or of_schema(tool, text)


def of_schema(name, text):
    """Arguments of a tool without a line above: a text, a list of it or a scenario with it, for each argument after the other."""
    schema = {tool.name: tool for tool in shipped()}[name].schema
    plain = {"workload": "Llama3_8B", "hardware": "H100"}
    made = {"string": text, "array": [text], "object": {"workload": text, "hardware": "H100"}, "number": 1, "integer": 1, "boolean": True}
    base = {key: plain.get(key, made.get(str(schema["properties"][key].get("type")), text)) for key in schema["required"]}
    return [{**base, key: made.get(str(row.get("type")), text)} for key, row in schema["properties"].items()]


def test_no_text_opens_a_file_outside_of_the_allowed_folders(user):
    """Every tool with hostile texts in every place, in one process that is confined as each call is: each with MLSYSIM_LONG, else a part."""
    private, allowed, here = user
    step = 1 if os.environ.get("MLSYSIM_LONG") else 3

    def every(report):
        found, tools, watched = [], shipped(), [Opened(private), Opened(here)]
        calls.all_tools = lambda: tools
        for tool in tools:
            for k, text in enumerate(hostile(*user)):
                for arguments in list(filled(tool.name, text))[k % step::step] if step > 1 else filled(tool.name, text):
                    answered, _ = calls._answer(tool.name, arguments, [allowed], Limits(), None)
                    leaked = SECRET in json.dumps(answered).replace(json.dumps(text)[1:-1], "")
                    opened = [str(path) for one in watched for path in one.read()]
                    if leaked or opened:
                        found.append([tool.name, arguments, opened])
        return found, False

    assert calls.Child(every, Limits()).result() == ([], False)


def test_what_lies_in_the_allowed_folders_is_read(user):
    private, allowed, here = user
    for name in ("plan.yaml", "inside.yaml", "logs/../plan.yaml"):
        assert asked("check_plan", [allowed], file=str(allowed / name))["status"] == "sla_failed"
    assert asked("check_plan", [allowed], file=os.path.relpath(allowed / "plan.yaml"))["status"] == "sla_failed"
    assert asked("check_plan", [here], file="plan.yaml")["status"] == "sla_failed"
    found = refused("check_plan", [allowed], file=str(private / "plan.yaml"))
    assert found["id"] == "mlsysim.files.001" and "outside" in found["found"] and "--allow" in found["hint"]


# Bounds ---------------------------------------------------------------------------------------------------------------

def test_arguments_are_bounded():
    assert refused("zoo_search", text="x" * 100_000)["id"] == "mlsysim.python.291"
    nested = []
    for _ in range(100):
        nested = [nested]
    assert refused("sweep", scenario=CHAT, axes={"batch_size": nested}, show=["itl"])["id"] == "mlsysim.python.290"
    for tool, arguments in (("zoo_search", {"limit": -1}), ("sweep", {"scenario": CHAT, "axes": {"batch_size": [1]}, "show": ["itl"], "limit": -1}),
                            ("zoo_search", {"limit": True}), ("zoo_search", {"kind": "nothing"}), ("check_plan", {"plan": "name: x"}),
                            ("validate", {"tables": [3]})):
        assert refused(tool, **arguments)["id"] == "mlsysim.python.292"


def test_memory_and_time_of_a_call_are_bounded():
    assert (Limits().seconds, Limits().memory, Limits().arguments, Limits().text) == (300, 2 << 30, 1 << 20, 1 << 16)
    many = {"scenario": CHAT, "axes": {"batch_size": "1..30000000"}, "show": ["itl"], "limit": 2}
    found, is_refusal = run("sweep", many, limits=Limits(memory=256 << 20))
    assert is_refusal and found["id"] == "mlsysim.python.293"
    found, is_refusal = run("optimize", ENDLESS, limits=Limits(seconds=0.2))
    assert is_refusal and found["id"] == "mlsysim.python.295"


ENDLESS = {"scenario": CHAT, "axes": {"batch_size": "1..4096", "hardware.memory.bandwidth": "1 TB/s..8 TB/s:4000000"}, "minimize": "itl",
           "strategy": "exhaustive"}


def test_a_call_ends_when_nobody_waits_and_with_what_it_started():
    child = calls.start("optimize", ENDLESS)
    process = child.process
    threading.Timer(0.2, child.stop).start()
    assert child.result()[0]["id"] == "mlsysim.python.296"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_call_holds_up_no_other():
    children = [calls.start("optimize", ENDLESS) for _ in range(3)]
    try:
        assert asked("zoo_search", text="h100")["entries"]
        assert all(os.waitpid(child.process, os.WNOHANG) == (0, 0) for child in children)
    finally:
        for child in children:
            child.stop()
            child.result()


def test_recorded_traffic(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(f'{{"timestamp": {400 * k}, "input_length": {800 + k}, "output_length": 90, "hash_ids": [0, {k + 1}]}}\n' for k in range(60)))
    call = [tmp_path]
    found, recorded = asked("traffic", call, file=str(path)), mlsysim.read_traffic(path)
    assert found["requests"] == 60 and found["prompt"]["mean"] == pytest.approx(recorded.prompt.mean, rel=1e-5)
    assert found["rate"]["value"] == pytest.approx(2.5) and found["answer"]["laws"][0]["law"].startswith("constant")
    assert len(found["prompt"]["laws"]) == 1 < len(asked("traffic", call, file=str(path), detail=True)["prompt"]["laws"])
    # What it says is taken as it is.
    scenario = {key: int(value) for key, value in found["inputs"].items() if key in ("seq_len", "output_tokens", "cached_prefix_len")}
    assert asked("evaluate", **CHAT, **scenario)["metrics"]["ttft"]
    assert "outside" in refused("traffic", file=str(path))["error"]
    (tmp_path / "none.jsonl").write_text("{}")
    assert "none.jsonl" in refused("traffic", call, file=str(tmp_path / "none.jsonl"))["error"]


def test_what_a_compiler_left_behind():
    data = Path(os.environ.get("MLSYSIM_SOURCE_DIR", Path(__file__).parents[2])) / "tests/data/compile"
    file = str(data / "explain_24graphs_bert_tiny_wrapper.txt.gz")
    found = asked("compile_report", [data], files=[file])
    assert found["files"] == 1 and found["by_type"]["groups"][0]["type"] == "Dynamic shape operator"
    assert len(json.dumps(found)) < 10_000
    assert "outside" in refused("compile_report", files=[file])["error"]


def test_long_work_reports():
    seen = []
    space = {"scenario": CHAT, "axes": {"batch_size": "1..4096", "hardware.memory.bandwidth": "1 TB/s..8 TB/s:2000"}, "minimize": "itl",
             "strategy": "exhaustive"}
    found, _ = run("optimize", space, report=lambda done, total, words: seen.append((done, total)), limits=Limits(seconds=3600))
    assert found["points"] == 4096 * 2000 and seen and seen[-1][1] == 4096 * 2000


def test_resolvers_of_ones_own_appear_by_themselves():
    from mlsysim.core.results import SolverResult
    from mlsysim.core.solver import BaseModel
    from mlsysim.core.types import Quantity
    from mlsysim.hardware.types import HardwareNode

    class PowerResult(SolverResult):
        flops_per_watt: Quantity

    class AgentPowerModel(BaseModel):
        """Arithmetic for each watt."""

        requires = ("hardware",)
        produces = PowerResult

        def solve(self, hardware: HardwareNode, share: float = 1.0) -> PowerResult:
            return PowerResult(flops_per_watt=share * hardware.compute.peak_flops / hardware.tdp)

    class Unfinished(BaseModel):
        requires = ("hardware",)

    try:
        with pytest.warns(UserWarning, match="Unfinished is no tool: TypeError"):
            assert "resolve_Unfinished" not in {tool.name for tool in all_tools()}
        assert "AgentPowerModel" in [row["name"] for row in asked("list_available")["resolvers"]]
        tool = {tool.name: tool for tool in all_tools()}["resolve_AgentPowerModel"]
        assert tool.schema["required"] == ["hardware"] and tool.schema["properties"]["share"]["type"] == "number"
        assert "Arithmetic for each watt" in tool.about
        for found in (asked("resolve_AgentPowerModel", hardware="H100"), asked("resolve", resolver="AgentPowerModel", inputs={"hardware": "H100"})):
            assert found["result"]["flops_per_watt"]["value"] == pytest.approx(989e12 / 700, rel=1e-5)
        assert "did you mean 'H100'" in refused("resolve_AgentPowerModel", hardware="H10")["error"]
        assert "takes no 'hardwear'" in refused("resolve_AgentPowerModel", hardwear="H100")["error"]
    finally:
        mlsysim.base._defined.pop("AgentPowerModel")
        mlsysim.base._defined.pop("Unfinished")
    assert "resolve_AgentPowerModel" not in {tool.name for tool in all_tools()}


def test_a_reader_that_leaves_early_is_no_error():
    words = f"{sys.executable} -m mlsysim.mcp --schemas"
    done = subprocess.run(["bash", "-c", f"{words} | head -c 10"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_the_schemas_are_printed_without_the_sdk():
    done = subprocess.run([sys.executable, "-m", "mlsysim.mcp", "--schemas"], capture_output=True, text=True, check=True)
    assert [tool["name"] for tool in json.loads(done.stdout)] == [tool.name for tool in shipped()]


def test_the_page_for_readers_points_at_what_there_is():
    docs = Path(os.environ.get("MLSYSIM_SOURCE_DIR", Path(__file__).parents[2])) / "docs"
    page, agents = (docs / "llms.txt").read_text(), (docs / "how-to" / "agents.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) > 10 and all((docs / link).exists() for link in links)
    assert all(f"`{tool.name}`" in agents for tool in shipped())


def test_python_starts_the_server():
    def run(*words):
        return subprocess.run([sys.executable, "-m", "mlsysim", *words], capture_output=True, text=True)

    assert json.loads(run("mcp", "--schemas").stdout)
    assert run("mcp", "--allow", "/nowhere/at/all").returncode == 2


# Over the protocol ----------------------------------------------------------------------------------------------------

def over(connect):
    """Runs what a client does, with the client of the SDK."""
    mcp = pytest.importorskip("mcp", minversion=None, reason="the SDK of the protocol is not installed: pip install 'mcp>=2'")
    if not hasattr(mcp, "Client"):
        pytest.skip("the SDK of the protocol is older than version 2")
    asyncio.run(connect(mcp))


async def _talk(client):
    """What every transport must carry."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed][:len(shipped())] == [tool.name for tool in shipped()] and listed[0].input_schema == shipped()[0].schema
    found = await client.call_tool("evaluate", CHAT)
    assert not found.is_error and found.structured_content == run("evaluate", CHAT)[0] == json.loads(found.content[0].text)
    wrong = await client.call_tool("evaluate", {**CHAT, "workload": "Lama3_70B"})
    assert wrong.is_error and "did you mean 'Llama3_70B'" in wrong.structured_content["error"]
    secret = await client.call_tool("check_plan", {"file": "/etc/passwd"})
    assert secret.is_error and "outside" in secret.structured_content["error"]


def test_over_standard_input_and_output():
    async def connect(mcp):
        import anyio

        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "mlsysim.mcp"], env=dict(os.environ))
        async with mcp.Client(server) as client:
            await _talk(client)
            space = {"scenario": CHAT, "axes": {"batch_size": "1..4096", "hardware.memory.bandwidth": "1 TB/s..8 TB/s:4000000"},
                     "minimize": "itl", "strategy": "exhaustive"}
            with anyio.CancelScope() as scope:
                async def told(done, total, words):
                    assert 0 < done < total == 4096 * 4000000 and "points/s" in words
                    scope.cancel()  # sixteen thousand million points: the test ends only when the call does

                await client.call_tool("optimize", space, progress_callback=told)
            assert scope.cancelled_caught
            await _talk(client)

    over(connect)


def test_over_http():
    async def connect(mcp):
        import uvicorn

        from mlsysim.mcp.server import make_server

        with socket.create_server(("127.0.0.1", 0)) as listener:
            app = make_server().streamable_http_app(host="127.0.0.1")
            server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                async with mcp.Client(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp") as client:
                    await _talk(client)
            finally:
                server.should_exit = True
                await serving

    over(connect)
