"""Optimize, pareto, sweep over axes, merge."""

import json
import os
import signal
import subprocess
import time

import pytest

from conftest import PROGRAM, ROOT, TIME_LIMIT_S, sealed


def test_the_memory_of_a_sweep_does_not_depend_on_the_length_of_a_range():
    def peak(length):
        process = subprocess.Popen([PROGRAM, "optimize", "Roofline", "work=100 GFLOP", "traffic=1 GB", "peak=1 TFLOP/s", "bandwidth=100 GB/s",
                                    "--axis", f"traffic=1 MB..100 GB:{length}log", "--minimize", "time / 1 s + 1 GB / traffic", "--top", "5",
                                    "--histogram", "time", "--strategy", "exhaustive", "--threads", "2"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss  # KiB

    assert peak(10_000_000) - peak(10_000) < 8 * 1024


SPACE = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..64*2", "--axis", "tp_size=2,4,8")


def test_optimize(run):
    answer = run("optimize", *SPACE, "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "--show", "ttft", "-o", "json").json()
    assert answer["total"] == 21 and answer["exactness"] == "enumerated"
    best = answer["best"][0]
    bounded = run("optimize", *SPACE, "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "--strategy", "branch-and-bound", "-o", "json").json()
    assert bounded["exactness"] == "proven" and bounded["best"][0]["index"] == best["index"] and bounded["certificate"]["boxes"] > 0
    assert "ttft" in best["shown"]


QUESTION = ("Llama3_8B", "H100", "--show", "itl", "-o", "json")


def rates_of(done):
    assert done.code == 0, done.err
    rows = done.json()["rows"]
    return [row.get("arrival_rate") or row["rate"] for row in rows], [row["itl"] for row in rows]


@pytest.mark.parametrize("words", [
    ["--rate", "1,2,4"],
    ["--rate", "1,2,4/s"],
    ["--rate", "1/s,2/s,4/s"],
    ["--axis", "arrival_rate=1/s,2/s,4/s"],
    ["--axis", "arrival_rate=1..4 request/s*2"],
    ["--axis", "rate=1,2,4 request/s"],
], ids=" ".join)
def test_rates_are_swept_as_options_take_them(run, words):
    """Nobody needs to state a rate beside the one that varies."""
    rates, times = rates_of(run("sweep", *QUESTION, *words))
    alone = [run("eval", "Llama3_8B", "H100", "--rate", f"{x}/s", "-o", "json").json()["p_itl"] for x in (1, 2, 4)]
    assert [float(str(rate).split()[0]) for rate in rates] == [1, 2, 4] and times == pytest.approx(alone)


def test_devices_are_swept_as_options_take_them(run):
    done = run("sweep", *QUESTION, "--accelerators", "1,2")
    assert [float(row["accelerators"]) for row in done.json()["rows"]] == [1, 2]
    assert "accelerators" not in run("sweep", *QUESTION, "--accelerators", "2").json()["rows"][0]


def test_a_unit_behind_the_last_value_is_that_of_all(run):
    rows = run("sweep", *QUESTION, "--axis", "power_cap=350..700 W*2").json()["rows"]
    assert len(rows) == 2 and rows == run("sweep", *QUESTION, "--axis", "power_cap=350 W,700 W").json()["rows"]


def test_a_rate_is_solved_without_one_that_is_stated(run):
    question = ("solve", "Llama3_8B", "H100", "p99_ttft <= 500 ms")
    alone = run(*question, "arrival_rate", "-o", "json").json()["value"]
    assert alone == run(*question, "arrival_rate", "--rate", "1/s", "-o", "json").json()["value"]
    assert alone == run(*question, "rate", "-o", "json").json()["value"]
    title = run(*question, "rate").out
    assert "random arrivals, 2048 tokens in, 128 tokens out" in " ".join(title.split())


def test_a_rate_that_is_given_is_no_objective(run):
    """All plans of 8 devices finish what arrives: the time of a request tells them apart."""
    question = ("optimize", "Llama3_70B", "H100", "--rate", "5/s", "--ttft", "p99 500 ms")
    done = run(*question, "--accelerators", "8")
    assert "no objective: request_latency" in done.err and "p99 TTFT <= 500 ms" in done.out
    assert "memory, or a plan" not in done.out and done.out.count("memory rejects") <= 1
    best = run(*question, "--accelerators", "8", "-o", "json").json()["best"][0]
    assert best["axes"]["tp_size, pp_size"] == "8 x 1"  # 4 x 1 finishes as many, 1.2 times as slowly
    assert "no objective: throughput_per_accelerator" in run(*question, "--axis", "accelerators=8,16").err
    front = run("pareto", "Llama3_70B", "H100", "--rate", "5/s", "--accelerators", "8")
    assert "no objective: ttft, itl" in front.err


def test_nothing_feasible_says_what_would_help(run):
    done = run("optimize", *SPACE, "--minimize", "itl", "--subject-to", "itl <= 1 ms")
    assert done.code == 2 and "excludes" in done.err and "instead of 1 ms admits" in done.out


def test_front(run):
    answer = run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token", "-o", "json").json()
    values = [tuple(p["objectives"].values()) for p in answer["front"]]
    assert len(values) > 3 and not any(a[0] <= b[0] and a[1] <= b[1] for a in values for b in values if a != b)
    assert run("pareto", *SPACE, "--minimize", "itl").code == 1


def test_shards_merge_to_the_bytes_of_one_run(run, tmp_path):
    question = ("optimize", *SPACE, "--minimize", "cost_per_token", "--top", "3", "--strategy", "exhaustive")
    whole = run(*question, "-o", "json").out
    files = [tmp_path / f"{k}.json" for k in (1, 2, 3)]
    for k, file in enumerate(files, 1):
        assert run(*question, "--shard", f"{k}/3", "--state", file).code in (0, 2)
    assert run("merge", files[2], files[0], files[1], "-o", "json").out == whole
    missing = run("merge", files[0], files[2])
    assert missing.code == 1 and "missing" in missing.err
    assert "exists" in run(*question, "--state", files[0]).err
    assert run(*question, "--shard", "1/3", "--state", files[0], "--resume").code in (0, 2)
    other = run("optimize", *SPACE, "--minimize", "itl", "--state", files[0], "--resume")
    assert other.code == 1 and "another" in other.err
    assert run("merge", tmp_path / "none.json").code == 1


def chips(tmp_path, **bandwidths):
    """A zoo file of devices that differ in their memory bandwidth."""
    file = tmp_path / "chips.yaml"
    file.write_text("schema: mlsysim/hardware@1\nentries:\n" + "".join(
        f"- name: {name}\n  title: {name}\n  source: {{kind: illustrative, ref: nvidia-a100-datasheet, recorded: 2026-11-21, note: Made up.}}\n"
        "  category: cloud\n  compute: {dense: {fp16: 500 TFLOP/s}, default_precision: fp16}\n"
        f"  memory: {{capacity: 96 GB, bandwidth: {bandwidth}}}\n  device_link: {{bandwidth: 300 GB/s}}\n"
        for name, bandwidth in bandwidths.items()))
    return {"MLSYSIM_ZOO_PATH": f"{ROOT / 'zoo'}:{file}"}


@pytest.mark.parametrize("words", [
    ("optimize", "Llama3_8B", "ChipA", "--axis", "hardware=ChipA,ChipB", "--axis", "batch_size=1,2", "--minimize", "itl"),
    ("optimize", "Llama3_8B", "ChipB", "--fidelity", "textbook", "--axis", "batch_size=1,2,4,8", "--minimize", "itl"),
    ("optimize", "SingleNodeModel", "workload=Llama3_8B", "hardware=ChipB", "--axis", "batch_size=1,2,4,8", "--minimize", "latency"),
], ids=["second device", "textbook", "resolver"])
def test_parts_from_different_zoos_do_not_merge(run, refused, tmp_path, words):
    whole = (*words, "--strategy", "exhaustive")
    before = chips(tmp_path, ChipA="2 TB/s", ChipB="3 TB/s")
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    for k, file in enumerate(files, 1):
        done = run(*whole, "--shard", f"{k}/2", "--state", file, env=before)
        assert done.code in (0, 2), done.err
    assert run("merge", *files, env=before).code == 0
    after = chips(tmp_path, ChipA="2 TB/s", ChipB="3.1 TB/s")
    refused("merge", *files, env=after, parts=("answers another question", "the zoo's figures"))
    refused(*whole, "--shard", "1/2", "--state", files[0], "--resume", env=after, parts=("answers another question",))


def test_a_named_configuration_may_not_change_between_parts(run, refused, tmp_path):
    setups = tmp_path / "setups.yaml"
    question = ("optimize", "Llama3_8B", "H100", "--axis", f"setup=@{setups}", "--axis", "batch_size=1,2", "--minimize", "itl")
    for k, precision in ((1, "fp16"), (2, "fp8")):
        setups.write_text(f"- {{name: usual, precision: int8}}\n- {{name: other, precision: {precision}}}\n")
        assert run(*question, "--shard", f"{k}/2", "--state", tmp_path / f"{k}.json").code == 0
    refused("merge", tmp_path / "1.json", tmp_path / "2.json", parts=("answers another question",))


def test_rows(run, tmp_path):
    file = tmp_path / "rows.csv"
    question = ("sweep", "Llama3_70B", "H100,H200", "--accelerators", "8", "--axis", "batch_size=1,2", "--show", "itl")
    assert run(*question, "--rows", file).code == 0
    lines = file.read_text().splitlines()
    assert lines[0] == "index,hardware,batch_size,feasible,itl [ms]" and len(lines) == 5 and lines[3].startswith("2,H200,1,1,")
    again = run(*question, "--rows", file)
    assert again.code == 1 and "exists" in again.err
    assert run(*question, "--rows", tmp_path / "rows.jsonl").code == 0
    assert '"hardware":"H100"' in (tmp_path / "rows.jsonl").read_text()
    table = run(*question, "-o", "csv").out.splitlines()
    assert len(table) == 5


# Twenty million points: long enough beside the start of a process for Ctrl-C to come into it.
LARGE = ("Llama3_70B", "H100", "--accelerators", "8", "--load", "burst", "--axis", "batch_size=1..2048", "--axis", "seq_len=512..8192+16", "--axis", "output_tokens=128..1408+64")


def interrupted(words, ready):
    """Runs the program and ends it with Ctrl-C as soon as `ready()` says so."""
    environment = {key: value for key, value in os.environ.items() if key != "MLSYSIM_ZOO_PATH"}
    process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + TIME_LIMIT_S
    while process.poll() is None and not ready():
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIME_LIMIT_S)
    return process.returncode, out, err


def interrupted_with_a_state(words, state, ready, rows=None):
    """The same until Ctrl-C came into the work. On a busy machine it may come before the first point, even before the program
    listens to it, or after the last: then it is tried again, with `ready(attempt, seconds)` free to wait longer or shorter."""
    for attempt in range(40):
        for file in (state, rows):
            if file is not None:
                file.unlink(missing_ok=True)
        start = time.monotonic()
        code, out, err = interrupted(words, lambda: ready(attempt, time.monotonic() - start))
        assert code in (0, 130, -signal.SIGINT), err
        if code == 130 and state.exists():
            document = json.loads(state.read_text())
            part = json.loads(document["state"]) if "state" in document else document
            if part["next"] > 0:
                return out, err
    raise AssertionError("Ctrl-C never left a state")


def test_a_search_that_was_interrupted_is_gone_on_with_to_the_same_bytes(run, tmp_path):
    state = tmp_path / "state.json"
    question = ("optimize", *LARGE, "--threads", "1", "--strategy", "exhaustive", "--minimize", "cost_per_token", "--top", "5",
                "--subject-to", "itl <= 30 ms", "--histogram", "itl")
    out, err = interrupted_with_a_state((*question, "--state", state), state, lambda attempt, s: s > (0.2, 0.1, 0.4, 0.8, 1.6)[attempt % 5])
    assert "interrupted" in err and "stopped after" in out
    part = json.loads(json.loads(state.read_text())["state"])
    assert 0 < part["next"] < part["last"], "Ctrl-C came before the first or after the last point"
    whole = run(*question, "-o", "json")
    again = run(*question, "--state", state, "--resume", "-o", "json")
    assert again.code == whole.code == 0 and again.out == whole.out
    assert run("merge", state, "-o", "json").out == whole.out


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_that_were_interrupted_are_gone_on_with_to_the_same_bytes(run, refused, tmp_path, ending):
    rows, state, whole = tmp_path / f"rows.{ending}", tmp_path / "rows.json", tmp_path / f"whole.{ending}"
    question = ("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--load", "burst", "--axis", "batch_size=1..512", "--axis", "seq_len=512..8192+8",
                "--show", "itl")
    written = (*question, "--rows", rows, "--state", state)
    out, err = interrupted_with_a_state(written, state, lambda attempt, s: rows.exists() and rows.stat().st_size > 1 << 17, rows)
    assert "interrupted" in err and " of 492032 rows" in out
    part = json.loads(state.read_text())
    assert 0 < part["next"] < 492032 and part["marks"][-1][1] == rows.stat().st_size
    refused(*question, "--rows", tmp_path / f"none.{ending}", "--state", state, "--resume", parts=("are not there", "no readable file"))
    refused(*question, "--show", "ttft", "--rows", rows, "--state", state, "--resume", parts=("answer another question",))
    refused(*question, "--shard", "1/2", "--rows", rows, "--state", state, "--resume", parts=("another shard",))
    refused("merge", state, parts=("no state of a search", "found", "mlsysim/rows@2"))
    with rows.open("a") as file:
        file.write("what a run that was killed wrote after its last state")
    done = run(*written, "--resume", "-o", "json")
    assert done.code == 0 and done.json()["rows"][0]["rows"] == 492032
    assert run(*question, "--rows", whole).code == 0
    assert rows.read_bytes() == whole.read_bytes()
    assert run(*written, "--resume").code == 0 and rows.read_bytes() == whole.read_bytes()


def test_threads_write_the_same_rows(run, tmp_path):
    question = ("sweep", "Llama3_8B", "H100,H200,A100", "--accelerators", "8", "--axis", "batch_size=1..9001", "--axis", "seq_len=512,700,2048",
                "--show", "itl", "--subject-to", "itl <= 8 ms")
    for ending in ("csv", "jsonl"):
        files = [tmp_path / f"{threads}.{ending}" for threads in (1, 2, 5)]
        for threads, file in zip((1, 2, 5), files):
            assert run(*question, "--threads", threads, "--rows", file).code == 0
        assert len({file.read_bytes() for file in files}) == 1
        lines = files[0].read_text().splitlines()
        assert len(lines) == 3 * 3 * 9001 + (ending == "csv") and "A100" in lines[-1]


def test_rows_of_shards_are_the_rows_of_one_run(run, tmp_path):
    question = ("sweep", "Llama3_70B", "H100,H200", "--accelerators", "8", "--axis", "batch_size=1..50", "--show", "itl")
    whole = tmp_path / "whole.csv"
    assert run(*question, "--rows", whole).code == 0
    head, *lines = whole.read_text().splitlines()
    parts = []
    for k in (1, 2, 3):
        file = tmp_path / f"{k}.csv"
        assert "3" in run(*question, "--rows", file, "--shard", f"{k}/3").out
        title, *part = file.read_text().splitlines()
        assert title == head and 33 <= len(part) <= 34
        parts += part
    assert parts == lines


def test_rows_refuse_what_they_would_drop(refused, tmp_path):
    file = tmp_path / "rows.csv"
    question = ("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1,2", "--show", "itl")
    for words, hint in ((["--minimize", "itl"], "the objective 'itl'"), (["--top", "3"], "--top 3"), (["--histogram", "itl"], "--histogram"),
                        (["--strategy", "branch-and-bound"], "--strategy branch-and-bound"), (["--shard", "3/2"], "k/n"), (["--resume"], "no --state")):
        refused(*question, "--rows", file, *words, parts=(hint,))
    refused("optimize", *question[1:], "--minimize", "itl", "--rows", file, parts=("optimize with --rows", "use sweep"))
    for name in ("rows.parquet", "rows", "rows.xlsx"):
        refused(*question, "--rows", tmp_path / name, parts=("format of the rows is not known", ".csv, .jsonl or .ndjson"))
    refused(*question, "--rows", "/dev/null", "--state", tmp_path / "s.json", "--overwrite", parts=("a device or pipe",))
    assert list(tmp_path.iterdir()) == []


def test_text_in_rows_is_quoted(run, tmp_path):
    (tmp_path / "setups.yaml").write_text("- {name: 'wide, \"8\"', tp_size: 8}\n- {name: narrow, tp_size: 2}\n")
    question = ("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", f"setup=@{tmp_path}/setups.yaml", "--show", "itl")
    for name in ("rows.csv", "rows.jsonl"):
        assert run(*question, "--rows", tmp_path / name).code == 0
    assert '0,"wide, ""8""",1,' in (tmp_path / "rows.csv").read_text()
    assert json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])["setup"] == 'wide, "8"'


def test_files_that_are_no_state_are_refused_and_kept(run, refused, tmp_path):
    question = ("optimize", *SPACE, "--minimize", "itl")
    good = tmp_path / "good.json"
    assert run(*question, "--state", good).code == 0
    text = good.read_text()
    inner = json.loads(text)
    damaged = {**inner, "state": inner["state"].replace('"reduction"', '"reduction of"')}
    del inner["length"], inner["crc32"]
    mine = tmp_path / "mine.json"
    for content, found in (('{"a": 1}\n', "JSON without a schema"), ("[1, 2]", "JSON without a schema"), ("not JSON", "text that is not JSON"), ("", "text that is not JSON"),
                           (text[:len(text) // 2], "only a part of it"), ('{"schema": 3}', "JSON without a schema"), ('{"schema": "mlsysim/rows@2"}', "mlsysim/rows@2"),
                           ('{"schema": "mlsysim/shard@2"}', "damaged"), (sealed({"schema": "mlsysim/shard@2"}), "no request"), (sealed({**inner, "state": 3}), "no state in it"),
                           (sealed(damaged), "is damaged")):
        mine.write_text(content)
        refused(*question, "--state", mine, "--resume", parts=(found,))
        assert mine.read_text() == content
        refused("merge", good, mine, parts=(found,))
    mine.write_text(sealed({**inner, "request": {"targets": 3}}))
    refused("merge", mine, parts=("no state of a search",))
    refused(*question, "--resume", parts=("--state FILE",))


def test_a_state_replaces_no_pipe_and_no_link(run, refused, tmp_path):
    question = ("optimize", *SPACE, "--minimize", "itl")
    pipe, folder, target, link = (tmp_path / name for name in ("pipe", "folder", "target.json", "link.json"))
    os.mkfifo(pipe)
    folder.mkdir()
    refused(*question, "--state", tmp_path / "none" / "s.json", parts=("a folder that is there",))
    for words in (["--overwrite"], ["--resume"]):
        refused(*question, "--state", pipe, *words, parts=("a pipe", "a regular file"))
        refused(*question, "--state", folder, *words, parts=("a folder", "a regular file"))
    assert pipe.is_fifo() and folder.is_dir()
    target.write_text("old")
    link.symlink_to(target)
    for words in (["--force"], ["--resume"], ["--overwrite", "--resume"]):
        refused(*question, "--state", link, *words, parts=("a link", "a regular file"))
    assert link.is_symlink() and target.read_text() == "old"


def test_a_strategy_that_was_named_is_not_replaced(run, refused, tmp_path):
    question = ("optimize", *SPACE, "--minimize", "itl")
    for words in (["--state", tmp_path / "s.json"], ["--top", "3"]):
        refused(*question, "--strategy", "branch-and-bound", *words, parts=("the branch-and-bound search cannot answer this", "exhaustive"))
    refused(*question, "--strategy", "branch-and-bound", "--shard", "1/2", parts=("workers that share the best value", "leave --strategy out"))
    assert list(tmp_path.iterdir()) == []
    done = run(*question, "--strategy", "automatic", "--state", tmp_path / "s.json", "-o", "json")
    assert done.json()["exactness"] == "enumerated" and done.json()["evaluated"] == 21


def test_options_of_a_search_count_without_an_axis(run):
    """Devices separated by commas are an axis."""
    question = ("sweep", "Llama3_8B", "H100,H200")
    answer = run(*question, "--minimize", "itl", "-o", "json").json()
    assert answer["schema"] == "mlsysim/exploration@1" and answer["best"][0]["axes"]["hardware"] == "H200"
    assert "token_throughput" in run(*question).out


def test_an_index_is_exact(run):
    question = ("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..400", "--axis", "seq_len=512..4096+8", "--minimize", "itl", "--top", "3")
    best = run(*question, "-o", "json").json()["best"]
    lines = run(*question).out.splitlines()
    largest = ("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..400", "--axis", "seq_len=512..4096+8", "--maximize", "itl", "--top", "3")
    indices = [p["index"] for p in run(*largest, "-o", "json").json()["best"]]
    assert min(indices) > 100000 and [line.split()[0] for line in run(*largest).out.splitlines()[1:4]] == [str(i) for i in indices]
    assert [line.split()[0] for line in lines[1:4]] == [str(p["index"]) for p in best]


def test_counts_are_not_rounded(run):
    assert " 131072 " in run("zoo", "list", "model").out
    words = ("Llama3_70B", "H100", "itl", "--accelerators", "8")
    width = "workload.stacks[0].feed_forward.dense.width"
    assert " 28672 " in run("sensitivity", *words, "--inputs", width).out
    [line] = [line for line in run("compare", *words, "--with", "workload=Llama3_8B", "--verbose").out.splitlines() if line.startswith(width + " ")]
    assert line.split()[1:3] == ["28672", "14336"]


def test_sizes_of_layers_in_axes_and_conditions(run):
    times = "workload.stacks[0].layers[0].times"
    question = ("optimize", "Llama3_8B", "H100", "--minimize", "itl", "-o", "json", "--axis")
    best = run(*question, f"{times}=8..64+8", "--subject-to", f"{times} >= 24").json()["best"][0]
    assert best["axes"][times] == "24"


def test_axes_from_files(run, tmp_path):
    (tmp_path / "sizes.yaml").write_text("[1, 2, 4]\n")
    (tmp_path / "setups.yaml").write_text("- {name: wide, tp_size: 8, precision: fp16}\n- {name: narrow, tp_size: 2, precision: fp8}\n")
    (tmp_path / "space.yaml").write_text("batch_size: 1..4*2\nhardware: [H100, H200]\n'tp_size, seq_len': [[2, 512], [4, 1024]]\n")
    base = ("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--minimize", "itl", "-o", "json")
    answer = run(*base, "--axis", f"batch_size=@{tmp_path}/sizes.yaml", "--axis", f"setup=@{tmp_path}/setups.yaml").json()
    assert answer["total"] == 6 and answer["axes"][0] == "setup" and answer["best"][0]["axes"]["setup"] in ("wide", "narrow")
    assert run(*base, "--axis", f"@{tmp_path}/space.yaml").json()["total"] == 12
    (tmp_path / "bad.yaml").write_text("batch_size:\n  - 1\n  - 2 GX/s\n")
    bad = run(*base, "--axis", f"@{tmp_path}/bad.yaml")
    assert bad.code == 1 and "bad.yaml:3:" in bad.err
    missing = run(*base, "--axis", f"batch_size=@{tmp_path}/none.yaml")
    assert missing.code == 1 and "none.yaml" in missing.err


BOX = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "hardware.memory.bandwidth=1 TB/s..8 TB/s:9", "--axis", "tp_size=4,8",
       "--minimize", "hardware.memory.bandwidth", "--subject-to", "itl <= 14 ms")


def test_gradient(run):
    answer = run("optimize", *BOX, "--strategy", "gradient", "-o", "json")
    if "this build has no gradient search" in answer.err:
        assert answer.code == 1 and "libnlopt-dev" in answer.err
        return
    best = answer.json()["best"][0]
    grid = run("optimize", *BOX, "--strategy", "exhaustive", "-o", "json").json()["best"][0]
    value = "hardware.memory.bandwidth"
    assert best["between"] and best["objectives"][value] <= grid["objectives"][value]
    assert answer.json()["exactness"] == "heuristic" and "NLopt" in answer.json()["method"]
    solved = run("solve", "Llama3_70B", "H100", "itl <= 14 ms", value, "--accelerators", "8", "--tp-size", "8", "-o", "json").json()
    assert best["objectives"][value] == pytest.approx(solved["value"], rel=1e-6)
    bad = run("optimize", *SPACE, "--minimize", "itl", "--strategy", "gradient")
    assert bad.code == 1 and "no axis is over a continuous number" in bad.err


def test_evolutionary(run):
    question = ("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..512", "--axis", "seq_len=512..4096+8",
                "--axis", "tp_size=2,4,8", "--minimize", "cost_per_token", "--subject-to", "itl <= 12 ms", "-o", "json")
    answer = run(*question, "--strategy", "evolutionary", "--evaluations", "4000")
    if "this build has no evolutionary search" in answer.err:
        assert answer.code == 1 and "libpagmo-dev" in answer.err
        return
    best = run(*question, "--strategy", "branch-and-bound").json()["best"][0]["objectives"]["cost_per_token"]
    found = answer.json()["best"][0]["objectives"]["cost_per_token"]
    assert best <= found * (1 + 1e-12) and found <= best * 1.05
    assert run(*question, "--strategy", "evolutionary", "--evaluations", "4000").out == answer.out
    assert run(*question, "--strategy", "evolutionery").code == 1


def test_a_front_has_a_hypervolume(run):
    answer = run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token", "-o", "json").json()
    volume = answer["hypervolume"]
    points = sorted((p["objectives"]["itl"], p["objectives"]["cost_per_token"]) for p in answer["front"])
    low, high = volume["ideal"], volume["reference"]
    area = sum((b[0] - a[0]) * (high[1] - a[1]) for a, b in zip(points, points[1:])) + (high[0] - points[-1][0]) * (high[1] - points[-1][1])
    assert volume["relative"] == pytest.approx(area / ((high[0] - low[0]) * (high[1] - low[1])), rel=1e-9)
    assert "hypervolume" in run("pareto", *SPACE, "--minimize", "itl", "--minimize", "cost_per_token").out


def test_constraints_that_contradict_each_other(run):
    question = ("optimize", *SPACE, "--minimize", "itl", "--subject-to", "batch_size >= 64", "--subject-to", "itl <= 12 ms")
    answer = run(*question, "-o", "json")
    assert answer.code == 2 and answer.json()["conflict"]["constraints"] == ["batch_size >= 64", "itl <= 12 ms"]
    assert "without any one of them" in run(*question).out
    never = run("optimize", *SPACE, "--minimize", "itl", "--subject-to", "batch_size >= 2", "--subject-to", "batch_size <= 1")
    assert never.code == 2 and "'batch_size >= 2', 'batch_size <= 1'" in never.out


def test_full_disk(run):
    done = run("sweep", "Llama3_70B", "H100", "--axis", "batch_size=1..20000", "--show", "itl", "--rows", "/dev/full", "--overwrite")
    assert done.code == 1 and "cannot be written" in done.err


def test_questions_that_do_not_read(run):
    for words, hint in ((["--axis", "batch_size=", "--minimize", "itl"], "empty"), (["--axis", "batchsize=1,2", "--minimize", "itl"], "batchsize"),
                        (["--axis", "batch_size=1,2", "--minimize", "itll"], "did you mean 'itl'"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "ttft <= 4"], "unit"),
                        (["--axis", "batch_size=1..1e30", "--minimize", "itl"], "1e+15"),
                        (["--axis", "batch_size=1..1e5", "--axis", "seq_len=1..1e5", "--axis", "hardware.memory.bandwidth=1 TB/s..8 TB/s:100000",
                          "--axis", "hardware.compute.dense=1 PFLOP/s..8 PFLOP/s:100000", "--minimize", "itl"], "too many points"),
                        (["--axis", "batch_size=nan..4", "--minimize", "itl"], "nan"),
                        (["--axis", "batch_size=1 GB,2 GB", "--minimize", "itl"], "unit"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "itl"], "compares two values"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--subject-to", "itl <= 4 ms <= 5 ms"], "does not end here"),
                        (["--axis", "batch_size=1,2", "--minimize", "itl", "--shard", "5/4"], "k/n")):
        bad = run("optimize", "Llama3_70B", "H100", *words)
        assert bad.code == 1 and hint in bad.err, bad.err


def test_compare(run):
    answer = run("compare", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--with", "hardware=H200", "-o", "json").json()
    assert answer["terms"][0]["input"] == "hardware.memory.bandwidth"
    assert sum(t["part"] for t in answer["terms"]) == pytest.approx(answer["at_to"] - answer["at_from"], rel=1e-9)
    assert "add up to" in run("compare", "Llama3_70B", "H100", "itl", "--with", "precision=fp8").out
    assert run("compare", "Llama3_70B", "H100", "itl").code == 1
    assert "precision" in run("compare", "Llama3_70B", "H100", "itl", "--with", "precsion=fp8").err


def test_uncertainty(run):
    question = ("uncertainty", "Llama3_70B", "H100", "itl,cost_per_token", "--accelerators", "8", "--uncertain", "hardware.efficiency.memory = +-5 %",
                "--uncertain", "hardware.kernels.launch = triangular 1 us..4 us")
    answer = run(*question, "-o", "json")
    row = answer.json()["results"][0]
    assert row["low"] < row["median"] < row["high"] and row["outer_bounds"][0] <= row["low"]
    assert run(*question, "-o", "json").out == answer.out
    ranked = run(*question, "--with", "hardware=H200")
    assert "probability" in ranked.out and ranked.code == 0
    ranking = run(*question, "--with", "hardware=H200", "-o", "json").json()["ranking"]
    assert 0 <= ranking["probability_below"] <= 1 and ranking["flips"] <= ranking["probability_below"]
    bad = run("uncertainty", "Llama3_70B", "H100", "itl", "--uncertain", "hardware.kernels.launch = normal")
    assert bad.code == 1 and "no parameters" in bad.err


def test_uncertainty_of_the_zoo_itself(run):
    answer = run("uncertainty", "Llama3_70B", "H100", "cost_per_token", "--accelerators", "8", "--samples", "256", "-o", "json").json()
    sources = {a["name"]: a["source"] for a in answer["assumptions"]}
    assert "H100 unit_cost" in sources["unit_cost"] and set(answer["figures"]) <= set(sources)
    assert answer["results"][0]["low"] < answer["results"][0]["high"]
    alone = run("uncertainty", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--given-only", "--uncertain", "hardware.kernels.launch = +-5 %", "-o", "json").json()
    assert alone["figures"] == ["hardware.kernels.launch"] and alone["assumptions"] == []
    nothing = run("uncertainty", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--given-only")
    assert nothing.code == 1 and "nothing is uncertain" in nothing.err


def test_compare_with_nothing_says_what_is_wanted(refused):
    refused("compare", parts=("there is nothing to compare", "found no words, and 0 times --against",
                              "expected MODEL HARDWARE RESULT, or --against with a file of measurements",
                              "mlsysim compare --help"))


@pytest.mark.parametrize("order", ["GB300,TPUv7,H100", "TPUv7,H100,GB300", "H100,GB300,TPUv7"])
def test_a_search_takes_no_unknown_price_for_nothing(run, order):
    answer = run("optimize", "Llama3_8B", "H100", "--axis", f"hardware={order}", "--minimize", "cost_per_token", "-o", "json").json()
    assert [p["axes"]["hardware"] for p in answer["best"]] == ["H100"] and answer["skipped"] == 2
    reasons = " ".join(answer["skip_reasons"])
    assert "the price of GB300 is not known; unit_cost gives one" in reasons and "no TDP is known for TPUv7" in reasons
    priced = run("optimize", "Llama3_8B", "H100", "--axis", f"hardware={order}", "--axis", "unit_cost=30000 USD,60000 USD",
                 "--minimize", "cost_per_token", "-o", "json").json()
    assert priced["skipped"] == 2  # two prices on the device without a TDP


def test_a_single_question_says_what_its_device_lacks(refused):
    refused("sensitivity", "Llama3_8B", "GB300", "cost_per_token", parts=["has no 'cost_per_token'", "the price of GB300 is not known"])
    refused("sensitivity", "Llama3_8B", "TPUv7", "tco", "--fidelity", "textbook", parts=["has no 'tco'", "no TDP is known for TPUv7"])


def test_a_histogram_needs_no_objective(run):
    words = ["sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..64", "--histogram", "itl", "--show", "ttft", "-o", "json"]
    plain, best = run(*words).json(), run(*words, "--minimize", "itl").json()
    assert plain["histogram"]["bins"] == best["histogram"]["bins"] and sum(b["points"] for b in plain["histogram"]["bins"]) == 64


def test_solve_keeps_to_what_fits(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 100 ms", "batch_size", "--accelerators", "8", "--load", "burst")
    assert done.code == 0 and "1305 meets the condition as well, but does not fit" in done.out
    answer = run("solve", "Llama3_70B", "H100", "itl <= 100 ms", "batch_size", "--accelerators", "8", "--load", "burst", "-o", "json").json()
    largest = int(answer["value"])
    assert "1305" in answer["memory"] and f"{largest} meets the condition and fits, {largest + 1} does not" in answer["verification"]
    assert run("eval", "Llama3_70B", "H100", "--accelerators", "8", "--burst", str(largest)).code == 0
    assert run("eval", "Llama3_70B", "H100", "--accelerators", "8", "--burst", str(largest + 1)).code == 2


def test_a_question_without_a_result_asks_for_the_main_one(run):
    asked = run("sensitivity", "Llama3_8B", "H100", "-o", "json").json()
    assert asked == run("sensitivity", "Llama3_8B", "H100", "itl", "-o", "json").json()
    step = run("sensitivity", "Llama3_8B", "H100", "--mode", "train", "--accelerators", "8", "--batch-size", "64", "-o", "json")
    assert step.code == 0 and step.json()["result"] == "step_latency"
    wait = run("sensitivity", "TailLatencyModel", "arrival_rate=10 request/s", "service_latency=50 ms")
    assert wait.code == 0


def test_compare_takes_a_figure_as_sweep_does(run):
    faster = run("compare", "Llama3_8B", "H100", "--with", "hardware.memory.bandwidth=6.7 TB/s", "-o", "json").json()
    named = run("compare", "Llama3_8B", "H100", "itl", "--with", "hardware.memory.bandwidth=6.7 TB/s", "-o", "json").json()
    assert faster["at_to"] == named["at_to"] < faster["at_from"]
    wrong = run("compare", "Llama3_8B", "H100", "--with", "hardware.memory.bandwidth=6.7 s")
    assert wrong.code == 1 and "wrong unit" in wrong.err


def test_sweep_takes_a_resolver_as_optimize_does(run):
    rows = run("sweep", "ServingModel", "workload=Llama3_8B", "hardware=H100", "--axis", "tp_size=1,2,4", "--show", "itl", "-o", "csv")
    assert rows.code == 0 and len(rows.out.strip().splitlines()) == 4


def test_inputs_of_a_resolver_beside_the_scorecard(run):
    beside = run("eval", "Llama3_8B", "H100", "--also", "EconomicsModel(duration_days=10), TailLatencyModel(arrival_rate=2 request/s, service_latency=10 ms)")
    assert beside.code == 0 and "TailLatencyModel" in beside.out
    unknown = run("eval", "Llama3_8B", "H100", "--also", "EconomicsModel(duration_day=10)")
    assert unknown.code == 1 and "duration_days" in unknown.err
    open_bracket = run("eval", "Llama3_8B", "H100", "--also", "EconomicsModel(duration_days=10")
    assert open_bracket.code == 1 and "bracket that is closed" in open_bracket.err


def test_a_sweep_that_names_no_result_shows_the_usual_ones(run):
    rows = run("sweep", "Llama3_8B", "H100", "--axis", "batch_size=1,2", "-o", "json").json()["rows"]
    single = run("eval", "Llama3_8B", "H100", "-o", "json").json()
    assert rows[0]["itl"] == pytest.approx(single["p_itl"])
    assert {"ttft", "token_throughput", "mfu"} <= rows[0].keys()
    of_resolver = run("sweep", "ReliabilityModel", "fleet=Research_256", "job_duration=20 h", "--axis", "spare_nodes=0,1")
    assert "fleet_mtbf" in of_resolver.out


def test_a_model_file_is_no_plan(run):
    config = ROOT / "tests/data/model_files/configs/meta-llama--Llama-2-7b-chat-hf.json"
    for question in (("sensitivity", config, "H100"), ("compare", config, "H100", "--with", "hardware=H200")):
        assert run(*question, "-o", "json").code == 0, question
        assert run(*question[:3], "itl", *question[3:], "-o", "json").code == 0, question


def test_an_input_that_can_take_one_value_has_no_slope(run):
    # Of a prompt of one token nothing is cached: the range of that input is one point, and its slope is not a number.
    done = run("sensitivity", "OPT_66B", "A10", "itl", "--batch-size", "4", "--seq-len", "1", "--output-tokens", "2", "-o", "json")
    assert done.code == 0, done.err
    lever = next(row for row in done.json()["levers"] if row["input"] == "cached_prefix_len")
    assert lever["elasticity_up"] == 0 and lever["lower"] == lever["upper"] == 0
