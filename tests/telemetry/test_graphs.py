"""Graphs of programs and of compile records in all forms: what a picture shows is in the JSON, and large ones are collapsed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from servers import SLOWER

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
DATA = pathlib.Path(__file__).parents[1] / "data"
SVG = "{http://www.w3.org/2000/svg}"


def run(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120 * SLOWER, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_breaks_cut_the_graphs_of_a_record():
    record = ("compile", "ingest", DATA / "compile/explain_24graphs_bert_tiny_wrapper.txt.gz", "--model", "tiny")
    graph = json.loads(run(*record, "--graph", "json"))
    assert len(graph["nodes"]) == 24 and len(graph["edges"]) == 23 and all(edge["cut"] for edge in graph["edges"])
    assert sum(edge["cut"] == "no reason is listed" for edge in graph["edges"]) == 6  # 23 breaks, 17 reasons
    assert sum(node["operators"] for node in graph["nodes"]) == 128
    dot, mermaid, svg = (run(*record, "--graph", form) for form in ("dot", "mermaid", "svg"))
    assert dot.count("style=dashed") == mermaid.count("-.->") == 23
    root = ET.fromstring(svg)
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text and svg.count("stroke-dasharray") == 23
    numbers = {f"{node['operators']:g} operators" for node in graph["nodes"] if node["operators"]}
    assert {text.split(",")[0] for text in re.findall(r"[\d.]+ operators", svg)} <= numbers
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot, text=True, capture_output=True, check=True)


def test_graphs_of_another_function_are_cut_from_nothing():
    graph = json.loads(run("compile", "ingest", DATA / "traces/torch_2_15_breaks.log.gz", "--graph", "json"))
    assert len(graph["nodes"]) == 6 and len(graph["edges"]) == 4  # two functions, three breaks of one and one of the other
    assert all(edge["cut"] and edge["cut"] != "no reason is listed" for edge in graph["edges"])


def test_modules_are_darker_where_they_take_longer():
    program = ("program", "show", DATA / "compile/bert_tiny_print_breaks.log.gz", "H100", "--depth", 1)
    graph = json.loads(run(*program, "--graph", "json"))
    shares = {node["name"]: node["share"] for node in graph["nodes"]}
    assert 0.9 < sum(shares.values()) <= 1 + 1e-9 and max(shares, key=shares.get) == "modeling_bert.py"
    assert "share" not in json.loads(run(*program[:3], "--graph", "json"))["nodes"][0]
    svg = run(*program, "--graph", "svg")
    fills = {rect.getparent() if hasattr(rect, "getparent") else rect.get("fill") for rect in ET.fromstring(svg).iter(f"{SVG}rect")}
    assert {"#0b3d73", "#f2f6fb"} <= fills
    for text in re.findall(r"([\d.e-]+) % of the time", svg):
        assert any(f"{100 * share:.3g}" == text for share in shares.values()), text


def test_five_thousand_operators_collapse_by_their_modules(tmp_path):
    count = 5000
    lines = [f'  %{i + 1} = stablehlo.add %{i or "arg0"}, %{i or "arg0"} : tensor<4xf32> loc("model/layer{i // 100}/add{i}")' for i in range(count)]
    text = "\n".join(lines)
    (tmp_path / "p.mlir").write_text(f"module @m {{\nfunc.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {{\n{text}\n  return %{count} : tensor<4xf32>\n}}\n}}\n")
    graph = json.loads(run("program", "show", tmp_path / "p.mlir", "--graph", "json", "--depth", 2))
    assert sum(node["operators"] for node in graph["nodes"]) == count
    if len(graph["nodes"]) > 60:
        pytest.fail(f"{len(graph['nodes'])} nodes")
    assert len(ET.fromstring(run("program", "show", tmp_path / "p.mlir", "--graph", "svg", "--depth", 2))) > 50


def test_hostile_names_are_escaped_once(tmp_path):
    name = '<b>&amp;"x"'
    (tmp_path / "a.json").write_text(json.dumps({
        "schema": "mlsysim.dynamo_explain/1", "model": {"name": name}, "status": "ok", "graph_count": 2, "graph_break_count": 1, "op_count": 3,
        "breaks": [{"type": name, "reason": name, "stack": [{"file": "a.py", "line": 1, "function": "f"}]}], "compile_times": {"unit": "s", "total": 1, "phases": {}}}))
    record = ("compile", "ingest", tmp_path / "a.json", "--graph")
    root = ET.fromstring(run(*record, "svg"))
    assert f"{name}: graph 0" in [text.text for text in root.iter(f"{SVG}text")]
    assert "&lt;b&gt;&amp;amp;&quot;x&quot;" in run(*record, "mermaid") and r'<b>&amp;\"x\"' in run(*record, "dot")
