"""Agents: the tools, what they may read, and the server as the client of the SDK sees it."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import mlsysim
from mlsysim.mcp.files import Allowed
from mlsysim.mcp.server import answer
from mlsysim.mcp.tools import Call, Stopped, all_tools

CHAT = {"workload": "Llama3_70B", "hardware": "H100", "accelerators": 8}
NONE = Call(Allowed())
pytestmark = pytest.mark.filterwarnings("ignore:.* is no tool")  # classes that other tests left behind


def shipped():
    """The tools without those of resolvers that tests define."""
    return [tool for tool in all_tools() if not tool.name.startswith("resolve_")]


def asked(tool, call=NONE, **arguments):
    found, refused = answer(tool, arguments, call)
    json.dumps(found, allow_nan=False)
    assert not refused, found
    return found


def refused(tool, call=NONE, **arguments):
    found, is_refusal = answer(tool, arguments, call)
    assert is_refusal
    return found


def test_schemas_are_made_from_the_tables():
    tools = {tool.name: tool for tool in shipped()}
    rows = {row["name"]: row for row in mlsysim._mlsysim._scenario_rows()}
    schema = tools["evaluate"].schema
    assert set(schema["properties"]) == set(rows) - {"conventions"} | {"detail"} and schema["required"] == ["workload"]
    assert schema["properties"]["precision"]["enum"] == list(rows["precision"]["choices"])
    assert schema["properties"]["efficiency"]["maximum"] == 1 and schema["properties"]["fabric_bandwidth"]["examples"] == ["1 GB/s"]
    for tool in tools.values():
        assert tool.about and tool.schema["type"] == "object" and set(tool.schema["required"]) <= set(tool.schema["properties"])
    assert len(json.dumps([tool.schema for tool in tools.values()])) < 26_000  # every agent reads all of it first; size, decide, claim and loads took 1100 of it


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
    assert "no object" in refused("optimize", scenario=CHAT, axes="axes", minimize="itl")["error"]


PLAN = {"version": "1", "name": "x", "workload": {"name": "Llama3_70B"}, "hardware": {"name": "H100", "accelerators": 8},
        "constraints": {"assert": [{"metric": "performance.itl", "max": "5 ms"}]}}


def test_plans():
    found = asked("check_plan", plan=PLAN)
    assert found["status"] == "sla_failed" and found["violations"][0]["limit"] == "5 ms" and "memory" not in found
    assert "memory" in asked("check_plan", plan=PLAN, detail=True)
    assert "once" in refused("check_plan")["error"] and "once" in refused("check_plan", plan=PLAN, file="x")["error"]


def test_no_file_outside_of_the_folders_that_were_allowed(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (outside / "plan.yaml").write_text(json.dumps(PLAN))
    (inside / "plan.yaml").write_text(json.dumps(PLAN))
    (inside / "link.yaml").symlink_to(outside / "plan.yaml")
    (inside / "points_out.yaml").write_text(json.dumps({**PLAN, "workload": {"name": str(outside / "plan.yaml")}}))
    (inside / "hides.yaml").write_text('name: "\\x2fetc"')
    call = Call(Allowed([inside]))
    assert asked("check_plan", call, file=str(inside / "plan.yaml"))["status"] == "sla_failed"
    for path in (outside / "plan.yaml", inside / "link.yaml", inside / ".." / "out" / "plan.yaml", inside / "points_out.yaml", "/etc/passwd"):
        assert refused("check_plan", call, file=str(path))["id"] == "mlsysim.python.210"
    assert refused("check_plan", call, file=str(inside / "hides.yaml"))["id"] == "mlsysim.python.211"
    for plan in ({**PLAN, "workload": {"name": "/etc/passwd"}}, {**PLAN, "hardware": {"name": "../x.yaml"}}):
        assert refused("check_plan", call, plan=plan)["id"] == "mlsysim.python.210"
    for axes in ({"hardware": "@/etc/passwd"}, {"hardware": ["~/x.yaml"]}, {"/etc/passwd": [1]}):
        assert refused("optimize", call, scenario=CHAT, axes=axes, minimize="itl")["id"] == "mlsysim.python.210"
    assert asked("resolve", call, resolver="RingAllReduce", inputs=dict(message="1 GB", ranks=8, bandwidth="50 GB/s", alpha="5 us"))
    with pytest.raises(FileNotFoundError):
        Allowed([tmp_path / "nowhere"])


def test_recorded_traffic(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(f'{{"timestamp": {400 * k}, "input_length": {800 + k}, "output_length": 90, "hash_ids": [0, {k + 1}]}}\n' for k in range(60)))
    call = Call(Allowed([tmp_path]))
    found, recorded = asked("traffic", call, file=str(path)), mlsysim.read_traffic(path)
    assert found["requests"] == 60 and found["prompt"]["mean"] == pytest.approx(recorded.prompt.mean, rel=1e-5)
    assert found["rate"]["value"] == pytest.approx(2.5) and found["answer"]["laws"][0]["law"].startswith("constant")
    assert len(found["prompt"]["laws"]) == 1 < len(asked("traffic", call, file=str(path), detail=True)["prompt"]["laws"])
    # What it says is taken as it is.
    scenario = {key: int(value) for key, value in found["inputs"].items() if key in ("seq_len", "output_tokens", "cached_prefix_len")}
    assert asked("evaluate", **CHAT, **scenario)["metrics"]["ttft"]
    assert refused("traffic", file=str(path))["id"] == "mlsysim.python.210"
    (tmp_path / "none.jsonl").write_text("{}")
    assert "none.jsonl" in refused("traffic", call, file=str(tmp_path / "none.jsonl"))["error"]


def test_what_a_compiler_left_behind():
    data = Path(os.environ.get("MLSYSIM_SOURCE_DIR", Path(__file__).parents[2])) / "tests/data/compile"
    file = str(data / "explain_24graphs_bert_tiny_wrapper.txt.gz")
    found = asked("compile_report", Call(Allowed([data])), files=[file])
    assert found["files"] == 1 and found["by_type"]["groups"][0]["type"] == "Dynamic shape operator"
    assert len(json.dumps(found)) < 10_000
    assert refused("compile_report", files=[file])["id"] == "mlsysim.python.210"


def test_long_work_reports_and_stops_when_nobody_waits():
    seen = []
    space = {"scenario": CHAT, "axes": {"batch_size": "1..4096", "hardware.memory.bandwidth": "1 TB/s..8 TB/s:2000"}, "minimize": "itl",
             "strategy": "exhaustive"}
    found = asked("optimize", Call(Allowed(), lambda done, total, words: seen.append((done, total))), **space)
    assert found["points"] == 4096 * 2000 and seen and seen[-1][1] == 4096 * 2000
    with pytest.raises(Stopped):
        answer("optimize", space, Call(Allowed(), stopped=lambda: True))


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
    assert not found.is_error and found.structured_content == answer("evaluate", CHAT, NONE)[0] == json.loads(found.content[0].text)
    wrong = await client.call_tool("evaluate", {**CHAT, "workload": "Lama3_70B"})
    assert wrong.is_error and "did you mean 'Llama3_70B'" in wrong.structured_content["error"]
    secret = await client.call_tool("check_plan", {"file": "/etc/passwd"})
    assert secret.is_error and secret.structured_content["id"] == "mlsysim.python.210"


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
