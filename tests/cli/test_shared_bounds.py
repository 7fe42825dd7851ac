"""Branch and bound of tasks that have nothing in common but a folder: they read the best value from each other's states."""

import json
import re
import subprocess

import pytest
from conftest import PROGRAM, call, sealed

SEARCH = ("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--load", "burst", "--threads", "1", "--axis", "batch_size=1..128",
          "--axis", "seq_len=1..2048", "--axis", "kwh_price=0.05 USD/kWh..0.3 USD/kWh:16", "--minimize", "cost_per_token",
          "--subject-to", "ttft <= 2 s", "--strategy", "branch-and-bound")


def worker(part, parts, folder, *more):
    done = call(*SEARCH, "--shard", f"{part}/{parts}", "--state", folder / "part-{shard}.json", *more)
    assert done.code == 0, done.err
    return done


def merged(folder, *more):
    done = call("merge", *folder.glob("part-*.json"), *more)
    boxes, points = re.search(r"workers bounded (\d+) boxes and evaluated (\d+) points", done.err).groups()
    return done, int(boxes), int(points)


def test_the_answer_is_that_of_one_whatever_the_number_and_order_of_workers(tmp_path):
    alone = call(*SEARCH, "-o", "json").json()
    assert alone["exactness"] == "proven"
    answers = set()
    for name, order in {"one": [1], "two": [2, 1], "four": [3, 1, 4, 2]}.items():
        (tmp_path / name).mkdir()
        for part in order:
            worker(part, len(order), tmp_path / name)
        done, *_ = merged(tmp_path / name, "-o", "json")
        answers.add(done.out)
    assert len(answers) == 1
    answer = json.loads(answers.pop())
    assert answer["best"] == alone["best"] and answer["exactness"] == "proven"


def test_workers_at_the_same_time_have_the_same_answer(tmp_path):
    (tmp_path / "together").mkdir()
    running = [subprocess.Popen([PROGRAM, *SEARCH, "--shard", f"{part}/3", "--state", tmp_path / "together/part-{shard}.json"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for part in (1, 2, 3)]
    for one in running:
        assert one.wait() == 0, one.stderr.read()
    (tmp_path / "one").mkdir()
    worker(1, 1, tmp_path / "one")
    assert merged(tmp_path / "together")[0].out == merged(tmp_path / "one")[0].out


def test_what_is_shared_saves_points(tmp_path):
    """Four workers one after the other, in one folder and in four: those that know of the others look at less."""
    points = {}
    for name, folders in {"shared": ["all"] * 4, "apart": ["1", "2", "3", "4"]}.items():
        for part, folder in enumerate(folders, 1):
            (tmp_path / name / folder).mkdir(parents=True, exist_ok=True)
            worker(part, 4, tmp_path / name / folder)
        states = [json.loads(path.read_text())["found"] for path in (tmp_path / name).glob("*/part-*.json")]
        assert len(states) == 4 and all(state["proven"] for state in states)
        points[name] = sum(state["evaluated"] for state in states)
    assert points["shared"] < 0.6 * points["apart"]


def test_a_worker_that_was_killed_is_seen_and_begins_again(tmp_path):
    for part in (1, 2):
        worker(part, 2, tmp_path)
    whole = merged(tmp_path)[0].out
    # What a worker leaves behind that is killed after it has found something.
    state = json.loads((tmp_path / "part-2.json").read_text())
    del state["length"], state["crc32"]
    state["found"]["proven"] = False
    (tmp_path / "part-2.json").write_text(sealed(state))
    done = call("merge", *tmp_path.glob("part-*.json"))
    assert done.code == 1 and "mlsysim.cli.168" in done.err and "not finished" in done.err
    assert call(*SEARCH, "--shard", "2/2", "--state", tmp_path / "part-{shard}.json").code == 1  # the file exists
    worker(2, 2, tmp_path, "--resume")
    assert merged(tmp_path)[0].out == whole
    before = (tmp_path / "part-2.json").read_bytes()
    worker(2, 2, tmp_path, "--resume")  # finished: nothing is computed again
    assert (tmp_path / "part-2.json").read_bytes() == before


def test_what_cannot_be_shared_is_refused(tmp_path, refused):
    refused(*SEARCH, "--shard", "1/2", parts=("cli.167", "{shard}"))
    refused(*SEARCH, "--shard", "1/2", "--state", tmp_path / "one.json", parts=("cli.167", "one.json"))
    refused(*SEARCH, "--top", "2", "--shard", "1/2", "--state", tmp_path / "part-{shard}.json", parts=("workers cannot share bounds",))
    for part in (1, 2):
        worker(part, 2, tmp_path, "--force")
    refused("merge", tmp_path / "part-1.json", parts=("cli.168", "is missing"))
    refused("merge", tmp_path / "part-1.json", tmp_path / "part-1.json", parts=("cli.168", "twice"))
    # Another question in the same folder.
    refused(*SEARCH, "--subject-to", "itl <= 30 ms", "--shard", "2/2", "--state", tmp_path / "part-{shard}.json", "--force", parts=("cli.166", "part-1.json"))
    # A state of the exhaustive search among them.
    assert call(*SEARCH[:5], "--axis", "batch_size=1..4", "--minimize", "itl", "--state", tmp_path / "points.json").code == 0
    refused("merge", tmp_path / "part-1.json", tmp_path / "points.json", parts=("no state of a search",))


@pytest.mark.parametrize("text", ["", "x", "1.5z", "nan"])
def test_values_that_are_none_are_refused(tmp_path, refused, text):
    worker(1, 1, tmp_path)
    state = json.loads((tmp_path / "part-1.json").read_text())
    del state["length"], state["crc32"]
    state["found"]["value"] = text
    (tmp_path / "part-1.json").write_text(sealed(state))
    refused("merge", tmp_path / "part-1.json", parts=("no state of a search",))
