"""What is written for other programs, what multiplies while it is read, and numbers that no file means."""

import json
import os
import random
import re
import shlex
import subprocess
import zlib

import pytest
from conftest import PROGRAM, ROOT, call

LONG = os.environ.get("MLSYSIM_LONG")
NASTY = ["=cmd|'/C calc'!A0", "@SUM(A1)", "+1+cmd", "-2+3", "\t=1", "a'b", 'a"b', "$(touch pwned)", "`touch pwned`", "a\nEND\ntouch pwned\ncat <<E", "END",
         "x\nkv_cache_config: {evil: 1}", "# no comment", "a b", "", "*", "~", "é\u202eb", "\\", "a\\\nb", "{{}}", "!!python/object", "- x", ": y", "'"]


def words(count, seed):
    """Texts of the alphabet of shells, tables and YAML."""
    chance = random.Random(seed)
    yield from NASTY if LONG else NASTY[seed::6] + ["x\nkv_cache_config: {evil: 1}", "a\nEND\ntouch pwned\ncat <<E", "=cmd|'/C calc'!A0"]
    for _ in range(count):
        yield "".join(chance.choice("abcEND \n\t'\"\\$`;&|<>(){}[]*?~#=+-@:,!%^é\x1b") for _ in range(chance.randint(1, 24)))


# What is written for other programs -----------------------------------------------------------------------------------

def stub(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def shown_as_it_is(word):
    """Whether what a terminal might obey is not in a word: that is shown, in scripts too."""
    return "\x1b" not in word and "\u202e" not in word


def test_a_script_gives_back_every_word(tmp_path):
    """Its scheduler and the program are stubs, of which the second writes down its words."""
    stub(tmp_path, "sbatch", "echo 1")
    stub(tmp_path, "mlsysim", 'for word; do printf "%s\\0" "$word"; done > "$SAID"')
    said, env = tmp_path / "said", {"PATH": f"{tmp_path}:/usr/bin:/bin", "SAID": str(tmp_path / "said"), "SLURM_ARRAY_TASK_ID": "1"}
    for k, word in enumerate(filter(shown_as_it_is, words(200 if LONG else 2, 1))):
        asked = ["optimize", "Llama3_8B", "H100", "--axis", f"batch_size=1..4{word}", "--minimize", "itl", word]
        folder = tmp_path / f"-work {k}"
        script = call("submit", "--slurm", "--shards", 2, "--folder", folder.name, "--", *asked, cwd=tmp_path)
        assert script.code == 0, script.err
        subprocess.run(["sh"], input=script.out, text=True, check=True, cwd=tmp_path, env=env, capture_output=True)
        subprocess.run(["sh", folder / "task.sh", folder.name], check=True, cwd=tmp_path, env=env)
        assert said.read_text().split("\0")[:len(asked)] == asked
        assert not (tmp_path / "pwned").exists()


def test_launches_give_back_the_name_of_their_checkpoint(tmp_path):
    yaml = pytest.importorskip("yaml")
    for word in list(words(60 if LONG else 1, 2)):
        if not word.strip() or not shown_as_it_is(word):
            continue
        scenario = ["Llama3_8B", "H100", "--accelerators", 2, "--tp-size", 2, f"--checkpoint={word}"]
        for to in ("vllm", "sglang", "trtllm"):
            done = call("export", "--to", to, *scenario)
            if done.code != 0:
                assert done.err.startswith("mlsysim: error: ") and "unexpected" not in done.err
                continue
            if to == "trtllm":
                tree = yaml.safe_load(done.out)
                assert "evil" not in str(tree.get("kv_cache_config")) and all(isinstance(key, str) and key.isidentifier() for key in tree), word
            else:
                assert word in shlex.split(done.out, comments=True), (word, done.out)


def fields_of(text):
    import csv

    return [cell for row in csv.reader(text.splitlines()) for cell in row]


def test_cells_are_neither_formulas_nor_escapes(tmp_path):
    for k, word in enumerate(words(40 if LONG else 1, 3)):
        name = f"Chip{k}"
        entry = call("zoo", "new", "hardware", name).out
        (tmp_path / "chip.yaml").write_text(entry + f"\n  title: {json.dumps(word)}\n" if "title:" not in entry else "".join(
            f"  title: {json.dumps(word, ensure_ascii=False)}\n" if line.strip().startswith("title:") else line for line in entry.splitlines(True)))
        out = call("--zoo", tmp_path / "chip.yaml", "zoo", "show", name, "-o", "csv").out
        assert "\x1b" not in out
        for cell in fields_of(out):
            number = cell[:1] in "+-" and cell[1:2].isdigit()
            assert cell[:1] not in ("=", "@", "\t", "\r") and (cell[:1] not in ("+", "-") or number or len(cell) < 2), cell
    rows = tmp_path / "rows.csv"
    assert call("sweep", "Llama3_8B", "H100", "--axis", "batch_size=1,2", "--show", "itl - 1 s", "--rows", rows).code == 0
    assert all(float(line.split(",")[-1]) < 0 for line in rows.read_text().splitlines()[1:])  # a number is a number


# What multiplies ------------------------------------------------------------------------------------------------------

def stablehlo(levels, body):
    """Functions that call the next one twice."""
    one = "tensor<4xf32>"
    out = "".join(f"func.func @f{i}(%a: {one}) -> {one} {{ %0 = func.call @f{i + 1}(%a) : ({one}) -> {one}\n %1 = func.call @f{i + 1}(%0) : ({one}) -> {one}\n"
                  f" return %1 : {one} }}\n" for i in range(levels))
    return (f"module @m {{{out}func.func @f{levels}(%a: {one}) -> {one} {{ {body} }}\n"
            f"func.func @main(%a: {one}) -> {one} {{ %0 = func.call @f0(%a) : ({one}) -> {one}\n return %0 : {one} }} }}")


def hlo(levels):
    last = f"f{levels} {{\n a = f32[4] parameter(0)\n ROOT b = f32[4] add(a, a)\n}}\n\n"
    rest = "".join(f"f{i} {{\n a = f32[4] parameter(0)\n b = f32[4] call(a), to_apply=f{i + 1}\n ROOT c = f32[4] call(b), to_apply=f{i + 1}\n}}\n\n"
                   for i in reversed(range(levels)))
    return f"HloModule m\n\n{last}{rest}ENTRY main {{\n a = f32[4] parameter(0)\n ROOT b = f32[4] call(a), to_apply=f0\n}}\n"


def message(*fields):
    """A message of protobuf: (number, text or message) are bytes, (number, int) are integers."""
    def whole(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += whole(number << 3) + whole(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += whole(number << 3 | 2) + whole(len(data)) + data
    return out


def onnx(levels):
    """Functions of a domain of one's own that call the next one twice."""
    def node(op, into, out):
        return message((1, into), (2, out), (4, op), (7, "own"))

    functions = [message((1, f"f{i}"), (4, "a"), (5, "c"), (7, node(f"f{i + 1}", "a", "b")), (7, node(f"f{i + 1}", "b", "c")), (10, "own"))
                 for i in range(levels)]
    functions.append(message((1, f"f{levels}"), (4, "a"), (5, "c"), (7, message((1, "a"), (2, "c"), (4, "Relu"))), (10, "own")))
    tensor = message((1, message((1, 1), (2, message((1, message((1, 4))))))))
    graph = message((1, node("f0", "x", "y")), (2, "g"), (11, message((1, "x"), (2, tensor))), (12, message((1, "y"), (2, tensor))))
    return message((1, 8), (7, graph), (8, message((2, 17))), (8, message((1, "own"), (2, 1))), *((25, f) for f in functions))


@pytest.mark.parametrize("levels", [24, 60])
@pytest.mark.parametrize("name, make", [("a.mlir", lambda n: stablehlo(n, "%0 = stablehlo.add %a, %a : tensor<4xf32>\n return %0 : tensor<4xf32>")),
                                        ("b.mlir", lambda n: stablehlo(n, "return %a : tensor<4xf32>")), ("c.hlo", hlo), ("d.onnx", onnx)])
def test_functions_that_call_others_twice_are_refused_within_the_size_of_their_file(refused, tmp_path, name, make, levels):
    data = make(levels)
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    refused("program", "show", tmp_path / name, "H100", parts=["mlsysim.programs.006", name], before=("prlimit", "--cpu=4", f"--as={1 << 29}"))
    few = make(6)
    (tmp_path / name).write_bytes(few if isinstance(few, bytes) else few.encode())
    done = call("program", "show", tmp_path / name, "H100")
    assert done.code == 0 or "mlsysim.programs.006" not in done.err, done.err


def test_packed_files_do_not_become_many_times_their_size(refused, tmp_path):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(256)) + packer.flush()
    (tmp_path / "a.mlir.gz").write_bytes(data)
    refused("program", "show", tmp_path / "a.mlir.gz", "H100", parts=["unpacked"], before=("prlimit", "--cpu=10", f"--as={1 << 30}"))


@pytest.mark.parametrize("tensor", ["65536x" * 2000 + "f32", "9223372036854775807x9223372036854775807xf32", "-4x-1xf32"])
def test_extents_beyond_every_machine_are_refused(refused, tmp_path, tensor):
    (tmp_path / "a.mlir").write_text(f"module @m {{ func.func @main(%a: tensor<{tensor}>) -> tensor<{tensor}> {{ %0 = stablehlo.add %a, %a : tensor<{tensor}>\n"
                                     f" return %0 : tensor<{tensor}> }} }}")
    refused("program", "show", tmp_path / "a.mlir", "H100", parts=["a.mlir"])


def test_a_long_name_is_not_compared_with_every_other(refused):
    refused("zoo", "show", "H" * 100_000, parts=["mlsysim."], before=("prlimit", "--cpu=2"))


# Numbers --------------------------------------------------------------------------------------------------------------

def a_config(**more):
    return {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
            "intermediate_size": 2048, "vocab_size": 32000, **more}


@pytest.mark.parametrize("value", ["[128, 1e-320]", "[128, 1e-9]", "[128, 0]", "[-1, 128]", "[128, 1e300]", "[1e999, 128]", "[0.5, 128]", '["a", 128]'])
def test_blocks_that_no_file_means_are_named(refused, tmp_path, value):
    text = json.dumps(a_config(quantization_config={"quant_method": "fp8", "weight_block_size": 0})).replace('"weight_block_size": 0', f'"weight_block_size": {value}')
    (tmp_path / "config.json").write_text(text)
    for command in (("import", tmp_path), ("memory", tmp_path / "config.json", "H100"), ("eval", tmp_path / "config.json", "H100")):
        done = refused(*command, parts=["mlsysim.model_files."])
        assert "weight_block_size" in done.err or "beyond all bounds" in done.err


def test_every_number_of_a_config_passes_one_gate(run, tmp_path):
    """Single fields and pairs at their ends: an answer is finite, or the file is refused by its key."""
    ends = [0, -1, 1, 1e-320, 1e-9, 1e12, 1e13, 1e100, 1e308, "1e999", "NaN", "-Infinity", 9007199254740993, '"x"', "[]", "null"]
    keys = ["hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size", "head_dim", "sliding_window",
            "rope_theta", "num_local_experts", "num_experts_per_tok", "rms_norm_eps", "max_position_embeddings"]
    chance = random.Random(7)
    for _ in range(2000 if LONG else 12):
        config = a_config()
        chosen = chance.sample(keys, chance.choice((1, 2, 2, 3)))
        text = json.dumps({**config, **{key: f"@{key}" for key in chosen}})
        for key in chosen:
            text = text.replace(f'"@{key}"', str(chance.choice(ends)))
        (tmp_path / "config.json").write_text(text)
        done = run("eval", tmp_path / "config.json", "H100", "-o", "json", before=("prlimit", "--cpu=5"))
        assert done.code in (0, 1, 2) and "unexpected" not in done.err and "json.exception" not in done.err, (text, done.err)
        if done.out:
            done.json()


def test_numbers_of_zoo_files_have_inverses(refused, tmp_path):
    entry = call("zoo", "new", "hardware", "MyChip").out
    changed = re.sub(r"(bandwidth: (?:\{value: )?)[^,}\n]*", r"\g<1>1e-322 B/s", entry, count=1)
    assert changed != entry
    (tmp_path / "chip.yaml").write_text(changed)
    refused("eval", "Llama3_8B", tmp_path / "chip.yaml", parts=["chip.yaml", "bandwidth", "out of range"])


# Damaged files --------------------------------------------------------------------------------------------------------

def test_what_lies_in_a_folder_of_a_model_is_no_surprise(run, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(a_config()))
    weights = tmp_path / "model.safetensors"
    for make in (lambda: os.mkfifo(weights), lambda: weights.symlink_to("/dev/zero"), lambda: weights.symlink_to(weights), weights.mkdir,
                 lambda: weights.write_bytes(b""), lambda: weights.write_bytes(b"\xff" * 8)):
        make()
        done = run("import", tmp_path, before=("prlimit", "--cpu=5"))
        assert done.code in (0, 1) and "unexpected" not in done.err, done.err
        if done.code == 1:
            assert "model.safetensors" in done.err
        weights.rmdir() if weights.is_dir() and not weights.is_symlink() else weights.unlink()


def samples():
    """Real files of every format, small enough to be damaged often."""
    data = ROOT / "tests/data"
    for pattern in ("model_files/configs/**/*.json", "compile/*", "programs/*/*", "traces/*"):
        yield from (path for path in sorted(data.glob(pattern)) if path.is_file() and path.stat().st_size < 400_000 and path.suffix not in (".md", ".py"))


def test_damaged_files_are_refused_in_words_of_our_own(run, tmp_path):
    """Changed bytes, cuts and repeats of each sample; MLSYSIM_LONG: 10,000 of them."""
    chance = random.Random(int(os.environ.get("MLSYSIM_SEED", "11")))
    files = list(samples())
    for _ in range(int(os.environ.get("MLSYSIM_COUNT", "10000")) if LONG else 20):
        path = chance.choice(files)
        data = bytearray(path.read_bytes())
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = chance.randrange(len(data) + 1)
            kind = chance.randrange(4)
            if kind == 0:
                data[at:at + 1] = bytes([chance.randrange(256)])
            elif kind == 1:
                del data[at:at + chance.choice((1, 4, 64, len(data)))]
            elif kind == 2:
                data[at:at] = data[at:at + 32]
            else:
                data[at:at] = chance.choice((b"{", b"[", b"-", b"1e999", b"null", b'"', b"\0", b"9" * 40))
        damaged = tmp_path / path.name
        damaged.write_bytes(data)
        kind = path.parts[path.parts.index("data") + 1]
        command = {"model_files": ("import",), "compile": ("compile", "ingest"), "programs": ("program", "show"), "traces": ("traffic", "show")}[kind]
        done = run(*command, damaged, before=("prlimit", "--cpu=10", f"--as={2 << 30}"))
        assert done.code in (0, 1, 2, 3), (path, done.code, done.err)
        for raw in ("unexpected:", "json.exception", "terminate called", "std::", "basic_string", "filesystem error", "YAML::", "libprotobuf"):
            assert raw not in done.err, (path, done.err)
        damaged.unlink()


# Histories ------------------------------------------------------------------------------------------------------------

def test_many_write_one_history_and_none_is_lost(tmp_path):
    history = tmp_path / "h.sqlite"
    wanted = [f"commit{k}" for k in range(12)]
    matrix = ROOT / "examples/observe/predictions.yaml"
    running = [subprocess.Popen([PROGRAM, "ci", "run", matrix, "--no-baseline", "--history", history, "--commit", name, "--time", f"{k + 1}000000000"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for k, name in enumerate(wanted)]
    for one in running:
        err = one.communicate()[1]
        assert one.returncode in (0, 1) and "locked" not in err and "cannot be" not in err, err
    import sqlite3

    with sqlite3.connect(history) as read:
        assert sorted(name for name, in read.execute("SELECT name FROM commits")) == sorted(wanted)
        numbers = [n for n, in read.execute("SELECT count(*) FROM numbers GROUP BY commit_id")]
        assert len(numbers) == len(wanted) and len(set(numbers)) == 1


def test_what_could_not_be_stored_is_no_verdict(run, tmp_path):
    """Whether the numbers are worse or fine: 5 says that the history has them not."""
    (tmp_path / "h.sqlite").write_text("no history")
    done = run("ci", "run", ROOT / "examples/observe/predictions.yaml", "--no-baseline", "--history", tmp_path / "h.sqlite", "--commit", "a")
    assert done.code == 5 and "h.sqlite" in done.err


@pytest.mark.parametrize("number", ["9e999", "-9e999", "'text'", "NULL", "x'00'"])
def test_numbers_of_a_history_are_numbers(run, tmp_path, number):
    import sqlite3

    history = tmp_path / "h.sqlite"
    run("ci", "run", ROOT / "examples/observe/predictions.yaml", "--no-baseline", "--history", history, "--commit", "a")
    with sqlite3.connect(history) as changed:
        metric, cell = changed.execute("SELECT metrics.name, cells.name FROM numbers JOIN metrics ON metrics.id = metric JOIN cells ON cells.id = cell").fetchone()
        changed.execute(f"UPDATE OR REPLACE numbers SET value = ifnull({number}, 'NULL')")
    for words_of_cell in ((), ("--cell", cell)):
        done = run("ci", "trend", "--history", history, "--metric", metric, *words_of_cell)
        assert done.code == 2 and not done.out and "h.sqlite: a number of the history is none" in done.err
