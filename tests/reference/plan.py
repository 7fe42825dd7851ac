"""How the work is divided, and what one pass processes."""

from types import SimpleNamespace

from zoo import BYTES, default


# What may be said of collectives and of the experts' exchange.
EXCHANGE = dict(
    collective_algorithm="usual",
    dispatch_precision=None,
    expert_copies=None,
    expert_overlap="none",
    rank_imbalance=None,
)


def whole_model():
    """One sequence of one token on one device, 16 bits everywhere, nothing special."""
    return SimpleNamespace(
        phase="prefill",
        tp=1,
        pp=1,
        dp=1,
        ep=1,
        expert_tp=None,  # devices that share a routed expert; None: the tp devices
        cp=1,
        shards=0,
        virtual_stages=1,
        batch=1,
        microbatches=1,
        new_tokens=1,
        context=1,
        encoded=0,  # tokens that the encoder of each sequence reads; 0: as many as `context`
        tower=0.0,  # bytes of weights that lie beside those of the layers
        weight_bytes=2,
        expert_bytes=None,  # of routed experts; None: as all weights
        widened=False,  # weights have fewer bits than the arithmetic
        edge_bytes=None,  # of embedding and head, likewise
        gradient_bytes=0,
        state_bytes=0,
        matrix_state_bytes=0,  # of a weight matrix inside the blocks
        orthogonal=False,
        lora_rank=0,
        lora_modules="all",
        adapter_bytes=0,
        unpack_rows=None,  # rows of a product beyond which its weights are widened in memory before it
        widens=False,  # frozen weights of the blocks are stored in fewer bits than a product takes
        fused_loss=False,
        activation_bytes=2,
        dispatch_bytes=2,  # of a value on its way to routed experts
        expert_copies=None,  # per_expert, per_node; None: as the phase has it
        expert_overlap="none",
        routing_spread=0.0,  # of the logarithm of an expert's popularity in serving
        rank_imbalance=None,  # rows of the fullest rank of experts over the mean; None: as chance makes it
        kv_bytes=2,
        trainable=1,
        recomputed=1,
        overlap=0.0,
        tp_overlap=0.0,
        overlap_slowdown=0.0,
        offload_weights=0.0,
        offload_activations=0.0,
        offload_states=0.0,
        offload_experts=0.0,  # of those that are routed, in serving
        host_rows=0,  # rows of a pass up to which the host computes what it holds
        offload_gradients=0.0,  # and the host then updates the weights
        host_bandwidth=0.0,  # of the host's memory, for one device
        exchange_bucket=default("exchange_bucket"),
        recomputation="none",
        schedule="1f1b",
        zero_stage=0,
        sequence_parallel=False,
        kernel="fused",
        dropout=False,
        fused=True,
        narrow=False,
        four_bits=False,
        prefetch=True,
        early_stop=False,  # recomputation ends with the last value that is needed
    )


def expert_devices(plan):
    """Devices that share one routed expert: the tp devices of a rank, or fewer where experts are folded over
    them (liu2025folding)."""
    return plan.expert_tp or plan.tp


def ranks_of(plan):
    """Ranks that divide the sequences of a replica: the devices of all its experts, tp to a rank."""
    return plan.ep * expert_devices(plan) / plan.tp


def set_exchange(plan, s, serving):
    """How tokens travel to experts on other ranks: in 8 bits with a scale of 4 B for 128 values where serving
    multiplies in 8 bits or fewer (deepseek-v3-report, section 3.3)."""
    plan.expert_copies, plan.expert_overlap = s.expert_copies, s.expert_overlap
    plan.rank_imbalance = s.rank_imbalance
    own = "fp8" if serving and BYTES[s.precision] < 2 else None
    if s.dispatch_precision or own:
        b = BYTES[s.dispatch_precision or own]
        plan.dispatch_bytes = b if b >= 2 else b + (1 / 16 if b < 1 else 4 / 128)


def kv_bytes(precision, kv_precision=None):
    """The cache is stored like the weights, at 16 bits where those have fewer than 8."""
    if kv_precision:
        return BYTES[kv_precision]
    return 2 if BYTES[precision] < 1 else BYTES[precision]


def serving_plan(precision, kv_precision=None):
    """Activations have 16 bits at least."""
    plan = whole_model()
    plan.routing_spread = default("routing_spread")
    plan.weight_bytes = BYTES[precision]
    plan.activation_bytes = plan.dispatch_bytes = max(BYTES[precision], 2)
    plan.kv_bytes = kv_bytes(precision, kv_precision)
    return plan


def training_plan(precision, optimizer, moment=None):
    """Formats below 16 bits are those of the arithmetic: weights and gradients stay at 16. Adam keeps two
    moments in fp32, and beside weights narrower than that a master copy (Micikevicius et al. 2018)."""
    plan = whole_model()
    b = max(BYTES[precision], 2)
    plan.phase = "training"
    plan.weight_bytes = plan.gradient_bytes = plan.activation_bytes = plan.kv_bytes = b
    plan.dispatch_bytes = b
    each = BYTES[moment] if moment else 4
    moments = 2 * each if optimizer in ("adam", "adamw", "muon") else 0
    master = 4 if optimizer != "none" and b < 4 else 0
    plan.state_bytes = moments + master
    # Muon keeps one moment of a matrix (jordan2024muon), and Adam's two of all else.
    plan.orthogonal = optimizer == "muon"
    plan.matrix_state_bytes = master + (each if plan.orthogonal else moments)
    return plan
