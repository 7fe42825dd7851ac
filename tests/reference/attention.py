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
from zoo import BYTES


def mix(f, share, mixer, reach):
    """All layers of one kind of mixer."""
    if "linear" in mixer:
        linear(f, share, mixer["linear"])
    if "latent" in mixer:
        latent(f, share, mixer["latent"], reach)
    if "grouped" in mixer:
        rule = compressed if mixer["grouped"].get("shared_kv") else grouped
        rule(f, share, mixer["grouped"], reach)


def most_seen(f, reach):
    """Tokens that a layer sees at most, and keeps."""
    return min(f.plan.context, reach.get("window", f.plan.context), reach.get("chunk", f.plan.context))


def attended(f, reach):
    """Query-key pairs of one head and sequence, and the distinct keys: token after token
    (beltagy2020longformer, 3.1)."""
    new, past = int(f.plan.new_tokens), f.plan.context - f.plan.new_tokens
    if not f.h.causal:
        return f.plan.new_tokens * f.plan.context, f.plan.context
    if "chunk" in reach:  # a token sees its own chunk; chunks begin at multiples of their length
        chunk = reach["chunk"]
        pairs = sum((past + i - 1) % chunk + 1 for i in range(1, new + 1))
        return pairs, f.plan.context - past // chunk * chunk
    window = most_seen(f, reach)
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


def cast_inputs(f, share, values):
    """Inputs of a product whose weights have fewer bits, in a kernel of its own; weights that are widened have wide
    inputs."""
    plan = f.plan
    if serving(f) and not plan.widened and plan.weight_bytes < plan.activation_bytes:
        op = elementwise(f, "quantisation", "attention", share, f.tokens * values, 1, 0, 2)
        op.traffic += plan.weight_bytes * f.tokens * values


def norm_latents(f, share, width):
    if serving(f):
        elementwise(f, "latent_norm", "attention", share, f.tokens * width, 1, 1, 6)


def core(f, name, share, heads, kv_heads, qk, v, cached_width, reach):
    """Scores, softmax, weighted sum over the tokens in reach."""
    plan, window = f.plan, most_seen(f, reach)
    copies = f.sequences * heads
    inputs = plan.activation_bytes * f.tokens * (heads * qk + kv_heads * (qk + v))
    state = plan.kv_bytes * f.sequences * min(plan.context, window) * cached_width if serving(f) else 0.0
    if plan.kernel == "unfused":
        return unfused_core(f, share, copies, kv_heads, qk, v, inputs, state, window)
    if plan.kernel == "fused_fp8":
        values = f.tokens * (heads * qk + kv_heads * (qk + v))
        elementwise(f, "attention_cast", "attention", share, values, 1, 0, 2).traffic += values
    pairs, keys = attended(f, reach)
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


def unfused_core(f, share, copies, kv_heads, qk, v, inputs, state, window):
    """Each step reads and writes the whole square of scores; a mask zeroes what is not attended to. A cached key or value
    comes from memory once for the heads of its group."""
    plan = f.plan
    rows, keys = plan.new_tokens / plan.cp, min(plan.context, window)
    square = copies * rows * keys
    scores = activation_product(f, "attention_scores", "attention", share, rows, keys, qk, copies, {"core"})
    scores.kept = inputs if f.training else 0.0
    scores.recompute_parts = {"attention", "block"}
    scores.state = state
    arrays = 2 if plan.dropout and f.training else 1  # softmax and dropout
    passes = arrays + (0 if plan.fused else 2)  # scale and mask are passes of their own
    softmax = elementwise(f, "softmax", "attention", share, square, passes, passes, 6, {"core"})
    softmax.kept = plan.activation_bytes * arrays * square
    dropout_mask(f, softmax, square)
    dropout_traffic(f, softmax, square)
    values = activation_product(f, "attention_values", "attention", share, rows, v, keys, copies, {"core"})
    if serving(f):
        for op, width in ((scores, qk), (values, v)):
            op.traffic = op.live + plan.kv_bytes * f.sequences * kv_heads * keys * width


def join_attention(f, share):
    """Beside a feed-forward in parallel each rank adds its two parts, and there is one join for both
    (chowdhery2022palm, section 2)."""
    if not f.h.parallel:
        join_tensor_parallel(f, "attention_tp_reduce", share, "attention")


def exchange_context(f, share, width):
    """Context-parallel ranks pass keys and values around, beside the attention at hand
    (liu2023ringattention)."""
    if f.plan.phase == "decode":
        return
    message = f.plan.activation_bytes * f.sequences * f.plan.new_tokens * width
    op = collective(f.ops, "context_exchange", "all_gather", "context", share, message, f.plan.cp, f.plan.tp)
    op.parts = op.parts | {"attention"}
    op.beside = "pass"


def grouped(f, share, a, reach):
    """Multi-head, grouped-query or multi-query attention (Ainslie et al. 2023)."""
    h, plan = f.h, f.plan
    qk = a.get("head_dim", h.hidden / a["heads"])
    v = a.get("value_head_dim", qk)
    qkv_bias = 1 if a.get("qkv_bias") and not h.bias else 0
    output_bias = 1 if a.get("output_bias") and not h.bias else 0
    gate, norms = (1 if a.get("output_gate") else 0), a.get("qk_norm", "none")
    heads = a["heads"] / plan.tp
    kv_heads = max(
        a.get("kv_heads", a["heads"]) / plan.tp, 1
    )  # fewer key-value heads than devices: each device holds one, copied
    query, kv = heads * qk, kv_heads * (qk + v)
    op = matmul(f, "qkv_projection", "attention", share, f.tokens, query * (1 + gate) + kv, h.hidden)
    op.params += (
        qkv_bias * (query + kv)
        + (norms == "head") * 2 * qk
        + (norms == "full") * (query + kv_heads * qk)
        + bool(a.get("sinks")) * heads
    )
    op.merged_matrices = 2 if a.get("shared_kv") else 3
    op.kept *= f.split
    op.recompute_parts = {"norm", "block"}
    op.biased += qkv_bias
    for width in (query, kv_heads * qk) if norms != "none" else ():
        elementwise(f, "query_key_norm", "attention", share, f.tokens * width, 1, 1, 6)
    rotary_and_cache(f, share, query + kv_heads * qk, kv)
    exchange_context(f, share, kv)
    if "select" in reach:
        index(f, share, reach, h.hidden, reach["select"].get("pool", 1))
    chosen_core(f, "attention", share, heads, kv_heads, qk, v, kv, reach)
    out = matmul(f, "output_projection", "attention", share, f.tokens, h.hidden, heads * v)
    out.params += output_bias * h.hidden
    out.biased += output_bias
    dropout_mask(f, out, f.tokens * h.hidden * f.split)
    join_attention(f, share)


def over_encoder(f, share, a):
    """Attention over the output of an encoder. Keys and values of it are made once, with the prompt, and their cache
    does not grow (raffel2020t5, section 2.1)."""
    h, plan = f.h, f.plan
    qk = a.get("head_dim", h.hidden / a["heads"])
    v = a.get("value_head_dim", qk)
    heads, kv_heads = a["heads"] / plan.tp, max(a.get("kv_heads", a["heads"]) / plan.tp, 1)
    tokens, width = plan.encoded or plan.context, kv_heads * (qk + v)
    query = matmul(f, "encoder_query", "attention", share, f.tokens, heads * qk, h.hidden)
    if plan.phase == "decode":
        query.params += (h.hidden + h.bias) * width
    else:
        matmul(f, "encoder_key_value", "attention", share, f.sequences * tokens, width, h.hidden)
    op = emit(f.ops, "attention", "attention", "encoder_attention", share)
    op.m, op.n, op.k, op.copies = plan.new_tokens, tokens, qk, f.sequences * heads
    op.group_heads = heads / kv_heads
    op.work = 2 * f.sequences * heads * plan.new_tokens * tokens * (qk + v)
    values = f.sequences * tokens * width
    op.state = plan.kv_bytes * values if serving(f) else 0.0
    op.live = plan.activation_bytes * f.tokens * heads * (qk + v)
    op.traffic = op.live + (plan.kv_bytes if serving(f) else plan.activation_bytes) * values
    matmul(f, "encoder_output", "attention", share, f.tokens, h.hidden, heads * v)
    join_attention(f, share)


def latent(f, share, a, reach):
    """Multi-head latent attention (deepseek2024v2, section 2.1). Decoding works on the latent itself, with
    the up projections absorbed into the query and the output, and so do prompts where an index chooses. The down
    projections are small and held by every device."""
    h, plan = f.h, f.plan
    q_lora, kv_lora, v = a.get("q_lora_rank", 0), a["kv_lora_rank"], a["value_head_dim"]
    nope, rope = a["nope_head_dim"], a["rope_head_dim"]
    heads = a["heads"] / plan.tp
    query_inputs = q_lora or h.hidden
    width = kv_lora + rope
    cast_inputs(f, share, h.hidden)
    down = matmul(f, "latent_down_projection", "attention", share, f.tokens, q_lora + width, h.hidden)
    down.params += q_lora + kv_lora  # norms of the two latents
    down.kept *= f.split
    norm_latents(f, share, q_lora + kv_lora)
    cast_inputs(f, share, query_inputs)
    matmul(f, "query_up_projection", "attention", share, f.tokens, heads * (nope + rope), query_inputs)
    rotary_and_cache(f, share, (heads + 1) * rope, width)
    exchange_context(f, share, width)
    select = reach.get("select")
    if plan.phase == "decode" or (plan.phase == "prefill" and bool(select)):
        matmul(f, "absorbed_key_projection", "attention", share, f.tokens, kv_lora, nope, heads)
        elementwise(f, "query_assembly", "attention", share, f.tokens * heads * width, 1, 1, 0)
        first = len(f.ops)
        chosen_core(f, "latent_attention", share, heads, 1, width, kv_lora, width, reach)
        f.ops[first].keys = "chosen" if select else "latents"
        if plan.phase == "decode":
            # Parts of the tokens leave FP32 sums, as wide as a latent; a second kernel reads them, at least one each.
            sums = f.tokens * heads * kv_lora
            op = emit(f.ops, "stream", "attention", "latent_attention_join", share, {"core"})
            op.work, op.live = 2 * sums, plan.activation_bytes * sums
            op.traffic = op.live + 4 * sums
        matmul(f, "absorbed_value_projection", "attention", share, f.tokens, v, kv_lora, heads)
    else:
        cast_inputs(f, share, kv_lora)
        matmul(
            f, "key_value_up_projection", "attention", share, f.tokens, heads * (nope + v), kv_lora
        )
        made_core(f, share, heads, nope, rope, v, width, reach)
    if select:
        index(f, share, reach, query_inputs, select.get("pool", 1))
    matmul(f, "output_gate", "attention", share * bool(a.get("output_gate")), f.tokens, heads * v, h.hidden)
    cast_inputs(f, share, heads * v)
    matmul(f, "output_projection", "attention", share, f.tokens, h.hidden, heads * v)
    join_attention(f, share)


def made_core(f, share, heads, nope, rope, v, width, reach):
    """A prompt whose keys and values were made for every head: read as they are, after a cast where the cache has
    8 bits; not split over units. Two kernels rotate queries and copy the rotated key to every head."""
    plan, qk = f.plan, nope + rope
    if serving(f):
        elementwise(f, "key_assembly", "attention", 2 * share, f.tokens * heads * rope / 2, 2, 1, 2, {"core"})
    first = len(f.ops)
    narrow = plan.phase == "prefill" and 1 <= plan.kv_bytes < plan.activation_bytes
    if narrow:
        values = f.tokens * heads * (2 * qk + v)
        cast = elementwise(f, "attention_cast", "attention", share, values, 1, 0, 2, {"core"})
        cast.traffic += plan.kv_bytes * values
        first += 1
    core(f, "attention", share, heads, heads, qk, v, width, reach)
    op = f.ops[first]
    if op.kind == "attention":
        op.keys = "made"
        value = plan.kv_bytes if narrow else plan.activation_bytes
        op.traffic = op.live + value * f.sequences * op.n * heads * (qk + v)


def chosen_core(f, name, share, heads, kv_heads, qk, v, cached_width, reach):
    """The attention core over the entries that an index chooses; everything is kept."""
    select = reach.get("select")
    if not select:
        return core(f, name, share, heads, kv_heads, qk, v, cached_width, reach)
    first = len(f.ops)
    chosen = dict(reach, window=select["top_k"] * select.get("block", 1))
    core(f, name, share, heads, kv_heads, qk, v, cached_width, chosen)
    if serving(f):
        f.ops[first].state = f.plan.kv_bytes * f.sequences * f.plan.context * cached_width


def index(f, share, reach, query_inputs, per):
    """Scores of every cached entry of `per` tokens against light-weight heads (DeepSeek-V3.2, 2.1): a product
    with one key an entry, whose results are clipped, weighted and added over the heads in place of being stored;
    the sums are written, and read, as FP32 to find the highest."""
    h, plan = f.h, f.plan
    if reach["select"].get("shared"):
        return
    heads, dim, pressed = reach["select"]["heads"], reach["select"]["head_dim"], "compress" in reach
    width = heads * dim
    matmul(f, "index_query", "attention", share, f.tokens, width, query_inputs)
    key = matmul(
        f,
        "index_key",
        "attention",
        share,
        f.tokens,
        dim * (4 if pressed else 1) + heads,
        h.hidden,
    )
    key.params += dim * (9 if pressed else 2)
    entries, past = plan.context / per, plan.context - plan.new_tokens
    seen = entries
    if h.causal:  # the i-th new token sees what came before and itself
        seen = sum(past + i for i in range(1, int(plan.new_tokens) + 1)) / plan.new_tokens / per
    op = emit(f.ops, "matmul", "attention", "index_scores", share, {"core"})
    op.m, op.n, op.k, op.copies = plan.new_tokens / plan.cp * heads, seen, dim, f.sequences
    op.work = 2 * f.tokens * seen * width
    op.state = reach["select"].get("key_bytes", plan.kv_bytes) * f.sequences * entries * dim
    value = reach["select"].get("key_bytes", plan.kv_bytes)
    op.live = value * f.tokens * width  # queries in the format of the keys
    op.traffic = op.state + op.live + 4 * f.tokens * seen
    choice = emit(f.ops, "stream", "attention", "index_choice", share, {"core"})
    choice.work = f.tokens * seen
    choice.traffic = 4 * f.tokens * seen
    if serving(f) and reach["select"].get("block", 1) == 1:
        choice.searched = f.tokens
        kernels = 3 if pressed else 8  # norm, rotation, transform, quantisation, weights, cache
        elementwise(f, "index_preparation", "attention", kernels * share, f.tokens * width * 0.375, 1, 1, 6)


def compressed(f, share, a, reach):
    """A sliding window, and the past as one vector for each block of tokens, of which a selection reads some
    (DeepSeek-V4). Keys and values are one shared vector."""
    h, plan = f.h, f.plan
    q_lora, qk = a["q_lora_rank"], a.get("head_dim", h.hidden / a["heads"])
    block, window = reach.get("compress", 1), reach["window"]
    heads = a["heads"] / plan.tp
    cast_inputs(f, share, h.hidden)
    down = matmul(f, "query_down_projection", "attention", share, f.tokens, q_lora + qk, h.hidden)
    down.params += q_lora + qk
    norm_latents(f, share, q_lora + qk)
    cast_inputs(f, share, q_lora)
    matmul(f, "query_up_projection", "attention", share, f.tokens, heads * qk, q_lora)
    if serving(f):
        rotary_and_cache(f, share, (heads + 1) * qk, qk)
    wide = 2 if reach.get("overlapping") else 1  # overlapping blocks have two gated projections
    if block > 1:
        press = matmul(f, "block_compression", "attention", share, f.tokens, 2 * wide * qk, h.hidden)
        press.params += (block * wide + 1) * qk
    blocks = plan.context / block if block > 1 else 0.0
    seen = min(plan.context, window) + (min(blocks, reach["select"]["top_k"]) if "select" in reach else blocks)
    if "select" in reach:
        index(f, share, reach, q_lora, block)
    op = emit(f.ops, "attention", "attention", "compressed_attention", share)
    op.m, op.n, op.k, op.copies = plan.new_tokens, seen, qk, f.sequences * heads
    if serving(f):
        op.group_heads, op.keys = heads, "chosen"
    op.params = heads
    op.work = 4 * f.tokens * heads * seen * qk
    op.state = plan.kv_bytes * f.sequences * (min(plan.context, window) + blocks) * qk
    op.live = plan.activation_bytes * 2 * f.tokens * heads * qk
    op.traffic = op.live + plan.kv_bytes * f.sequences * seen * qk
    if f.training:
        op.kept = plan.activation_bytes * f.tokens * (heads + 1) * qk
    cast_inputs(f, share, heads * qk)
    matmul(
        f,
        "grouped_output_down",
        "attention",
        share,
        f.tokens,
        a["output_rank"],
        heads * qk / a["output_groups"],
        a["output_groups"],
    )
    cast_inputs(f, share, a["output_groups"] * a["output_rank"] / plan.tp)
    matmul(
        f,
        "grouped_output_up",
        "attention",
        share,
        f.tokens,
        h.hidden,
        a["output_groups"] * a["output_rank"] / plan.tp,
    )
    join_attention(f, share)


def linear(f, share, a):
    """Gated linear attention with a recurrent state for each value head (delta rule; Yang et al. 2024)."""
    h, plan = f.h, f.plan
    key, delta, taps = a["key_head_dim"], a.get("rule") == "kda", a.get("conv_width", 0)
    value, rank = a.get("value_head_dim", key), a.get("decay_rank", key)
    keys, values = a["key_heads"] / plan.tp, a["value_heads"] / plan.tp
    mixed, width = 2 * keys * key + values * value, values * value
    state_bytes = BYTES[a.get("state_precision", "fp32")]
    # Query, key, value and output gate; write strength and decay, which Kimi's makes a vector through a low
    # rank.
    into = matmul(
        f,
        "linear_attention_input",
        "attention",
        share,
        f.tokens,
        mixed + width + values * (1 if delta else 2),
        h.hidden,
    )
    into.kept *= f.split
    if delta:
        matmul(f, "decay_down", "attention", share, f.tokens, rank, h.hidden)
        up = matmul(f, "decay_up", "attention", share, f.tokens, values * key, rank)
        up.params += values * key - values
    conv = elementwise(f, "short_convolution", "attention", share, f.tokens * mixed, 1, 1, 8)
    conv.params = taps * mixed + 2 * values + value
    conv.kept = plan.activation_bytes * f.tokens * mixed
    # The convolution needs the tokens before the next one; they are read and written.
    conv.state = state_bytes * f.sequences * max(taps - 1, 0) * mixed
    conv.traffic += plan.activation_bytes * 2 * f.sequences * max(taps - 1, 0) * mixed
    conv.recurrence, conv.copies = "convolution", f.sequences
    op = emit(f.ops, "stream", "attention", "recurrent_state", share)
    cells = values * key * value
    op.work = 7 * cells * f.tokens  # decay 1, rank-one read 2, rank-one write 2, query 2
    op.state = state_bytes * cells * f.sequences
    op.live = plan.activation_bytes * f.tokens * (mixed + width)
    op.traffic = 2 * op.state + op.live
    op.recurrence, op.copies, op.group_heads = "kda" if delta else "gated_delta", f.sequences * values, values / keys
    op.n, op.k = value, key
    for each in (conv, op):
        each.m, each.stepping = f.tokens / f.sequences, plan.phase == "decode"
    if op.stepping:  # the state of each token, of which some may be taken back
        op.traffic += op.state * (max(op.m, 1) - 1)
    op.kept = plan.activation_bytes * f.tokens * mixed
    matmul(f, "linear_attention_output", "attention", share, f.tokens, h.hidden, width)
    join_attention(f, share)
