"""Programs that leave the library: every law as C and as JSON, against the law itself."""

import ctypes
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

import mlsysim
from mlsysim import InputError, SolverError
from mlsysim import _mlsysim as core

sys.path.insert(0, str(pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).parents[2])) / "tests/support"))
import tape_program  # noqa: E402

POINTS = 40


def points(program, random_numbers):
    """Points inside the ranges of a program."""
    for _ in range(POINTS):
        given = []
        for row in program["inputs"]:
            low, high, unit = row.get("low", row.get("above", 0.0)), row.get("high", math.inf), row["scale"]
            x = random_numbers.uniform(low, high) if math.isfinite(high) else max(low, 0.0) + unit * random_numbers.uniform(0.01, 8)
            given.append(float(math.ceil(min(x, 40) if row.get("whole") or row["unit"] == "" else x)) if row.get("whole") else x)
        yield given


def bits(x):
    return struct.pack("d", x)


@pytest.fixture(scope="module")
def programs():
    """The JSON programs of all laws and of two scenarios, by name, and what their C is made of."""
    out = {}
    for name in mlsysim.laws.names():
        law = getattr(mlsysim.laws, name)
        out[name] = (json.loads(law.export()), law.export(language="c", name=f"law_{name}"))
    for name, asked in {
            "serve": mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8, batch_size=16),
            "train": mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, mode="train", accelerators=16, batch_size=64)}.items():
        out[name] = (json.loads(asked.export()), asked.export(language="c", name=f"law_{name}"))
    return out


@pytest.fixture(scope="module")
def library(programs, tmp_path_factory):
    """All of them in one C library."""
    folder = tmp_path_factory.mktemp("export")
    files = []
    for name, (_, source) in programs.items():
        files.append(folder / f"{name}.c")
        files[-1].write_text(source)
    made = folder / "laws.so"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", made, *files, "-lm"], check=True)
    return ctypes.CDLL(str(made))


def test_c_and_json_agree_bit_for_bit(programs, library):
    # Two ways out of the library that share nothing: a compiler and 30 lines of Python.
    assert len(programs) > 60
    generator, compared = random.Random(11), 0
    for name, (program, _) in programs.items():
        function = getattr(library, f"law_{name}")
        for given in points(program, generator):
            out = (ctypes.c_double * len(program["results"]))()
            function((ctypes.c_double * len(given))(*given), out)
            values = tape_program.run(program, given)
            for row, x in zip(program["results"], out):
                y = values[row["node"]]
                assert bits(x) == bits(y) or (math.isnan(x) and math.isnan(y)), (name, row["name"], given)
                compared += 1
    assert compared > 5000


def test_a_scenario_outside_is_the_scorecard(programs, library):
    card = mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8, batch_size=16).results
    program = programs["serve"][0]
    out = (ctypes.c_double * len(program["results"]))()
    given = [row["value"] for row in program["inputs"]]
    library.law_serve((ctypes.c_double * len(given))(*given), out)
    assert len(out) > 20
    for row, x in zip(program["results"], out):
        expected = card[row["name"]]
        expected = expected.base if hasattr(expected, "base") else expected
        assert x == expected, row["name"]


def test_laws_at_points_are_what_solve_says(programs):
    program = programs["RingAllReduce"][0]
    # 2 (n - 1) / n x message / bandwidth + 2 (n - 1) alpha: 1.75 x 1e9 / 4e11 + 14 x 5e-6 = 4.445 ms.
    given = {"message": 1e9, "ranks": 8.0, "bandwidth": 4e11, "alpha": 5e-6}
    values = tape_program.run(program, [given[row["name"]] for row in program["inputs"]])
    time = next(row for row in program["results"] if row["name"] == "time")
    assert values[time["node"]] == pytest.approx(4.445e-3, rel=1e-12)
    assert values[time["node"]] / time["scale"] == mlsysim.laws.RingAllReduce.solve(
        message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us").time.m_as(time["unit"])


def test_inputs_say_units_and_ranges(programs):
    rows = {row["name"]: row for row in programs["RingAllReduce"][0]["inputs"]}
    assert rows["bandwidth"]["unit"] == "GB/s" and rows["bandwidth"]["scale"] == 1e9 and rows["bandwidth"]["above"] == 0
    assert rows["ranks"]["unit"] == "" and rows["ranks"]["scale"] == 1


def test_only_what_is_asked_for():
    whole, part = json.loads(mlsysim.laws.TotalCost.export()), json.loads(mlsysim.laws.TotalCost.export("energy_cost"))
    assert [row["name"] for row in part["results"]] == ["energy_cost"] and len(part["nodes"]) < len(whole["nodes"])
    with pytest.raises(mlsysim.LookupError, match="energy_cost"):
        mlsysim.laws.TotalCost.export("energy_costs")
    with pytest.raises(InputError, match="'c' or 'json'"):
        mlsysim.laws.TotalCost.export(language="cobol")
    with pytest.raises(SolverError, match="is not a law"):
        core._law_export(core._resolver("EconomicsModel"), [], "c", "law")
