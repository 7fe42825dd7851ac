"""Resolvers written in Python: held to their tier, and first-class in questions, sweeps, scorecards and the program."""

import json
import subprocess
import sys

import pytest

import mlsysim
from mlsysim import BaseModel, BaseOptimizer, BaseSolver, OptimizerResult, Quantity, SolverResult

H100, LLAMA = mlsysim.Hardware.H100, mlsysim.Models.Llama3_8B


class WindowResult(SolverResult):
    energy: Quantity


class WindowEnergy(BaseModel):
    """Energy that a device takes in a window."""

    produces = WindowResult

    def solve(self, hardware, batch_size: int = 1, idle_share: float = 0.3, window: Quantity = Quantity("2 s")):
        return WindowResult(energy=hardware.tdp * window * idle_share * batch_size)


class BestResult(OptimizerResult):
    pass


# Tiers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base, word", [(BaseModel, "Model"), (BaseSolver, "Solver")])
def test_lower_tiers_may_not_run_an_optimizer(base, word):
    class Searches(base):
        produces = WindowResult

        def solve(self):
            return mlsysim.ParallelismOptimizer().solve(workload=LLAMA, fleet=mlsysim.Systems.Clusters.Lab_64_H100, batch_size=8)

    with pytest.raises(mlsysim.SolverError, match=f"the {word} 'Searches' runs"):
        Searches().solve()
    with pytest.raises(mlsysim.SolverError, match=f"the {word} 'Searches' runs"):
        mlsysim.Pipeline([Searches()]).run()
    # The refusal leaves nothing behind.
    assert WindowEnergy().solve(H100).energy == Quantity("420 J")


def test_an_optimizer_says_what_it_found():
    with pytest.raises(mlsysim.InputError, match="does not say what it found.*OptimizerResult"):
        class NoClass(BaseOptimizer):
            def solve(self):
                return 3

    with pytest.raises(mlsysim.InputError, match="found WindowResult"):
        class WrongClass(BaseOptimizer):
            produces = WindowResult

            def solve(self):
                return 3

    class Number(BaseOptimizer):
        produces = BestResult

        def solve(self):
            return 3

    with pytest.raises(mlsysim.SolverError, match="gave no OptimizerResult.*found a int"):
        Number().solve()

    class Guess(BaseOptimizer):
        produces = BestResult

        def solve(self, n: int = 0):
            return BestResult(objective_value=1.0, best_config="T4", total_searched=n)

    with pytest.raises(mlsysim.SolverError, match="answers without a search"):
        Guess().solve()
    assert Guess().solve(n=3).total_searched == 3


# First class ---------------------------------------------------------------------------------------------------------


def test_a_class_is_asked_like_a_shipped_resolver():
    asked = mlsysim.ask(WindowEnergy, hardware=H100, idle_share=0.5)
    assert not asked.exact and asked.title == "WindowEnergy"
    levers = {lever.input: lever for lever in asked.sensitivity("energy").levers}
    assert levers["window"].elasticity == pytest.approx(1, abs=1e-6)
    assert levers["hardware.power.tdp"].elasticity == pytest.approx(1, abs=1e-6)
    assert asked.solve("energy <= 350 J", "idle_share").value == pytest.approx(0.25, rel=1e-6)
    rows = asked.sweep({"idle_share": [0.1, 0.2, 0.4], "batch_size": [1, 2]}, show=["energy"])
    assert rows["energy"].to("J").magnitude.tolist() == pytest.approx([140, 280, 280, 560, 560, 1120])
    best = asked.optimize({"idle_share": [0.1, 0.2, 0.4]}, maximize="energy")
    assert best.best[0].axes["idle_share"] == 0.4
    assert "one point after another: WindowEnergy is not safe on several threads" in str(best)
    assert mlsysim.ask("WindowEnergy", hardware=H100).title == "WindowEnergy"


def test_a_missing_input_is_named():
    with pytest.raises(mlsysim.InputError, match="hardware"):
        mlsysim.ask(WindowEnergy)


@pytest.mark.parametrize("also", [WindowEnergy, "WindowEnergy", [WindowEnergy], {WindowEnergy: {}}])
def test_a_class_stands_beside_the_scorecard(also):
    card = mlsysim.SystemEvaluator.evaluate("Beside", LLAMA, H100, batch_size=4, also=also)
    assert card.further["WindowEnergy"]["energy"] == Quantity("1680 J")


def test_inputs_of_resolvers_beside_the_scorecard():
    also = {WindowEnergy: {"window": Quantity("3 s"), "idle_share": 0.1}}
    card = mlsysim.SystemEvaluator.evaluate("Beside", LLAMA, H100, also=also)
    assert card.further["WindowEnergy"]["energy"] == Quantity("210 J")
    card = mlsysim.SystemEvaluator.evaluate("Beside", LLAMA, H100, also="EconomicsModel(duration_days=10), WindowEnergy(window=1 s)")
    assert card.further["WindowEnergy"]["energy"] == Quantity("210 J")
    assert set(card.further) == {"EconomicsModel", "WindowEnergy"}


def test_sweeps_take_any_resolver():
    rows = mlsysim.Engine.sweep(LLAMA, [H100, mlsysim.Hardware.A100], (1, 2), resolver=WindowEnergy, idle_share=1.0)
    assert [row["profile"].energy.to("J").magnitude for row in rows] == pytest.approx([1400, 2800, 800, 1600])
    rows = mlsysim.Engine.sweep(LLAMA, [H100], (1,), ("bf16",), resolver=mlsysim.ServingModel, seq_len=1024)
    assert rows[0]["profile"].itl < Quantity("20 ms")


def test_a_star_brings_the_resolvers():
    space = {}
    exec("from mlsysim import *", space)
    assert space["ServingModel"] is mlsysim.ServingModel and "Error" not in space


class Seen:
    def __init__(self):
        self.events = []

    def on_stage_end(self, who, what):
        self.events.append((who, what.energy))

    def on_pipeline_end(self, seconds, name):
        self.events.append((name, seconds >= 0))


def test_callbacks_bind_by_position_or_name():
    seen = Seen()
    pipeline = mlsysim.Pipeline([WindowEnergy()], name="P")
    pipeline.register_callback(seen)
    pipeline.run(hardware=H100)
    assert seen.events == [("WindowEnergy", Quantity("420 J")), ("P", True)]


PACKAGE = """\
from typing import Annotated

import mlsysim

class Result(mlsysim.SolverResult):
    power: mlsysim.Quantity
    time: mlsysim.Quantity

class PassPower(mlsysim.BaseModel):
    "Power of a pass."
    produces = Result

    def solve(self, hardware, share: float = 0.5, extra: mlsysim.Quantity = mlsysim.Q_("0 W"),
              energy: Annotated[mlsysim.Quantity, "kJ"] | None = None, kind: str = "single", fast: bool = False):
        power = (hardware.tdp * share + extra) * (2 if kind == "double" else 1) * (3 if fast else 1)
        return Result(power=power, time=(energy or mlsysim.Q_("1 kJ")) / power)
"""


@pytest.fixture
def program(tmp_path):
    """`python -m mlsysim` where a package with an entry point is installed."""
    from mlsysim import _mlsysim

    if not hasattr(_mlsysim, "_run_program"):
        pytest.skip("this build has no command line")
    info = tmp_path / "my_power-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-power\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text("[mlsysim.models]\nPassPower = my_power:PassPower\n")
    (tmp_path / "my_power.py").write_text(PACKAGE)

    def run(*words):
        import os

        path = os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        return subprocess.run([sys.executable, "-m", "mlsysim", *words], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": path})

    return run


def test_the_program_knows_resolvers_of_packages(program):
    listed = program("resolver", "list")
    assert listed.returncode == 0 and "PassPower" in listed.stdout and "my-power 2.1" in listed.stdout
    shown = program("resolver", "show", "PassPower")
    assert "Python package my-power 2.1" in shown.stdout
    beside = program("eval", "Llama3_8B", "H100", "--also", "PassPower(share=0.1)", "-o", "json")
    assert beside.returncode == 0 and '"PassPower"' in beside.stdout
    ran = program("pipeline", "run", "PassPower", "hardware=H100", "share=0.2")
    assert ran.returncode == 0 and "140 W" in ran.stdout
    swept = program("sweep", "PassPower", "hardware=H100", "share=0.5", "--axis", "share=0.1,0.2", "--show", "power", "-o", "csv")
    assert swept.returncode == 0 and "140" in swept.stdout


def test_quantities_of_a_class_are_axes_limits_and_objectives(program):
    ask = ["PassPower", "hardware=H100", "--axis", "extra=10 W,20 W,1 kW", "--axis", "energy=1 kJ,2 kJ"]
    best = program("optimize", *ask, "--minimize", "time", "--subject-to", "power <= 500 W", "--show", "power", "-o", "json")
    assert best.returncode == 0, best.stderr
    point = json.loads(best.stdout)["best"][0]
    assert point["axes"] == {"extra": "20 W", "energy": "1 kJ"} and point["objectives"]["time"] == pytest.approx(1000 / 370)
    solved = program("solve", "PassPower", "hardware=H100", "power <= 500 W", "extra")
    assert solved.returncode == 0 and "150 W" in solved.stdout
    assert program("pareto", *ask, "--minimize", "time", "--minimize", "power").returncode == 0


def test_words_flags_and_machines_are_axes_of_a_class(program):
    swept = program("sweep", "PassPower", "--axis", "hardware=H100,A100", "--axis", "kind=single,double", "--axis", "fast=false,true", "--show",
                    "power", "-o", "csv")
    assert swept.returncode == 0, swept.stderr
    powers = [float(line.split(",")[5]) for line in swept.stdout.splitlines()[1:]]
    assert powers == [350, 1050, 700, 2100, 200, 600, 400, 1200]
    best = program("optimize", "PassPower", "--axis", "hardware=H100,A100", "--axis", "kind=double,single", "--minimize", "power", "-o", "json")
    assert json.loads(best.stdout)["best"][0]["axes"] == {"hardware": "A100", "kind": "single"}


def test_the_template_for_python_is_swept_with_the_dimension_of_its_axis(program, tmp_path):
    assert program("plugin", "new", "pass_energy", "--lang", "python", "--folder", str(tmp_path / "made")).returncode == 0
    (tmp_path / "pass_energy.py").write_text((tmp_path / "made" / "pass_energy.py").read_text())
    info = tmp_path / "pass_energy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pass-energy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlsysim.models]\nPassEnergy = pass_energy:PassEnergy\n")
    for axis in (["--axis", "duration=1 ms..4 ms:4"], ["duration=9 s", "--axis", "duration=1 ms,2 ms,3 ms,4 ms"]):
        swept = program("sweep", "PassEnergy", "hardware=H100", *axis, "--show", "pass_energy", "-o", "json")
        assert swept.returncode == 0, swept.stderr
        assert [row["pass_energy"] for row in json.loads(swept.stdout)["rows"]] == pytest.approx([0.7, 1.4, 2.1, 2.8])
    best = program("optimize", "PassEnergy", "hardware=H100", "--axis", "duration=1 ms..4 ms:4", "--maximize", "pass_energy", "-o", "json")
    assert json.loads(best.stdout)["best"][0]["objectives"]["pass_energy"] == pytest.approx(2.8)
    # What solve() raises is an error with an id, and for a sweep the reason of a point.
    wrong = program("resolver", "run", "PassEnergy", "--hardware", "H100", "--duration", "2")
    assert wrong.returncode == 1 and "mlsysim.python.180" in wrong.stderr and "DimensionError" in wrong.stderr and "report" not in wrong.stderr


def test_the_program_ends_as_the_binary_does(program):
    missed = program("eval", "Llama3_8", "H100")
    assert missed.returncode == 1 and "did you mean" in missed.stderr
    assert program("--version").stdout.strip() == f"mlsysim {mlsysim.__version__}"
