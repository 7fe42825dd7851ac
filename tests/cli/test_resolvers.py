"""resolver run and docs, and the walls."""

import pytest


def test_run_with_quantities(run):
    done = run("resolver", "run", "TailLatencyModel", "--arrival-rate", "80 request/s", "--service-latency=10 ms", "fidelity=textbook")
    assert done.code == 0 and "229.101 ms" in done.out
    answer = run("resolver", "run", "TailLatencyModel", "--arrival-rate", "80 request/s", "--service-latency", "10 ms", "-o", "json").json()
    assert "229" not in str(answer.get("p99_latency", "")) and answer


def test_run_with_names_of_the_zoo(run):
    done = run("resolver", "run", "SynthesisSolver", "--workload", "Llama3_8B", "--target-latency", "10 ms", "--efficiency", "0.5", "--fidelity", "textbook")
    assert done.code == 0 and "1606" in done.out


def test_infeasible_has_its_own_exit_code(run):
    done = run("resolver", "run", "SynthesisSolver", "--workload", "Llama3_8B", "--target-latency", "1 us")
    assert done.code == 2 and "launches" in done.out + done.err


@pytest.mark.parametrize("words, message", [
    (("TailLatencyModl",), "TailLatencyModel"),
    (("TailLatencyModel", "--arrival-rat", "80 request/s"), "did you mean 'arrival_rate'"),
    (("TailLatencyModel", "--arrival-rate", "80 GB", "--service-latency", "10 ms"), "arrival_rate"),
    (("TailLatencyModel", "--arrival-rate"), "has no value"),
    (("TailLatencyModel", "80"), "an input has a name"),
    (("TailLatencyModel", "--arrival-rate", "0 request/s", "--service-latency", "10 ms"), "more than 0"),
])
def test_bad_input(run, words, message):
    done = run("resolver", "run", *words)
    assert done.code == 1 and message in done.err


def test_warnings_are_shown(run):
    words = ("resolver", "run", "TailLatencyModel", "--arrival-rate", "150 request/s", "--service-latency", "10 ms")
    assert "warning: 1 servers cannot keep up" in run(*words).out
    assert "> warning: 1 servers" in run(*words, "-o", "markdown").out
    assert "at least 2 are needed" in run(*words, "-o", "json").json()["stages"][0]["warnings"][0]
    assert "warning" not in run("resolver", "run", "TailLatencyModel", "--arrival-rate", "80 request/s", "--service-latency", "10 ms").out


def test_show_names_walls_and_laws(run):
    out = run("resolver", "show", "ReliabilityModel").out
    for part in ("15 Fragility", "DalyInterval", "daly2006", "fallacy", "goodput_ratio"):
        assert part in out
    assert run("resolver", "show", "ReliabilityModel", "-o", "json").json()["laws"]


def test_walls(run):
    rows = run("walls", "-o", "json").json()["rows"]
    assert len(rows) == 22 and [r["wall"] for r in rows] == [str(n) for n in range(1, 23)]
    assert {r["domain"] for r in rows} == {"node", "data", "algorithm", "fleet", "operations", "analysis"}
    without = [r["name"] for r in rows if not r["resolvers"]]
    assert without in ([], ["Sensitivity"])
    assert "TailLatencyModel" in run("walls", "7").out
    assert run("walls", "23").code == 1 and "from 1 to 22" in run("walls", "23").err
    assert run("walls", "seven").code == 1


def test_docs(run, tmp_path):
    page = run("resolver", "docs", "TailLatencyModel").out
    assert page.startswith("# TailLatencyModel") and "\\begin{aligned}" in page and "```sh run" in page
    folder = tmp_path / "pages"
    assert run("resolver", "docs", "--write", str(folder)).code == 0
    assert run("resolver", "docs", "--check", str(folder)).code == 0
    (folder / "TailLatencyModel.md").write_text("old")
    stale = run("resolver", "docs", "--check", str(folder))
    assert stale.code == 1 and "TailLatencyModel.md" in stale.err
