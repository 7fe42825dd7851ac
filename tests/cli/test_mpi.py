"""Ranks of mpirun that share a search: --mpi. Skipped where MPI is not here, or does not start a program of its own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import zlib

import pytest
from conftest import PROGRAM, SLOWER, call, sealed

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None or not pathlib.Path(PROGRAM).with_name("mlsysim-mpi.so").exists(),
                                reason="no mpirun, or no component for MPI: apt-get install openmpi-bin libopenmpi-dev, and build")

SCENARIO = ("Llama3_70B", "H100", "--accelerators", "8", "--threads", "1")
AXES = ("--axis", "batch_size=1..300", "--axis", "tp_size=1,2,4,8")
COST = ("--minimize", "cost_per_token", "--subject-to", "itl <= 30 ms", "--show", "itl")

# A program that is all MPI and nothing of ours.
HELLO = """
#include <mpi.h>
int main(int count, char **words) { MPI_Init(&count, &words); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }
"""


def mpirun(ranks, *command, **how):
    """All ranks are on this machine: no remote shell is looked for, and no other run's folder in /tmp is shared."""
    words = ["mpirun", "-n", str(ranks), "--oversubscribe", "--allow-run-as-root", *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=120 * SLOWER, env={**os.environ, **SETTINGS}, stdin=subprocess.DEVNULL, **how)


SETTINGS = {"OMPI_MCA_plm": "isolated", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            # Components of Open MPI keep memory and are unloaded: their leaks have no names that could be told apart from ours.
            "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.fixture(scope="module", autouse=True)
def mpi_that_starts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpi")
    SETTINGS["OMPI_MCA_orte_tmpdir_base"] = str(folder)
    (folder / "hello.c").write_text(HELLO)
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc: apt-get install libopenmpi-dev")
    built = subprocess.run(["mpicc", "-o", folder / "hello", folder / "hello.c"], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        pytest.skip("mpicc does not build: " + built.stderr[-400:])
    try:
        done = mpirun(4, str(folder / "hello"))
    except subprocess.TimeoutExpired:
        pytest.skip("mpirun does not end here, even with a program that only greets")
    if done.returncode != 0:
        pytest.skip("mpirun does not start a program of its own here: " + done.stderr[-400:])


def on_ranks(ranks, *words):
    return mpirun(ranks, PROGRAM, *map(str, words), "--mpi")


@pytest.mark.parametrize("words", [
    ("optimize", *SCENARIO, *AXES, *COST, "-o", "json"),
    ("optimize", *SCENARIO, *AXES, *COST, "--top", "3", "--histogram", "itl", "-o", "json"),
    ("pareto", *SCENARIO, *AXES, "--minimize", "itl", "--minimize", "cost_per_token", "-o", "csv"),
    ("optimize", *SCENARIO, *AXES, "--minimize", "itl", "--subject-to", "itl <= 1 us", "-o", "json")])
def test_the_same_bytes_for_any_number_of_ranks(words):
    alone = call(*words, "--strategy", "exhaustive")
    for ranks in (1, 2, 4):
        both = on_ranks(ranks, *words)
        assert both.stdout == alone.out, both.stderr
        assert (both.returncode == 0) == (alone.code == 0)


def test_shared_bounds_give_the_same_answer_for_any_number_of_ranks():
    words = ("optimize", *SCENARIO, "--axis", "batch_size=1..3000", "--axis", "seq_len=1..500", *COST, "--strategy", "branch-and-bound", "-o", "json")
    answers = [on_ranks(ranks, *words) for ranks in (1, 2, 3)]
    assert answers[0].stdout and len({a.stdout for a in answers}) == 1, answers[0].stderr
    alone = call(*words).json()
    assert f'"index": {alone["best"][0]["index"]}' in answers[0].stdout and alone["exactness"] == "proven"
    for answer in answers:
        assert re.search(r"ranks bounded \d+ boxes", answer.stderr), answer.stderr


@pytest.mark.parametrize("words", [
    ("itl,cost_per_token", "--samples", "1003", "-o", "json"),
    ("itl", "--given-only", "--uncertain", "hardware.efficiency.memory = +-5 %", "--with", "hardware=H200", "--samples", "333")])
def test_samples_of_ranks_give_the_bytes_of_one_process(words):
    question = ("uncertainty", *SCENARIO[:4], *words)
    alone = call(*question)
    assert alone.code == 0, alone.err
    for ranks in (1, 2, 4) if "--with" in words else (4,):
        both = on_ranks(ranks, *question)
        assert both.stdout == alone.out and both.returncode == 0, both.stderr


@pytest.mark.parametrize("ending, numbers", [("csv", (1, 2, 4)), ("jsonl", (3,))])
def test_rank_0_writes_the_rows_of_all_in_order(tmp_path, ending, numbers):
    question = ("sweep", *SCENARIO, *AXES, "--show", "itl,ttft", "--rows")
    alone = tmp_path / f"alone.{ending}"
    assert call(*question, alone).code == 0
    for ranks in numbers:
        both = on_ranks(ranks, *question, tmp_path / f"{ranks}.{ending}")
        assert both.returncode == 0 and both.stdout.startswith("1200 rows in "), both.stderr
        assert (tmp_path / f"{ranks}.{ending}").read_bytes() == alone.read_bytes()


def test_rows_are_gone_on_with_on_any_number_of_ranks(tmp_path):
    """What one process left behind, cut after its first mark, is finished by three ranks."""
    question = ("sweep", *SCENARIO, *AXES, "--show", "itl", "--rows", tmp_path / "rows.csv", "--state", tmp_path / "state.json", "--resume")
    assert on_ranks(2, *question).returncode == 0
    whole, state = (tmp_path / "rows.csv").read_bytes(), json.loads((tmp_path / "state.json").read_text())
    cut = b"".join(whole.splitlines(keepends=True)[:778])
    state.update(next=777, marks=[[777, len(cut), zlib.crc32(cut)]])
    del state["length"], state["crc32"]
    (tmp_path / "state.json").write_text(sealed(state))
    (tmp_path / "rows.csv").write_bytes(cut + b"half a li")
    again = on_ranks(3, *question)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "rows.csv").read_bytes() == whole


def test_what_ranks_cannot_share_is_refused():
    for words in (("--state", "x.json"), ("--strategy", "evolutionary")):
        done = on_ranks(2, "optimize", *SCENARIO, *AXES, *COST, *words)
        assert done.returncode != 0 and "mlsysim.cli.164" in done.stderr and done.stdout == ""
    done = on_ranks(2, "sweep", *SCENARIO, *AXES)
    assert done.returncode != 0 and "mlsysim.cli.164" in done.stderr and "--rows" in done.stderr
    done = on_ranks(2, "optimize", "Llama3_70", "H100", *AXES, *COST)
    assert done.returncode != 0 and "rank" in done.stderr and "did you mean" in done.stderr


# Rank 1 ends once: at once, or where it first writes to a file.
ENDS = {"at the start": "kill -9 $$", "in the middle": "ulimit -f 0"}


@pytest.mark.parametrize("when", ENDS)
def test_a_rank_that_ends_is_said_and_the_run_goes_on_from_its_states(tmp_path, when):
    words = ("optimize", *SCENARIO, *AXES, *COST, "-o", "json", "--state", "part-{shard}.json", "--resume")
    script = tmp_path / "rank.sh"
    script.write_text(f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] && [ ! -e ended ] && : > ended && {ENDS[when]}\nexec "{PROGRAM}" "$@" --mpi\n')
    # What rank 0 had written before.
    assert call(*words[:-3], "--state", "part-1.json", "--shard", "1/2", cwd=tmp_path).code == 0
    ended = mpirun(2, "sh", str(script), *words, cwd=tmp_path)
    assert ended.returncode != 0 and ended.stdout == ""
    # How it is said is mpirun's: the rank and its signal, or that a process ended with a code that is not zero.
    assert re.search(r"signal|non-zero|rank 1", ended.stderr), ended.stderr
    again = mpirun(2, "sh", str(script), *words, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == call(*words[:-3], "--strategy", "exhaustive").out
