"""Laws written in Python: recorded ones are exact and fast, others say what they are."""

import json
import math

import numpy as np
import pytest

import mlsysim
from mlsysim import DimensionError, DomainError, InputError, Q_

GIVEN = dict(work="2 TFLOP", traffic="16 GB", peak="100 TFLOP/s", bandwidth="1 TB/s", ranks=8)


def step(work, traffic, peak, bandwidth, ranks=1):
    """A step of some ranks."""
    pass_time = mlsysim.maximum(work / peak / ranks, traffic / bandwidth)
    waiting = mlsysim.where((ranks > 1) & ~(ranks > 64), Q_("5 us") * mlsysim.log2(ranks), Q_("0 s"))
    odd = mlsysim.sqrt(pass_time * Q_("1 ms")) * mlsysim.exp(-ranks / 10) * mlsysim.ceil(ranks / 3) ** 2
    time = pass_time + waiting + abs(-odd) - mlsysim.minimum(odd, "1 us") + mlsysim.floor(ranks / 2) * Q_("1 us") + 2 * odd
    return time, work / time


FIELDS = dict(inputs={"work": {"unit": "TFLOP", "low": 0}, "traffic": "GB", "peak": {"unit": "TFLOP/s", "above": 0}, "bandwidth": "GB/s",
                      "ranks": {"whole": True, "low": 1, "high": 1024}},
              results={"time": "ms", "rate": "TFLOP/s"})


@pytest.fixture(scope="module")
def law():
    return mlsysim.law(**FIELDS)(step)


def quantities(given):
    return {name: Q_(x) if isinstance(x, str) else x for name, x in given.items()}


def test_it_is_the_function_and_a_law(law):
    assert law.recorded and law.why is None and law.method == "exact"
    time, rate = law(**quantities(GIVEN))
    result = law.solve(**GIVEN)
    assert result.time.m_as("s") == pytest.approx(time.m_as("s"), rel=1e-15) and result.rate.m_as("FLOP/s") == pytest.approx(rate.m_as("FLOP/s"), rel=1e-15)
    assert law.solve(**{**GIVEN, "ranks": 1}) == law.solve(**{k: v for k, v in GIVEN.items() if k != "ranks"})  # the function's default
    with pytest.raises(DomainError, match="ranks"):
        law.solve(**{**GIVEN, "ranks": 2000})
    with pytest.raises(InputError, match="bandwidth"):
        law.solve(work="1 TFLOP", traffic="1 GB", peak="1 TFLOP/s")


def test_a_sweep_gives_the_values_of_the_function(law):
    generator = np.random.default_rng(5)
    work, ranks = generator.uniform(0.1, 40, 300), generator.integers(1, 100, 300).astype(float)
    found = law.batch(**{**GIVEN, "work": Q_(work, "TFLOP"), "ranks": ranks})
    assert found.method == "exact"
    fixed = quantities(GIVEN)
    for i in range(300):
        time, _ = step(**{**fixed, "work": Q_(work[i], "TFLOP"), "ranks": ranks[i]})
        assert found["time"].m_as("s")[i] == pytest.approx(time.m_as("s"), rel=1e-14)


def test_slopes_are_exact():
    square = mlsysim.law(inputs={"x": "s", "n": ""}, results={"y": "s^2"})(lambda x, n: n * x**3 / Q_("2 s") + x * Q_("4 s"))
    slopes = square.gradient(x="3 s", n=5)
    assert slopes.method == "exact"
    # y = n x^3 / 2 + 4 x: dy/dx = 1.5 n x^2 + 4 = 71.5 and dy/dn = x^3 / 2 = 13.5.
    assert slopes["y", "x"].value == 71.5 and slopes["y", "n"].value == 13.5
    kink = mlsysim.law(inputs={"a": "s", "b": "s"}, results={"t": "s"})(lambda a, b: mlsysim.maximum(a, 2 * b)).gradient(a="2 s", b="1 s")
    assert kink["t", "b"].kind == "kink" and (kink["t", "b"].left, kink["t", "b"].right) == (0.0, 2.0)


def test_bounds_and_inverses(law):
    low, high = law.bounds(**{**GIVEN, "traffic": ("1 GB", "16 GB")})["time"]
    for traffic in ("1 GB", "4 GB", "16 GB"):
        assert low <= law.solve(**{**GIVEN, "traffic": traffic}).time <= high
    speed = mlsysim.law(inputs={"size": "GB", "bandwidth": "GB/s"}, results={"time": "s"})(lambda size, bandwidth: size / bandwidth)
    assert speed.invert("bandwidth", "time", equals="2 s", size="8 GB").value.m_as("GB/s") == pytest.approx(4, rel=1e-12)


def test_questions_and_exports(law):
    asked = mlsysim.ask(law, **GIVEN)
    assert asked.exact and asked.sensitivity("time")["traffic"].elasticity == pytest.approx(law.gradient(**GIVEN)["time", "traffic"].elasticity, rel=1e-12)
    program = json.loads(law.export("time"))
    assert [row["name"] for row in program["inputs"]] == list(FIELDS["inputs"]) and program["inputs"][4]["whole"] is True
    with pytest.raises(mlsysim.SolverError, match="no derivation"):
        law.explain(**GIVEN)
    assert "void step_time(const double* in" in law.export("time", language="c", name="step_time")


def test_a_function_that_branches_is_called_point_by_point():
    @mlsysim.law(inputs={"x": "s", "n": ""}, results={"y": "s"})
    def branching(x, n):
        return 2 * x if n > 3 else x

    assert not branching.recorded and "mlsysim.where" in branching.why and branching.method.startswith("scalar loop")
    found = branching.batch(x=Q_(np.array([1.0, 2.0, 3.0]), "s"), n=np.array([1.0, 5.0, 2.0]))
    assert found["y"].m_as("s").tolist() == [1.0, 4.0, 3.0] and found.method.startswith("scalar loop")
    slopes = branching.gradient(x="3 s", n=5)
    assert slopes.method.startswith("central differences") and slopes["y", "x"].value == pytest.approx(2, rel=1e-6)
    with pytest.raises(mlsysim.SolverError, match="was not recorded"):
        branching.export()


@pytest.mark.parametrize("text", ["min(x, y)", "max(x, y)", "x if x < y else y", "x if x < y and y < x else y", "not x", "math.sqrt(x / y)", "float(x / y)",
                                  "int(x / y)", "x if bool(x) else y", "sorted([x, y])[0]"])
def test_what_needs_a_value_says_what_to_use_instead(text):
    function = eval(f"lambda x, y: {text}", {"math": math})
    law = mlsysim.law(inputs={"x": "s", "y": "s"}, results={"z": "s"}, name="chosen")(function)
    assert not law.recorded and "use mlsysim.where" in law.why


def test_units_are_checked_while_recording():
    def recorded(function, result="s"):
        return mlsysim.law(inputs={"x": "s", "n": ""}, results={"y": result}, name="odd")(function)

    for function in (lambda x, n: x + n, lambda x, n: x - 1, lambda x, n: mlsysim.maximum(x, "1 GB"), lambda x, n: mlsysim.where(x > Q_("1 GB"), x, x),
                     lambda x, n: mlsysim.where(n > 1, x, n), lambda x, n: mlsysim.log(x), lambda x, n: x**n, lambda x, n: n**x, lambda x, n: x.to("GB")):
        with pytest.raises(DimensionError):
            recorded(function)
    with pytest.raises(DimensionError, match="'y' of odd has another dimension"):
        recorded(lambda x, n: x * x)
    assert recorded(lambda x, n: x * x / Q_("1 s")).recorded and recorded(lambda x, n: mlsysim.sqrt(x * x)).recorded
    # Without unit in, without unit out: also through a quotient.
    ratio = recorded(lambda x, n: mlsysim.exp(x / Q_("2 s")) * n + x.m_as("ms"), result="")
    assert ratio.solve(x="2 s", n=3).y == pytest.approx(3 * math.e + 2000, rel=1e-14)


def test_what_a_law_states_must_be_so():
    make = dict(inputs={"x": "s"}, results={"y": "s"}, name="odd")
    with pytest.raises(InputError, match="takes no 'x'"):
        mlsysim.law(**make)(lambda z: z)
    with pytest.raises(InputError, match="other results than it states"):
        mlsysim.law(**make)(lambda x: (x, x))
    with pytest.raises(InputError, match="other results than it states"):
        mlsysim.law(**make)(lambda x: {"z": x})
    with pytest.raises(InputError, match="has no 'lowest'"):
        mlsysim.law(inputs={"x": {"unit": "s", "lowest": 1}}, results={"y": "s"})
    with pytest.raises(InputError, match="states its results"):
        mlsysim.law(inputs={"x": "s"}, results={})
    assert mlsysim.law(**make)(lambda x: {"y": x}).solve(x="3 s").y == Q_("3 s")


def test_errors_of_the_function_pass_through():
    def broken(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        mlsysim.law(inputs={"x": "s"}, results={"y": "s"})(broken)


def test_the_functions_work_on_plain_values():
    assert mlsysim.where(True, 1, 2) == 1 and mlsysim.minimum(3, 2) == 2 and mlsysim.maximum([Q_("1 s"), Q_("2 s")]) == Q_("2 s")
    assert (mlsysim.ceil(1.2), mlsysim.floor(1.8), mlsysim.log2(8), mlsysim.exp(0), mlsysim.log(1), mlsysim.sqrt(9)) == (2, 1, 3, 1, 0, 3)
    assert mlsysim.sqrt(Q_("4 s^2")) == Q_("2 s")
