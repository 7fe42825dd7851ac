"""Every command's --help has two examples at least, and what stands there runs."""

import gzip
import os
import pathlib
import re
import shlex
import shutil

import pytest
from conftest import PROGRAM, ROOT, call

FINE = (0, 2, 3)  # an example may show what does not fit, or an assertion that fails
PLUGINS = pathlib.Path(PROGRAM).parents[1] / "plugins"
# Run as they are by other tests, because they take long: all tables, and constants of a device from hundreds of rows.
ELSEWHERE = {"mlsysim watch http://127.0.0.1:8000/metrics --workload Llama3_8B --hardware H100",  # both need engines
             "mlsysim watch http://a:8000/metrics http://b:8000/metrics --workload Llama3_70B --hardware H100 --with accelerators=8 "
             "--count 60 --interval 10 --metrics /var/lib/node_exporter/mlsysim.prom",
             "mlsysim graph-breaks export runs/ --alias-compile-breaks --push http://127.0.0.1:9091 --job ci",  # these need a server
             "mlsysim graph-breaks export --push http://127.0.0.1:9091 --job ci --delete-group",
             "mlsysim ci run predictions.yaml --push http://127.0.0.1:9091 --job nightly",
             "mlsysim ci prune --push http://127.0.0.1:9091 --matrix predictions.yaml",
             "mlsysim measure --out measured", "mlsysim measure --points points.json --hardware H200", "mlsysim measure --out measured --deadline 45 --python ~/venv/bin/python",  # these need PyTorch
             "mlsysim audit", "mlsysim audit Llama3_70B --precision fp8 --batch-size 16",  # of machines with NVIDIA's driver
             "mlsysim mcp --schemas", "mlsysim mcp --allow ./plans", "mlsysim mcp --http 8000",  # of the Python package
             "mlsysim validate", "mlsysim validate --check", "mlsysim calibrate --engine vllm --table inference/hopper_dense_tpot --table inference/hopper_dense_ttft",
             "mlsysim validate kernels --html kernels.html", "mlsysim calibrate --device H100 --table kernels/aiconfigurator_gemm_bf16_h100"}
MERGED = ("sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..12", "--minimize", "itl")


def subcommands(words):
    """Names of the commands below a command, and its help."""
    text = call(*words, "--help" if words else "--help-all").out
    below = text.partition("Subcommands:\n")[2].split("\n\n")[0]
    return [m[1] for line in below.splitlines() if (m := re.match(r"  ([a-z][a-z0-9-]*)( |$)", line))], text


def leaves(words=()):
    names, text = subcommands(words)
    if not names:
        return {" ".join(words): text}
    return {name: help_text for n in names for name, help_text in leaves((*words, n)).items()}


def examples(text):
    """Command lines of the examples, without words that explain them behind many blanks."""
    lines = re.sub(r" *\\\n *", " ", text).splitlines()
    return [re.sub(r"(?<=\S) {4,}\S.*$", "", line.strip()) for line in lines if line.startswith("  mlsysim ")]


LEAVES = leaves()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("help")
    kernels = ROOT / "zoo" / "validation" / "kernels"
    shutil.copy(ROOT / "examples" / "plans" / "serve_70b.yaml", folder / "plan.yaml")
    shutil.copy(ROOT / "examples" / "plans" / "serve_70b.yaml", folder / "other.yaml")
    shutil.copy(kernels / "azure_hbm_a100_h100.yaml", folder / "mine.yaml")
    shutil.copy(kernels / "azure_microbench_a100_h100.csv", folder)
    (folder / "gemm.csv").write_text("hardware,precision,rows,columns,depth,measured [us]\n"
                                     + "".join(f"H100,bf16,{n},{n},{n},{t}\n" for n, t in ((1024, 9), (2048, 35), (4096, 210), (8192, 1600))))
    config = ROOT / "tests" / "data" / "model_files" / "configs" / "Qwen--Qwen3-8B.json"
    (folder / "Qwen3-8B").mkdir()
    shutil.copy(config, folder / "config.json")
    (folder / "net.acmeops").write_text("product mlp/up 8 256 64\npointwise mlp/act 2048\n")
    shutil.copy(config, folder / "Qwen3-8B" / "config.json")
    (folder / "my_devices.yaml").write_text(call("zoo", "new", "hardware", "MyChip").out)
    for k in (1, 2, 3):
        assert call(*MERGED, "--shard", f"{k}/3", "--state", f"part{k}.json", cwd=folder).code == 0
    shutil.copytree(ROOT / "docs" / "reference" / "resolvers", folder / "docs" / "reference" / "resolvers")
    compile_data = ROOT / "tests" / "data" / "compile"
    shutil.copy(compile_data / "tlparse_simple.log.gz", folder / "dedicated_log_torch_trace_rank_0_abc.log.gz")
    (folder / "runs").mkdir()
    shutil.copy(compile_data / "tlparse_artifacts.log", folder / "runs")
    (folder / "explain.txt").write_bytes(gzip.decompress((compile_data / "explain_24graphs_bert_tiny_wrapper.txt.gz").read_bytes()))
    (folder / "trace_logs").mkdir()
    for name in ("bert_tiny_print_breaks.log.gz", "tlparse_artifacts.log", "explain_24graphs_bert_tiny_wrapper.txt.gz"):
        shutil.copy(compile_data / name, folder / "trace_logs")
    shutil.copy(compile_data / "bert_tiny_print_breaks.log.gz", folder / "bert.log.gz")
    for side in ("before", "after"):
        (folder / side).mkdir()
        for name in (f"{side}.log", f"{side}/model.log"):
            shutil.copy(compile_data / "tlparse_artifacts.log", folder / name)
    (folder / "predictions.yaml").write_text("""version: "1"
models: [Llama3_8B]
hardware: [H100]
precision: [bf16]
pipelines: {serve: {batch_size: 4, accelerators: 8}}
metrics: [itl]
""")
    assert call("ci", "run", "predictions.yaml", "--history", "predictions.sqlite", "--commit", "v1.0", cwd=folder).code == 0
    (folder / "ds_config.json").write_text('{"train_batch_size": 64, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}')
    programs = ROOT / "tests" / "data" / "programs"
    shutil.copy(programs / "onnx" / "linear.onnx", folder / "model.onnx")
    for name in ("model.mlir", "step.mlir"):
        shutil.copy(programs / "stablehlo" / "mnist_mlp.mlir", folder / name)
    (folder / "trace.jsonl").write_text("".join(f'{{"timestamp": {500 * k}, "input_length": {900 + 100 * (k % 7)}, "output_length": {50 + k}}}\n' for k in range(40)))
    (folder / "azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"2023-11-16 18:15:{k:02d}.5,{300 + k},{40 + k % 9}\n" for k in range(50)))
    (folder / "serve.sh").write_text("vllm serve Qwen/Qwen3-32B -tp 4\n")
    for folder_of, lang in (("homework1", "cpp"), ("homework2", "python")):
        assert call("course", "new", "a1_law", folder_of, "--lang", lang, cwd=folder).code == 0
    for library in PLUGINS.glob("acme_efficiency/*.so"):
        shutil.copy(library, folder / "mlsysim-plugin-acme.so")
    return folder


def test_every_command_is_seen():
    assert {"eval", "plot", "report", "sweep", "zoo show", "plugin check"} <= set(LEAVES)


VERBS = {"Browse", "Check", "Choose", "Compare", "Convert", "Draw", "Estimate", "Explain", "Find", "Fit", "Get", "Hold", "Join", "Judge", "List", "Load",
         "Measure", "Predict", "Print", "Rank", "Read", "Remove", "Run", "Say", "Serve", "Show", "Build", "Write"}


def test_a_line_about_a_command_starts_with_a_verb_and_is_short():
    for group in [(), *((name.split()[0],) for name in LEAVES if " " in name)]:
        listed = call(*group, "--help-all").out.partition("Subcommands:\n")[2].split("\n\n")[0]
        for name, about in re.findall(r"^  ([a-z][a-z0-9-]*) +(\S.*)$", listed, re.M):
            assert about.split()[0].rstrip(",") in VERBS and len(about) <= 80, (name, about)


def test_first_screens_are_short_and_complete():
    first = call("--help").out
    assert len(first.splitlines()) <= 24 and max(map(len, first.splitlines())) <= 96
    names = set(re.findall(r"[a-z-]+", first))
    assert {name.split()[0] for name in LEAVES} <= names, {name.split()[0] for name in LEAVES} - names
    common = call("eval", "--help").out
    options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", common, re.M)
    assert len(options) <= 18 and len(re.findall(r"^  (?:-\w,)?(--[\w-]+)", call("eval", "--help-all").out, re.M)) > 60


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_two_examples(name):
    found = [e for e in examples(LEAVES[name]) if e.startswith(f"mlsysim {name}")]
    assert len(found) >= 2, found


def test_groups_of_commands_have_two_examples_of_theirs():
    for group in sorted({name.split()[0] for name in LEAVES if " " in name}):
        found = [e for e in examples(call(group, "--help").out) if e.startswith(f"mlsysim {group} ")]
        assert len(found) >= 2, (group, found)


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_examples_run(name, place, tmp_path):
    paths = os.pathsep.join(str(p) for p in PLUGINS.glob("*") if p.is_dir())
    if name.startswith("plugin") and not (place / "mlsysim-plugin-acme.so").exists():
        pytest.skip("the example plugins are not built")
    where = tmp_path if name in ("sweep", "course new") else place  # these write what others of the place have already
    environment = {"MLSYSIM_PLUGIN_PATH": paths} if name.startswith(("plugin", "support")) else {}
    ran = 0
    for line in examples(LEAVES[name]):
        for single in line.split(" && "):
            if single in ELSEWHERE or not single.startswith("mlsysim "):
                continue
            words = shlex.split(single)
            target = words.index(">") if ">" in words else None
            done = call(*words[1:target], cwd=where, env=environment)
            # Submissions in C++ are graded by an installed program; one in its build folder says so.
            assert done.code in FINE or (name == "course check" and done.code == 1), (single, done.err)
            ran += 1
            if target is not None:
                (where / words[target + 1]).write_text(done.out)
    assert ran > 0 or name in ("validate", "calibrate", "watch", "mcp", "audit")
