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
