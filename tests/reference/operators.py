"""The forward pass of a transformer on one device of a plan, as a list of operators."""

from types import SimpleNamespace

import adapters
import attention
import convolution
import routing
from op import (
    collective,
    dropout_mask,
    dropout_traffic,
    elementwise,
    emit,
    join_tensor_parallel,
    matmul,
    norm,
)
from plan import expert_devices, ranks_of


def sequences_of(plan):
    """Sequences of a micro-batch on the fullest device. Expert-parallel ranks share them, and none divides
    one."""
    ranks = ranks_of(plan)
    return max(plan.batch / ranks, 1.0) if ranks > 1 else plan.batch


def frame_of(h, plan):
    """What every rule needs: sizes of this device's share of one micro-batch."""
    f = SimpleNamespace(h=h, plan=plan, ops=[], training=plan.phase == "training")
    f.sequences = sequences_of(plan)
    f.tokens = f.sequences * plan.new_tokens / plan.cp  # context-parallel ranks divide each sequence
    f.split = 1 / plan.tp if plan.sequence_parallel else 1.0  # of activations outside the matrices
    return f


def forward(h, plan):
    """Operators of one forward pass. The transfers between stages come last and belong to no block."""
    f = frame_of(h, plan)
    if h.architecture == "cnn":
        convolution.forward(f)
        return f.ops
    if h.encoder and plan.phase != "decode":
        f.ops += encode(h, plan)
    input_embedding(f)
    blocks(f)
    output_head(f)
    if plan.unpack_rows is not None:
        f.ops = adapters.unpacked(f.ops, plan)
    if plan.lora_rank:
        f.ops = adapters.with_adapters(f.ops, plan)
    pipeline_transfer(f)
    if plan.expert_overlap == "micro_batch":  # everything runs beside the exchange of another micro-batch
        for op in f.ops:
            op.parts = op.parts | {"aside"}
    return f.ops


def encode(h, plan):
    """The encoder in one pass over its input, of which it keeps nothing (raffel2020t5). Where the answer comes token
    by token, its weights lie beside those of the list: no step reads them. Its layers stand for those of the
    decoder, whose number the shares are of."""
    serving = plan.phase == "prefill"
    tokens = plan.encoded or plan.context
    part = SimpleNamespace(**{**vars(plan), "new_tokens": tokens, "context": tokens})
    part.phase = "inference" if serving else plan.phase
    f = frame_of(h.encoder, part)
    input_embedding(f)
    blocks(f)
    output_head(f)
    for op in f.ops:
        if op.place == "block":
            op.share *= h.encoder.layers / h.layers
        if serving:
            op.params = 0.0
    return f.ops


def input_embedding(f):
    h, plan = f.h, f.plan
    first = len(f.ops)
    values = f.tokens * h.hidden
    op = emit(f.ops, "stream", "embedding", "embedding")
    op.params = h.vocab * h.hidden / plan.tp + h.position_rows * h.hidden
    op.live = plan.activation_bytes * values
    each = plan.weight_bytes if plan.edge_bytes is None else plan.edge_bytes
    op.traffic = op.live + each * values
    dropout_mask(f, op, values * f.split)
    dropout_traffic(f, op, values * f.split)
    if h.architecture == "encoder":
        patch = matmul(
            f, "patch_embedding", "embedding", 1 if h.patch_inputs else 0, f.tokens, h.hidden, h.patch_inputs
        )
        patch.params += 2 * h.hidden  # bias and class token
    pattern = "reduce_scatter" if plan.sequence_parallel else "all_reduce"
    collective(f.ops, "embedding_join", pattern, "tensor", 1, plan.activation_bytes * values, plan.tp, 1).m = f.tokens
    for op in f.ops[first:]:
        op.place = "first"


def blocks(f):
    """The mean block: every kind of layer with the share of the blocks that has it."""
    h, plan = f.h, f.plan
    each = 1 / h.layers
    norms = 0.5 * h.norms_per_layer  # two places for them in a block
    # The kernels of residual sum and norm drop the branch's output before: two branches a block, however many
    # norms.
    dropped = f.tokens * h.hidden * f.split * (2 / max(h.norms_per_layer, 1))
    attention_norm = norm(f, "attention_norm", norms)
    attention_norm.recompute_parts = set()  # its input is the block's own, which is always kept
    dropout_traffic(f, attention_norm, dropped)
    for (mixer, reach), layers in h.mixers:
        attention.mix(f, layers * each, mixer, reach)
    for (mixer, _), layers in h.mixers:
        if "cross" in mixer:
            attention.over_encoder(f, layers * each, mixer["cross"])
    dropout_traffic(f, norm(f, "ffn_norm", norms), dropped)
    for part, layers in h.feed_forwards:
        if "dense" in part:
            dense_feed_forward(f, layers * each, part["dense"])
        if "experts" in part:
            experts(f, layers * each, part["experts"])


def feed_forward_pair(f, group, names, share, rows, width, copies, outer, gated):
    """Two matrices, or three where a gate multiplies the first (Shazeer 2020)."""
    up_name, act_name, down_name = names
    matrices_up = 2 if gated else 1
    up = matmul(f, up_name, group, share, rows, matrices_up * width, outer, copies)
    up.merged_matrices = matrices_up
    up.kept *= f.split
    up.recompute_parts = {"norm", "block"}
    values = rows * width * copies
    act = elementwise(f, act_name, group, share, values, 1, 1, 8, {"activation"})
    # A gate is read too; as a pass of its own its product reads and writes once more.
    act.traffic += f.plan.activation_bytes * (matrices_up - 1) * (1 if f.plan.fused else 3) * values
    act.kept = f.plan.activation_bytes * matrices_up * values
    act.recompute_parts = {"feed_forward", "block"}
    down = matmul(f, down_name, group, share, rows, outer, width, copies)
    down.recompute_parts = down.recompute_parts | {"activation"}
    dropout_mask(f, down, rows * outer * f.split)


def dense_feed_forward(f, share, a):
    feed_forward_pair(
        f,
        "feed_forward",
        ("ffn_up", "ffn_activation", "ffn_down"),
        share,
        f.tokens,
        a["width"] / f.plan.tp,
        1.0,
        f.h.hidden,
        a.get("gated", True),
    )
    join_tensor_parallel(f, "ffn_tp_reduce", share, "feed_forward")


def experts(f, share, a):
    """Routed and shared experts. In training routing is even but for chance: a batch of T tokens touches
    E (1 - (1 - k/E)^T) of E experts, in the mean; in serving some are more popular than others. Its k T rows are dealt
    evenly to those that are touched (fedus2022switch, section 2). All ranks wait for the fullest, which touches as
    many as one with so many times the tokens."""
    h, plan = f.h, f.plan
    count, top_k, hidden = a["count"], a["top_k"], a.get("latent", h.hidden)
    gated, shared = a.get("gated", True), a.get("shared", 0)
    router = matmul(f, "router", "experts", share, f.tokens, count, h.hidden)
    router.recompute_parts = {"norm", "block"}
    router.params += bool(a.get("router_bias")) * count + bool(a.get("shared_gate")) * h.hidden
    resized = 1 if hidden < h.hidden else 0  # experts that work at another width
    matmul(f, "routed_width_down", "experts", share * resized, f.tokens, hidden, h.hidden)
    # Rows that leave a device. The tp devices of a rank have its tokens in tp parts, and those that share an
    # expert gather their parts first.
    shared_by = expert_devices(plan)
    own = f.tokens * shared_by / plan.tp
    routed = own * top_k
    # Three kernels choose experts, count rows and order them; one puts the rows in the experts' order.
    layer = len(f.ops)
    elementwise(f, "expert_choice", "experts", share * 3, f.tokens * count, 1, 0, 4, {"routed"})
    elementwise(f, "expert_gather", "experts", share, routed * hidden, 1, 1, 0, {"routed"})
    local = count / plan.ep
    # Also ranks without a sequence of their own get rows.
    with_sequences = plan.batch / ranks_of(plan) / f.sequences
    everyone = f.tokens * ranks_of(plan) * with_sequences
    uneven = routing.fullest_rank(count, top_k, everyone, plan.ep)
    if plan.rank_imbalance:
        uneven = min(plan.rank_imbalance, plan.ep)
    received = routed * with_sequences * uneven
    rows = max(routed, received)  # sent or received by the fullest rank
    exchange_rows(f, "expert_dispatch", share, a, rows * hidden, plan.dispatch_bytes, plan.activation_bytes)
    if plan.phase == "training":
        part = 1 - (1 - top_k / count) ** (everyone * uneven)
    else:
        part = routing.touched_share(count, top_k, everyone * uneven, plan.routing_spread)
    touched = max(local * part, 1.0)
    first = len(f.ops)
    inside = SimpleNamespace(**vars(f))  # what is kept of an expert's inputs lies on the devices that share it
    inside.split = 1 / shared_by if plan.sequence_parallel else 1.0
    feed_forward_pair(
        inside,
        "experts",
        ("expert_up", "expert_activation", "expert_down"),
        share,
        received / touched,
        a["width"] / shared_by,
        touched,
        hidden,
        gated,
    )
    for op in f.ops[first:]:
        if op.kind == "matmul":
            op.params += bool(a.get("bias")) * op.n * touched
        op.params *= (
            local / touched
        )  # stored are all local experts, also those that this batch does not touch
        op.parts = op.parts | {"routed"}
    exchange_rows(f, "expert_combine", share, a, rows * hidden, plan.activation_bytes, plan.dispatch_bytes)
    total = elementwise(f, "expert_sum", "experts", share, routed * hidden, 1, 0, 2, {"routed"})
    total.traffic += plan.activation_bytes * own * hidden
    total.live = total.traffic
    for op in f.ops[layer:]:
        op.device_experts, op.expert_width = local, a["width"] / shared_by
    matmul(f, "routed_width_up", "experts", share * resized, f.tokens, h.hidden, hidden)
    first = len(f.ops)
    feed_forward_pair(
        f,
        "experts",
        ("shared_expert_up", "shared_expert_activation", "shared_expert_down"),
        share * (1 if shared > 0 else 0),
        f.tokens,
        shared * a.get("shared_width", a["width"]) / plan.tp,
        1.0,
        h.hidden,
        gated,
    )
    if plan.expert_overlap == "shared_expert":
        for op in f.ops[first:]:
            op.parts = op.parts | {"aside"}
    if shared_by == plan.tp:
        join_tensor_parallel(f, "experts_tp_reduce", share, "feed_forward")
        return
    # The routed part is summed by the devices of an expert, over their tokens alone; shared experts lie on all.
    message = plan.activation_bytes * f.tokens * shared_by / plan.tp * h.hidden
    for pattern in ("reduce_scatter", "all_gather"):
        op = collective(f.ops, "experts_tp_reduce", pattern, "tensor", share, message, shared_by, 1)
        op.parts, op.beside = {"feed_forward", "block"}, "product"
    join_tensor_parallel(f, "shared_experts_tp_reduce", share * (1 if shared > 0 else 0), "feed_forward")


def exchange_rows(f, name, share, a, values, each, back):
    """All-to-all of the expert-parallel ranks: every rank sends its routed rows (lepikhin2020gshard, section
    3). `each`: bytes of a value; `back`: of one of its gradient."""
    stride = expert_devices(f.plan) * f.plan.cp
    op = collective(f.ops, name, "all_to_all", "experts", share, each * values, f.plan.ep, stride)
    op.message_back = back * values
    groups = a.get("groups", 1)
    op.routed = (a["count"], a["top_k"], groups, a.get("limited_groups", groups))
    # Kernels for decoding send a copy for each expert, the others one a node and rank (deepep-readme).
    copies = f.plan.expert_copies or ("per_expert" if f.plan.phase == "decode" else "per_node")
    op.one_copy = copies == "per_node"
    op.parts = {"feed_forward", "block"}
    op.beside = "" if f.plan.expert_overlap == "none" else "aside"


def output_head(f):
    h, plan = f.h, f.plan
    first = len(f.ops)
    norm(f, "edge_norm", h.edge_norms)
    rows = f.tokens if f.training else f.sequences  # serving needs the logits of the last token only
    if h.architecture == "decoder":
        if plan.sequence_parallel:
            collective(
                f.ops,
                "logits_gather",
                "all_gather",
                "tensor",
                1,
                plan.activation_bytes * rows * h.hidden,
                plan.tp,
                1,
            )
        logits = matmul(f, "logits", "head", 1, rows, h.vocab / plan.tp, h.hidden)
        logits.biased = h.head_bias
        # A tied matrix is the embedding itself where both live on one stage, and a copy of it elsewhere.
        own = max(h.head_params, 1 if plan.pp > 1 else 0)
        logits.params = h.vocab * h.hidden / plan.tp * own + h.head_bias * h.vocab / plan.tp
        if f.training and plan.fused_loss:
            chunked_loss(f, rows, logits)
        elif f.training:
            loss(f, rows)
    else:
        matmul(f, "pooler", "head", h.pooler, f.sequences, h.hidden, h.hidden)
        classes = matmul(f, "classifier", "head", 1 if h.outputs > 0 else 0, f.sequences, h.outputs, h.hidden)
        classes.params += h.outputs * (1 - h.bias)
    for op in f.ops[first:]:
        op.place = "last"


def loss(f, rows):
    """Cross entropy in fp32: a copy (4 B written), the maximum (4 B read), exponential and sum (8 B)."""
    logits = rows * f.h.vocab / f.plan.tp
    op = elementwise(f, "loss", "head", 1, logits, 1, 0, 6)
    op.traffic += 16 * logits
    op.kept = 4 * logits
    op.live += 8 * logits  # the logits, their copy and its gradient beside the probabilities that are kept


def chunked_loss(f, rows, head):
    """Chunks of tokens whose logits are as large as all hidden states; each chunk's logits are read twice and
    become their gradients in place (hsu2024liger, section 3.2)."""
    chunk = f.plan.activation_bytes * rows * min(f.h.hidden, f.h.vocab / f.plan.tp)
    head.live = head.kept + chunk
    op = elementwise(f, "loss", "head", 1, rows * f.h.vocab / f.plan.tp, 2, 1, 6)
    op.live = chunk


def pipeline_transfer(f):
    """Every stage sends its output on: each tensor-parallel rank its part, and ranks that need the whole
    gather it inside the node (narayanan2021megatron, section 4.1). One model chunk."""
    plan = f.plan
    whole = plan.activation_bytes * f.tokens * f.h.hidden
    sent = 1 if plan.pp > 1 else 0
    stride = plan.tp * plan.cp * ranks_of(plan) * plan.dp
    collective(
        f.ops, "pipeline_transfer", "point_to_point", "pipeline", sent, whole / plan.tp, plan.pp, stride
    ).place = "stage"
    if not plan.sequence_parallel:
        collective(f.ops, "pipeline_gather", "all_gather", "pipeline", sent, whole, plan.tp, 1).place = (
            "stage"
        )
