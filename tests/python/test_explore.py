"""Questions about a subject."""

import subprocess
import sys

import pytest

import mlsysim
from conftest import SLOWER
from mlsysim import Hardware, Models
from mlsysim.base import BaseResolver


@pytest.fixture(scope="module")
def chat():
    return mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8)


def test_a_subject_tells_its_inputs_and_results(chat):
    assert chat.exact and "Llama3_70B" in chat.title
    assert chat.inputs["hardware.memory.bandwidth"] == mlsysim.Q_("3350 GB/s")
    card = mlsysim.SystemEvaluator.evaluate("x", Models.Llama3_70B, Hardware.H100, accelerators=8)
    assert chat.results["itl"].to("ms").magnitude == pytest.approx(card.performance["itl"].to("ms").magnitude, rel=1e-12)


def test_sensitivity(chat):
    r = chat.sensitivity("itl")
    assert "memory bandwidth binds itl" in r.binding
    lever = r["hardware.memory.bandwidth"]
    assert -1 < lever.elasticity < -0.5 and lever.at_upper == pytest.approx(lever.elasticity * 0.1, rel=0.15)
    assert r["hardware.compute.dense.fp16"].elasticity_up <= 0
    assert len(chat.sensitivity("itl", inputs=["tp_size"]).levers) == 1
    with pytest.raises(mlsysim.LookupError, match="itl"):
        chat.sensitivity("itll")


def test_solve(chat):
    found = chat.solve("itl <= 15 ms", "batch_size")
    assert found.feasible and found.exhaustive and found.at_value <= mlsysim.Q_("15 ms")
    more = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8, batch_size=found.value + 1)
    assert more.results["itl"] > mlsysim.Q_("15 ms")
    none = chat.solve("itl <= 1 us", "hardware.memory.bandwidth")
    assert not none and "reachable" in none.facts
    # Nobody gave a cap: it starts from the TDP of the device.
    batch = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8, batch_size=64, seq_len=8192)
    capped = batch.solve("ttft <= 30 s", "power_cap")
    assert Hardware.H100.power.tdp > capped.value > mlsysim.Q_("119 W")
    given = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8, batch_size=64, seq_len=8192, power_cap=capped.value)
    assert given.results["ttft"].m_as("s") == pytest.approx(30, rel=1e-9)


def test_a_law_is_a_subject_too():
    ring = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
    assert ring.sensitivity("time")["bandwidth"].elasticity < -0.9
    assert ring.solve("time == 4 ms", "bandwidth").value.to("GB/s").magnitude == pytest.approx(445.29, rel=1e-4)


def test_a_resolver_is_asked_as_an_object_a_class_or_a_name():
    given = {"workload": Models.Llama3_70B, "hardware": Hardware.H100, "tp_size": 8}
    titles = {mlsysim.ask(what, **given).title for what in (mlsysim.ServingModel(), mlsysim.ServingModel, "ServingModel")}
    assert titles == {"ServingModel"}
    bare = {"message": "1 GB", "ranks": 8, "bandwidth": "400 GB/s", "alpha": "5 us"}
    assert mlsysim.ask(mlsysim.laws.RingAllReduce, **bare).exact
    with pytest.raises(mlsysim.InputError, match="given twice"):
        mlsysim.ask(Models.Llama3_8B, Hardware.H100, workload=Models.Llama3_70B)

    class OwnToAsk(BaseResolver):
        requires = ("workload",)

        def solve(self, **inputs):
            return None

    assert mlsysim.ask(OwnToAsk(), workload=Models.Llama3_70B).title == "OwnToAsk"
    with pytest.raises(mlsysim.InputError, match="takes no"):
        mlsysim.ask(OwnToAsk(), **given)


AXES = {"precision": ["bf16", "fp8"], "batch_size": "1..256*2", "tp_size": [1, 2, 4, 8]}


def test_optimize_agrees_with_every_row(chat):
    best = chat.optimize(AXES, minimize="cost_per_token", subject_to="itl <= 30 ms", show=["itl", "ttft"])
    assert best.exactness == "enumerated" and best.infeasible is None and best.total == 2 * 9 * 4
    rows = chat.sweep(AXES, show=["cost_per_token", "itl"], subject_to="itl <= 30 ms", anything=False)
    assert len(rows) == best.total and rows.feasible.sum() == best.feasible
    cheapest = rows.columns["cost_per_token"][rows.feasible].min()
    assert best.best[0].objectives["cost_per_token"].magnitude == pytest.approx(cheapest, rel=1e-12)
    assert best.best[0].shown["itl"] <= mlsysim.Q_("30 ms")
    bounded = chat.optimize(AXES, minimize="cost_per_token", subject_to="itl <= 30 ms", strategy="branch-and-bound")
    assert bounded.exactness == "proven" and bounded.best[0].index == best.best[0].index
    assert rows["itl"].to("s").magnitude.shape == (72,)


def test_pareto_and_shards(chat):
    question = {"minimize": ["itl", "cost_per_token"]}
    whole = chat.pareto(AXES, **question)
    parts = [chat.pareto(AXES, **question, shard=(k, 3)) for k in (3, 1, 2)]
    assert chat.merge(parts).state == whole.state and len(whole.front) > 3
    with pytest.raises(mlsysim.InputError, match="missing"):
        chat.merge(parts[:2])


def test_questions_that_ask_for_nothing_are_refused(chat):
    """An empty answer would read like "nothing is feasible"."""
    axes = {"batch_size": [1, 2]}
    for ask, words in ((lambda: chat.optimize(axes), "an optimum has one objective; found 0"),
                       (lambda: chat.optimize(axes, minimize=["itl", "ttft"]), "found 2"),
                       (lambda: chat.pareto(axes), "a front has at least two objectives; found 0"),
                       (lambda: chat.pareto(axes, minimize="itl"), "found 1")):
        with pytest.raises(mlsysim.InputError, match=words):
            ask()
    for parts in ([], [1]):
        with pytest.raises(mlsysim.InputError, match="no parts to join"):
            chat.merge(parts)
    for shard in (3, (1,), (0, 2), (3, 2), ("a", "b"), (1, 2, 3), (1.5, 2)):
        with pytest.raises(mlsysim.InputError, match=r"the shard cannot be read.*\(k, n\)"):
            chat.optimize(axes, minimize="itl", shard=shard)


def test_one_text_is_a_list_of_one(chat):
    assert [lever.input for lever in chat.sensitivity("itl", inputs="batch_size").levers] == ["batch_size"]
    assert len(chat.pareto({"batch_size": [1, 2]}, minimize="itl", maximize="token_throughput").front) > 0
    assert list(chat.sweep({"batch_size": [1, 2]}, show="itl").columns) == ["batch_size", "itl"]


def test_parts_without_a_feasible_point_say_why(chat):
    question = {"minimize": "itl", "subject_to": "itl <= 1 us"}
    parts = [chat.optimize({"batch_size": [1, 2]}, **question, shard=(k, 2)) for k in (1, 2)]
    assert "itl <= 1 us" in chat.merge(parts).infeasible


def test_devices_are_an_axis(chat):
    found = chat.optimize({"hardware": [Hardware.A100, Hardware.H100, Hardware.H200]}, minimize="itl")
    assert found.best[0].axes["hardware"] == Hardware.H200 and found.best[0].labels["hardware"] == "H200"
    none = chat.optimize({"batch_size": [1, 2]}, minimize="itl", subject_to="itl <= 1 us")
    assert not none.best and "itl <= 1 us" in none.infeasible
    with pytest.raises(mlsysim.LookupError):
        chat.optimize({"batchsize": [1]}, minimize="itl")


def test_compare(chat):
    other = mlsysim.ask(Models.Llama3_70B, Hardware.H200, accelerators=8)
    difference = chat.compare(other, "itl")
    assert difference.terms[0][0] == "hardware.memory.bandwidth"
    parts = sum(t[3].to("ms").magnitude for t in difference.terms)
    assert parts == pytest.approx((difference.at_to - difference.at_from).to("ms").magnitude, rel=1e-9)


def test_uncertainty(chat):
    u = chat.uncertainty({"hardware.efficiency.memory": "+-5 %", "kwh_price": "lognormal 20 %"}, ["itl", "cost_per_token"], estimates=False)
    itl = u["itl"]
    assert itl["low"] < itl["median"] < itl["high"] and itl["total"]["hardware.efficiency.memory"] == pytest.approx(1, abs=0.05)
    assert itl["first_order"]["kwh_price"] == pytest.approx(0, abs=0.01) and u.flips == 0
    faster = mlsysim.ask(Models.Llama3_70B, Hardware.H200, accelerators=8)
    assert chat.probability_below(faster, "itl", {"hardware.efficiency.memory": "+-1 %"}, estimates=False) == 0
    ranked = chat.uncertainty({"hardware.efficiency.memory": "+-1 %"}, "itl", samples=64, estimates=False, against=faster)
    assert ranked.ranking["probability_below"] == 0 and ranked.ranking["flips"] == 0


def test_ranges_of_the_zoo_are_uncertain_by_themselves(chat):
    u = chat.uncertainty(results="cost_per_token", samples=128)
    assert "unit_cost" in u.figures and any("H100 unit_cost" in source for _, _, source in u.assumptions)
    assert u["cost_per_token"]["low"] < u["cost_per_token"]["high"]


def test_points_of_a_sweep_have_the_intervals_of_the_points():
    chat = mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, batch_size=4)
    axes, show = {"batch_size": [4, 16]}, ["itl", "ttft + itl", "token_throughput"]
    rows = chat.sweep(axes, show=show, interval=80)
    assert list(rows.columns) == ["batch_size", *show, "itl_lower", "itl_upper", "token_throughput_lower", "token_throughput_upper"]
    assert rows.units["itl_upper"] == rows.units["itl"] and "itl_lower [ms]" in rows.to_dict()
    one = chat.intervals("itl", level=80)["itl"]
    assert rows.columns["itl_lower"][0] == pytest.approx(one["lower"].m_as("ms"), rel=1e-3)
    assert rows.columns["itl_upper"][0] == pytest.approx(one["upper"].m_as("ms"), rel=1e-3)
    assert list(chat.sweep(axes, show=show).columns) == ["batch_size", *show]
    with pytest.raises(mlsysim.InputError, match="50, 80 or 95"):
        chat.sweep(axes, show=show, interval=90)


def test_intervals_hold_ranges_of_the_zoo_and_errors_of_the_model(chat):
    found = chat.intervals("itl")
    itl = found["itl"]
    assert itl["level"] == 80 and itl["lower"] < itl["model_error"][0] < itl["value"] < itl["model_error"][1] < itl["upper"]
    assert "ttft" in chat.intervals().intervals and chat.intervals("itl", level=95)["itl"]["upper"] > itl["upper"]
    assert chat.intervals("tco")["tco"]["model_error"] is None
    with pytest.raises(mlsysim.InputError, match="50, 80 or 95"):
        chat.intervals("itl", level=90)
    one = mlsysim.ask("SingleNodeModel", workload=Models.Llama3_8B, hardware=Hardware.MI300X)
    assert one.intervals("latency")["latency"]["model_error"] is not None


def test_strategies_and_what_they_say(chat):
    axes = {"hardware.memory.bandwidth": "1 TB/s..8 TB/s:9", "tp_size": [4, 8]}
    question = {"minimize": "hardware.memory.bandwidth", "subject_to": "itl <= 14 ms"}
    grid = chat.optimize(axes, **question)
    try:
        found = chat.optimize(axes, **question, strategy="gradient")
    except mlsysim.SolverError as error:
        assert "libnlopt-dev" in str(error)
    else:
        assert found.best[0].between and found.exactness == "heuristic" and "NLopt" in found.method
        assert found.best[0].objectives["hardware.memory.bandwidth"] <= grid.best[0].objectives["hardware.memory.bandwidth"]
    try:
        found = chat.optimize(AXES, minimize="cost_per_token", strategy="evolutionary", evaluations=500)
    except mlsysim.SolverError as error:
        assert "libpagmo-dev" in str(error)
    else:
        assert found.best[0].index == chat.optimize(AXES, minimize="cost_per_token").best[0].index
    with pytest.raises(mlsysim.InputError, match="branch-and-bound"):
        chat.optimize(AXES, minimize="itl", strategy="magic")


def test_conflicts_and_hypervolume(chat):
    batch = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8, load="burst")
    none = batch.optimize(AXES, minimize="itl", subject_to=["batch_size >= 64", "itl <= 8 ms"])
    assert none.conflict["constraints"] == ["batch_size >= 64", "itl <= 8 ms"] and "without any one of them" in none.infeasible
    front = chat.pareto(AXES, minimize=["itl", "cost_per_token"])
    assert 0 < front.hypervolume["relative"] < 1 and front.conflict is None


def test_axes_from_files(chat, tmp_path):
    (tmp_path / "space.yaml").write_text("precision: [bf16, fp8]\nbatch_size: 1..256*2\ntp_size: [1, 2, 4, 8]\n")
    (tmp_path / "degrees.yaml").write_text("[1, 2, 4, 8]\n")
    same = chat.optimize(AXES, minimize="itl").best[0].index
    assert chat.optimize(tmp_path / "space.yaml", minimize="itl").best[0].index == same
    assert chat.optimize({**AXES, "tp_size": f"@{tmp_path}/degrees.yaml"}, minimize="itl").best[0].index == same


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_rows_for_other_packages(chat, package, tmp_path):
    rows = chat.sweep(AXES, show=["itl"])
    convert = {"pandas": rows.to_pandas, "polars": rows.to_polars, "pyarrow": rows.to_arrow}[package]
    try:
        module = __import__(package)
    except ImportError:
        with pytest.raises(ImportError, match=f"pip install {package}"):
            convert()
        return
    table = convert()
    values = table["itl [ms]"].to_numpy()
    assert len(values) == len(rows) == 72 and values[5] == rows.columns["itl"][5]
    if package == "pyarrow":
        path = rows.to_parquet(tmp_path / "rows.parquet")
        read = __import__("pyarrow.parquet").parquet.read_table(path)
        assert read.equals(table) and read.schema.field("itl [ms]").metadata == {b"unit": b"ms"}
        with pytest.raises(mlsysim.InputError, match="exists"):
            rows.to_parquet(path)
        assert module.table(read.to_pydict()).num_rows == 72


def test_the_solver_of_wall_21():
    from mlsysim.core.solver import SensitivitySolver

    r = SensitivitySolver().solve(workload=Models.Llama3_70B, hardware=Hardware.H100, accelerators=8, batch_size=16)
    # In steady state a step waits for hosts and for prompts of others too, so no constraint has all of it.
    assert r.binding_constraint == "memory_bandwidth" and -1 < r.memory_bandwidth < r.peak_flops < 0
    assert "binds itl" in r.shadow_price


def test_explain(chat):
    cost = chat.explain("cost_per_token")
    assert "CostPerToken" in cost and cost.handed_in and cost.derivation["calls"]
    assert cost.latex.count("{") == cost.latex.count("}") and "### [1]" in cost.markdown
    assert chat.explain("itl").operators
    ring = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us").explain("time")
    assert ring.value == mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us").results["time"]
    with pytest.raises(mlsysim.LookupError, match="itl"):
        chat.explain("itll")


def test_a_sweep_marks_what_does_not_fit(chat):
    axes = {"tp_size": [1, 3, 8], "batch_size": [1, 1000000]}
    rows, best = chat.sweep(axes, show=["itl"]), chat.optimize(axes, minimize="itl")
    assert len(rows) == best.total == 6 and 0 < rows.feasible.sum() == best.feasible < 6
    assert chat.sweep(axes, show=["itl"], anything=True).feasible.all()


def test_found_points_go_back_into_the_question(chat):
    axes = {"precision": ["bf16", "fp8"], "batch_size": [1, 16], ("tp_size", "pp_size"): [(8, 1), (4, 2)],
            "hardware": [Hardware.H100, Hardware.H200]}
    point = chat.optimize(axes, minimize="itl").best[0]
    assert isinstance(point.axes["batch_size"], int) and point.axes["tp_size"] == 8 and point.axes["hardware"] == Hardware.H200
    there = mlsysim.ask(Models.Llama3_70B, accelerators=8, **point.axes)
    assert there.results["itl"].base == pytest.approx(point.objectives["itl"].base, rel=1e-12)
    wide = chat.optimize({"hardware.memory.bandwidth": "1 TB/s..8 TB/s:9"}, minimize="itl").best[0]
    assert wide.axes["hardware.memory.bandwidth"] == mlsysim.Q_("8 TB/s")
    assert all(isinstance(p.axes["tp_size"], int) for p in chat.pareto(AXES, minimize=["itl", "cost_per_token"]).front)


@pytest.mark.parametrize("question", [
    'chat.sweep({"batch_size": "1..2000", "seq_len": "1..2000"}, show=["itl"])',
    'chat.uncertainty({"hardware.efficiency.memory": "+-5 %"}, samples=1000000, estimates=False)',
    'chat.uncertainty(results="itl", samples=200000)',
    'chat.solve("itl <= 30 ms", "hardware.memory.bandwidth")',
])
def test_ctrl_c_ends_a_question(question):
    # A shell that runs tests in the background ignores the signal for them.
    code = ("import mlsysim, threading, signal, time, os\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "chat = mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)\n"
            "sent = []\n"
            "def stop():\n    sent.append(time.process_time())\n    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Timer(0.3, stop).start()\n"
            f"try:\n    while True:\n        {question}\nexcept KeyboardInterrupt:\n    print(time.process_time() - sent[0])\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120 * SLOWER)
    # Processor time, so that other work on the machine does not count.
    assert done.returncode == 0 and float(done.stdout) < SLOWER, done.stderr


@pytest.mark.parametrize("ask, words", [
    (lambda c: c.optimize({"batch_size": [1]}, minimize="itl", threads=-1), "'threads' is a count.*-1"),
    (lambda c: c.optimize({"batch_size": [1]}, minimize="itl", top=1.5), "'top' is a count"),
    (lambda c: c.uncertainty(results="itl", samples="many"), "'samples' is a count"),
    (lambda c: c.sensitivity(mlsysim.Q_("1 s")), "'result' is a text"),
    (lambda c: c.solve(30, "batch_size"), "'condition' is a text"),
    (lambda c: c.compare(3, "itl"), r"'other' is another subject.*ask\(\.\.\.\)"),
])
def test_questions_of_the_wrong_type(chat, ask, words):
    with pytest.raises(mlsysim.InputError, match=words):
        ask(chat)


def test_a_sweep_is_a_list_of_points(chat):
    rows = chat.sweep({"batch_size": [1, 2]}, show=["itl"])
    points = list(rows)
    assert len(points) == len(rows) == 2 and [p["batch_size"] for p in points] == [1, 2]
    assert points[1]["itl"] == rows["itl"][1] and "itl" in rows and "ttft" not in rows
    with pytest.raises(mlsysim.LookupError, match="itl"):
        rows["itll"]


def test_a_resolver_without_an_answer_says_why():
    none = mlsysim.ask("BatchingOptimizer", model=Models.Llama3_8B, hardware=Hardware.H100, arrival_rate="5 request/s",
                       target_latency="1 s").results
    assert isinstance(none, mlsysim.Infeasible) and none.resolver == "BatchingOptimizer" and none.reason


def test_callbacks_are_told_how_far_sweeps_are():
    told = []

    class Watch:
        def on_sweep(self, title, done, total, seconds_left):
            told.append((title, done, total))

    class Broken:
        calls = 0

        def on_sweep(self, done):
            Broken.calls += 1
            raise RuntimeError("sink is full")

    subject = mlsysim.ask(Models.Llama3_8B, Hardware.H100).register_callback(Watch())
    axes = {"batch_size": "1..64*2"}
    for ask in (lambda: subject.optimize(axes, minimize="itl"), lambda: subject.pareto(axes, minimize=["itl", "ttft"]),
                lambda: subject.sweep(axes, show=["itl"])):
        told.clear()
        ask()
        assert told[-1] == (subject.title, 7, 7) and [row for row in told if row[1] == 7] == told[-1:]
    subject.register_callback(Broken())
    with pytest.warns(RuntimeWarning, match="Broken.on_sweep failed: sink is full"):
        found = subject.optimize(axes, minimize="itl")
    assert found.total == 7 and Broken.calls == 1
    with pytest.raises(TypeError, match="observes nothing"):
        subject.register_callback(object())


def test_a_cluster_is_a_machine():
    cluster = mlsysim.Systems.Clusters.Research_256
    asked = mlsysim.ask(mlsysim.Models.Llama3_8B, cluster, batch_size=32)
    assert asked.results["itl"] == mlsysim.ask(mlsysim.Models.Llama3_8B, fleet=cluster, batch_size=32).results["itl"]
    with pytest.raises(mlsysim.InputError, match="the machine is given twice"):
        mlsysim.ask(mlsysim.Models.Llama3_8B, cluster, fleet=cluster)


def test_an_array_is_an_axis_as_its_list_is(chat):
    np = pytest.importorskip("numpy")
    sizes = np.arange(1, 65)
    for values in (sizes, sizes.astype("uint16"), sizes.astype(float), np.arange(1, 129)[:64], np.arange(0, 130)[1:65]):
        rows = chat.sweep({"batch_size": values}, show="itl")
        assert (rows.columns["itl"] == chat.sweep({"batch_size": list(range(1, 65))}, show="itl").columns["itl"]).all()
    strided = chat.sweep({"batch_size": np.arange(1, 129)[::2]}, show="itl").columns["itl"]
    assert (strided == chat.sweep({"batch_size": "1..127:64"}, show="itl").columns["itl"]).all()
    with pytest.raises(mlsysim.InputError):
        chat.sweep({"batch_size": np.array([], dtype=float)}, show="itl")
    with pytest.raises(mlsysim.Error):
        chat.sweep({"batch_size": np.array([1.5, 2])}, show="itl")
