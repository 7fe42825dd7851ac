"""Engine and SystemEvaluator."""

import threading

import pytest
from conftest import make_device, make_fleet

import mlsysim
from mlsysim import Engine, Hardware, InputError, Models, Q_, SystemEvaluator
from mlsysim.core.evaluation import SystemEvaluation
from mlsysim.core.results import PerformanceProfile


def test_solve_by_position(llama, h100):
    profile = Engine.solve(llama, h100, 4, "fp16", 0.6)
    assert isinstance(profile, PerformanceProfile)
    assert profile == mlsysim.SingleNodeModel.solve(model=llama, hardware=h100, batch_size=4, precision="fp16", efficiency=0.6)
    assert Engine.solve(llama, h100, is_training=True, fidelity="textbook").latency > profile.latency


def test_sweep(llama):
    devices = [Hardware.A100, Hardware.H100]
    rows = Engine.sweep(llama, devices, batch_sizes=[1, 8], precisions=["fp16", "fp8"])
    assert [(r["hardware"], r["batch_size"], r["precision"]) for r in rows][:4] == [
        ("A100", 1, "fp16"), ("A100", 1, "fp8"), ("A100", 8, "fp16"), ("A100", 8, "fp8")]
    assert len(rows) == 8
    for row in rows:
        if row["profile"] is None:
            assert row["hardware"] == "A100" and row["precision"] == "fp8" and "A100" in row["skipped"]
        else:
            asked = Hardware[row["hardware"]], row["batch_size"], row["precision"]
            assert row["profile"] == SystemEvaluator.evaluate("sweep", llama, *asked)
            # What programs for the other package read of a point is the answer of Engine.solve.
            assert row["profile"].latency == Engine.solve(llama, *asked).latency
    assert len(Engine.sweep(llama, devices)) == 2
    with pytest.raises(mlsysim.LookupError, match="fp8"):
        Engine.sweep(llama, [Hardware.A100], precisions=["fp8"])


def test_sweeps_run_beside_each_other(llama):
    devices = [h for h in Hardware.Cloud.list()]
    expected = Engine.sweep(llama, devices)
    got = [None] * 4

    def work(i):
        got[i] = Engine.sweep(llama, devices)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(g == expected for g in got)


def test_scorecard_of_one_device(llama, h100):
    card = SystemEvaluator.evaluate("Chat", llama, h100, batch_size=4, precision="fp16", duration_days=30, seq_len=1024)
    assert isinstance(card, SystemEvaluation) and card.passed_all and card.feasibility.status == "PASS"
    flat = card.to_dict()
    assert flat["scenario"] == "Chat" and flat["f_status"] == "PASS" and {"p_status", "m_status"} <= set(flat)
    assert any(k.startswith("p_") and isinstance(v, float) for k, v in flat.items())
    assert "Chat" in card.scorecard() and "[PASS]" in card.scorecard()
    assert card.units()["p_ttft"] and card.performance.metrics["ttft"].m_as("ms") == pytest.approx(
        flat["p_ttft"] * Q_(1, card.units()["p_ttft"]).m_as("ms"))
    assert card.memory and card.assumptions and "<table>" in card._repr_html_()
    assert "seq_len" in SystemEvaluator.options()
    assert card == SystemEvaluator.evaluate("Chat", llama, h100, batch_size=4, precision="fp16", duration_days=30, seq_len=1024)


def test_what_does_not_fit_fails_with_remedies():
    card = SystemEvaluator.evaluate("Too big", Models.Llama2_70B, Hardware.A100)
    assert not card.passed_all and card.feasibility.status == "FAIL" and card.remedies
    assert "What would fit" in card.scorecard()


def test_fleets(llama):
    fleet = make_fleet()
    card = SystemEvaluator.evaluate("Train", llama, None, 64, fleet_obj=fleet, mode="train", duration_days=10)
    # What does not fit costs nothing: its money is as if it did.
    assert card.mode == "train" and card.macro.status == card.feasibility.status == "FAIL"
    assert SystemEvaluator.evaluate("Train", llama, fleet.node.accelerator, 64, fleet_obj=fleet, mode="train",
                                    duration_days=10) == card
    with pytest.raises(InputError, match="fleet"):
        SystemEvaluator.evaluate("X", llama, Hardware.H100, fleet_obj=fleet)
    with pytest.raises(InputError, match="nodes"):
        SystemEvaluator.evaluate("X", llama, None, fleet_obj=fleet, nodes=3)


def test_mistakes(llama, h100):
    with pytest.raises(InputError, match="seq_len"):
        SystemEvaluator.evaluate("X", llama, h100, seqlen=3)
    with pytest.raises(InputError):
        SystemEvaluator.evaluate("X", llama)


def test_explains(llama, h100):
    card = SystemEvaluator.evaluate("Chat", llama, h100, seq_len=512)
    assert "ttft" in card.explainable and "ms" in card.explain("ttft")
    with pytest.raises(mlsysim.LookupError, match="ttft"):
        card.explain("ttftt")
    cost = card.explain("cost_per_token")
    assert cost.derivation["law"] == "Scenario" and "CostPerToken" in cost and "align*" in cost.latex
    assert cost.value.m_as("USD/Mtoken") == pytest.approx(card.macro["cost_per_token"].m_as("USD/Mtoken"), rel=1e-14)
    rows = card.operators("ttft")
    assert rows and sum(r.share for r in rows) == pytest.approx(1, abs=0.02)
    assert rows[0].time >= rows[-1].time


def test_devices_made_by_hand(llama):
    card = SystemEvaluator.evaluate("Own", llama, make_device(), seq_len=128)
    assert card.hardware == "Handmade" and card.passed_all


@pytest.mark.parametrize("ask", [
    lambda m, h: mlsysim.ServingModel().solve(model=m, hardware=h, tp_size=1.5),
    lambda m, h: mlsysim.Engine.solve(m, h, batch_size=1.5),
    lambda m, h: mlsysim.Engine.sweep(m, [h], batch_sizes=[1, 1.5]),
    lambda m, h: mlsysim.SystemEvaluator.evaluate("x", m, h, batch_size=1.5),
    lambda m, h: mlsysim.ask(m, h, batch_size=1.5),
    lambda m, h: mlsysim.ask(m, h).sweep({"batch_size": [1, 1.5]}, show=["itl"]),
])
def test_counts_are_whole(ask, llama, h100):
    with pytest.raises(mlsysim.DomainError, match="a whole number.*1 or 2") as caught:
        ask(llama, h100)
    assert caught.value.id == "mlsysim.table.004" and caught.value.facts.found == "1.5"


def test_names_are_read_as_on_the_command_line():
    """A model or a device by any name that a hub, a driver or a person gives it; what a name states of formats is taken, and said."""
    ours = mlsysim.SystemEvaluator.evaluate("n", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)
    for name, machine in (("llama3-8b", "h100 sxm5 80gb"), ("meta-llama/Llama-3.1-8B", "H100 SXM"), ("Llama3_8B", "NVIDIA H100 80GB HBM3")):
        card = mlsysim.SystemEvaluator.evaluate("n", name, machine)
        assert (card.workload, card.hardware, card.performance.metrics["itl"]) == ("Llama3_8B", "H100", ours.performance.metrics["itl"])
        assert (name == "Llama3_8B" or any(name in warning for warning in card.warnings)) and any(machine in warning for warning in card.warnings)
    quantized = mlsysim.SystemEvaluator.evaluate("n", "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "H100")
    asked = mlsysim.SystemEvaluator.evaluate("n", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, weight_format="int4")
    assert quantized.memory == asked.memory and quantized.warnings
    node = mlsysim.SystemEvaluator.evaluate("n", "Llama3_70B", "DGX_H100")
    assert node.feasibility.status == "PASS" and node.hardware == "DGX_H100"  # eight devices
    assert mlsysim.ask("deepseek-v3", "H200", accelerators=8).solve("itl <= 30 ms", "batch_size").value > 1
    front = mlsysim.ask("Llama3_8B", "H100").pareto({"hardware": ["H100", "H200"], "batch_size": [1, 8]}, ["itl"], ["token_throughput"])
    assert {point.labels["hardware"] for point in front.front} <= {"H100", "H200"}
    with pytest.raises(mlsysim.errors.LookupError, match="Llama3_8B"):
        mlsysim.ask("Llama9_8B", "H100")


def test_one_number_of_a_level_is_that_of_all():
    def card():
        return mlsysim.SystemEvaluator.evaluate("x", mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)

    for level in ("feasibility", "performance", "macro"):
        every = getattr(card(), level).metrics
        fresh = getattr(card(), level)
        for name, value in every.items():
            assert fresh[name] == value and type(fresh[name]) is type(value)
        for missing in ("nothing", 3, None):
            with pytest.raises(KeyError):
                fresh[missing]


def test_positions_of_a_checkpoint_hold_under_every_name():
    """Llama 3 has the shape of Llama 3.1 and 8,192 positions; its guard is an alias of the same entry."""
    for name in ("meta-llama/Meta-Llama-3-8B", "Meta-Llama-Guard-2-8B"):
        for answer in (SystemEvaluator.evaluate("x", name, "H100", seq_len=16000, mode="serve"),
                       mlsysim.SingleNodeModel.solve(model=name, hardware="H100", seq_len=16000)):
            assert any("takes at most 8192 tokens (max_positions)" in w for w in answer.warnings), answer.warnings
    assert not any("at most" in w for w in mlsysim.SingleNodeModel.solve(model="Llama3_8B", hardware="H100", seq_len=16000).warnings)
