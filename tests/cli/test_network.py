"""What networks and the exchange of experts do to answers."""

import pytest

MIXTURE = ("DeepSeek_V3", "H200", "--accelerators", 32, "--tp-size", 1, "--ep-size", 32, "--burst", 256, "-s", 2048,
           "--output-tokens", 64)


def card(run, *words):
    done = run("eval", *words, "-o", "json")
    assert done.code in (0, 2), done.err
    card = done.json()
    metrics = {name: metric["value"] for level in card["levels"].values() for name, metric in level["metrics"].items()}
    return metrics, {a["name"]: a for a in card["assumptions"]}, card


def test_adapters_of_a_node_bound_what_a_faster_fabric_carries(run):
    """Two stages on two nodes hand over 2 x 2048 x 8192 B / 8 from each device, at each end of the pipeline. At 25 GB/s
    that takes 181 us of which 0.925 sustain, at 50 GB/s half; the cards of a DGX H100 have 400 Gbit/s, so 100 GB/s
    changes nothing, and the answer says why."""
    plan = ("Llama3_70B", "H100", "--accelerators", 16, "--tp-size", 8, "--pp-size", 2, "--burst", 1)
    slow, _, _ = card(run, *plan, "--fabric-bandwidth", "25 GB/s")
    usual, stated, _ = card(run, *plan, "--fabric-bandwidth", "50 GB/s")
    fast, bound, _ = card(run, *plan, "--fabric-bandwidth", "100 GB/s")
    piece = 2 * 2048 * 8192 / 8
    assert slow["ttft"] - usual["ttft"] == pytest.approx(2 * piece / 0.925 * (1 / 25e9 - 1 / 50e9), rel=1e-6)
    assert fast["ttft"] == usual["ttft"]
    assert "nic_bandwidth" not in stated and bound["nic_bandwidth"]["value"] == "50 GB/s"


def test_defaults_of_the_experts_exchange_are_said(run):
    _, said, _ = card(run, *MIXTURE)
    assert said["dispatch_precision"]["value"] == "fp8"  # as its files
    assert said["expert_copies"]["value"].startswith("per_node in prompts")
    assert said["expert_overlap"]["value"] == "none" and "chance" in said["rank_imbalance"]["value"]
    _, said, _ = card(run, *MIXTURE, "--precision", "bf16")
    assert "activations" in said["dispatch_precision"]["value"]
    _, said, _ = card(run, "Llama3_8B", "H100")
    assert not {"dispatch_precision", "expert_copies", "rank_imbalance"} & set(said)


def test_the_exchange_moves_times_as_it_should(run):
    """Prompts are bound by the network; steps have few tokens, whose copies cost little."""
    base, _, _ = card(run, *MIXTURE)
    wide, _, _ = card(run, *MIXTURE, "--dispatch-precision", "bf16")
    copies, _, _ = card(run, *MIXTURE, "--expert-copies", "per_expert")
    assert base["ttft"] < wide["ttft"] < copies["ttft"] * 2 and base["ttft"] < copies["ttft"]
    assert base["itl"] == copies["itl"] < wide["itl"]
    uneven, _, _ = card(run, *MIXTURE, "--rank-imbalance", "2")
    even, _, _ = card(run, *MIXTURE, "--rank-imbalance", "1")
    assert even["ttft"] < base["ttft"] < uneven["ttft"] and even["itl"] < base["itl"] < uneven["itl"]
    shared, _, _ = card(run, *MIXTURE, "--expert-overlap", "shared_expert")
    turns, _, _ = card(run, *MIXTURE, "--expert-overlap", "micro_batch")
    assert turns["ttft"] < shared["ttft"] < base["ttft"] and shared["itl"] < base["itl"]
    # Overlap hides at most the exchange, and of two parts not less than half of the pass is left.
    assert turns["ttft"] > 0.5 * base["ttft"]


def test_what_is_said_of_an_exchange_that_is_not_there_is_warned_of(run):
    _, _, answer = card(run, "Mixtral_8x7B", "H100", "--accelerators", 8, "--expert-copies", "per_node")
    assert any("expert_copies" in warning for warning in answer["warnings"])
    _, _, answer = card(run, "Llama3_8B", "H100", "--accelerators", 8, "--collective-algorithm", "flat")
    assert any("collective_algorithm" in warning for warning in answer["warnings"])
    done = run("eval", *MIXTURE, "--expert-overlap", "both")
    assert done.code == 1 and "micro_batch" in done.err
    done = run("eval", *MIXTURE, "--rank-imbalance", "0.5")
    assert done.code == 1 and "rank_imbalance" in done.err.replace("-", "_")


def test_a_step_of_deepseek_v3_as_it_was_published(run):
    """180 thousand H800 hours a trillion tokens (deepseek-v3-report, section 1): 15,360 sequences of 4,096 tokens on 2,048
    devices take 180e3 x 3600 s x 62.9e6 / 1e12 / 2048 = 19.9 s. 16 stages, 64 ranks of experts, tokens in fp8 on their way,
    and the exchange beside another micro-batch. In 16 bits and waited for it takes half as long again."""
    plan = ("DeepSeek_V3", "H800", "--mode", "train", "--accelerators", 2048, "--tp-size", 1, "--pp-size", 16, "--ep-size", 64,
            "-b", 15360, "-s", 4096, "--zero-stage", 1, "--precision", "fp8", "--recomputation", "full")
    published = 180e3 * 3600 * 15360 * 4096 / 1e12 / 2048
    hidden, _, _ = card(run, *plan, "--dispatch-precision", "fp8", "--expert-overlap", "micro_batch")
    waited, _, _ = card(run, *plan)
    assert hidden["step_latency"] == pytest.approx(published, rel=0.15)
    assert 1.3 < waited["step_latency"] / hidden["step_latency"] < 1.7


def test_an_explanation_names_the_ways_of_collectives_and_what_is_hidden(run):
    plan = ("Llama3_405B", "H100", "--accelerators", 16, "--tp-size", 16, "-b", 16, "-s", 2048)
    said = run("explain", *plan, "--collective-algorithm", "nested", "ttft")
    assert said.code == 0 and "network, nested" in said.out and "network, flat" not in said.out
    said = run("explain", *plan, "--collective-algorithm", "flat", "ttft")
    assert "network, flat" in said.out and "network, nested" not in said.out
    assert "flat = " in said.out and "nested = " not in said.out
    said = run("explain", *MIXTURE, "--expert-overlap", "micro_batch", "ttft")
    assert "communication beside kernels" in said.out and "DistinctParts" in said.out


def test_the_number_of_adapters_can_be_said(run):
    """Gradients of 109 M weights in fp32 between two nodes of eight: one adapter of a node carries what eight would."""
    plan = ("BERT_Base", "V100_16GB", "--accelerators", 16, "--accelerators-per-node", 8, "--batch-size", 64, "--seq-len", 512,
            "--precision", "fp32", "--recomputation", "none", "--mode", "train", "--overlap-efficiency", 0,
            "--fabric-bandwidth", "3.125 GB/s")
    many, _, said = card(run, *plan)
    assert any("each of 8 adapters" in warning for warning in said["warnings"])
    one, _, said = card(run, *plan, "--nics-per-node", 1)
    assert not any("adapters" in warning for warning in said["warnings"])
    assert one["communication_latency"] > 6 * many["communication_latency"]
    assert one["step_latency"] > many["step_latency"]


def test_an_engine_takes_one_shot_for_few_tokens(run):
    """All-reduces of 2 MiB over eight H200: TensorRT-LLM reads all of it from every other device up to 128 tokens, and then a share at a time."""
    def token(engine, requests):
        words = ("Llama3_70B", "H200", "--accelerators", "8", "--tp-size", "8", "--seq-len", "1024", "--output-tokens", "1024")
        card = run("eval", *words, "--engine", engine, "--concurrency", str(requests), "-o", "json").json()
        return card["p_itl"]

    assert token("tensorrt_llm", 126) > token("tensorrt_llm", 132)
    assert token("vllm", 126) < token("vllm", 132)
