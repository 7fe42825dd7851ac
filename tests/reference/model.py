"""A model's sizes. A size that does not occur is 0."""

import math
from types import SimpleNamespace

from zoo import get


def has_shape(workload):
    """Can the operator list be made from what is known?"""
    if workload["architecture"] == "cnn":
        return bool(workload.get("convolution"))
    s = workload.get("shape", {})
    return (
        workload["architecture"] in ("decoder", "encoder")
        and all(s.get(k) for k in ("layers", "hidden", "heads"))
        and bool(s.get("ffn") or get(workload, "moe.expert_ffn"))
    )


def is_moe(workload):
    return get(workload, "moe.experts") is not None


def model_view(w):
    """Sizes and categories of a transformer; of a convolutional network its layer records."""
    h = SimpleNamespace(workload=w, architecture=w["architecture"], convolution=w.get("convolution", []))
    if w["architecture"] == "cnn":
        h.layers, h.causal, h.moe, h.biased = len(h.convolution), False, False, False
        return h
    s, a, extra = w["shape"], w.get("attention", {}), w.get("extra", {})
    h.causal = w["architecture"] == "decoder"
    h.layers, h.hidden, h.heads = s["layers"], s["hidden"], s["heads"]
    h.ffn, h.vocab = s.get("ffn", 0), s.get("vocab", 0)
    h.kv_heads = s.get("kv_heads", h.heads)
    h.qk_dim = h.v_dim = s.get("head_dim", h.hidden / h.heads)
    h.ffn_matrices = 3 if s.get("gated_ffn") else 2
    set_biases(h, s)
    # Norms, position and segment rows, what stands at the ends.
    h.norm_vectors = 2 if s.get("norm_biases") else 1
    h.norms_per_layer = s.get("norms_per_layer", 2)
    h.edge_norms = (1 if s.get("final_norm", True) else 0) + (1 if s.get("embedding_norm") else 0)
    h.position_rows = (w.get("max_positions", 0) if s.get("learned_positions") else 0) + s.get(
        "token_types", 0
    )
    h.pooler = 1 if s.get("pooler") else 0
    h.patch_inputs = 3 * s["patch_size"] ** 2 if s.get("patch_size") else 0
    h.outputs = s.get("classes", 0) if s.get("patch_size") else 0
    h.output_gate = extra.get("attention_output_gate", 0)
    set_attention(h, w, a, extra)
    set_experts(h, w.get("moe", {}), extra)
    return h


def set_biases(h, s):
    h.head_params = 0 if s.get("tied_embeddings") else 1
    h.bias = 1 if s.get("biases") else 0
    h.qkv_bias = 1 if (s.get("attention_biases") or s.get("qkv_biases")) and not h.bias else 0
    h.output_bias = 1 if s.get("attention_biases") and not h.bias else 0
    h.expert_bias = 1 if s.get("expert_biases") else 0
    h.router_bias = 1 if s.get("router_biases") else 0
    h.shared_gate = 1 if s.get("shared_expert_gate") else 0
    h.sinks = 1 if s.get("attention_sinks") else 0
    h.qk_norm_head = 1 if s.get("qk_norm") == "head" else 0
    h.qk_norm_full = 1 if s.get("qk_norm") == "full" else 0
    h.biased = bool(s.get("biases") or s.get("attention_biases") or s.get("qkv_biases"))


def set_attention(h, w, a, extra):
    """Which layers attend how: to everything, a window, a recurrent state, through latents or blocks."""
    linear = w.get("linear_attention", {})
    h.linear_layers = linear.get("layers", 0)
    h.window, h.window_layers = a.get("sliding_window", 0), 0
    if h.window:
        h.window_layers = h.layers - h.linear_layers - a.get("full_attention_layers", 0)
    if h.linear_layers:
        h.delta = linear.get("kind") == "kda"
        h.linear_key_heads, h.linear_value_heads = linear["key_heads"], linear["value_heads"]
        h.linear_head_dim, h.conv_width = linear["head_dim"], linear.get("conv_width", 0)
    h.attention = "grouped"
    if a.get("kv_lora_rank"):
        h.attention = "latent"
        h.kv_lora, h.q_lora = a["kv_lora_rank"], a.get("q_lora_rank", 0)
        h.nope, h.rope, h.v_dim = a["nope_head_dim"], a["rope_head_dim"], a["value_head_dim"]
        h.qk_dim = h.nope + h.rope
    h.index_heads, h.index_dim = extra.get("index_heads", 0), extra.get("index_head_dim", 0)
    h.index_top_k = extra.get("index_top_k", 0)
    if a.get("kind") == "compressed":
        h.attention, h.window_layers, h.q_lora = "compressed", 0, a["q_lora_rank"]
        h.compress4_layers, h.compress128_layers = extra.get("compress4_layers", 0), extra.get(
            "compress128_layers", 0
        )
        h.output_rank, h.output_groups = extra["o_lora_rank"], extra["o_groups"]


def set_experts(h, m, extra):
    h.moe, h.moe_layers = bool(m.get("experts")), 0
    if not h.moe:
        return
    h.experts, h.top_k, h.expert_ffn = m["experts"], m["top_k"], m["expert_ffn"]
    h.routed_hidden = extra.get("routed_expert_hidden_size", 0) or h.hidden
    h.shared_experts, h.shared_ffn = m.get("shared_experts", 0), m.get("shared_expert_ffn", h.expert_ffn)
    h.moe_layers = math.floor((h.layers - m.get("dense_layers", 0)) / m.get("moe_every", 1))
