"""Records of compilers in Python, the exporter with fakes of its classes, and tlparse as the oracle of logs."""

import dataclasses
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

import mlsysim
from mlsysim import compiling, dynamo_export

DATA = pathlib.Path(__file__).parents[1] / "data" / "compile"


def test_report():
    report = compiling.ingest(DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz", model="m", family="f", commit="c")
    (record,) = report["records"]
    assert record["model"] == {"family": "f", "name": "m", "commit": "c"}
    assert (record["graph_count"], record["graph_break_count"], len(record["breaks"]), record["unlisted_breaks"]) == (
        24, 23, 17, 6)
    assert report["by_type"][0]["type"] == "Dynamic shape operator"
    with pytest.raises(mlsysim.InputError):
        compiling.ingest(__file__)
    with pytest.raises(mlsysim.InputError):
        compiling.ingest(DATA / "tlparse_simple_corrupted_json.log.gz", strict=True)


# What torch has, as far as the exporter looks at it.
@dataclasses.dataclass
class Reason:
    reason: str
    user_stack: list
    graph_break: bool = True


class Guard:
    def __init__(self, name):
        self.name = name

    def create_fn_name(self):
        return self.name


def fake_output():
    frame = types.SimpleNamespace(filename="/home/me/.venv/lib/site-packages/pkg/model.py", lineno=12, name="forward",
                                  line="  y = x.nonzero()")
    text = ("Dynamic shape operator\n  Explanation: Operator at 0x7f2f42df5bb0 depends on data.\n  Hint: one\n  Hint: two\n\n"
            "  Developer debug context: aten.nonzero.default\n\n visit: https://x/gb/gb0036.html")
    return types.SimpleNamespace(
        graph_count=2, graph_break_count=1, op_count=3, break_reasons=[Reason(text, [frame])],
        ops_per_graph=[["<built-in method add of type object at 0x725438046fa0>", len], [len]],
        out_guards=[Guard("TYPE_MATCH"), Guard("TYPE_MATCH"), Guard("ID_MATCH")],
        compile_times="TorchDynamo compilation metrics:\nFunction, Runtimes (s)\n_compile.compile_inner, 0.5, 0.25\n")


def test_exported_documents_are_read(tmp_path):
    path = tmp_path / "explain.json"
    document = dynamo_export.document_of(fake_output(), name="a/b", family="Audio", commit="abc",
                                         args=[("x", types.SimpleNamespace(dtype="torch.int64", shape=(1, 10)))])
    assert document["input"]["args"] == [{"name": "x", "dtype": "int64", "shape": [1, 10]}]
    text = json.dumps(document)
    assert "0x" not in text and "/home" not in text
    path.write_text(text)
    (record,) = compiling.ingest(path)["records"]
    assert record["model"] == {"family": "Audio", "name": "a/b", "commit": "abc"}
    assert (record["graph_count"], record["op_count"], record["guards"]["count"]) == (2, 3, 3)
    (entry,) = record["breaks"]
    assert (entry["gb_id"], entry["category"], entry["hints"]) == ("GB0036", "dynamic_shape", ["one", "two"])
    assert entry["stack"][0]["file"] == "pkg/model.py" and entry["context"] == "aten.nonzero.default"
    assert record["compile_times"]["total"] == 0.75


def test_a_saved_text_is_the_same_document_without_torch(tmp_path):
    text = gzip.decompress((DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz").read_bytes()).decode()
    (tmp_path / "saved.txt").write_text(text)
    # The one file, copied to where neither this package nor torch is.
    shutil.copy(dynamo_export.__file__, tmp_path / "dynamo_export.py")
    words = [sys.executable, "-I", tmp_path / "dynamo_export.py", "--name", "m", "--family", "f"]
    subprocess.run([*words, "--text", tmp_path / "saved.txt", "-o", tmp_path / "saved.json"], check=True)
    own = {"source", "form", "digest"}
    (ours,), (theirs,) = (compiling.ingest(tmp_path / name, model="m", family="f")["records"] for name in ("saved.txt", "saved.json"))
    assert {k: v for k, v in ours.items() if k not in own} == {k: v for k, v in theirs.items() if k not in own}
    assert len(ours["breaks"]) == 17 and ours["breaks"][0]["stack"][0]["line"] == 30
    for wrong in (["--text", __file__], ["--text", tmp_path / "none"], [], ["x:y", "--text", tmp_path / "saved.txt"]):
        assert subprocess.run([*words, *wrong], capture_output=True, check=False).returncode == 2


def test_documents_replace_nothing_unasked_and_go_through_no_link(tmp_path, monkeypatch):
    saved, other, link, pipe, page = (tmp_path / name for name in ("saved.txt", "other.txt", "link.json", "pipe", "page.json"))
    saved.write_bytes(gzip.decompress((DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz").read_bytes()))
    other.write_text("of somebody else")
    link.symlink_to(other)
    os.mkfifo(pipe)

    def export(*words, text=saved):
        done = subprocess.run([sys.executable, dynamo_export.__file__, "--name", "m", "--text", text, *words],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    for target, why in ((link, "a link"), (pipe, "no regular file"), (other, "the file exists"), (tmp_path, "no regular file"),
                        (tmp_path / "nowhere" / "page.json", "needs a folder")):
        code, said = export("-o", target)
        assert code == 2 and str(target) in said and why in said, said
    assert other.read_text() == "of somebody else" and not (tmp_path / "nowhere").exists()
    code, said = export("-o", page, text=pipe)  # nobody writes to it
    assert code == 2 and "no regular file" in said and not page.exists()
    assert export("-o", page)[0] == 0
    page.chmod(0o640)
    first = page.stat().st_ino
    assert export("-o", page)[0] == 0  # its own document is replaced, by a whole one beside it
    assert page.stat().st_ino != first and page.stat().st_mode & 0o777 == 0o640
    assert export("--force", "-o", other)[0] == 0 and other.read_text() == page.read_text()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    before = page.read_text()
    for target in (page, tmp_path / "new.json"):
        with pytest.raises(OSError, match="No space left"):
            dynamo_export._write(target, "{}", force=True)
    assert page.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "other.txt", "page.json", "pipe", "saved.txt"]  # nothing is left beside


def test_newer_reasons_and_homes(tmp_path):
    output = fake_output()
    output.break_reasons[0].reason = "Encountered graph break when attempting to trace CALL: a call, e.g. f(x):\n\n" + output.break_reasons[0].reason + "\nin /home/me/x.py"
    document = dynamo_export.document_of(output, name="m")
    (entry,) = document["breaks"]
    assert entry["type"] == "Dynamic shape operator" and entry["gb_id"] == "GB0036" and "/home/" not in json.dumps(document)
    text = json.dumps(dynamo_export.failure(ValueError("no /home/me/a/b at 0x7f001122aabb, nor /Users/me/c or /root/d"), name="m"))
    assert "~/a/b" in text and "~/c" in text and "~/d" in text and not {"/home/", "/Users/", "/root/", "0x7f"} & set(re.findall(r"/home/|/Users/|/root/|0x7f", text))


def test_a_model_that_fails_is_not_one_without_breaks(tmp_path):
    path = tmp_path / "failed.json"
    path.write_text(json.dumps(dynamo_export.failure(ValueError("no"), name="m")))
    (record,) = compiling.ingest(path)["records"]
    assert (record["status"], record["error"], record["failures"]) == ("failed", "ValueError: no", 1)
    nothing = fake_output()
    vars(nothing).update(graph_count=0, graph_break_count=-1, op_count=0, break_reasons=[], ops_per_graph=[], out_guards=[])
    path.write_text(json.dumps(dynamo_export.document_of(nothing, name="m")))
    (record,) = compiling.ingest(path)["records"]
    assert (record["status"], record["failures"], record["graph_break_count"]) == ("skipped", 0, 0) and record["error"]


def test_real_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("torch._dynamo", reason="this torch has no _dynamo")

    def model(x):
        y = torch.sin(x)
        print("break")
        return torch.cos(y)

    document = dynamo_export.explain(model, (torch.ones(4),), name="printing")
    path = tmp_path / "real.json"
    path.write_text(json.dumps(document))
    (record,) = compiling.ingest(path)["records"]
    assert (record["graph_count"], record["graph_break_count"]) == (2, 1)


TLPARSE = os.environ.get("MLSYSIM_TLPARSE") or shutil.which("tlparse")


@pytest.mark.skipif(TLPARSE is None, reason="tlparse is not installed (pip install tlparse)")
@pytest.mark.parametrize("path", sorted([*DATA.glob("*.log*"), *DATA.parent.glob("traces/*.log*")]), ids=lambda path: path.name)
def test_tlparse_counts_the_same(path, tmp_path):
    log = tmp_path / "trace.log"
    log.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    done = subprocess.run([TLPARSE, "--no-browser", "-o", tmp_path / "out", log], capture_output=True, text=True,
                          timeout=60, check=False)
    stats = {name: int(n) for name, n in
             re.findall(r"(\w+): (\d+)", re.search(r"Stats \{(.*?)\}", done.stdout + done.stderr)[1])}
    (record,) = compiling.ingest(log)["records"]
    assert record["read"]["records"] == stats["ok"]
    assert record["read"]["bad_payload"] == stats.get("fail_payload_md5", 0)
    assert record["read"]["bad_record"] == stats.get("fail_json", 0)


# Stands for torch and transformers: a model does what its type says.
FAKE_TORCH = """
import contextlib, types
float32 = "float32"
class Tensor(types.SimpleNamespace):
    dtype = "torch.float32"
    def to(self, dtype): return self
    def __getitem__(self, at): return 1
    def __setitem__(self, at, value): pass
def randn(*shape): return Tensor(shape=shape)
def randint(low, high, shape): return Tensor(shape=shape)
def manual_seed(seed): pass
no_grad = contextlib.nullcontext
"""
FAKE_DYNAMO = """
import types
def reset(): pass
def explain(model):
    def run(**inputs):
        model.run()
        return types.SimpleNamespace(graph_count=1, graph_break_count=0, op_count=len(inputs), break_reasons=[], ops_per_graph=[], out_guards=[], compile_times="")
    return run
"""
FAKE_TRANSFORMERS = """
import json, os, time
class Config:
    def __init__(self, **members): vars(self).update(members)
    def to_dict(self): return vars(self)
class AutoConfig:
    @staticmethod
    def from_pretrained(path, local_files_only, trust_remote_code):
        assert local_files_only and not trust_remote_code and os.environ["HF_HUB_OFFLINE"] == "1"
        with open(path) as file: return Config(**json.load(file))
class Model:
    main_input_name, dtype = "input_ids", "float32"
    def __init__(self, config): self.config = config
    def eval(self): return self
    float = eval
    def forward(self, input_ids=None): pass
    def run(self):
        print("something of the model's own")
        kind = self.config.model_type
        if kind == "raises": raise ValueError("no")
        if kind == "sleeps": time.sleep(600)
        if kind == "ends": os._exit(7)
        if kind == "eats":
            hoard = []
            while True: hoard.append(bytearray(1 << 24))
class Other(Model):
    main_input_name = "graph"
"""


# The exporter, stopped by Ctrl-C when a document is there.
INTERRUPTED = """
import importlib.util, os, signal, sys, threading, time
spec = importlib.util.spec_from_file_location("exporter", {exporter!r})
exporter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exporter)
def stop():
    while not os.path.exists("{done}"): time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop).start()
sys.exit(exporter.main())
"""


@pytest.fixture(name="runner")
def fixture_runner(tmp_path):
    """The exporter beside stand-ins of torch and transformers, for a list of models: type of each by its id."""
    fakes = tmp_path / "fakes"
    (fakes / "torch").mkdir(parents=True)
    (fakes / "torch" / "__init__.py").write_text(FAKE_TORCH)
    (fakes / "torch" / "_dynamo.py").write_text(FAKE_DYNAMO)
    (fakes / "transformers.py").write_text(FAKE_TRANSFORMERS)

    def run(models, *words, exporter=dynamo_export.__file__):
        configs = tmp_path / "configs"
        for name, config in models.items():
            if config is not None:
                place = configs / (name.replace("/", "--") + ".json")
                place.parent.mkdir(exist_ok=True)
                place.write_text(json.dumps(config))
        (tmp_path / "hub.json").write_text(json.dumps(list(models)))
        done = subprocess.run([sys.executable, exporter, "--list", tmp_path / "hub.json", "--configs", configs, "-o", tmp_path / "out", *words],
                              env={**os.environ, "PYTHONPATH": str(fakes)}, capture_output=True, text=True, timeout=120, check=False)
        records = {record["model"]["name"]: record for record in compiling.ingest(tmp_path / "out")["records"]} if (tmp_path / "out").exists() else {}
        return done, records

    return run


def test_a_list_of_models_is_run_within_limits(runner, tmp_path):
    models = {"org/fine": {"model_type": "fine", "architectures": ["Model"], "num_hidden_layers": 28, "vocab_size": 50_000,
                           "layer_types": ["a", "a", "b", *"a" * 25]},
              **{f"org/{kind}": {"model_type": kind, "architectures": ["Model"]} for kind in ("raises", "sleeps", "ends", "eats")},
              "org/strange": {"model_type": "fine", "architectures": ["Other"]}, "org/new": {"model_type": "fine", "architectures": ["Unknown"]},
              "plain": {"model_type": "fine", "architectures": ["Model"]}}
    done, records = runner(models, "--jobs", "2", "--time-limit", "3", "--memory-limit", "0.5")
    assert done.returncode == 1 and done.stdout == "" and set(records) == set(models), done.stderr
    assert {name for name, record in records.items() if record["status"] == "ok"} == {"org/fine", "plain"}
    errors = {name: record["error"].split(":")[0] for name, record in records.items() if record["status"] == "failed"}
    assert errors == {"org/raises": "ValueError", "org/sleeps": "TimeoutError", "org/ends": "RuntimeError", "org/eats": "MemoryError",
                      "org/strange": "ValueError", "org/new": "ValueError"}
    document = json.loads((tmp_path / "out" / "org--fine.json").read_text())
    assert document["model"]["reduced"] == {"num_hidden_layers": [28, 3], "vocab_size": [50_000, 4096]}
    assert document["input"]["args"][0]["shape"] == [1, 16] and records["org/fine"]["model"]["family"] == "fine"
    # A second run keeps documents that are there, a third one repeats what failed.
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    done, _ = runner(models)
    assert done.stderr.count(": kept") == len(models) and stamps == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    models["org/raises"]["model_type"] = "fine"
    done, records = runner(models, "--retry", "--time-limit", "2", "--memory-limit", "0.5", "--whole")
    assert records["org/raises"]["status"] == "ok" and done.stderr.count(": kept") == 2


def test_an_interrupted_list_is_resumed(runner, tmp_path):
    models = {"a": {"model_type": "fine", "architectures": ["Model"]}, "b": {"model_type": "sleeps", "architectures": ["Model"]}, "c": None}
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.format(exporter=dynamo_export.__file__, done=tmp_path / "out" / "a.json"))
    done, records = runner(models, exporter=tmp_path / "interrupted.py")
    assert done.returncode == 130 and set(records) == {"a"}, done.stderr
    models["b"]["model_type"] = "fine"
    done, records = runner(models)
    assert "a: kept" in done.stderr and {name: record["status"] for name, record in records.items()} == {"a": "ok", "b": "ok", "c": "skipped"}


def test_a_model_without_a_configuration_is_skipped_until_it_has_one(runner, tmp_path):
    done, records = runner({"org/fine": {"model_type": "fine", "architectures": ["Model"]}, "org/absent": None})
    assert done.returncode == 1 and records["org/absent"]["status"] == "skipped" and records["org/absent"]["failures"] == 0
    later = tmp_path / "configs" / "org" / "absent"
    later.mkdir(parents=True)
    (later / "config.json").write_text(json.dumps({"model_type": "fine", "architectures": ["Model"]}))
    done, records = runner({"org/fine": None, "org/absent": None})
    assert done.returncode == 0 and records["org/absent"]["status"] == "ok", done.stderr


def test_lists_of_hubs(tmp_path):
    path = tmp_path / "hub.json"

    def names(entries, top=None):
        path.write_text(json.dumps(entries))
        return [model["name"] for model in dynamo_export.listed_models(path, top)]

    assert names(["b/x", "a/y", "b/x"]) == ["b/x", "a/y"]
    assert names([{"id": "b/x", "downloads": 1}, {"modelId": "a/y", "downloads": 5}, "c"], 2) == ["a/y", "b/x"]
    for wrong in ([], {}, [{"name": "x"}], ["../x"], ["a/b/c"], ["/etc/x"]):
        with pytest.raises(ValueError, match="expected"):
            names(wrong)
    path.write_text("[")
    with pytest.raises(ValueError, match="no JSON"):
        dynamo_export.listed_models(path)
    here = [sys.executable, dynamo_export.__file__, "--list", path]
    for words in ([], ["-o", tmp_path / "out", "--text", "x"], *(["-o", tmp_path / "out", option, "0"] for option in ("--jobs", "--top", "--time-limit"))):
        assert subprocess.run([*here, *words], capture_output=True, check=False).returncode == 2


# Ten kinds of small models: words, images, sound; one tower and two; attention, recurrence and mixtures of experts.
_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 128, "max_position_embeddings": 64}
_IMAGE = {key: value for key, value in _SMALL.items() if key not in ("vocab_size", "max_position_embeddings")} | {"image_size": 16, "patch_size": 8}
SMALL_MODELS = {
    "llama": ("LlamaForCausalLM", _SMALL), "qwen3": ("Qwen3ForCausalLM", {**_SMALL, "head_dim": 8, "num_key_value_heads": 2}),
    "bert": ("BertForSequenceClassification", _SMALL), "gpt2": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 4, "n_head": 4, "vocab_size": 128, "n_positions": 64}),
    "mixtral": ("MixtralForCausalLM", {**_SMALL, "num_key_value_heads": 2, "num_local_experts": 4}),
    "t5": ("T5ForConditionalGeneration", {"d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 4, "num_heads": 4, "vocab_size": 128}),
    "vit": ("ViTForImageClassification", _IMAGE), "mamba": ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 4, "vocab_size": 128, "state_size": 4}),
    "whisper": ("WhisperForConditionalGeneration", {"d_model": 32, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 4,
                                                    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 128,
                                                    "max_source_positions": 32, "pad_token_id": 0, "decoder_start_token_id": 1, "eos_token_id": 2}),
    "clip": ("CLIPModel", {"text_config": {**_SMALL, "eos_token_id": 2}, "vision_config": _IMAGE, "projection_dim": 16}),
}


def test_ten_small_models_with_real_torch(tmp_path):
    python = os.environ.get("MLSYSIM_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch._dynamo, transformers"], capture_output=True, check=False).returncode:
        pytest.skip("torch and transformers are not installed (MLSYSIM_TORCH_PYTHON names another python)")
    (tmp_path / "hub.json").write_text(json.dumps([{"id": f"small/{name}", "downloads": n} for n, name in enumerate(SMALL_MODELS)] + ["small/none"]))
    for name, (architecture, config) in SMALL_MODELS.items():
        place = tmp_path / "configs" / "small" / name
        place.mkdir(parents=True)
        (place / "config.json").write_text(json.dumps({"model_type": name, "architectures": [architecture], **config}))
    shutil.copy(dynamo_export.__file__, tmp_path / "exporter.py")
    done = subprocess.run([python, tmp_path / "exporter.py", "--list", tmp_path / "hub.json", "--top", "10", "--configs", tmp_path / "configs", "--jobs", "2",
                           "-o", tmp_path / "out"], capture_output=True, text=True, timeout=600, check=False)
    records = {record["model"]["name"]: record for record in compiling.ingest(tmp_path / "out")["records"]}
    assert set(records) == {f"small/{name}" for name in SMALL_MODELS}
    assert all(record["status"] == "ok" and record["graph_count"] > 0 for record in records.values()) and done.returncode == 0, done.stderr
