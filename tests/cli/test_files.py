"""Files that the program reads and writes: nothing is waited for, nothing of others is lost, what is damaged is named."""

import json
import os
import pathlib
import signal
import sqlite3
import stat
import subprocess
import time

import pytest
from conftest import PROGRAM, ROOT, TIME_LIMIT_S

SPACE = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..64", "--axis", "seq_len=512,1024,2048")
LARGE = ("Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..512", "--axis", "hardware.memory.bandwidth=1 TB/s..8 TB/s:961")
TABLES = ROOT / "zoo" / "validation"


@pytest.fixture
def odd(tmp_path):
    """What is no regular file, by name, and one of the kernel that would be waited for."""
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe)
    found = [(pipe, "pipe"), (link, "pipe"), ("/dev/zero", "device"), ("/dev/stdin", ""), (folder, "")]
    if os.access("/proc/kmsg", os.R_OK):
        found.append(("/proc/kmsg", "waited for"))
    return found


def test_what_is_no_file_is_refused_wherever_a_file_is_taken(run, odd):
    model = ("Llama3_8B", "H100")
    for path, kind in odd:
        for words in (("merge", path), ("compare", "--against", path, "--measurand", "matrix_product"), ("eval", path),
                      ("eval", path, "H100"), ("eval", "Llama3_8B", path), ("optimize", *model, "--axis", f"batch_size=@{path}", "--minimize", "itl"),
                      ("optimize", *model, "--axis", f"@{path}", "--minimize", "itl"), ("sweep", *model, "--axis", "batch_size=1,2", "--state", path, "--resume"),
                      ("calibrate", "--device", "H100", "--table", path)):
            done = run(*words)
            assert done.code == 1 and str(path) in done.err, (words, done.err)
    pipe = odd[0][0]
    for words in (("merge", pipe), ("compare", "--against", pipe, "--measurand", "matrix_product")):
        assert "a pipe" in run(*words).err


def test_records_of_a_compiler_and_histories_are_not_waited_for(run, odd, tmp_path):
    loop, large = tmp_path / "loop", tmp_path / "large"
    loop.symlink_to(loop)
    with large.open("wb") as file:
        file.truncate(1 << 40)  # of no bytes on the disk
    within = ("prlimit", "--cpu=5")
    for path, _ in (*odd, (loop, ""), (large, "")):
        for words in (("ci", "trend", "--history", path, "--metric", "itl"), ("ci", "prune", "--history", path, "--keep", "1"),
                      ("compile", "ingest", path), ("traffic", "show", path), ("program", "show", path)):
            if words[:2] == ("compile", "ingest") and os.path.isdir(path):
                continue  # a folder may hold records
            done = run(*words, before=within)
            assert done.code in (1, 2) and str(path) in done.err and "unexpected" not in done.err, (words, done.code, done.err)


def test_files_beyond_their_limit_are_refused_by_their_size(refused, tmp_path):
    """Sparse files, within less memory than they would take."""
    config = next((ROOT / "tests/data/model_files/configs").glob("*.json")).read_text()
    for folder in ("header", "index"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(config)
    (tmp_path / "index/model.safetensors.index.json").write_text('{"weight_map": {"a": "../header/model.safetensors"}}')
    sizes = {"config.json": (b"{", 64 << 20), "header/model.safetensors": (((100 << 20) + 1).to_bytes(8, "little"), 200 << 20), "a.mlir": (b"", 2 << 30),
             "a.state": (b"", 1 << 30), "a.yaml": (b"schema: mlsysim/hardware@1\n#", 16 << 20)}
    for name, (head, size) in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.write(head)
            file.truncate(size + 1)
    within = ("prlimit", "--cpu=10", f"--as={1 << 30}")
    for words, named in ((("import", tmp_path), "config.json"), (("import", tmp_path / "header"), "model.safetensors"),
                         (("import", tmp_path / "index"), "../header/model.safetensors"), (("program", "show", tmp_path / "a.mlir", "H100"), "a.mlir"),
                         (("merge", tmp_path / "a.state"), "a.state"), (("eval", "Llama3_8B", tmp_path / "a.yaml"), "a.yaml")):
        refused(*words, parts=[named, "expected"], before=within)


def test_a_history_whose_tables_are_statements_is_refused(run, tmp_path):
    """A view would run what its writer wants, without an end."""
    file = tmp_path / "history.sqlite"
    with sqlite3.connect(file) as history:
        history.execute("PRAGMA application_id = 1835823993")  # "mlsy"
        history.execute("CREATE VIEW metrics AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r) "
                        "SELECT id, 'itl' || id AS name, 's' AS unit FROM r")
    history.close()
    done = run("ci", "trend", "--history", file, "--metric", "itl", before=("prlimit", "--cpu=5"))
    assert done.code == 2 and "'metrics'" in done.err and "statements of its own" in done.err, done.err
    link, matrix = tmp_path / "link.sqlite", tmp_path / "matrix.yaml"
    link.symlink_to(tmp_path / "elsewhere")
    matrix.write_text('version: "1"\nmodels: [Llama3_8B]\nhardware: [H100]\nprecision: [bf16]\npipelines:\n  serve: {batch_size: 4}\nmetrics: {itl: {}}\n')
    done = run("ci", "run", matrix, "--no-baseline", "--history", link)
    assert done.code == 5 and "a link" in done.err and not (tmp_path / "elsewhere").exists(), (done.code, done.err)


def test_a_file_of_somebody_else_is_not_replaced(run, refused, tmp_path):
    mine, link = tmp_path / "thesis.html", tmp_path / "link.html"
    tables = ("validate", "kernels/deepbench_gemm_p100") if (TABLES / "kernels" / "deepbench_gemm_p100.yaml").exists() else ("validate", first_table(run))
    mine.write_text("years of work")
    link.symlink_to(mine)
    for option in ("--html", "--page", "--tables-page"):
        refused(*tables, option, mine, parts=("the file exists", "--force"))
        refused(*tables, option, link, "--force", parts=("a link",))
    assert mine.read_text() == "years of work"
    assert run(*tables, "--html", mine, "--force").code == 0 and "<html" in mine.read_text()
    assert run(*tables, "--html", mine).code == 0  # now it is its own
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.html", "thesis.html"]


def test_reports_and_pages_replace_only_their_own(run, refused, tmp_path):
    """What `ci run`, `compile ingest` and `resolver docs` wrote before is written anew; what somebody else wrote is not."""
    matrix, link = tmp_path / "matrix.yaml", tmp_path / "link"
    matrix.write_text('version: "1"\nmodels: [Llama3_8B]\nhardware: [H100]\nprecision: [bf16]\npipelines:\n  serve: {batch_size: 4}\nmetrics: {itl: {}}\n')
    forms = ("text", "markdown", "json", "csv", "junit", "html", "gitlab")
    words = [w for form in forms for w in ("--report", f"{form}={tmp_path / form}")]
    for _ in range(2):
        assert run("ci", "run", matrix, "--no-baseline", *words).code == 0
    assert (tmp_path / "gitlab").read_text() == "[]\n"  # nothing to tell, and its own
    link.symlink_to(tmp_path / "html")
    for form in forms:
        (tmp_path / form).write_text("years of work []")
        done = run("ci", "run", matrix, "--no-baseline", "--report", f"{form}={tmp_path / form}")
        assert done.code == 2 and "the file exists" in done.err and "--force" in done.err, (form, done.err)
        done = run("ci", "run", matrix, "--no-baseline", "--report", f"{form}={link}", "--force")
        assert done.code == 2 and "a link" in done.err, (form, done.err)
        assert (tmp_path / form).read_text() == "years of work []"
        assert run("ci", "run", matrix, "--no-baseline", "--report", f"{form}={tmp_path / form}", "--force").code == 0
        assert "years" not in (tmp_path / form).read_text()
    log, page, pages = ROOT / "tests/data/compile/tlparse_comp_failure.log", tmp_path / "page.html", tmp_path / "pages"
    for _ in range(2):
        assert run("compile", "ingest", log, "--html", page).code == 0
    page.write_text("years of work")
    refused("compile", "ingest", log, "--html", page, parts=("the file exists", "--force"))
    assert run("compile", "ingest", log, "--html", page, "--force").code == 0
    assert run("resolver", "docs", "--write", pages).code == 0
    one, other = sorted(pages.iterdir())[:2]
    one.write_text(one.read_text() + "more")
    assert run("resolver", "docs", "--write", pages).code == 0 and not one.read_text().endswith("more")
    other.write_text("years of work")
    refused("resolver", "docs", "--write", pages, parts=("the file exists", other.name))


def test_rows_wait_for_the_reader_of_a_pipe_but_not_for_ever(run, refused, tmp_path):
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    question = ("sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..4", "--show", "itl", "--rows", pipe)
    refused(*question, parts=("nobody reads this pipe", "start the program that reads it first"))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run(*question).code == 0
    assert os.read(reader, 1 << 16).count(b"\n") == 5
    os.close(reader)


def first_table(run):
    return run("validate", "--list", "-o", "json").json()["rows"][0]["table"]


def test_rows_and_states_replace_nothing_unasked_and_states_are_private(run, refused, tmp_path):
    rows, state, link = tmp_path / "rows.csv", tmp_path / "state.json", tmp_path / "link.csv"
    rows.write_text("years of work")
    link.symlink_to(rows)
    question = ("sweep", *SPACE, "--show", "itl")
    refused(*question, "--rows", rows, parts=("the file exists", "--force"))
    refused(*question, "--rows", link, "--force", parts=("a link",))
    refused(*question, "--rows", rows, "--state", state, parts=("the file exists",))
    refused(*question, "--rows", rows, "--state", rows, "--resume", parts=("no state",))
    assert rows.read_text() == "years of work" and not state.exists()
    second = tmp_path / "other name.csv"
    os.link(rows, second)
    assert run(*question, "--rows", rows, "--force", "--state", state).code == 0
    assert second.read_text() == "years of work" and rows.read_text().startswith("index,")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.csv", "other name.csv", "rows.csv", "state.json"]


def killed(words, ready):
    """The program, killed as soon as something has happened."""
    process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIME_LIMIT_S
    while process.poll() is None and not ready():
        assert time.monotonic() < end
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_killed_at_any_time_are_gone_on_with(run, tmp_path, ending):
    rows, state, whole = tmp_path / f"rows.{ending}", tmp_path / "state.json", tmp_path / f"whole.{ending}"
    question = ("sweep", *LARGE, "--show", "itl")
    assert run(*question, "--rows", whole).code == 0
    written = (*question, "--rows", rows, "--state", state)
    for ready in (state.exists, rows.exists, lambda: rows.exists() and rows.stat().st_size > 1 << 16):
        killed(written, ready)
        done = run(*written, "--resume")
        assert done.code == 0, done.err
        assert rows.read_bytes() == whole.read_bytes()
        for file in tmp_path.iterdir():
            if file != whole:
                file.unlink()


def test_a_search_leaves_a_state_before_its_first_ten_seconds(run, tmp_path):
    state = tmp_path / "state.json"
    question = ("optimize", *LARGE, "--threads", "1", "--strategy", "exhaustive", "--minimize", "itl", "--histogram", "itl")
    killed((*question, "--state", state), state.exists)
    again = run(*question, "--state", state, "--resume", "-o", "json")
    assert again.code == 0 and again.out == run(*question, "-o", "json").out


def test_every_change_of_a_state_is_noticed(run, refused, tmp_path):
    state, changed = tmp_path / "state.json", tmp_path / "changed.json"
    question = ("optimize", *SPACE, "--minimize", "itl", "--shard", "1/1")
    assert run(*question, "--state", state).code == 0
    text = state.read_text()
    digits = [i for i, c in enumerate(text) if c.isdigit()]
    for i in digits[:: max(1, len(digits) // 60)]:
        changed.write_text(text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1:])
        refused("merge", changed, parts=(changed.name,))
    changed.write_text(text[:-40])
    refused("merge", changed, parts=(changed.name,))
    before = json.loads(text)
    assert before["length"] < len(text)


def test_damaged_rows_are_named_and_what_is_intact_is_kept(run, refused, tmp_path):
    rows, state, whole = tmp_path / "rows.csv", tmp_path / "state.json", tmp_path / "whole.csv"
    question = ("sweep", *LARGE, "--show", "itl")
    assert run(*question, "--rows", whole).code == 0
    written = (*question, "--rows", rows, "--state", state)
    good = whole.read_bytes()
    for damage in (lambda b: b[: len(b) // 2] + b"\0" * (len(b) - len(b) // 2), lambda b: b[: len(b) - 7],
                   lambda b: b[:1000] + bytes([b[1000] ^ 1]) + b[1001:]):
        assert run(*written, "--force").code == 0
        rows.write_bytes(damage(good))
        refused(*written, "--resume", parts=(rows.name, "damaged", "--resume --force"))
        assert rows.read_bytes() == damage(good)
        done = run(*written, "--resume", "--force")
        assert done.code == 0, done.err
        assert rows.read_bytes() == good


def test_two_processes_do_not_share_a_state(run, refused, tmp_path):
    state = tmp_path / "state.json"
    question = ("optimize", *LARGE, "--threads", "1", "--strategy", "exhaustive", "--minimize", "itl", "--state", state)
    first = subprocess.Popen([PROGRAM, *map(str, question)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lock = pathlib.Path(f"{state}.lock")
        while first.poll() is None and not (lock.exists() and lock.read_text()):
            pass
        assert first.poll() is None
        first.send_signal(signal.SIGSTOP)
        refused(*question, "--resume", parts=("another process works on this file", str(first.pid)))
    finally:
        first.kill()
        first.wait()
    assert run(*question, "--resume").code == 0  # the lock of a process that is gone holds nobody up
    assert not lock.exists()


def test_shards_have_no_signs(run, refused):
    for text in ("1/-1", "-1/2", "+1/2", " 1/2", "1/2 ", "1/2/3", "0x1/2", "1/99999999999999999999", "0/1", "2/1"):
        refused("optimize", *SPACE, "--minimize", "itl", f"--shard={text}", parts=("the shard cannot be read", "k/n"))


@pytest.mark.parametrize("printer, formulas", [("chromium", True), ("weasyprint", False)])
def test_a_report_on_paper_has_formulas_where_the_printer_draws_them(run, tmp_path, printer, formulas):
    """Printers that keep the page that they are given."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for_browsers = 'for word; do case "$word" in --print-to-pdf=*) to="${word#*=}";; file://*) from="${word#file://}";; esac; done\n/bin/cp "$from" "$to"\n'
    (programs / printer).write_text("#!/bin/sh\n" + (for_browsers if formulas else '/bin/cp "$1" "$2"\n'))
    (programs / printer).chmod(0o755)
    done = run("report", "Llama3_8B", "H100", "-o", "chat.pdf", cwd=tmp_path, env={"PATH": str(programs)})
    page = (tmp_path / "chat.pdf").read_text()
    assert done.code == 0 and ("<math>" in page) is formulas and ("\nlaw by law\n" in page) is not formulas
    assert not (tmp_path / "chat.pdf.html").exists()


def test_answers_outlive_the_files_that_they_name(run):
    model = sorted((ROOT / "tests/data/model_files/configs").glob("*.json"))[0]
    for words in (["explain", model, "H100", "itl"], ["explain", "ServingModel", f"workload={model}", "hardware=H100", "itl"],
                  ["sensitivity", "ServingModel", f"workload={model}", "hardware=H100", "itl"]):
        done = run(*words)
        assert done.code == 0 and "itl" in done.out.lower(), done.err
