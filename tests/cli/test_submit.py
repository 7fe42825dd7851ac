"""mlsysim submit and --shard auto: job arrays, by a scheduler that stands in for Slurm."""

import os
import pathlib
import shutil
import stat
import subprocess

import pytest

SEARCH = ["optimize", "Llama3_70B", "H100", "--accelerators", "8", "--load", "burst", "--axis", "batch_size=1..40", "--axis", "tp_size=4,8",
          "--minimize", "cost_per_token", "--subject-to", "itl <= 30 ms", "--strategy", "exhaustive"]

# Runs each task of an array one after the other, the second one twice as after a requeue, and other jobs at once.
SBATCH = """#!/bin/sh
array= ; while [ $# -gt 0 ]; do case "$1" in --array=*) array=${1#*=};; --*) ;; *) break;; esac; shift; done
echo 7
[ -z "$array" ] && exec sh "$@" >&2
last=${array#*-}
for k in $(seq 1 "$last") 2; do
  SLURM_ARRAY_TASK_ID=$k SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=$last sh "$@" >&2
done
"""


def test_the_script_gives_the_answer_of_one_run(run, tmp_path):
    alone = run(*SEARCH, "-o", "json")
    script = run("submit", "--slurm", "--shards", "3", "--folder", tmp_path / "a b", "--", *SEARCH, "-o", "json")
    assert script.code == 0, script.err
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sbatch").write_text(SBATCH)
    (folder / "sbatch").chmod(stat.S_IRWXU)
    (folder / "mlsysim").symlink_to(pathlib.Path(os.environ["MLSYSIM_PROGRAM"]).resolve())
    done = subprocess.run(["sh"], input=script.out, text=True, capture_output=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    text = run(*[w for w in SEARCH]).out.splitlines()
    merged = (tmp_path / "a b" / "answer.txt").read_text().splitlines()
    timeless = [line for line in text if "points/s" not in line and " s " not in line]
    assert [line for line in merged if line in timeless] == timeless
    assert alone.code == 0


@pytest.mark.parametrize("variables", [
    {"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4"},
    {"AWS_BATCH_JOB_ARRAY_INDEX": "2", "AWS_BATCH_JOB_ARRAY_SIZE": "4"},
    {"JOB_COMPLETION_INDEX": "2"},
    {"PBS_ARRAY_INDEX": "3"},
    {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"},
    {"PMI_RANK": "2", "PMI_SIZE": "4"},
])
def test_the_task_is_told_by_its_variables(run, variables):
    known = any(name.endswith(("COUNT", "SIZE")) for name in variables)
    part = run(*SEARCH, "-o", "json", "--shard", "auto" if known else "auto/4", env=variables)
    assert part.code == 0, part.err
    third = run(*SEARCH, "-o", "json", "--shard", "3/4")
    assert part.json() == third.json()


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_of_mpirun_are_shards(run, tmp_path, ranks):
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed: apt-get install openmpi-bin")
    words = [os.environ["MLSYSIM_PROGRAM"], *SEARCH, "-o", "json"]
    subprocess.run(["mpirun", "-n", str(ranks), "--oversubscribe", "--allow-run-as-root", *words, "--shard", "auto", "--state",
                    tmp_path / "part-{shard}.json"], check=True, capture_output=True)
    parts = sorted(tmp_path.iterdir())
    assert len(parts) == ranks
    assert run("merge", *parts, "-o", "json").json() == run(*SEARCH, "-o", "json").json()


def test_what_is_not_told_is_refused(refused):
    refused(*SEARCH, "--shard", "auto", parts=["mlsysim.cli.112", "no variable of Slurm"])
    refused(*SEARCH, "--shard", "auto", env={"JOB_COMPLETION_INDEX": "1"}, parts=["mlsysim.cli.112", "auto/COUNT"])
    refused(*SEARCH, "--shard", "auto", env={"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_COUNT": "4"}, parts=["mlsysim.cli.112"])
    refused("submit", "--slurm", "--shards", "2", "--", "eval", "Llama3_8B", "H100", parts=["mlsysim.cli.113"])
    refused("submit", "--slurm", "--shards", "2", "--", *SEARCH, "--shard", "1/2", parts=["mlsysim.cli.113", "--shard"])
