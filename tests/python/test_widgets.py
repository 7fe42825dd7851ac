"""Sliders over scenarios, progress bars, and what notebooks show of quantities, arrays, registries, subjects and pipelines."""

import sys
import types

import pytest

import mlsysim
from mlsysim.widgets import Explorer


@pytest.fixture
def chat():
    return mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)


AXES = {"batch_size": "1..64*2", "precision": ["bf16", "fp8"], "hardware.memory.bandwidth": "1 TB/s..8 TB/s:8"}


def test_results_are_those_of_the_scenario(chat):
    explorer = chat.explore("itl", AXES)
    explorer.set(batch_size=16, precision="fp8", hardware__memory__bandwidth=mlsysim.Q_("4 TB/s"))
    expected = chat.sweep({"batch_size": [16], "precision": ["fp8"], "hardware.memory.bandwidth": ["4 TB/s"]}, show=["itl", "ttft"])
    assert explorer.results == {"itl": expected["itl"][0], "ttft": expected["ttft"][0]}
    assert explorer.results["itl"] < chat.sweep({"batch_size": [16]}, show=["itl"])["itl"][0]
    table = explorer._repr_html_()
    assert "<td style='text-align:left'>itl</td>" in table and "%" in table and "4 TB/s" in table
    curve = explorer.plot("batch_size").data()["tables"][0]["rows"]
    assert len(curve) == 7 and explorer.plot().kind == "curve"


def test_without_axes_the_batch_and_the_machine_move(chat):
    explorer = chat.explore()
    assert explorer.result == "itl" and list(explorer.values)[:2] == ["batch_size", "hardware.memory.bandwidth"]
    assert explorer.results["itl"].m_as("ms") == pytest.approx(chat.results["itl"].m_as("ms"), rel=1e-12)
    law = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us").explore()
    assert law.values and law.result in law.results


def test_what_cannot_be_explored_is_said(chat):
    with pytest.raises(mlsysim.LookupError, match="itl"):
        chat.explore("ilt")
    with pytest.raises(mlsysim.Error, match="bach_size"):
        chat.explore("itl", {"bach_size": [1]})
    with pytest.raises(mlsysim.InputError, match="no such slider"):
        chat.explore("itl", {"batch_size": [1, 2]}).set(precision="fp8")
    crowded = mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100).explore("itl", {"batch_size": [1, 2]})
    assert crowded.results == {} and "nothing is feasible here" in crowded._shown_html()


def test_without_ipywidgets_the_error_says_what_to_install(chat, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match="pip install ipywidgets"):
        chat.explore("itl", {"batch_size": [1, 2]})._repr_mimebundle_()


def test_sliders_recompute(chat):
    widgets = pytest.importorskip("ipywidgets", reason="pip install ipywidgets: sliders were not moved")
    explorer = chat.explore("itl", AXES)
    box = explorer.widget
    assert [type(c) for c in box.children] == [widgets.SelectionSlider, widgets.Dropdown, widgets.SelectionSlider, widgets.HTML]
    assert box.children[2].options[2][0] == "3000 GB/s"
    before = box.children[-1].value
    box.children[0].value = 64.0
    after = box.children[-1].value
    assert explorer.values["batch_size"] == 64 and before != after and "<svg" in after
    assert f"{explorer.results['itl'].m_as('ms'):.6g} ms" in after
    box.children[1].value = "fp8"
    assert explorer.values["precision"] == "fp8" and box.children[-1].value != after
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()
    assert explorer.widget is box


def test_a_bar_of_tqdm_shows_progress(chat, monkeypatch):
    seen = []

    class Bar:
        def __init__(self, **options):
            self.n, self.total = 0, options["total"]

        def update(self, more):
            self.n += more
            seen.append(self.n)

        def close(self):
            seen.append("closed")

    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    chat.optimize({"batch_size": "1..512"}, minimize="itl", progress=True)
    assert seen[-2:] == [512, "closed"]


def test_without_tqdm_a_line_shows_progress(chat, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    chat.optimize({"batch_size": "1..512"}, minimize="itl", progress=True)
    said = capsys.readouterr()
    assert said.out == "" and "512 of 512 points" in said.err and said.err.endswith("\n")


def test_what_notebooks_show(chat):
    exact = mlsysim.Q_("3.35 TB/s") / 3
    assert repr(exact)[len("Quantity('"):-2] in exact._repr_html_() and str(exact) in exact._repr_html_()
    import numpy as np

    assert "<td style='text-align:left'>2</td>" in mlsysim.Q_(np.array([1.0, 2.0]), "GB")._repr_html_()
    assert "A100" in mlsysim.Hardware.Cloud._repr_html_() and "more rows" in mlsysim.Hardware._repr_html_()
    assert "itl" in chat._repr_html_() and "hardware.memory.bandwidth" in chat._ipython_key_completions_()
    small = mlsysim.ask("ServingModel", workload=mlsysim.Models.Llama3_70B, hardware=mlsysim.Hardware.T4)
    assert ("no result" in small._repr_html_()) == isinstance(small.results, mlsysim.Infeasible)
    shown = mlsysim.Pipeline([mlsysim.DistributedModel(), mlsysim.EconomicsModel()])._repr_html_()
    assert "<td style='text-align:left'>EconomicsModel</td><td style='text-align:left'>model</td>" in shown and "workload" in shown
    card = mlsysim.SystemEvaluator.evaluate("chat", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)
    for value in (card, mlsysim.Hardware.H100, mlsysim.Models.Llama3_8B, mlsysim.Systems.Clusters.Research_256):
        assert "<table" in value._repr_html_()
    assert isinstance(chat.explore("itl", {"batch_size": [1]}), Explorer)
