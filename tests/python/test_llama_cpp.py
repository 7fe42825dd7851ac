"""llama.cpp of May 2024: scores in memory, weights widened in memory, activations in fp32, beside what was published
(GPU-Benchmarks-on-LLM-Inference) and beside the bytes that each of these moves."""

import pytest

import mlsysim

GB = 1e9
WEIGHTS = 7.5e9  # of Llama-3-8B without its embedding


def times(device, bits=16, tokens=512, engine="llama_cpp@b2800"):
    told = mlsysim.ServingModel.solve(
        workload="Llama3_8B", hardware=device, precision="fp16", engine=engine, seq_len=tokens, prefill_chunk_tokens=512,
        **({} if bits == 16 else {"weight_bits": bits}))
    return told.ttft.m_as("s"), told.itl.m_as("s")


@pytest.mark.parametrize(
    "device, bits, tokens, published",
    [("RTXA6000", 16, 512, 4511), ("RTXA6000", 16, 8192, 2566), ("RTXA6000", 4.85, 512, 3781), ("RTX4090", 16, 512, 9382),
     ("RTX4090", 4.85, 8192, 4040), ("RTX3090", 4.85, 1024, 3865)])
def test_prompts_come_out_as_published(device, bits, tokens, published):
    assert 0.8 < tokens / times(device, bits, tokens)[0] / published < 1.25


def test_weights_of_few_bits_are_widened_before_the_products_of_a_prompt():
    """0.61 bytes of each weight are read and 2 written, then read as those of 16 bits are: 2.61 x 7.5e9 bytes at 768 GB/s are
    25 ms. A step reads 0.61 bytes in place of 2."""
    (prompt, step), (wide_prompt, wide_step) = times("RTXA6000", 4.85), times("RTXA6000")
    assert 0.8 < (prompt - wide_prompt) / (2.61 * WEIGHTS / (768 * GB)) < 1.4
    assert step < 0.55 * wide_step


def test_scores_of_a_long_prompt_cross_memory():
    """Chunk i of 512 tokens has 512 x 512 i scores in each of 32 x 32 heads, and all of them: sixteen chunks have 120 x 2^28 more
    than sixteen first ones. 24 bytes each (2 written and 2 read in fp16, 4 written, read, written and read in fp32, 2 written and
    2 read again) at 768 GB/s are 1.0 s; products of 512 FLOP a pair at 116 TFLOP/s 0.14 s. With fused attention nothing of it."""
    extra = times("RTXA6000", tokens=8192)[0] - 16 * times("RTXA6000")[0]
    assert 0.8 < extra / (24 * 120 * 2**28 / (768 * GB) + 0.14) < 1.5
    fused = times("RTXA6000", tokens=8192, engine="llama_cpp")[0] - 16 * times("RTXA6000", engine="llama_cpp")[0]
    assert fused < 0.35 * extra


def test_a_step_does_not_fill_the_memory_of_an_a100():
    """108 units at 1.41 GHz read 6.5 bytes a cycle: 0.99 of 2.04 TB/s. 53.5 tokens a second were published."""
    step = times("A100")[1]
    assert 2 * WEIGHTS / (0.99e12) < step < 1.5 * 2 * WEIGHTS / (0.99e12)
    assert 0.8 < 1 / step / 53.5 < 1.25


@pytest.mark.parametrize("device, bits, prompts, steps", [
    ("AppleM1_GPU8", 8.5, 117.25, 7.91), ("AppleM1Max_GPU32", 16, 599.53, 23.03), ("AppleM2Ultra_GPU76", 4.55, 1238.48, 94.27)])
def test_metal_comes_out_as_published(device, bits, prompts, steps):
    """LLaMA 7B with build 8e672ef, prompts of 512 tokens and steps after one (llama.cpp, discussion 4167), tokens a second."""
    def told(tokens):
        return mlsysim.ServingModel.solve(
            workload="Llama2_7B", hardware=device, precision="fp16", weight_bits=bits, engine="llama_cpp_metal@b1538",
            seq_len=tokens, output_tokens=128, prefill_chunk_tokens=512)
    assert 512 / told(512).ttft.m_as("s") / prompts == pytest.approx(1, abs=0.2)
    assert 1 / told(1).itl.m_as("s") / steps == pytest.approx(1, abs=0.2)


def test_mlx_launches_fewer_kernels():
    """MLX has one kernel for a norm with its weight and one for the gated activation, llama.cpp two; activations keep 16 bits."""
    def step(engine):
        return mlsysim.ServingModel.solve(workload="Llama2_7B", hardware="AppleM2Max_GPU38", precision="fp16", weight_bits=4.5,
                                          engine=engine, seq_len=512).itl.m_as("s")
    fewer = 2 * 32 + 1 + 32
    assert fewer * 3e-6 < step("llama_cpp_metal") - step("mlx") < fewer * 20e-6


@pytest.mark.parametrize("device, runtime", [("AppleM4Max_GPU40", "llama_cpp_metal"), ("H100", "generic"), ("MI300X", "generic")])
def test_the_class_of_a_device_names_the_usual_runtime(device, runtime):
    made = mlsysim.InFlightBatchingModel.solve(workload="Llama3_8B", hardware=device, seq_len=512, output_tokens=64, concurrency=1)
    assert dict((name, value) for name, value, _ in made.assumptions)["engine"] == runtime


def test_a_server_of_llama_cpp_on_a_mac_is_its_port():
    line = "llama-server -hf bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M -c 4096"
    assert mlsysim.launches.read(line, hardware="AppleM2Max_GPU38")["fields"]["engine"] == "llama_cpp_metal"
    assert mlsysim.launches.read(line, hardware="RTX4090")["fields"]["engine"] == "llama_cpp"
