"""The process: streams, signals, colours, start time."""

import fcntl
import os
import pty
import signal
import subprocess
import time

from conftest import PROGRAM

F_SETPIPE_SZ = 1031


def test_reader_that_leaves_early_is_no_error():
    done = subprocess.run(["bash", "-c", f"'{PROGRAM}' zoo list | head -1; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] in ("0", "141")


def blocked(*words):
    """The program with a stdout that nobody reads and that holds one page."""
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    process = subprocess.Popen([PROGRAM, *words], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    return process, read


def test_reader_that_closes_while_writing():
    process, read = blocked("zoo", "list", "-o", "json")
    assert os.read(read, 1) == b"{"
    os.close(read)
    assert process.wait(30) in (0, -signal.SIGPIPE)
    assert process.stderr.read() == b""


def test_interrupt_ends_with_130():
    process, read = blocked("zoo", "list", "-o", "json")
    os.read(read, 1)  # it is writing now, and waits for us
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert process.stderr.read() == b"mlsysim: interrupted\n"
    os.close(read)


def test_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "zoo", "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def on_terminal(*words, env=None):
    """Output of the program on a terminal of its own."""
    main, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **(env or {})}
    if not env:
        environment.pop("NO_COLOR", None)
    process = subprocess.Popen([PROGRAM, *words], stdout=child, stderr=subprocess.PIPE, env=environment)
    os.close(child)
    out = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    process.wait(30)
    os.close(main)
    return out


WORDS = ("eval", "Llama3_8B", "H100", "--precision", "bf16")


def test_colours_on_a_terminal_only(run):
    assert b"\x1b[" in on_terminal(*WORDS)
    assert "\x1b[" not in run(*WORDS).out


def test_no_color_is_honoured():
    assert b"\x1b[" not in on_terminal(*WORDS, env={"NO_COLOR": "1"})


def test_output_option_on_both_sides_of_the_command(run):
    before, after = run("-o", "json", *WORDS), run(*WORDS, "-o", "json")
    assert before.code == 0 and before.out == after.out
    before.json()


def test_answers_are_the_same_every_time(run):
    assert run(*WORDS, "-o", "json").out == run(*WORDS, "-o", "json").out


def test_decimal_point_in_every_locale(run):
    assert run(*WORDS, "-o", "csv", env={"LC_ALL": "de_DE.UTF-8"}).out == run(*WORDS, "-o", "csv").out


def test_verbose_lists_assumptions_with_sources(run):
    brief, verbose = run(*WORDS), run(*WORDS, "--verbose")
    assert "--verbose" in brief.out and "zoo/defaults.yaml" not in brief.out
    assert len(verbose.out) > len(brief.out)
    for assumption in run(*WORDS, "-o", "json").json()["assumptions"]:
        assert assumption["name"] in verbose.out and assumption["source"]
