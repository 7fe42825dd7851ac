"""mlsysim compile: what compilers of models leave behind."""

import gzip
import json
import pathlib
import re
import xml.etree.ElementTree as ET

DATA = pathlib.Path(__file__).parents[1] / "data" / "compile"


def test_ingest_shows_runs_breaks_and_phases(run):
    done = run("compile", "ingest", DATA / "explain_24graphs_bert_tiny_wrapper.txt.gz", "--model", "bert-tiny")
    assert "Dynamic shape operator" in done.out and "dynamic_shape" in done.out and "GB0036" in done.out
    assert "6 more breaks are counted by their source, without a reason" in done.out
    rows = run("compile", "ingest", DATA / "break_reasons_mms_tts_rus.pkl", "--by", "place", "-o", "csv").out.splitlines()
    assert rows[0].startswith("breaks,models,type,category,id,place,hint")
    assert sum(int(row.split(",")[0]) for row in rows[1:]) == 19


def test_json_has_everything(run):
    report = run("compile", "ingest", DATA, "-o", "json").json()
    assert len(report["records"]) == 8 and len(report["notes"]) == 2
    cut = next(r for r in report["records"] if "corrupted" in r["source"])
    assert cut["read"]["bad_payload"] == 1 and cut["guards"]["count"] == 49


def test_documents_are_read_again(run, tmp_path):
    text = run("compile", "ingest", DATA / "break_reasons_mms_tts_rus.pkl", "--document", "--commit", "abc").out
    (tmp_path / "x.json").write_text(text)
    again = run("compile", "ingest", tmp_path / "x.json", "--document").out
    assert json.loads(again) == json.loads(text) and json.loads(text)["model"]["commit"] == "abc"


def test_families_are_folders_and_equal_files_count_once(run, tmp_path):
    for family in ("Audio", "Computer Vision"):
        (tmp_path / family).mkdir()
        data = (DATA / "break_reasons_mms_tts_rus.pkl").read_bytes()
        (tmp_path / family / "facebook--mms-tts-rus_dynamo_explain.pkl").write_bytes(data)
    report = run("compile", "ingest", tmp_path, "-o", "json").json()
    (record,) = report["records"]
    assert record["model"]["family"] == "Audio" and record["model"]["name"] == "facebook/mms-tts-rus"
    assert len(report["duplicates"][0]["others"]) == 1
    assert len(run("compile", "ingest", tmp_path, "--keep-duplicates", "-o", "json").json()["records"]) == 2


def test_refusals(refused, tmp_path):
    refused("compile", "ingest", DATA / "tlparse_simple_corrupted_json.log.gz", "--strict",
            parts=["the log is damaged", "1 payloads unlike their checksum"])
    refused("compile", "ingest", pathlib.Path(__file__).with_name("conftest.py"), parts=["no record of a compiler", "TORCH_TRACE"])
    refused("compile", "ingest", tmp_path / "none", parts=["cannot be read"])
    (tmp_path / "empty" / "below").mkdir(parents=True)
    for command in (["ingest", tmp_path / "empty"], ["ingest", DATA, tmp_path / "empty"], ["diff", tmp_path / "empty", DATA]):
        refused("compile", *command, parts=["a folder holds no file", str(tmp_path / "empty"), "TORCH_TRACE"])
    (tmp_path / "a.json").write_text("{}")
    refused("compile", "ingest", DATA / "tlparse_simple.log.gz", "--registry", tmp_path / "a.json",
            parts=["no registry of graph breaks"])


def test_gzip_that_is_cut_or_in_parts(run, tmp_path):
    import gzip

    whole = gzip.decompress((DATA / "tlparse_simple.log.gz").read_bytes())
    parts = tmp_path / "parts.log.gz"
    parts.write_bytes(gzip.compress(whole[:90000]) + gzip.compress(whole[90000:]))
    (record,) = run("compile", "ingest", parts, "-o", "json").json()["records"]
    assert (record["read"]["records"], record["read"]["truncated"]) == (64, 0)
    cut = tmp_path / "cut.log.gz"
    cut.write_bytes(gzip.compress(whole)[:-2000])
    (record,) = run("compile", "ingest", cut, "-o", "json").json()["records"]
    assert 0 < record["read"]["records"] < 64 and record["read"]["truncated"] >= 1
    assert "gzip that ends in the middle" in record["notes"]


def test_diff_names_new_breaks_and_prices_them(run, refused, tmp_path):
    import copy

    after = json.loads(run("compile", "ingest", DATA / "break_reasons_mms_tts_rus.pkl", "--document", "--model", "m").out)
    before = copy.deepcopy(after)
    places = [b["stack"][-1]["line"] for b in after["breaks"]]
    line = max(set(places), key=places.count)
    before["breaks"] = [b for b in before["breaks"] if b["stack"][-1]["line"] != line]
    before["graph_break_count"] = len(before["breaks"])
    gone = len(after["breaks"]) - len(before["breaks"])
    for name, document in (("before.json", before), ("after.json", after)):
        (tmp_path / name).write_text(json.dumps(document))
    same = run("compile", "diff", tmp_path / "after.json", tmp_path / "after.json")
    assert same.code == 0 and "places are as they were" in same.out
    words = ["compile", "diff", tmp_path / "before.json", tmp_path / "after.json"]
    plain = run(*words)
    assert plain.code == 1 and f":{line} " in plain.out and (" new " in plain.out or " more " in plain.out)
    price = ["--workload", "Llama3_8B", "--hardware", "H100", "--with", "accelerators=512", "--with", "device_hour=2 USD"]
    priced = run(*words, *price, "--with", "arrival_rate=60 request/s")
    assert priced.code == 1 and "p99_latency" in priced.out and f":{line} (" in priced.out
    assert "a year on the fleet" in priced.out and "parts are exact and add up" in priced.out
    both = json.loads(run(*words, *price, "-o", "json").out)
    assert both["places"]["schema"] == "mlsysim/compile_diff@1" and both["price"]["schema"] == "mlsysim/compile_price@1"
    assert gone > 0 and sum(row["share"] for row in both["price"]["rows"]) == 1
    back = run("compile", "diff", tmp_path / "after.json", tmp_path / "before.json", *price)
    assert back.code == 0 and f":{line} " in back.out and (" gone " in back.out or " fewer " in back.out)
    refused(*words, "--workload", "Llama3_8B", parts=["a price needs a model and a device"])
    refused(*words, *price, "--with", "breaks=3", parts=["the price of breaks is not asked with this input"])


def test_a_packed_log_is_a_workload_wherever_a_path_is(run, refused, tmp_path):
    sample = DATA / "bert_tiny_print_breaks.log.gz"
    (tmp_path / "plain").mkdir()
    plain, packed = tmp_path / "plain" / "trace.log", tmp_path / "trace.log.gz"
    plain.write_bytes(gzip.decompress(sample.read_bytes()))
    packed.write_bytes(sample.read_bytes())
    for words in (["eval", "{}", "H100"], ["sweep", "{}", "H100,A100"], ["explain", "{}", "H100", "latency"], ["program", "show", "{}"],
                  ["resolver", "run", "CompilationModel", "--workload", "{}", "--hardware", "H100"], ["import", "{}"], ["support", "{}", "--hardware", "H100", "-o", "csv"]):
        one, other = (run(*[str(word).replace("{}", str(path)) for word in words], "-v") for path in (plain, packed))
        assert one.code == other.code and one.code in (0, 4) and one.out, (words, one.err, other.err)
        assert other.out.replace(str(packed), str(plain)) == one.out, words
    plan = tmp_path / "plan.yaml"
    plan.write_text(f'version: "1"\nname: packed\nworkload: {{name: {packed}}}\nhardware: {{name: H100}}\n')
    assert run("eval", plan).code == 0
    packed.write_bytes(sample.read_bytes()[:1000])
    refused("eval", packed, "H100", parts=["the file cannot be read", "gzip that ends in the middle"])
    packed.write_bytes(sample.read_bytes()[:500] + b"damage" + sample.read_bytes()[506:])
    refused("eval", packed, "H100", parts=["damaged gzip"])


def test_compile_time_is_fitted_and_a_page_keeps_everything(run, refused, tmp_path):
    def document(name, graphs, ops, guards, seconds):
        breaks = [{"index": 0, "type": kind, "reason": kind, "graph_break": True, "stack": [{"file": "m.py", "line": 3, "function": "forward"}]}
                  for kind in ("Dynamic shape operator", "<script>alert(1)</script> &#x27;")]
        (tmp_path / f"{name}.json").write_text(json.dumps({
            "schema": "mlsysim.dynamo_explain/1", "model": {"family": "Text", "name": name, "commit": "c1"}, "status": "ok", "graph_count": graphs,
            "graph_break_count": 2, "op_count": ops, "graphs": [], "breaks": breaks, "guards": {"count": guards},
            "compile_times": {"unit": "s", "total": seconds, "phases": {}}}))

    parts = (0.5, 0.03, 0.002)
    for name, *counts in (("a", 1, 10, 100), ("b", 2, 40, 90), ("c", 5, 20, 400), ("d", 3, 33, 30)):
        document(name, *counts, sum(p * n for p, n in zip(parts, counts)))
    done = run("compile", "calibrate", tmp_path, "-o", "json")
    assert done.code == 0 and len(done.json()["rows"]) == 4
    assert "500 ms a graph + 30 ms an operator + 2 ms a guard" in run("compile", "calibrate", tmp_path).out
    refused("compile", "calibrate", tmp_path / "a.json", tmp_path / "b.json", parts=["three or more"])
    (tmp_path / "same").mkdir()
    for name in "abc":
        text = (tmp_path / f"{name}.json").read_text()
        (tmp_path / "same" / f"{name}.json").write_text(re.sub(r'("op_count"|"count"|"graph_count"): \d+', r"\1: 7", text))
    refused("compile", "calibrate", tmp_path / "same", parts=["do not tell graphs, operators and guards apart"])
    page = tmp_path / "page.html"
    assert run("compile", "ingest", tmp_path / "a.json", tmp_path / "b.json", "--html", page).code == 0
    html = page.read_text()
    assert "<script" not in html and "://" not in html.replace("http://www.w3.org/2000/svg", "") and html.count('<tr class="c') == 4
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;#x27;" in html and "dynamic_shape (2)" in html and "m.py:3 forward" in html
    ET.fromstring(html[html.index("<svg"):html.index("</svg>") + 6])


# In parts: this file is no log itself.
RECOMPILES, BREAKS = "torch._dynamo.guards.__" "recompiles: [DEBUG]", "torch._dynamo.symbolic_convert.__" "graph_breaks: [DEBUG] "


def test_logs_of_earlier_releases_of_torch(run, tmp_path):
    def ingest(*lines):
        (tmp_path / "job.log").write_text("\n".join(lines))
        return run("compile", "ingest", tmp_path / "job.log", "-o", "json").json()

    stamp = "[2023-12-01 17:03:21,101] "
    for before in (stamp, "[rank0]:" + stamp + "[4/1] "):
        found = ingest(before + RECOMPILES + " Recompiling function fn in /w/x.py:5",
                       before + RECOMPILES + "     triggered by the following guard failure(s):",
                       before + RECOMPILES + "     - tensor 'L['x']' size mismatch at index 0. expected 4, actual 5")
        text = json.dumps(found)
        assert "w/x.py" in text and "size mismatch" in text and '"recompiles": 1' in text
    breaks = stamp + "[0/0] " + BREAKS
    text = json.dumps(ingest(breaks + "Graph break: call_function BuiltinVariable(print) [ConstantVariable(str)] {} from user code at:",
                             breaks + '  File "/w/c.py", line 12, in forward', breaks + '    print("hi")',
                             breaks + "Traceback (most recent call last):", breaks + '  File "/usr/lib/torch/_dynamo/x.py", line 500, in wrapper',
                             breaks + "torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print)"))
    assert "w/c.py" in text and "BuiltinVariable(print)" in text and "_dynamo/x.py" not in text
    warned = stamp + "torch._dynamo.convert_frame: [WARNING] "
    text = json.dumps(ingest(warned + "torch._dynamo hit " "config.cache_size_limit (8)", warned + "   function: 'forward' (/w/modeling.py:375)",
                             warned + "   last reason: L['n'] == 17"))
    assert "w/modeling.py" in text and '"recompiles": 7' in text
