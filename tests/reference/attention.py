"""Forward rules of the attention layers: grouped heads, latent (MLA), windowed, compressed, and linear."""

from op import (
    activation_product,
    collective,
    dropout_mask,
    dropout_traffic,
    elementwise,
    emit,
    join_tensor_parallel,
    matmul,
)


def attended(f, window):
    """Query-key pairs of one head and sequence, and the distinct keys: token after token
    (beltagy2020longformer, 3.1)."""
    new, past = int(f.plan.new_tokens), f.plan.context - f.plan.new_tokens
    if not f.h.causal:
        return f.plan.new_tokens * f.plan.context, f.plan.context
    pairs = 0.0
    for i in range(1, new + 1):  # the i-th new token sees itself and what came before, within the window
        pairs += min(past + i, window)
    return pairs, f.plan.new_tokens + min(past, window - 1)


def serving(f):
    return f.plan.phase in ("prefill", "decode")


def rotary_and_cache(f, share, rotated, cached_width):
    """Rotates queries and keys, writes keys and values; unfused: a swap of halves, two products, a sum."""
    fused = f.plan.fused
    op = elementwise(
        f, "rotary_and_cache", "attention", share, f.tokens * rotated, 1 if fused else 5, 1 if fused else 4, 6
    )
    op.traffic += f.plan.kv_bytes * f.tokens * cached_width


def core(f, name, share, heads, kv_heads, qk, v, cached_width, window):
    """Scores, softmax, weighted sum over `window` tokens at most."""
    plan = f.plan
    copies = f.sequences * heads
    inputs = plan.activation_bytes * f.tokens * (heads * qk + kv_heads * (qk + v))
    state = plan.kv_bytes * f.sequences * min(plan.context, window) * cached_width if serving(f) else 0.0
    if plan.kernel == "unfused":
        return unfused_core(f, share, copies, qk, v, inputs, state, window)
    pairs, keys = attended(f, window)
    op = emit(f.ops, "attention", "attention", name, share)
    op.m, op.n, op.k, op.copies = plan.new_tokens / plan.cp, keys, qk, copies
    # Each pair costs qk multiply-adds for the score and v for the sum (dao2022flashattention, theorem 1).
    op.work = 2 * copies * (pairs / plan.cp) * (qk + v)
    op.reach = pairs / plan.new_tokens
    op.group_heads = heads / kv_heads
    op.state = state
    op.live = plan.activation_bytes * f.tokens * heads * (qk + v)
    op.traffic = (
        op.live + (plan.kv_bytes if serving(f) else plan.activation_bytes) * f.sequences * keys * cached_width
    )
    if f.training:
        op.kept = inputs


def unfused_core(f, share, copies, qk, v, inputs, state, window):
    """Each step reads and writes the whole square of scores; a mask zeroes what is not attended to."""
    plan = f.plan
    rows, keys = plan.new_tokens / plan.cp, min(plan.context, window)
    square = copies * rows * keys
    scores = activation_product(f, "attention_scores", "attention", share, rows, keys, qk, copies, {"core"})
    scores.kept = inputs if f.training else 0.0
    scores.remade = {"attention", "block"}
    scores.state = state
    arrays = 2 if plan.dropout and f.training else 1  # softmax and dropout
    passes = arrays + (0 if plan.fused else 2)  # scale and mask are passes of their own
    softmax = elementwise(f, "softmax", "attention", share, square, passes, passes, 6, {"core"})
    softmax.kept = plan.activation_bytes * arrays * square
    dropout_mask(f, softmax, square)
    dropout_traffic(f, softmax, square)
    activation_product(f, "attention_values", "attention", share, rows, v, keys, copies, {"core"})


def exchange_context(f, share, width):
    """Context-parallel ranks pass keys and values around, beside the attention at hand
    (liu2023ringattention)."""
    if f.plan.phase == "decode":
        return
    message = f.plan.activation_bytes * f.sequences * f.plan.new_tokens * width
    op = collective(f.ops, "context_exchange", "all_gather", "context", share, message, f.plan.cp, f.plan.tp)
    op.parts = op.parts | {"attention"}
    op.beside = "pass"


def grouped(f, share, window):
    """Multi-head, grouped-query or multi-query attention (Ainslie et al. 2023)."""
    h, plan = f.h, f.plan
    heads = h.heads / plan.tp
    kv_heads = max(
        h.kv_heads / plan.tp, 1
    )  # fewer key-value heads than devices: each device holds one, copied
    query, kv = heads * h.qk_dim, kv_heads * (h.qk_dim + h.v_dim)
    op = matmul(f, "qkv_projection", "attention", share, f.tokens, query * (1 + h.output_gate) + kv, h.hidden)
    op.params += (
        h.qkv_bias * (query + kv)
        + h.qk_norm_head * 2 * h.qk_dim
        + h.qk_norm_full * (query + kv_heads * h.qk_dim)
        + h.sinks * heads
    )
    op.kept *= f.split
    op.remade = {"norm", "block"}
    op.biased += h.qkv_bias
    rotary_and_cache(f, share, query + kv_heads * h.qk_dim, kv)
    exchange_context(f, share, kv)
    core(f, "attention", share, heads, kv_heads, h.qk_dim, h.v_dim, kv, window)
    out = matmul(f, "output_projection", "attention", share, f.tokens, h.hidden, heads * h.v_dim)
    out.params += h.output_bias * h.hidden
    out.biased += h.output_bias
    dropout_mask(f, out, f.tokens * h.hidden * f.split)
    join_tensor_parallel(f, "attention_join", share, "attention")


def latent(f, share):
    """Multi-head latent attention (deepseek2024v2, section 2.1). Decoding works on the latent itself, with
    the up projections absorbed into the query and the output. The down projections are small and held by
    every device."""
    h, plan = f.h, f.plan
    heads = h.heads / plan.tp
    query_inputs = h.q_lora or h.hidden
    width = h.kv_lora + h.rope
    down = matmul(f, "latent_down_projection", "attention", share, f.tokens, h.q_lora + width, h.hidden)
    down.params += h.q_lora + h.kv_lora  # norms of the two latents
    down.kept *= f.split
    matmul(f, "query_up_projection", "attention", share, f.tokens, heads * (h.nope + h.rope), query_inputs)
    rotary_and_cache(f, share, (heads + 1) * h.rope, width)
    exchange_context(f, share, width)
    if plan.phase == "decode":
        matmul(f, "absorbed_key_projection", "attention", share, f.tokens, h.kv_lora, h.nope, heads)
        core(f, "latent_attention", share, heads, 1, width, h.kv_lora, width, plan.context)
        matmul(f, "absorbed_value_projection", "attention", share, f.tokens, h.v_dim, h.kv_lora, heads)
    else:
        matmul(
            f, "key_value_up_projection", "attention", share, f.tokens, heads * (h.nope + h.v_dim), h.kv_lora
        )
        core(f, "attention", share, heads, heads, h.nope + h.rope, h.v_dim, width, plan.context)
    if h.index_heads:
        index(f, share, query_inputs, plan.context)
    matmul(f, "output_gate", "attention", share * h.output_gate, f.tokens, heads * h.v_dim, h.hidden)
    matmul(f, "output_projection", "attention", share, f.tokens, h.hidden, heads * h.v_dim)
    join_tensor_parallel(f, "attention_join", share, "attention")


def index(f, share, query_inputs, entries):
    """Scores of every cached entry against light-weight heads, to choose those that are read (DeepSeek-V3.2,
    2.1)."""
    h, plan = f.h, f.plan
    width = h.index_heads * h.index_dim
    pressed = h.attention == "compressed"
    matmul(f, "index_query", "attention", share, f.tokens, width, query_inputs)
    key = matmul(
        f,
        "index_key",
        "attention",
        share,
        f.tokens,
        h.index_dim * (4 if pressed else 1) + h.index_heads,
        h.hidden,
    )
    key.params += h.index_dim * (9 if pressed else 2)
    op = emit(f.ops, "attention", "attention", "index_scores", share)
    op.m, op.n, op.k, op.copies = plan.new_tokens, entries, h.index_dim, f.sequences * h.index_heads
    op.work = 2 * f.tokens * entries * width
    op.state = plan.kv_bytes * f.sequences * entries * h.index_dim
    op.live = plan.activation_bytes * f.tokens * width
    op.traffic = op.state + op.live


def compressed(f, share, block, selected):
    """A sliding window, and the past as one vector for each block of tokens, of which a selection reads some
    (DeepSeek-V4). Keys and values are one shared vector."""
    h, plan = f.h, f.plan
    heads = h.heads / plan.tp
    down = matmul(f, "query_down_projection", "attention", share, f.tokens, h.q_lora + h.qk_dim, h.hidden)
    down.params += h.q_lora + h.qk_dim
    matmul(f, "query_up_projection", "attention", share, f.tokens, heads * h.qk_dim, h.q_lora)
    wide = 2 if block < 8 else 1  # overlapping blocks of 4 have two gated projections
    if block > 1:
        press = matmul(f, "block_compression", "attention", share, f.tokens, 2 * wide * h.qk_dim, h.hidden)
        press.params += (block * wide + 1) * h.qk_dim
    blocks = plan.context / block if block > 1 else 0.0
    seen = min(plan.context, h.window) + min(blocks, selected)
    if 1 < block < 8:
        index(f, share, h.q_lora, blocks)
    op = emit(f.ops, "attention", "attention", "compressed_attention", share)
    op.m, op.n, op.k, op.copies = plan.new_tokens, seen, h.qk_dim, f.sequences * heads
    op.params = heads
    op.work = 4 * f.tokens * heads * seen * h.qk_dim
    op.state = plan.kv_bytes * f.sequences * (min(plan.context, h.window) + blocks) * h.qk_dim
    op.live = plan.activation_bytes * 2 * f.tokens * heads * h.qk_dim
    op.traffic = op.live + plan.kv_bytes * f.sequences * seen * h.qk_dim
    if f.training:
        op.kept = plan.activation_bytes * f.tokens * (heads + 1) * h.qk_dim
    matmul(
        f,
        "grouped_output_down",
        "attention",
        share,
        f.tokens,
        h.output_rank,
        heads * h.qk_dim / h.output_groups,
        h.output_groups,
    )
    matmul(
        f,
        "grouped_output_up",
        "attention",
        share,
        f.tokens,
        h.hidden,
        h.output_groups * h.output_rank / plan.tp,
    )
    join_tensor_parallel(f, "attention_join", share, "attention")


def linear(f, share):
    """Gated linear attention with a recurrent state for each value head (delta rule; Yang et al. 2024)."""
    h, plan = f.h, f.plan
    keys, values = h.linear_key_heads / plan.tp, h.linear_value_heads / plan.tp
    mixed, width = (2 * keys + values) * h.linear_head_dim, values * h.linear_head_dim
    # Query, key, value and output gate; write strength and decay, which Kimi's makes a vector through a low
    # rank.
    into = matmul(
        f,
        "linear_attention_input",
        "attention",
        share,
        f.tokens,
        mixed + width + values * (1 if h.delta else 2),
        h.hidden,
    )
    into.kept *= f.split
    if h.delta:
        matmul(f, "decay_down", "attention", share, f.tokens, h.linear_head_dim, h.hidden)
        matmul(f, "decay_up", "attention", share, f.tokens, width, h.linear_head_dim).params += width - values
    conv = elementwise(f, "short_convolution", "attention", share, f.tokens * mixed, 1, 1, 8)
    conv.params = h.conv_width * mixed + 2 * values + h.linear_head_dim
    conv.kept = plan.activation_bytes * f.tokens * mixed
    op = emit(f.ops, "stream", "attention", "recurrent_state", share)
    cells = values * h.linear_head_dim * h.linear_head_dim
    op.work = 7 * cells * f.tokens  # decay 1, rank-one read 2, rank-one write 2, query 2
    op.state = 4 * cells * f.sequences  # in fp32
    op.live = plan.activation_bytes * f.tokens * (mixed + width)
    op.traffic = 2 * op.state + op.live
    op.kept = plan.activation_bytes * f.tokens * mixed
    matmul(f, "linear_attention_output", "attention", share, f.tokens, h.hidden, width)
    join_tensor_parallel(f, "attention_join", share, "attention")
