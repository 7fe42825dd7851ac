"""Bad input: exit 1, nothing on stdout, and a message that says what was found, expected, where, and what to do."""

import os
import shutil

import pytest

from conftest import HEAD, SERVE

EVAL = ("eval", "Llama3_8B", "H100")
FILE = """schema: mlsysim/hardware@1
entries:
- name: Mine
  compute: {{dense: {{fp16: {rate}}}, default_precision: fp16}}
  memory: {{capacity: {capacity}, bandwidth: {bandwidth}}}
"""


def device(tmp_path, rate="100 TFLOP/s", capacity="80 GB", bandwidth="2 TB/s", more=""):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.format(rate=rate, capacity=capacity, bandwidth=bandwidth) + more)
    return path


def test_wrong_unit(refused):
    refused(*EVAL, "--accelerators", "8", "--intra-node-bw", "450 GB",
            parts=["'intra_node_bw'", "has the wrong unit", "'450 GB'", "bandwidth [B/s]"])


def test_missing_unit(refused):
    refused(*EVAL, "--intra-node-bw", "450", parts=["has no unit", "bare number '450'", "write '450 GB/s'"])


def test_unit_where_none_is_due(refused):
    refused(*EVAL, "--batch-size", "8 GB", parts=["'batch_size'", "wrong unit", "leave the unit out"])


def test_unknown_unit_names_near_ones(refused):
    refused("units", "convert", "3 GBs", "GB", parts=["GBs", "did you mean"])


def test_tflops_as_a_rate_is_ambiguous(refused, tmp_path):
    path = device(tmp_path, rate="100 TFLOPS")
    refused("eval", "Llama3_8B", path, parts=["mine.yaml:4:", "TFLOPS", "TFLOP/s", "^"])


def test_tflops_as_an_amount_is_ambiguous(refused):
    refused("units", "convert", "3 TFLOPS", "FLOP", parts=["TFLOPS", "TFLOP"])


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "NaN"])
def test_not_a_finite_number(refused, text):
    refused(*EVAL, "--batch-size", text, parts=["batch_size", text])


def test_negative_size(refused, tmp_path):
    path = device(tmp_path, capacity="-80 GB")
    refused("eval", "Llama3_8B", path, parts=["mine.yaml:5:", "out of range", "-80 GB", "more than 0"])


@pytest.mark.parametrize("size", ["0", "-3", "1.5", "1e400"])
def test_batch_size_that_is_no_count(refused, size):
    refused(*EVAL, "--batch-size", size, parts=[size])


def test_unknown_model(refused):
    refused("eval", "Llama3_7B", "H100", parts=["there is no workload 'Llama3_7B'", "did you mean", "7b'"])


def test_a_folder_of_a_model_is_a_path(refused, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    refused("eval", "mine", "H100", parts=["there is no workload 'mine'", "write ./mine"])
    refused("eval", "acme/nothing-7b", "H100", parts=["there is no workload 'acme/nothing-7b'", "download its config.json"])
    refused("eval", "Llama3_8B", "mine", parts=["there is no hardware 'mine'"])


def test_unknown_device(refused):
    refused("eval", "Llama3_8B", "H1000", parts=["there is no hardware 'H1000'", "did you mean", "'H100'"])


def test_unknown_precision(refused):
    refused(*EVAL, "--precision", "bf61", parts=["no choice 'bf61'", "bf16"])


def test_precision_without_a_rate(refused):
    refused("eval", "Llama3_8B", "A100", "--precision", "fp8", parts=["A100", "fp8", "bf16"])


def test_unknown_region(refused):
    refused(*EVAL, "--region", "Quebeck", parts=["no region 'Quebeck'", "'Quebec'"])


def test_unknown_option(refused):
    refused(*EVAL, "--batchsize", "3", parts=["unknown option '--batchsize'", "'--batch-size'", "--help"])


def test_unknown_command(refused):
    refused("evaluate", "x", parts=["'evaluate'", "'eval'"])


def test_unknown_format(refused):
    refused(*EVAL, "-o", "xml", parts=["xml", "text", "json", "markdown", "csv"])


def test_html_is_not_offered(refused):
    refused("-o", "html", *EVAL, parts=["html"])


def test_model_alone(refused):
    refused("eval", "Llama3_8B", parts=["'Llama3_8B' alone", "mlsysim eval"])


def test_argument_too_many(refused):
    refused(*EVAL, "H200", parts=["unexpected argument 'H200'", "--help"])


def test_no_command(refused):
    refused(parts=["a command is missing", "eval", "zoo"])


def test_option_without_an_effect(refused):
    refused(*EVAL, "--zero-stage", "1", parts=["'zero_stage' has no effect in mode serve", "mode train"])


def test_counts_that_contradict_each_other(refused):
    refused(*EVAL, "--accelerators", "8", "--node-count", "3", parts=["accelerators", "node_count"])


def test_counts_that_contradict_a_cluster(refused):
    refused("eval", "Llama3_8B", "Research_256", "--accelerators", "8", parts=["Research_256", "256", "leave accelerators out"])


def test_degrees_that_do_not_fit(refused):
    refused(*EVAL, "--accelerators", "8", "--tp-size", "3", parts=["tp 3", "8 accelerators"])


def test_two_yaml_keys_alike(refused, plan):
    path = plan(SERVE + "hardware: {name: A100}\n")
    refused("eval", path, parts=["plan.yaml:5:1", "hardware", "^"])


def test_unknown_yaml_key(refused, tmp_path):
    path = device(tmp_path, more="  bandwith: 3 TB/s\n")
    refused("eval", "Llama3_8B", path, parts=["mine.yaml:6:3", "bandwith", "^"])


def test_number_without_source_in_the_zoo(refused, tmp_path):
    folder = tmp_path / "zoo"
    folder.mkdir()
    (folder / "references.yaml").write_text("schema: mlsysim/references@1\nentries: []\n")
    (folder / "catalogue.yaml").write_text("schema: mlsysim/convention@1\nentries: []\n")
    (folder / "devices.yaml").write_text(device(tmp_path).read_text())
    refused("zoo", "list", parts=["devices.yaml:3", "source"], env={"MLSYSIM_ZOO_PATH": str(folder)})


def test_plan_with_a_wrong_key(refused, plan):
    path = plan(SERVE.replace("seq_len", "seqlen"))
    refused("eval", path, parts=["plan.yaml:3:", "unknown key 'workload.seqlen'", "did you mean 'seq_len'", "^"])


def test_plan_key_in_the_wrong_section(refused, plan):
    path = plan(SERVE.replace("precision: bf16", "batch_size: 3"))
    refused("eval", path, parts=["unknown key 'hardware.batch_size'", "this key belongs to 'workload'"])


def test_plan_with_the_older_key_nodes(refused, plan):
    path = plan(SERVE.replace("precision: bf16", "nodes: 64"))
    refused("eval", path, parts=["plan.yaml:4:", "'hardware.nodes' was replaced", "accelerators", "node_count"])


def test_all_problems_of_a_plan_at_once(refused, plan):
    path = plan("name: test\nworkload: {batch_size: zero}\nhardware: {name: H1O0, precision: fp99}\nextra: 1\n"
                "ops: {region: Quebeck}\n")
    refused("eval", path, parts=["'version' is missing", "'workload.name' is missing", "zero", "fp99", "unknown key 'extra'",
                                "no hardware 'H1O0'", "no region 'Quebeck'", "7 problems"])


def test_plan_names_unknown_hardware_with_place_and_caret(refused, plan):
    path = plan(SERVE.replace("H100", "H1OO"))
    refused("eval", path, parts=["plan.yaml:4:18", "there is no hardware 'H1OO'", "did you mean", "^"])


def test_plan_of_another_version(refused, plan):
    path = plan(SERVE.replace('"1"', '"2"'))
    refused("eval", path, parts=["version", "'2'"])


@pytest.mark.parametrize("text", ["performance.step_latency", "performance.itll", "speed"])
def test_assertion_on_no_metric(refused, plan, text):
    path = plan(SERVE + f"constraints: {{assert: [{{metric: {text}, max: 50 ms}}]}}\n")
    refused("eval", path, parts=["plan.yaml:5:", f"no metric '{text}'", "performance.itl"])


def test_assertion_in_another_unit(refused, plan):
    path = plan(SERVE + "constraints: {assert: [{metric: performance.itl, max: 50 GB}]}\n")
    refused("eval", path, parts=["'performance.itl'", "wrong unit", "'50 GB'"])


def test_assertion_without_a_bound(refused, plan):
    path = plan(SERVE + "constraints: {assert: [{metric: performance.itl}]}\n")
    refused("eval", path, parts=["'performance.itl' without a bound", "min and max"])


def test_empty_file(refused, plan):
    refused("eval", plan(""), parts=["plan.yaml"])


def test_binary_file(refused, tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_bytes(bytes(range(256)))
    refused("eval", path, parts=["plan.yaml", "text"])


def test_file_of_100_megabytes(refused, tmp_path):
    path = tmp_path / "plan.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    refused("eval", path, parts=["plan.yaml", "too large", "100 MB"])


def test_directory_instead_of_a_file(refused, tmp_path):
    folder = tmp_path / "plan.yaml"
    folder.mkdir()
    refused("eval", folder, parts=["this is a directory"])


def test_missing_file(refused, tmp_path):
    refused("eval", tmp_path / "none.yaml", parts=["none.yaml", "does not exist"])


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_unreadable_file(refused, plan):
    path = plan(SERVE)
    path.chmod(0)
    # Root without the right to look past permissions reads no more than others do.
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []
    refused("eval", path, parts=["plan.yaml", "read", "permissions"], before=before)


def test_fifo_is_refused_rather_than_waited_for(refused, tmp_path):
    path = tmp_path / "plan.yaml"
    os.mkfifo(path)
    refused("eval", path, parts=["plan.yaml", "not a regular file"])


def test_yaml_that_is_none(refused, plan):
    refused("eval", plan("a: [1, 2\nb: }"), parts=["plan.yaml:"])


def test_json_mode_keeps_errors_off_stdout(refused):
    refused("-o", "json", "eval", "Llama3_7B", "H100", parts=["Llama3_7B"])


def test_zoo_path_that_is_not_there(refused):
    refused("--zoo", "/nowhere", "zoo", "list", parts=["/nowhere", "--zoo"])


def test_zoo_show_unknown(refused):
    refused("zoo", "show", "H1O0", parts=["no entry 'H1O0'", "H100"])


def test_zoo_list_unknown_kind(refused):
    refused("zoo", "list", "modles", parts=["no kind 'modles'", "did you mean 'model'"])


def test_explain_unknown_metric(refused):
    refused("explain", "Llama3_8B", "H100", "itll", parts=["itll", "itl"])


def test_resolver_unknown(refused):
    refused("resolver", "show", "ServingModle", parts=["ServingModle", "ServingModel"])


def test_pipeline_reports_what_is_missing(refused):
    refused("pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", parts=["hardware"])


def test_schema_unknown(refused):
    refused("schema", "plam", parts=["no schema 'plam'", "did you mean 'plan'"])


def test_wrong_conversion(refused):
    refused("units", "convert", "3.35 TB/s", "GB", parts=["GB", "bandwidth"])


def test_one_argument_does_not_take_the_memory(refused, tmp_path):
    """Within 1 GiB of address space: what would take more is refused before it is done."""
    deep = tmp_path / "deep.yaml"
    within = ("prlimit", f"--as={1 << 30}")
    for text in ("[" * (16 << 20), "{a: " * (4 << 20), "x: " + "[" * (15 << 20)):
        deep.write_text(text)
        for words in (("eval", deep), ("eval", "Llama3_8B", deep), ("zoo", "show", "H100", "--zoo", deep)):
            refused(*words, parts=("the nesting is too deep",), before=within)
    refused("uncertainty", "Llama3_8B", "H100", "itl", "--samples", "16777216", "--memory", "200 MB", parts=("more memory than they may", "--memory"), before=within)
    refused("uncertainty", "Llama3_8B", "H100", "itl", "--samples", "100000", "--memory", "1 MB", parts=("at most 0.001 GB",), before=within)
    refused("sweep", "Llama3_8B", "H100", "--axis", "batch_size=8..4294967296+8", parts=("at most 10000",), before=within)
    # Rows of an axis are counted in 32 bits.
    refused("optimize", "Llama3_8B", "H100", "--axis", "batch_size=1..4294967296", "--minimize", "itl", parts=("2^32 - 1",), before=within)


def test_numbers_at_their_ends_give_no_number_that_is_not_finite(refused, plan):
    """Also where a plan asserts something of them."""
    for option, value in (("--duration-days", "1e308"), ("--kwh-price", "1e308 USD/kWh")):
        refused("eval", "Llama3_8B", "H100", option, value, parts=("the scenario has no finite",))
    far = ("--seq-len", "1e300")
    for words in (("explain", *EVAL[1:], "itl"), ("explain", *EVAL[1:], "ttft"), ("plot", "waterfall", *EVAL[1:], "itl", "-o", "svg"),
                  ("plot", "roofline", *EVAL[1:]), ("plot", "timeline", *EVAL[1:])):
        refused(*words, *far, parts=("seq_len", "out of range", "1e300"), before=("prlimit", "--cpu=5"))
    refused("explain", *EVAL[1:], "cost_per_token", "--duration-days", "1e306", parts=("'cost_per_token'", "here"))


def test_rows_of_a_sweep_have_no_number_that_is_not_finite(run):
    shown = "itl / (batch_size - 1)"
    question = ("sweep", "Llama3_8B", "H100", "--axis", "batch_size=1,2", "--show", shown)
    first, second = run(*question, "-o", "json").json()["rows"]
    assert first[shown] is None and first["note"] == f"no finite {shown}"
    assert second[shown] > 0 and second["note"] == ""
    assert " inf" not in run(*question).out


def test_slopes_beyond_doubles_are_taken_over_the_bar(run):
    """A link of 1e-300 GB/s: the time is finite, what one byte a second more brings is not."""
    done = run("sensitivity", *EVAL[1:], "itl", "--accelerators", "8", "--intra-node-bw", "1e-300 GB/s", "-o", "json")
    link = next(r for r in done.json()["levers"] if r["input"] == "links.level1.bandwidth")
    assert link["elasticity_up"] == pytest.approx((1 / 1.1 - 1) / 0.1, rel=1e-3)  # time over bandwidth: 1 / 1.1 of it at +10 %
    assert link["elasticity_down"] == pytest.approx((1 / 0.9 - 1) / -0.1, rel=1e-3)


def test_no_number_that_is_typed_makes_an_answer_long(run):
    """Within five seconds of the processor: chunks, micro-batches, iterations and lengths are summed in closed form."""
    for words in (("--seq-len", "100000", "--prefill-chunk-tokens", "1"),
                  ("--mode", "train", "--batch-size", "1048576", "--microbatch-count", "1048576")):
        done = run("eval", "Llama3_8B", "H100", *words, before=("prlimit", "--cpu=5"))
        assert done.code in (0, 2), (words, done.code, done.err)


def test_escape_sequences_are_shown_and_not_sent(run, refused, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text('schema: mlsysim/hardware@1\nentries:\n- {name: "Od\\e]0;owned\\ad", category: accelerator}\n')
    for words in (("--zoo", mine, "zoo", "list"), ("eval", "Llama3_8B", mine)):
        done = refused(*words, parts=("control character",))
        assert "\x1b" not in done.err
    odd = run("optimize", "Llama3_8B", "H100", "--axis", "batch_size=1,2", "--minimize", "itl", "--show", "itl\x1b[2J")
    assert "\x1b" not in odd.out + odd.err
    for turn in "\u061c\u200f\u2028\u202e\u2066":
        turned = refused("eval", "Llama3_8B", "H100", "--weight-format", f"a{turn}bµ", parts=(f"a\\u{ord(turn):04x}bµ",))
        assert turn not in turned.err


def test_names_of_plugins_are_no_words_of_a_language(refused, tmp_path):
    for name in ("class", "import", "namespace", "None"):
        refused("plugin", "new", name, "--lang", "python", "--folder", tmp_path / name, parts=("cannot have this name", "a word of the language"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(refused, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("years of work")
    refused("plugin", "new", "mine", "--lang", "python", "--folder", taken, parts=("taken",))
    refused("course", "new", "a1_law", taken / "mine", parts=("a folder cannot be made", "taken"))
    assert taken.read_text() == "years of work"


def test_cells_beyond_doubles_are_named(refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("hardware,rows,columns,depth,measured [us]\nH100,1,1,1,1e999\n")
    refused("compare", "--against", table, "--measurand", "matrix_product", parts=("t.csv:2:", "1e999"))


def test_all_assertions_that_cannot_be_checked_are_named(refused, plan):
    path = plan(SERVE + "constraints:\n  assert:\n  - {metric: performance.itll, max: 50 ms}\n"
                "  - {metric: performance.ttft, max: 5 GB}\n  - {metric: performance.mfu, min: 0.0001}\n")
    refused("eval", path, parts=["2 problems", "plan.yaml:7:", "no metric 'performance.itll'", "plan.yaml:8:",
                                 "'performance.ttft' has the wrong unit", "^"])


def test_states_of_training(refused):
    refused("eval", "Llama3_8B", "H100", "--mode", "train", "--states", "moment=fp7",
            parts=["mlsysim.catalogue.120", "states of training", "'moment=fp7'", "PART=FORMAT", "parameter=bf16"])


RUNTIME = """schema: mlsysim/engine@1
entries:
- name: mine
  form: unfused
  launches:
  - {operation: norm, kernel: norm, reads: 1, writes: 1}
"""


def test_unfused_runtime_needs_kernels(refused, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RUNTIME)
    refused("--zoo", path, *EVAL, "--runtime", "mine",
            parts=["mlsysim.spec.090", "runtime 'mine' names no kernels", "small_kernels", "aten"])


def test_family_states_what_is_launched(refused, tmp_path):
    (tmp_path / "kernels.yaml").write_text(
        "schema: mlsysim/kernel_family@1\nentries:\n- {name: few, elementwise: {floor: 2600, share: 0.9}, norm: {floor: 8000}}\n")
    (tmp_path / "mine.yaml").write_text(RUNTIME + "  small_kernels: few\n")
    refused("--zoo", tmp_path, *EVAL, "--runtime", "mine",
            parts=["mlsysim.spec.091", "runtime 'mine' launches kernels that family 'few' does not state", "'norm'"])


@pytest.mark.parametrize(("words", "parts"), [
    (("optimize", *EVAL[1:], "--axis", "batchsize=1..8", "--maximize", "token_throughput"), ["mlsysim.explore.040", "'batchsize'", "'batch_size'"]),
    (("eval", "Llama3_8B", "H100,H200"), ["mlsysim.engine.032", "sweep", "decide"]),
    (("size", "Llama3_8B", "--rate", "10/s"), ["--on", "e.g. mlsysim size "]),
    (("solve", "Llama3_8B", "H100", "batch_size"), ["mlsysim.cli.375", "'H100'"]),
    (("export", "Llama3_8B", "H100", "--to", "vlm"), ["mlsysim.cli.111", "'vllm'?"]),
    (("calibrate", "--device", "A100"), ["--table", "e.g. mlsysim calibrate "]),
    (("plot", "curve", "Llama3_70B", "H100", "itl", "--axis", "batch_size=1..8"), ["mlsysim.picture.014", "8 points", "--accelerators 2"]),
])
def test_a_slip_is_answered_with_what_was_meant(refused, words, parts):
    refused(*words, parts=parts)


def test_a_key_that_stands_too_high_is_shown_its_place(refused, tmp_path):
    refused("eval", "Llama3_8B", device(tmp_path, more="  tdp: 700 W\n"), parts=["mine.yaml:6:3", "unknown key 'tdp'", "power: {tdp: ...}"])


def test_a_search_of_which_nothing_fits_says_what_would(run):
    done = run("pareto", "Llama3_70B", "H100", "--axis", "batch_size=1..8")
    assert done.code == 2 and "--accelerators 2 --tp-size 2" in done.err
    rows = run("sweep", "Llama3_70B", "H100", "--batch-size", "1", "-o", "json").json()["rows"]
    assert not rows[0]["feasible"] and "GB short of memory" in rows[0]["note"]


def test_a_flag_with_a_slip_names_the_one_of_the_table(run):
    done = run("import", "vllm serve Qwen/Qwen3-32B --tensor-paralel-size 4", "--hardware", "H100")
    assert done.code == 0 and "'tensor-parallel-size'" in done.err


def test_a_number_of_requests_has_no_effect_at_a_rate(run):
    warned = run(*EVAL, "--rate", "5/s", "--batch-size", "20", "-o", "json").json()["warnings"]
    assert any("batch_size" in text for text in warned)
    assert not any("batch_size" in text for text in run(*EVAL, "--rate", "5/s", "-o", "json").json()["warnings"])
