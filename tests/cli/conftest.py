"""What the tests of the program share: running it, and zoo files of the occasion."""

import json
import os
import pathlib
import subprocess
import zlib

import pytest

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
ROOT = pathlib.Path(__file__).parents[2]
SLOWER = int(os.environ.get("MLSYSIM_TIME_FACTOR", "1"))  # more than 1 where the program is sanitized
TIME_LIMIT_S = 60 * SLOWER


class Done:
    """How a call of the program ended."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        def refuse(word):
            raise AssertionError(f"the program wrote {word}, which is no JSON")

        return json.loads(self.out, parse_constant=refuse)


def limited(before):
    """The words of prlimit for this build: a sanitizer reserves terabytes of addresses, and takes longer."""
    if SLOWER == 1 or before[:1] != ("prlimit",):
        return before
    seconds = [int(word[6:]) for word in before if word.startswith("--cpu=")]
    return ("prlimit", f"--cpu={seconds[0] * SLOWER}") if seconds else ()


def call(*words, env=None, cwd=None, stdin="", before=()):
    environment = {key: value for key, value in os.environ.items() if key != "MLSYSIM_ZOO_PATH"}
    environment.update(env or {})
    return Done(subprocess.run([*limited(before), PROGRAM, *map(str, words)], input=stdin, capture_output=True, text=True,
                               env=environment, cwd=cwd, timeout=TIME_LIMIT_S))


def sealed(state):
    """The text of a state with its length and checksum, as the program ends it."""
    body = json.dumps(state, separators=(",", ":"))[:-1]
    return f'{body},"length":{len(body)},"crc32":"{zlib.crc32(body.encode()):08x}"}}\n'


@pytest.fixture
def run():
    return call


@pytest.fixture
def refused():
    """Calls that must end with 1, an empty stdout and a message that holds every part; no trace of a crash."""

    def check(*words, parts, **options):
        done = call(*words, **options)
        assert done.code == 1, (done.code, done.err)
        assert done.out == ""
        assert done.err.startswith("mlsysim: error: ")
        for part in parts:
            assert part in done.err, done.err
        for crash in ("terminate called", "Traceback", "Assertion", "unexpected:"):
            assert crash not in done.err
        return done

    return check


@pytest.fixture
def plan(tmp_path):
    """Writes a plan; the text below it is added as it stands."""

    def write(text, name="plan.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


HEAD = 'version: "1"\nname: test\n'
SERVE = HEAD + """workload: {name: Llama3_8B, batch_size: 8, seq_len: 1024}
hardware: {name: H100, precision: bf16}
"""
