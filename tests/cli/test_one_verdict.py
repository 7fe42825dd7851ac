"""One launch has one verdict: `fit`, `fit` of the plan that `import` writes, `eval` of it and `memory` with its fields read the same weights
and give the same answer to whether it fits."""

import pytest

# A launch, a device, whether it fits, and the weights of a device [GB].
LAUNCHES = [
    ("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --max-model-len 8192", "H100", True, 70.55),
    ("vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192", "H100", False, 141.1),
    ("vllm serve neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w4a16 --max-model-len 8192", "H100", True, 39.77),
    ("vllm serve unsloth/Qwen2.5-7B-bnb-4bit --max-model-len 8192", "L4", True, 5.57),
    ("vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ --quantization awq_marlin --max-model-len 16384", "L40S", True, 19.3),
    ("vllm serve mistralai/Mistral-7B-Instruct-v0.3 --max-model-len 32768", "L4", True, 14.5),
    ("vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-cache-dtype fp8 --max-model-len 8192 --enforce-eager", "L4", True, 16.06),
    ("vllm serve openai/gpt-oss-120b --max-model-len 16384", "H100", True, 65.2),
    ("python3 -m sglang.launch_server --model Qwen/Qwen3-30B-A3B --tp 2 --context-length 16384", "A100", True, 30.54),
    ("python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --context-length 8192", "H200", True, 85.0),
    ("trtllm-serve meta-llama/Llama-3.1-8B-Instruct --max_batch_size 16 --max_seq_len 4096", "H100", True, 16.06),
    ("llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99", "RTX4090", True, 8.48),
    ("llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -ngl 30", "RTX4090", True, 5.48),
    ("vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 4096", "L4", True, 16.5),  # 1.26 of them its tower
    ("vllm serve Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8 --max-model-len 4096", "L4", True, 8.86),  # embedding and head in 16 bits
    ("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes 20G", "A100", True, 16.38),
    ("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes 80G", "A100", False, 16.38),
]


def held(done):
    return sum(row["bytes"] for row in done.json()["rows"] if row["part"] == "weights") / 1e9


@pytest.mark.parametrize("words, device, fits, weights", LAUNCHES, ids=[f"{row[0].split('/')[-1][:40]} {row[1]}" for row in LAUNCHES])
def test_every_command_reads_the_same(run, tmp_path, words, device, fits, weights):
    plan = tmp_path / "plan.yaml"
    plan.write_text(run("import", words, "--hardware", device).out)
    launch, planned, card = (run(*more, "-o", "json") for more in (("fit", "--from", words, "--hardware", device), ("fit", "--from", plan), ("eval", plan)))
    found = {"fit": held(launch), "fit of the plan": held(planned), "eval": card.json()["memory"]["weights"]["value"] / 1e9}
    assert found == pytest.approx(dict.fromkeys(found, weights), rel=0.01)
    assert found == pytest.approx(dict.fromkeys(found, found["eval"]), rel=2e-3)  # what is kept in 16 bits is counted apart in one of them
    assert {"fit": launch.code, "fit of the plan": planned.code, "eval": card.code} == dict.fromkeys(found, 0 if fits else 2)


# A checkpoint, a device as people write it, the weights of the device [GB], and whether a request of 4096 tokens fits.
NAMES = [
    ("Qwen/Qwen2.5-32B-Instruct-AWQ", "NVIDIA L40S", 19.3, True),
    ("RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "H100 SXM", 72.7, True),
    ("unsloth/Llama-3.3-70B-Instruct-bnb-4bit", "A6000", 39.5, True),
    ("meta-llama/Llama-3.1-8B-Instruct", "A100 1g.10gb", 16.06, False),
    ("openai/gpt-oss-120b", "p5.48xlarge", 8.18, True),  # an eighth, on each device of the node
    ("unsloth/gpt-oss-20b-GGUF:F16", "RTX4090", 13.75, True),  # experts in MXFP4 in every such file
    ("mlx-community/Qwen3-8B-4bit", "RTX4090", 4.61, True),  # 4.5 bits, embedding and output matrix too
]


@pytest.mark.parametrize("model, device, weights, fits", NAMES, ids=[row[0] for row in NAMES])
def test_memory_reads_names_as_eval_does(run, model, device, weights, fits):
    memory = run("memory", model, device, "--context", "4096", "-o", "json")
    one = () if device.startswith("p5") else ("--seq-len", "3968", "--output-tokens", "128")
    card = run("eval", model, device, "-o", "json", *one)
    assert held(memory) == pytest.approx(weights, rel=0.01)
    if one:
        assert card.json()["memory"]["weights"]["value"] / 1e9 == pytest.approx(held(memory), rel=2e-3)
        assert (memory.code, card.code) == ((0, 0) if fits else (2, 2))
    said = {line.removeprefix("mlsysim: note: ") for line in memory.err.splitlines() if "is taken for" in line}
    assert said <= set(card.json()["warnings"]) and said


@pytest.mark.parametrize("engine, launch", [
    ("vllm", "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --max-model-len 4352"),
    ("tensorrt_llm", "trtllm-serve meta-llama/Llama-3.1-70B-Instruct --tp_size 2 --max_seq_len 4352"),
])
def test_eval_runs_as_many_requests_as_fit(run, engine, launch):
    """Requests of 4096 tokens and 512 of answer hold 4352.5 tokens on average. vLLM leaves them 0.92 of 85.9 GB less weights of 70.55 GB,
    context, and the activations of 8192 tokens: eight, and not the fifteen of nine tenths of all that is left."""
    fit = run("fit", "--from", launch, "--hardware", "H100")
    assert fit.code == 0 and fit.out.startswith("FITS. ")
    count = int(fit.out.split()[1])
    card = run("eval", "Llama3_70B", "H100", "--accelerators", "2", "--tp-size", "2", "--batch-size", "64", "--seq-len", "4096",
               "--output-tokens", "512", "--engine", engine, "-o", "json").json()
    assert abs(card["p_max_active_requests"] - count) <= 1
    assert card["f_memory_used_gb"] <= card["f_memory_capacity_gb"]


def test_a_pool_without_a_request_does_not_fit(run):
    """SGLang keeps a sixth of two H100 for activations and graphs: beside 70.55 GB of weights the cache holds 1156 tokens."""
    words = ("Llama3_70B", "H100", "--accelerators", "2", "--tp-size", "2", "--seq-len", "4096", "--output-tokens", "512")
    assert run("eval", *words, "--engine", "sglang").code == 2
    assert run("eval", *words, "--engine", "vllm").code == 0
    launch = "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B-Instruct --tp 2 --context-length 4608"
    assert run("fit", "--from", launch, "--hardware", "H100").code == 2


def test_the_format_of_the_files_is_theirs_in_every_command(run):
    """Of DeepSeek-V3 the matrices are in fp8, embedding, head and norms in 16 bits: 85.0 GB on each of eight devices, named or not."""
    words = ("memory", "DeepSeek_V3", "H200", "--tp-size", "8", "-o", "json")
    assert held(run(*words, "--precision", "fp8")) == held(run(*words))


@pytest.mark.parametrize("form", ["fp8", "int8"])
def test_an_arithmetic_narrows_what_the_format_of_that_name_narrows(run, form):
    """Embedding and output matrix of Llama-3.1-70B, 2 x 128,256 x 8,192, keep 16 bits: 72.7 GB and not 70.6."""
    words = ("Llama3_70B", "H100", "-o", "json")
    cards = [run("eval", *words, option, form).json()["memory"]["weights"]["value"] for option in ("--precision", "--weight-format")]
    weights = [*cards, 1e9 * held(run("memory", *words, "--precision", form))]
    assert weights == pytest.approx([72.656e9] * 3, rel=1e-4)


def test_the_bytes_of_a_cache_say_how_many_requests_fit(run, tmp_path):
    """Of 20 GiB for the cache, at 147,456 B a token: 17 requests of 8192 tokens, in every answer."""
    launch, plan = "vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes 20G", tmp_path / "plan.yaml"
    plan.write_text(run("import", launch, "--hardware", "A100").out)
    fit = run("fit", "--from", launch, "--hardware", "A100")
    memory = run("memory", "Qwen3_8B", "A100", "--engine", "vllm", "--context", "8192", "--kv-cache-memory", "20 GiB", "-o", "json")
    pool = next(row for row in memory.json()["rows"] if row["part"] == "pool")
    assert int(fit.out.split()[1]) == 17 and pool["bytes"] == 20 * 2**30 and memory.code == 0
    assert run("eval", plan, "-o", "json").json()["p_max_active_requests"] == pytest.approx(17, abs=1)
    assert "--kv-cache-memory-bytes 21474836480" in run("export", "Qwen3_8B", "A100", "--kv-cache-memory", "20 GiB", "--to", "vllm").out


@pytest.mark.parametrize("tokens, fits", [(37_760, True), (38_000, False)])
def test_a_request_alone_has_to_reach_its_end(run, tmp_path, tokens, fits):
    """vLLM leaves two H100 a cache of 37,760 tokens beside Llama-3.1-70B. Half of a long answer would fit beside the prompt, the last token not."""
    launch, plan = f"vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --max-model-len {tokens}", tmp_path / "plan.yaml"
    plan.write_text(run("import", launch, "--hardware", "H100", "--seq-len", str(tokens - 8000), "--output-tokens", "8000").out)
    assert (run("fit", "--from", launch, "--hardware", "H100").code, run("eval", plan).code) == ((0, 0) if fits else (2, 2))


# Shares of two devices, and whether the fuller one has room: 42.8 GB of weights, 2.7 GB of cache, 1.2 GB of context and working set. At
# 9:8 the fuller device holds 9/17 of the first two, 24.1 GB, at 7:6 24.5 GB, at 6:5 24.8 GB of the 25.8 GB that there are.
SHARES = [("1,1", True), ("9,8", True), ("6,5", False), ("3,1", False), ("30,1", False)]


@pytest.mark.parametrize("shares, fits", SHARES)
def test_devices_with_unequal_shares_have_one_verdict(run, tmp_path, shares, fits):
    words = f"llama-server -m Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99 -ts {shares}"
    plan = tmp_path / "plan.yaml"
    plan.write_text(run("import", words, "--hardware", "RTX4090").out)
    done = [run("fit", "--from", words, "--hardware", "RTX4090"), run("fit", "--from", plan), run("eval", plan)]
    assert [d.code for d in done] == [0 if fits else 2] * 3, [d.out for d in done]
    if shares != "1,1":
        assert f"tensor-split {shares}" in " ".join(done[2].out.splitlines()[:3])


def test_a_step_takes_as_long_with_unequal_shares(run, tmp_path):
    def itl(shares):
        plan = tmp_path / "plan.yaml"
        words = f"llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99 -ts {shares}"
        plan.write_text(run("import", words, "--hardware", "RTX4090").out)
        return run("eval", plan, "-o", "json").json()["p_itl"]

    assert itl("3,1") == pytest.approx(itl("1,1"))  # each layer is read once, wherever it lies
