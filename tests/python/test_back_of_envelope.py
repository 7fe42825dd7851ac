"""Questions that practitioners ask, each beside what the back of an envelope says.

Every test derives its own numbers from data sheets and first principles, and states the factor by which a closed form with
launches, collectives and sustained rates may differ from them, and why.
"""

import pytest

import mlsysim
from mlsysim import Hardware, Models, Q_, Systems

GB, TB = 1e9, 1e12
MS = 1e-3


def seconds(quantity):
    return quantity.m_as("s")


def serve(model, device, accelerators=1, precision="bf16", batch=1, **more):
    return mlsysim.SystemEvaluator.evaluate(
        "asked", getattr(Models, model), getattr(Hardware, device), batch, precision, accelerators=accelerators, **more)


def burst(*asked, **more):
    """A batch that starts at once on devices alone: no host, no requests that come between."""
    return serve(*asked, load="burst", **more)


def times(card):
    return seconds(card.performance["ttft"]), seconds(card.performance["itl"])


# 1. Devices of which nobody published how many compute units they have.


def test_a_rack_is_not_slower_than_one_of_its_devices():
    """Llama-3-70B: 70.6e9 weights of 2 bytes are 141 GB, read once a token.

    One GB200 device reads 8 TB/s: 17.6 ms. A rack of 72 is 576 TB/s: 0.25 ms, under which no engine gets: 80 layers of
    10 or so kernels at 2 to 6 us are 2 to 5 ms. So: one device 17.6 ms and up to 1.5 times that (memories sustain 70 to
    90 % of their rate), the rack less than a quarter of one device, and above its own bytes.
    """
    weights = 70.6e9 * 2
    one = times(serve("Llama3_70B", "GB200", seq_len=1024, output_tokens=256))
    rack = times(serve("Llama3_70B", "GB200_NVL72", seq_len=1024, output_tokens=256))
    assert weights / (8 * TB) < one[1] < 1.5 * weights / (8 * TB)
    assert weights / (72 * 8 * TB) < rack[1] < one[1] / 4
    assert rack[0] < one[0] / 4


def test_attention_is_a_small_part_of_a_tpu_step():
    """Llama-3-8B at 4096 tokens: a token costs a layer 2 x 218e6 FLOP in products (4096 x 6144 + 4096 x 4096 + 3 x 4096 x
    14336 weights) and 2 x 2 x 4096 x 2048 = 34e6 in attention (scores and values, half of 4096 on average): 7 %.

    Attention runs below the rate of products everywhere, by up to 3 times: at most 20 % of the forward pass.
    """
    products, attention = 2 * 218e6, 2 * 2 * 4096 * 2048
    share = attention / (products + attention)
    found = mlsysim.ask(Models.Llama3_8B, Hardware.TPUv7, precision="bf16", seq_len=4096).explain("ttft").operators
    whole = sum(row["time"] for row in found)
    inside = sum(row["time"] for row in found if row["name"] == "attention")
    assert 0.5 * share < inside / whole < 3 * share


@pytest.mark.parametrize("device", ["TPUv5p", "TPUv6e", "TPUv7", "Gaudi3", "MI300X", "H100", "B200"])
def test_a_prompt_takes_what_its_arithmetic_takes(device):
    """2048 tokens of Llama-3-8B: 2 x 8.03e9 x 2048 = 32.9 TFLOP (the embedding is looked up, attention adds 4 %), at the
    dense 16-bit rate of the data sheet. Large products sustain 40 to 95 % of it: 1 to 3 times the envelope.
    """
    dense = seconds_of_work(2 * 8.03e9 * 2048, getattr(Hardware, device))
    first, between = times(burst("Llama3_8B", device, seq_len=2048))
    assert dense < first < 3 * dense
    read = 16.06 * GB / getattr(Hardware, device).memory.bandwidth.m_as("B/s")
    assert read < between < 2 * read  # and a token what its bytes take


def test_a_prompt_on_trainium_has_a_range_that_holds_what_was_published():
    """Published for 1500 tokens of Llama-3.1-8B on one Trainium2: 197 ms, five times the envelope of 2 x 8.03e9 x 1500 = 24.1 TFLOP at
    667 TFLOP/s (36 ms). No kernel of the class was measured: its shares are those of any device, and the range of 95 % reaches
    there.
    """
    found = mlsysim.ask(Models.Llama3_8B, Hardware.Trainium2, precision="bf16", seq_len=1500).intervals("ttft", level=95)["ttft"]
    assert seconds(found["lower"]) < 0.1 < 0.197 < seconds(found["upper"])


def seconds_of_work(flop, device):
    return flop / device.compute.peak_flops.m_as("FLOP/s")


# 2. How many replicas?


def test_replicas_for_fifty_requests_a_second():
    """Llama-3-70B in bf16 on 8 H100, prompts of 1792 and answers of 256 tokens, at most 32 at a time.

    A prompt is 2 x 70.6e9 x 1792 = 253 TFLOP; 8 x 989 TFLOP/s sustain about 0.6 and lose a third to all-reduces: 75 ms.
    A step reads 17.6 GB a device at 3.35 TB/s x 0.85 = 6.2 ms, 32 caches of 0.61 GB / 8 are 0.9 ms, and 160 all-reduces
    at 20 us are 3.2 ms: 10.3 ms; 255 of them for 32 requests are 82 ms a request. So 157 ms a request, 6.4 requests a
    second and replica, 7.9 replicas; factor 1.6, because lines must not be full and passes mix.
    """
    prompt = 2 * 70.6e9 * 1792 / (8 * 989e12 * 0.6) * 4 / 3
    step = 17.6 * GB / (3.35 * TB * 0.85) + 32 * 0.61 * GB / 8 / (3.35 * TB * 0.85) + 160 * 20e-6
    replicas = 50 * (prompt + 255 * step / 32)
    assert 7 < replicas < 9
    asked = dict(arrival_rate="50 request/s", target_p99_latency="8 s", max_seq_len=2048, output_tokens=256, tp_size=8,
                 precision="bf16")
    found = mlsysim.ServingCapacityModel().solve(Models.Llama3_70B, Hardware.H100, **asked)
    assert found.feasible and replicas / 1.6 < found.required_replicas < replicas * 1.6
    # Requests of one length take one time. Where times vary, the tail needs more.
    alike = mlsysim.ServingCapacityModel().solve(Models.Llama3_70B, Hardware.H100, service_time_cv=0, **asked)
    assert alike.estimated_p99_latency == found.estimated_p99_latency
    varied = mlsysim.ServingCapacityModel().solve(
        Models.Llama3_70B, Hardware.H100, mean_request_tokens=1500, service_time_cv=1, **{**asked, "target_p99_latency": "100 s"})
    assert varied.estimated_p99_latency > 2 * varied.base_request_latency


# 3. Prompts on workers of their own.


def test_a_prefill_worker_of_eight_ranks_takes_eight_prompts():
    """DeepSeek-V3 in fp8, prompts of 4096 tokens, 8 H200, 8 expert-parallel ranks.

    A prompt is 2 x 37e9 x 4096 = 303 TFLOP of products and 61 layers x 4096 x 4096 x 128 heads x 320 = 42 TFLOP of
    attention (half of the square, twice the multiply-adds). 8 x 1979 TFLOP/s sustain 0.3 to 0.6: 14 to 28 prompts a
    second, where one prompt at a time on one rank would be 2 to 3. Factor 1.6 below, for exchanges between the ranks.
    """
    flop = 2 * 37e9 * 4096 + 61 * 4096 * 4096 * 128 * 320
    slow, fast = (8 * 1979e12 * share / flop for share in (0.3, 0.6))
    one = mlsysim.InFlightBatchingModel().solve(
        Models.DeepSeek_V3, Hardware.H200, precision="fp8", seq_len=4096, output_tokens=512, concurrency=1024, ep_size=8,
        prefill_replicas=1)
    assert slow / 1.6 < one.request_throughput.m_as("request/s") < fast
    # Eight devices decode and eight process prompts: sixteen are paid for.
    assert one.accelerators == 16
    each = one.token_throughput_per_accelerator.m_as("token/s")
    assert each * 16 == pytest.approx(one.request_throughput.m_as("request/s") * 512, rel=1e-9)


# 4. Wide expert parallelism.


def test_decoding_gains_from_wide_expert_parallelism():
    """DeepSeek-V3 in fp8 on H100, 64 requests a rank, prompts elsewhere.

    8 ranks would hold 671e9 / 8 = 84 GB each: they do not fit 80 GB. Of 16 ranks each reads 42 GB of experts a step, 12.5
    ms; of 64 ranks 10.5 GB, 3.1 ms. Attention does not grow with the ranks; of the exchange 7/8 leave a node of eight instead of 1/2,
    which takes about as much as the experts save. So a device yields at 64 what it yields at 16 or more, by no more than 2 times.
    """
    def each(ranks):
        found = mlsysim.InFlightBatchingModel().solve(
            Models.DeepSeek_V3, Hardware.H100, precision="fp8", seq_len=2000, output_tokens=500, concurrency=64 * ranks,
            max_batch_size=64 * ranks, ep_size=ranks, prefill_replicas=64)
        return found.feasible, 1 / seconds(found.decode_step_time)

    assert not each(8)[0]
    assert 0.95 < each(64)[1] / each(16)[1] < 2.0


def test_a_deployment_of_wide_expert_parallelism():
    """SGLang on H100 published for DeepSeek-V3 (May 2025): four nodes that process prompts of 4096 tokens, 32 ranks, 50,302 tokens
    a second and node, 59,337 where the experts were balanced by force; nine nodes that decode after 2000 tokens, 72 ranks of
    256 requests, 22,282 tokens a second and node.

    A prompt's token is 2 x 37e9 FLOP and attention over 2048 on average, 61 x 2 x 128 x 320 x 2048 = 10 GFLOP: 84 GFLOP, 23,500 tokens
    a second and device at 1979 TFLOP/s, 59,337 / 8 = 7,400 are a third of it. To decode, a rank reads its 671 / 72 = 9.3 GB of experts and
    256 x 2050 x 70 kB = 37 GB of cache: 46 GB at 3.35 TB/s x 0.85 = 16 ms for each of 61 layers together, and sends 256 x 8 copies of
    7168 bytes and back of 14,336 over a card of 50 GB/s, 58 times: 51 ms, half of which hides beside the other half batch. 256 tokens in 50 to 90
    ms are 23,000 to 41,000 a node. The recipe exchanges one half of a batch while it computes the other (two-batch overlap).
    """
    def run(ranks, **more):
        return mlsysim.InFlightBatchingModel().solve(
            Models.DeepSeek_V3, Hardware.H100, precision="fp8", engine="sglang", ep_size=ranks, **more)

    prompts = [run(32, seq_len=4096, output_tokens=1, max_batch_size=128, prefill_chunk_tokens=16384, expert_overlap=overlap)
               for overlap in ("none", "micro_batch")]
    waited, hidden = (found.request_throughput.m_as("request/s") * 4096 / 4 for found in prompts)
    assert 0.8 * 50_302 < waited < hidden < 1.25 * 59_337 < 8 * 23_500
    steps = run(72, seq_len=2000, output_tokens=100, concurrency=256 * 72, max_batch_size=256 * 72, prefill_replicas=64,
                expert_overlap="micro_batch")
    each = 256 * 8 / seconds(steps.decode_step_time)
    assert 0.8 * 22_282 < each < 1.25 * 22_282


# 5. A budget of tokens a pass.


def test_a_budget_of_tokens_bounds_the_working_set():
    """128 prompts of 4096 tokens, DeepSeek-V3 in fp8 on 8 H200 (141 GiB each).

    Weights are 671 / 8 = 84 GB, a cache of 61 x 576 x 2 bytes = 70 kB a token for 128 x 4608 tokens 41 GB on every rank of
    tensor parallelism: 125 GB fit. All prompts in one pass would hold 524,288 x 18,432 values of a dense feed-forward:
    10 GB a device and tensor, several of them. With 8192 tokens a pass, as engines have it where nobody says, it is 64
    times less.
    """
    asked = dict(accelerators=8, batch=128, precision="fp8", seq_len=4096, output_tokens=512)
    all_at_once = burst("DeepSeek_V3", "H200", prefill_chunk_tokens=10**9, **asked)
    budgeted = burst("DeepSeek_V3", "H200", **asked)
    assert budgeted.feasibility.status == "PASS"
    assert budgeted.memory["activations"].m_as("GB") < all_at_once.memory["activations"].m_as("GB") / 10
    assert times(budgeted)[1] == times(all_at_once)[1]
    assert [value for name, value, _ in budgeted.assumptions if name == "prefill_chunk_tokens"] == ["8192"]


def test_a_budget_of_tokens_leaves_small_batches_as_they_were():
    """Four prompts of 1000 tokens are 4000 tokens: one pass whatever the budget from 4000 on, and with 1000 a pass four."""
    one, two, four = (times(burst("Llama3_8B", "H100", batch=4, seq_len=1000, **more))[0]
                      for more in ({}, {"prefill_chunk_tokens": 4000}, {"prefill_chunk_tokens": 1000}))
    single = times(burst("Llama3_8B", "H100", batch=1, seq_len=1000))[0]
    assert one == two and four == pytest.approx(4 * single, rel=1e-9)
    assert one < four < 1.5 * one


def test_a_long_prompt_is_taken_chunk_by_chunk():
    """Gemma 3 27B in bf16 on one H100 (80 GiB = 85.9 GB), a prompt of 131,072 tokens.

    Weights are 27.0e9 x 2 = 54 GB; ten of the 62 layers see everything: 10 x 131,072 tokens x 2 x 16 heads x 128 x 2 bytes =
    10.7 GB, the others 1024 tokens. Between layers the whole prompt would hold some tensors of 131,072 x 21,504 values, 5.6 GB
    each, and not fit; 8192 tokens at a time hold 0.35 GB of each. So 65 GB and a few on top: it fits, as it does in engines,
    and so it does in the steady state of one.
    """
    card = burst("Gemma3_27B", "H100", seq_len=131072, chunked_prefill=True)
    assert card.feasibility.status == "PASS"
    assert 54 + 10.7 < sum(part.m_as("GB") for part in card.memory.values()) < 54 + 10.7 + 8
    whole = burst("Gemma3_27B", "H100", seq_len=131072)
    assert whole.feasibility.status == "FAIL" and serve("Gemma3_27B", "H100", seq_len=131072).feasibility.status == "PASS"
    # The weights are read sixteen times, 0.3 s beside arithmetic of 12: within a twentieth of one pass.
    assert times(card)[0] == pytest.approx(times(whole)[0], rel=0.05)


def test_how_many_requests_fit_has_one_answer():
    """Llama-3-8B in bf16 on one H100 (80 GiB = 85.9 GB), 2048 + 256 tokens a request.

    Weights are 16.1 GB, a token is 32 layers x 2 x 8 heads x 128 x 2 bytes = 131 kB, a request 0.302 GB at its end and
    0.285 GB on average: 69.8 GB hold 231 at their end, 245 on average. Engines keep 5 to 10 % back.
    """
    at_end = (85.9 - 16.1) / (2304 * 131072 / GB)
    steady = mlsysim.InFlightBatchingModel().solve(
        Models.Llama3_8B, Hardware.H100, precision="bf16", seq_len=2048, output_tokens=256)
    asked = mlsysim.ask(Models.Llama3_8B, Hardware.H100, precision="bf16", seq_len=2048, output_tokens=256,
                        prefill_chunk_tokens=8192, load="burst")
    most = asked.solve("memory_used <= 85.9 GB", "batch_size")
    assert 0.85 * at_end < steady.max_active_requests < 1.07 * at_end
    assert 0.85 * at_end < most.value < 1.0 * at_end


# 6. Models as their files store them.


def test_models_fit_as_their_files_store_them():
    """gpt-oss-120b: 128 experts x 36 layers x 3 x 2880 x 2880 = 114.7e9 weights in MXFP4, 4 bits and a scale of 8 for 32: 4.25
    bits, 60.9 GB; 2.1e9 others in 16 bits, 4.2 GB: 65 GB of the 85.9 of one H100. DeepSeek-V3 ships 671e9 weights of 8 bits:
    84 GB on each of 8 H200; Kimi K2 1.04e12: 130 GB on each of 8 B200. 5 % for scales, norms and embeddings in 16 bits.
    """
    experts = 128 * 36 * 3 * 2880 * 2880
    gpt_oss = (experts * 4.25 / 8 + (116.8e9 - experts) * 2) / GB
    asked = (("GPT_OSS_120B", "H100", 1, gpt_oss), ("DeepSeek_V3", "H200", 8, 671 / 8), ("Kimi_K2", "B200", 8, 1040 / 8))
    for model, device, devices, weights in asked:
        card = serve(model, device, devices, None, seq_len=1024, output_tokens=128)
        assert card.feasibility.status == "PASS"
        assert card.memory["weights"].m_as("GB") == pytest.approx(weights, rel=0.05)


def test_weights_of_four_bits_are_computed_in_sixteen():
    """Llama-3-8B on an RTX 4090, weights alone in 4 bits (AWQ, GGUF), 2048 tokens: 2 x 7.0e9 x 2048 = 28.6 TFLOP (embedding
    looked up, one token reaches the head) at 165 TFLOP/s of 16 bits take 173 ms, at 660 of 4 bits 43 ms. A token reads
    7.0e9 x 4.25 bits and a head of 0.53e9 x 4 to 16 bits: 4.0 to 4.8 GB at 1.008 TB/s, 4.0 to 4.7 ms.

    1 to 1.8 times the first: sustained rates and the widening of the weights. 1 to 1.8 times the second.
    """
    first, between = times(serve("Llama3_8B", "RTX4090", precision=None, weight_format="int4", seq_len=2048, output_tokens=128))
    prompt = 2 * 7.0e9 * 2048 / 165e12
    assert prompt < first < 1.8 * prompt
    assert 4.0 * MS < between < 1.8 * 4.7 * MS


# 7. More devices than one node has.


def test_sixty_four_devices_are_not_on_one_link():
    """Llama-3-70B in fp8, 64 requests, one replica over 64 H100 or over 8.

    A step has 160 all-reduces of 64 x 8192 x 2 = 1 MB. Inside a node 450 GB/s move 2 x 7 / 8 of it in 4 us, and a start
    takes 10 to 20 us. Between 8 nodes, at 8 cards of 50 GB/s, 7 / 8 x 2 of it takes 4.6 us more, and a start over the
    network at least 2 x 5 us more: 160 x 15 us = 2.3 ms on top, where weights would save 8.8 - 1.1 GB / 3.35 TB/s = 2.3 ms.
    So 64 devices win next to nothing for a request, and lose most of what a device yields: 3 to 16 times less each.
    """
    def at(tp):
        return mlsysim.ServingModel().solve(
            Models.Llama3_70B, Hardware.H100, tp_size=tp, batch_size=64, seq_len=2048, precision="fp8")
    one, eight = at(8), at(64)
    each = [found.token_throughput.m_as("token/s") / tp for found, tp in ((one, 8), (eight, 64))]
    assert seconds(eight.itl) > 0.7 * seconds(one.itl)
    assert 3 < each[0] / each[1] < 16


# 8. What is no language model, or runs alone.


def test_a_policy_that_writes_its_actions_as_tokens():
    """OpenVLA-7B: an action is 7 tokens of Llama 2 7B, 13.5 GB of weights; the prompt is 256 patches and about 25 words.

    RTX 4090: the first token comes with the prompt, 2 x 6.74e9 x 281 = 3.8 TFLOP at 165 TFLOP/s x 0.5 to 0.8 = 29 to 46 ms;
    six more read 13.5 GB / 1.008 TB/s = 13.4 ms each at best. 110 to 126 ms, 7.9 to 9.1 actions a second where memory
    gives all its rate and nobody looks at the image. Published: 6. Factor 1.4.
    """
    action = 6 * 13.5 / 1008 + 2 * 6.74e9 * 281 / 165e12 / 0.65
    card = burst("OpenVLA_7B", "RTX4090", seq_len=281, output_tokens=7)
    assert action / 1.4 < seconds(card.performance["request_latency"]) < 1.4 * action


@pytest.mark.parametrize("device,dense", [("A100", 312e12), ("RTX4090", 165e12)])
def test_an_image_of_stable_diffusion(device, dense):
    """Stable Diffusion 1.5: 50 steps, two evaluations each (with and without the prompt), 402e9 multiply-adds an evaluation, of which
    63e9 are scores of attention: 100 x 803 GFLOP = 80 TFLOP an image. Convolutions of 320 to 1280 channels on 64 x 64 latents sustain 0.3
    to 0.7 of the dense 16-bit rate: 0.37 to 0.86 s on an A100, 0.7 to 1.6 s on an RTX 4090. PyTorch launches about a thousand
    kernels a step, 15 to 30 us each with their operators: 0.75 to 1.5 s, the longer on an A100. As if one evaluation were 20 GFLOP
    it would be 40 times less.
    """
    work = 50 * 2 * 2 * 401.6e9
    card = mlsysim.SystemEvaluator.evaluate("image", Models.StableDiffusion_v1_5, getattr(Hardware, device), 1, "fp16")
    assert work / (0.7 * dense) < seconds(card.performance["latency"]) < max(work / (0.3 * dense), 50 * 1000 * 30e-6)
    assert card.performance["evaluations"] == 100


def test_one_request_on_a_large_mixture():
    """DeepSeek-V3, one request on 8 H200 in fp8: 37e9 weights are read, 37 GB / (8 x 4.8 TB/s) = 1.0 ms, but 61 layers of
    two all-reduces at 15 us are 1.8 ms and 25 kernels of 1.5 to 4 us each 2.3 to 6 ms: 5 to 9 ms.
    """
    low, high = 1.0 + 1.8 + 2.3, 1.0 + 1.8 + 6.1
    assert low * MS < times(serve("DeepSeek_V3", "H200", 8, "fp8", seq_len=1024))[1] < high * MS


def test_the_first_token_of_a_long_prompt():
    """Llama-3-405B in fp8, 131,072 tokens, 16 H100 (8 x 2): products 2 x 405e9 x 131072 = 106 PFLOP, attention 126 layers x
    2 x 2 x 131072^2 / 2 x 16384 = 71 PFLOP. Products sustain 0.4 to 0.7 of 1979 TFLOP/s, attention, which computes in 16
    bits, 0.5 to 0.7 of 989. Two pipeline stages take turns for one prompt in one pass: 8 devices at a time. In sixteen chunks the
    second stage computes one while the first computes the next: 17 turns of half a chunk's time, 17 / 32 of one pass.
    """
    products, attention = 2 * 405e9 * 131072, 126 * 2 * 131072**2 * 16384
    fast, slow = (products / (8 * 1979e12 * p) + attention / (8 * 989e12 * a) for p, a in ((0.7, 0.7), (0.4, 0.5)))
    asked = dict(seq_len=131072, tp_size=8, pp_size=2)
    first = times(burst("Llama3_405B", "H100", 16, "fp8", **asked))[0]
    assert fast < first < 1.3 * slow
    assert times(burst("Llama3_405B", "H100", 16, "fp8", chunked_prefill=True, **asked))[0] == pytest.approx(17 / 32 * first, rel=0.05)


# 9. Devices with little arithmetic or links that are not known.


def test_a_device_with_more_bandwidth_and_less_arithmetic():
    """Llama-3-8B in bf16, one request. H20: 16.06 GB / 4 TB/s = 4.0 ms, H100: / 3.35 TB/s = 4.8 ms.

    Matrix instructions take 64 rows, so a step of one row computes 64 x 2 x 7.5e9 = 0.96 TFLOP: on an H100 at 989 TFLOP/s 1
    ms beside the memory, on an H20 at 148 TFLOP/s 6.5 ms, which is more than its memory takes. (Its own table of products
    has equal times at 16, 32 and 64 rows.) So the H20 is slower for one request and the bound is its arithmetic; at most
    1.6 times the envelope.
    """
    h20, h100 = times(burst("Llama3_8B", "H20"))[1], times(burst("Llama3_8B", "H100"))[1]
    floor = 64 * 2 * 7.5e9 / 148e12
    assert floor < h20 < 1.6 * floor and 16.06 / 3350 < h100 < 1.5 * 16.06 / 3350
    # Where a step has more rows than that, the bandwidth decides nothing any more: the H20 loses by its arithmetic.
    assert times(burst("Llama3_8B", "H20"))[0] > 5 * times(burst("Llama3_8B", "H100"))[0]


def test_tensor_parallelism_pays_on_trainium():
    """Llama-3-70B, a prompt of 1024 tokens on 4 and 16 Trainium2 (667 TFLOP/s): 2 x 70.6e9 x 1024 = 145 TFLOP are 54 ms on
    four and 14 ms on sixteen. All-reduces of 1024 x 8192 x 2 = 17 MB move 2 x 17 MB over at least 100 GB/s, 160 of them: 54
    ms at the worst. So sixteen are faster than four, by at most 4.
    """
    four, sixteen = (times(serve("Llama3_70B", "Trainium2", n, tp_size=n, seq_len=1024))[0] for n in (4, 16))
    assert 1.2 < four / sixteen < 4.0
    assert 145e12 / (4 * 667e12) < four < 3 * (145e12 / (4 * 667e12) + 0.054)


# 10. How sure is it?


def test_an_interval_is_as_wide_as_the_errors_that_were_measured():
    """Deployments of dense models miss their time between tokens by 6 % in the median. Of a symmetric error with that
    median the central 80 % reach 6 % x 1.28 / 0.67 = 11 %; of one with 3 times heavier tails 35 %. A device of which no
    measurement exists must be wider.
    """
    def half_width(device):
        found = mlsysim.ask(Models.Llama3_70B, getattr(Hardware, device), accelerators=8, precision="bf16").intervals("itl")["itl"]
        ends = [found[name].m_as("s") for name in ("lower", "upper")]
        return (ends[1] - ends[0]) / (ends[1] + ends[0])

    assert 0.05 < half_width("H100") < 0.35
    assert half_width("Gaudi3") > half_width("H100")


# 11. One question, several ways to ask.


def test_the_capacity_of_a_replica_from_three_resolvers():
    """One replica of 8 H100 with Llama-3-70B cannot yield two rates: the steady state, the sizing of a fleet and the batch
    of continuous batching ask the same passes. They differ by the wait for places alone: 10 %."""
    asked = dict(output_tokens=256, tp_size=8, precision="bf16", max_batch_size=128)
    steady = mlsysim.InFlightBatchingModel().solve(Models.Llama3_70B, Hardware.H100, seq_len=1792, **asked)
    fleet = mlsysim.ServingCapacityModel().solve(
        Models.Llama3_70B, Hardware.H100, max_seq_len=2048, arrival_rate="1 request/s", target_p99_latency="100 s", **asked)
    batch = mlsysim.ContinuousBatchingModel().solve(Models.Llama3_70B, Hardware.H100, max_seq_len=2048, **asked)
    rates = [steady.capacity.m_as("request/s"), fleet.per_replica_capacity.m_as("request/s"),
             batch.token_throughput.m_as("token/s") / 256]
    assert max(rates) / min(rates) < 1.1


def test_a_step_of_an_engine_is_the_step_of_a_batch_and_its_host():
    """32 requests of Llama-3-70B on 8 H100: the static batch knows the device alone; an engine schedules, samples and keeps
    books before each pass, a millisecond and some tens of microseconds a request: 1 to 4 ms on top of 10 to 14, and
    prompts of others on top of that. Of 32 in flight some are in line: 31 to 32 run. At the same context and devices the rest
    lies between that of 31 and that of 32."""
    engine = mlsysim.InFlightBatchingModel().solve(
        Models.Llama3_70B, Hardware.H100, seq_len=1792, output_tokens=255, concurrency=32, tp_size=8, precision="bf16")
    less, batch = (mlsysim.ServingModel().solve(
        Models.Llama3_70B, Hardware.H100, seq_len=1792, output_tokens=255, batch_size=n, tp_size=8, precision="bf16",
        prefill_chunk_tokens=8192) for n in (31, 32))
    assert 31 < engine.running_requests < 32
    assert 1 * MS < seconds(engine.host_time) < 4 * MS
    assert seconds(less.itl) < seconds(engine.decode_step_time) - seconds(engine.host_time) < seconds(batch.itl)
    assert seconds(batch.itl) < seconds(engine.decode_step_time) < seconds(engine.itl)


def test_power_of_a_fleet_lies_between_idle_and_full():
    """8 H100 of 700 W for a day at a PUE of 1.12: 8 x 0.7 x 24 x 1.12 = 150 kWh at full power, 0.3 of it idle. Decoding is
    bound by memory, which draws less than full power; so 45 to 150 kWh, and the model of sustainability, which is told
    the same utilisation, says the same to 1 %. That is of the devices alone."""
    card = serve("Llama3_70B", "H100", 8, batch=32, seq_len=1792, output_tokens=256, duration_days=1, host_power="0 W")
    energy = card.macro["energy"].m_as("kWh")
    full = 8 * 0.7 * 24 * 1.12
    assert 0.3 * full < energy < full
    node = Systems.DGX_H100
    fleet = mlsysim.Fleet(name="one", node=node, count=1, fabric=Systems.InfiniBand_NDR)
    used = (energy / full - 0.3) / 0.7
    told = mlsysim.SustainabilityModel().solve(fleet, 1, utilization=used, grid=mlsysim.Infrastructure.Grids.US_Avg)
    accelerators = told.total_energy.m_as("kWh")
    assert accelerators == pytest.approx(energy, rel=0.01)


def test_a_network_is_that_of_the_fleet_that_is_named():
    """64 H100 are 8 nodes of 8: an all-to-all has 8 end points, and a fat tree of 8 nodes at 100 GB/s each 4 x 100 GB/s
    across the middle, whatever the convention for an unnamed network is."""
    fleet = Systems.Clusters.Lab_64_H100
    found = mlsysim.TopologyModel().solve(fleet=fleet, topology="fat_tree")
    assert found.num_nodes == fleet.count == 8
    port = fleet.fabric.bandwidth.m_as("GB/s")
    assert found.bisection_bandwidth.m_as("GB/s") == pytest.approx(found.bisection_fraction * 4 * port, rel=1e-9)


def test_the_bandwidth_that_a_faster_token_needs():
    """Llama-3-8B in bf16, one request: a step reads 16.06 GB, 4.79 ms at 3.35 TB/s and 4.02 at 4: 0.78 ms less. Memories
    sustain 70 to 100 % of their rate, which makes each step longer and each TB/s worth as much more: for 0.78 ms less
    between 3.35 + 0.7 x 0.65 = 3.8 and 4 TB/s are needed, under the same name in every question."""
    saved = 16.06 * (1 / 3.35 - 1 / 4.0) * MS
    asked = mlsysim.ask(Models.Llama3_8B, Hardware.H100, precision="bf16")
    target = seconds(asked.results["itl"]) - saved
    found = asked.solve(f"itl <= {target / MS} ms", "hardware.memory.bandwidth")
    assert 3.35 + 0.7 * 0.65 < found.value.m_as("TB/s") < 4.0
    assert asked.inputs["hardware.memory.bandwidth"] == Q_("3.35 TB/s")


# 12. What stands beside the devices, how kernels are launched, which release answers.


def test_hosts_and_switches_draw_power_too():
    """A DGX H100 is rated at 10.2 kW, of which eight devices have 5.6; where such a server was measured it drew 8.4 kW at
    most. So beside each device 0.35 kW are drawn, between a quarter and a half of all that the server takes. Between 128 such
    servers 1024 adapters hang on switches of 64 ports, which is two tiers: three ports of 12 to 27 W for each, 36 to 81 W.
    """
    one = serve("Llama3_70B", "H100", 8, batch=32, seq_len=1792, output_tokens=256, duration_days=1)
    alone = serve("Llama3_70B", "H100", 8, batch=32, seq_len=1792, output_tokens=256, duration_days=1, host_power="0 W")
    beside = (one.macro["energy"] - alone.macro["energy"]).m_as("kWh") / 1.12 / 24 / 8
    assert beside == pytest.approx(0.35, rel=1e-9)
    stated = {name: value for name, value, _ in one.assumptions}
    assert stated["host_power"] == "350 W" and stated["network_power"] == "0 W"
    many = serve("Llama3_70B", "H100", 1024, batch=4096, seq_len=1792, output_tokens=256, duration_days=1, tp_size=8)
    switched = {name: value for name, value, _ in many.assumptions}["network_power"]
    assert 36 <= Q_(switched).m_as("W") <= 81


def test_a_small_model_waits_for_launches():
    """GPT-2 small, 124e6 weights of 2 bytes, one request on an H100: 0.25 GB are read in 0.07 ms. 12 layers of eight to ten
    kernels are about 110; a host needs about 5 us for each, 0.55 ms. Replayed from a graph a kernel takes the 3 to 5 us in
    which it starts and reads its bytes, 0.3 to 0.5 ms. So eager steps take 0.5 to 0.9 ms, and longer than replayed ones; 16 GB
    of Llama-3-8B take 4.8 ms, under which 320 launches of 1.6 ms hide."""
    graph, eager = (times(burst("GPT2_Small", "H100", seq_len=512, execution=e))[1] for e in ("graph", "eager"))
    assert 0.45 * MS < eager < 0.95 * MS
    assert 0.25 * MS < graph < 0.95 * eager
    graph, eager = (times(burst("Llama3_8B", "H100", seq_len=512, execution=e))[1] for e in ("graph", "eager"))
    assert graph <= eager < 1.05 * graph


def test_a_release_that_nobody_described():
    """An engine of a release is looked up as such; one that is not known is refused with those that are."""
    zoo = mlsysim.InFlightBatchingModel()
    asked = dict(seq_len=1000, concurrency=8, precision="bf16")
    same = [zoo.solve(Models.Llama3_8B, Hardware.H100, engine=name, **asked).itl for name in ("sglang", "sglang@0.5.8")]
    assert same[0] == same[1]
    with pytest.raises(mlsysim.Error, match="sglang@0.5"):
        zoo.solve(Models.Llama3_8B, Hardware.H100, engine="sglang@0.1", **asked)


# 13. Training as it was published, and models of which less is known.


def test_a_step_of_deepseek_v3():
    """DeepSeek-V3: 14.8e12 tokens took 2.664e6 hours of H800, 180,000 hours a trillion; a step of 15,360 sequences of 4096
    tokens on 2048 devices 180,000 x 3600 x 62.9e6 / 1e12 / 2048 = 19.9 s.

    37e9 active weights and attention are 6 x 37e9 + 20 % = 2.7e11 FLOP a token: 1.7e19 a step, 4.2 s at the 1979 TFLOP/s of
    fp8 and 8.3 s at the half that products sustain; half of the layers computed again add a sixth, norms and casts in
    memory 2 to 3 s. Tokens go to at most four nodes, once to each: 4 x 7168 bytes to the experts in fp8, twice that back in
    bf16, and as much in the backward pass, at 50 GB/s: 58 layers x 30,720 tokens x 172 kB / 50 GB/s / 16 stages of 2048
    devices make 6 to 12 s, which DualPipe hides beside the other direction. So the step lies within a quarter of what was
    published, below it where everything is hidden and above it where everything is waited for. Moments in bf16 take two
    thirds of the states: 12 bytes a weight become 8.
    """
    published = 180e3 * 3600 * 15360 * 4096 / 1e12 / 2048
    assert published == pytest.approx(19.9, rel=0.01)
    plan = dict(mode="train", seq_len=4096, accelerators=2048, tp_size=1, pp_size=16, ep_size=64, zero_stage=1,
                schedule="zero_bubble", microbatch_size=1, recomputation="full", recomputed_share=0.5)

    def step(**more):
        return mlsysim.SystemEvaluator.evaluate("step", Models.DeepSeek_V3, Hardware.H800, 15360, "fp8", **plan, **more)

    hidden, waited = step(moment_precision="bf16", expert_overlap="micro_batch"), step()
    assert hidden.feasibility.status == "PASS"
    took = [seconds(card.performance["step_latency"]) for card in (hidden, waited)]
    assert 4.2 < 0.75 * published < took[0] < published < took[1] < 1.25 * published
    states = [card.memory["optimizer_states"].m_as("GB") for card in (waited, hidden)]
    assert states[1] == pytest.approx(states[0] * 8 / 12, rel=1e-9)


def test_gradients_of_embedding_rows_are_exchanged_by_row():
    """DLRM: 26.1e9 values in tables, 105 GB in fp32, of which a sample reads 214 rows of 128 values: 110 kB. 65,536 samples on
    8 H100 touch 8192 x 110 kB = 0.9 GB on each, which the other seven need: 6.3 GB at 450 GB/s take 14 ms. To sum the
    tables as a whole would take 2 x 7/8 x 105 GB / 450 GB/s = 0.41 s."""
    fleet = mlsysim.Fleet(name="one", node=Systems.DGX_H100, count=1, fabric=Systems.InfiniBand_NDR)
    found = mlsysim.DistributedModel().solve(Models.DLRM, fleet, 65536, precision="fp32")
    assert 0.010 < seconds(found.dp_communication_latency) < 0.030


def test_a_model_of_which_only_the_size_is_known():
    """GPT-4 has never been described: 1.76e12 weights are a rumour, 3.5 TB in 16 bits, which no device holds. On several
    devices nothing says how a layer is divided, and the answer is what would have to be known."""
    assert serve("GPT4", "H100").feasibility.status == "FAIL"
    with pytest.raises(mlsysim.Error, match="layers with their width, heads"):
        serve("GPT4", "H100", 64)



@pytest.mark.parametrize("device,ranks,published", [("MI300X", 1, 23_515 / 8), ("H100", 2, 24_525 / 8), ("H200", 1, 34_864 / 8)])
def test_a_llama_that_is_always_full(device, ranks, published):
    """MLPerf Inference v4.1, Llama-2-70B offline in fp8, its cache too, on eight devices: prompts and answers of 294 tokens on average.

    An answer costs 2 x 69e9 x 588 = 81 TFLOP, 276 GFLOP for each of its 294 tokens; at half of the 1979 TFLOP/s of an H100
    or H200 that is 3600 tokens a second, at half of the 2615 of an MI300X 4700, which sustains less. Between steps the
    engine's host works, and a request at its prompt does not decode. Published were 2900 to 4400; the library must be within
    a quarter of each.
    """
    found = mlsysim.InFlightBatchingModel().solve(
        Models.Llama2_70B, getattr(Hardware, device), seq_len=294, output_tokens=294, precision="fp8", kv_precision="fp8",
        tp_size=ranks)
    assert 0.75 * published < found.token_throughput_per_accelerator.m_as("token/s") < 1.25 * published


def test_a_step_of_a_model_like_bloom():
    """BLOOM: 176e9 weights on 384 A100, tensor parallelism of 4, 12 stages, 2048 sequences of 2048 tokens a step, everything
    computed again. 8 x 176e9 x 4.2e6 = 5.9e18 FLOP at the 150 TFLOP/s that were published take 102 s. Its kernels were those
    of 2021: scores in memory, fp32 gradients that nothing hides, four adapters of 100 Gbit/s for eight devices (6.25 GB/s
    each). Products of today sustain 220 of 312 TFLOP/s, bubbles take 11 / 139 and joins a tenth: 180. The runs of that
    software are all faster here, by a tenth to a fifth, and the library may be no more than 30 % faster.
    """
    card = mlsysim.SystemEvaluator.evaluate(
        "bloom", Models.GPT3, Hardware.A100, 2048, "bf16", mode="train", accelerators=384, tp_size=4, pp_size=12, seq_len=2048,
        zero_stage=1, microbatch_size=2, recomputation="full", attention_kernel="unfused", gradient_precision="fp32",
        overlap_efficiency=0, fabric_bandwidth=Q_("6.25 GB/s"))
    assert card.feasibility.status == "PASS"
    sustained = float(card.performance["hfu"]) * 312
    assert 150 < sustained < 1.3 * 150
