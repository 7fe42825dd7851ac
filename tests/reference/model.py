"""A model's layers, one by one. A size that does not occur is 0."""

from types import SimpleNamespace

from zoo import get

# What no equation reads does not make two layers different.
UNREAD = ("routing", "activation", "rope_dim", "times")


def main_stack(workload):
    """The decoder, else the encoder."""
    for role in ("decoder", "encoder"):
        for stack in workload.get("stacks", []):
            if stack.get("role", "decoder") == role:
                return stack
    return {}


def encoder_of(workload):
    """The encoder that a decoder attends to, or None."""
    if workload["architecture"] == "encoder_decoder":
        for stack in workload.get("stacks", []):
            if stack.get("role") == "encoder":
                return stack
    return None


def expanded(stack):
    """Every layer of the stack, in order, with what the stack gives it."""
    layers = []
    for run in stack.get("layers", []):
        for _ in range(int(run.get("times", 1))):
            for stated in run.get("pattern", [{}]):
                layer = {
                    part: stated.get(part, stack.get(part, {}))
                    for part in ("mixer", "reach", "feed_forward", "residual")
                }
                layers += [layer] * int(stated.get("times", 1))
    return layers


def read(part):
    """What the equations read of a part of a layer."""
    if not isinstance(part, dict):
        return part
    return {key: read(value) for key, value in part.items() if key not in UNREAD}


def distinct(parts):
    """[(part, how often)] in order of first occurrence."""
    found = []
    for part in parts:
        for known in found:
            if known[0] == part:
                known[1] += 1
                break
        else:
            found.append([part, 1])
    return found


def attention_of(workload):
    """The first attention of the main stack: its table."""
    for layer in expanded(main_stack(workload)):
        for kind in ("grouped", "latent"):
            if kind in layer["mixer"]:
                return layer["mixer"][kind]
    return {}


def experts_of(workload):
    """The first experts of the main stack, and the layers that have some."""
    with_experts = [
        layer["feed_forward"]["experts"]
        for layer in expanded(main_stack(workload))
        if "experts" in layer["feed_forward"]
    ]
    return (with_experts[0] if with_experts else {}), len(with_experts)


def has_shape(workload):
    """Can the operator list be made from what is known?"""
    if workload["architecture"] == "cnn":
        return bool(workload.get("convolution"))
    return (
        (workload["architecture"] in ("decoder", "encoder") or encoder_of(workload) is not None)
        and bool(main_stack(workload).get("hidden"))
        and bool(attention_of(workload).get("heads"))
    )


def is_moe(workload):
    return bool(experts_of(workload)[0])


def model_view(w):
    """Sizes and layers of a transformer; of a convolutional network its layer records."""
    h = SimpleNamespace(workload=w, architecture=w["architecture"], convolution=w.get("convolution", []))
    h.encoder = encoder_of(w) and model_view({**w, "architecture": "encoder", "stacks": [encoder_of(w)]})
    if h.encoder:
        h.architecture = "decoder"
    if w["architecture"] == "cnn":
        h.layers, h.causal, h.moe, h.biased = len(h.convolution), False, False, False
        return h
    stack = main_stack(w)
    given, output = stack.get("input", {}), stack.get("output", {})
    layers = expanded(stack)
    h.causal = h.architecture == "decoder"
    h.layers, h.hidden, h.vocab = len(layers), stack["hidden"], given.get("vocab", 0)
    h.bias = 1 if stack.get("biases") else 0
    # Norms, position and segment rows, what stands at the ends.
    h.norm_vectors = 2 if stack.get("residual", {}).get("norm_bias") else 1
    h.norms_per_layer = sum(layer["residual"].get("norms", 2) for layer in layers) / len(layers)
    h.parallel = bool(stack.get("residual", {}).get("parallel"))
    h.edge_norms = (1 if output.get("norm", True) else 0) + (1 if given.get("norm") else 0)
    h.position_rows = given.get("positions", 0) + given.get("token_types", 0)
    h.pooler = 1 if output.get("pooler") else 0
    h.patch_inputs = given.get("channels", 3) * given["patch_size"] ** 2 if given.get("patch_size") else 0
    h.patch_inputs = h.patch_inputs or given.get("frame_width", 0)
    h.outputs = output.get("classes", 0)
    h.head_params = 0 if output.get("tied") else 1
    h.head_bias = 1 if output.get("bias") else 0
    h.heads = attention_of(w)["heads"]
    # Which layers attend how, and which have which feed-forward.
    h.mixers = distinct([(read(layer["mixer"]), read(layer["reach"])) for layer in layers])
    h.feed_forwards = distinct([read(layer["feed_forward"]) for layer in layers])
    h.moe = any("experts" in part for part, _ in h.feed_forwards)
    grouped = [mixer.get("grouped", {}) for (mixer, _), _ in h.mixers]
    h.biased = bool(
        h.bias or h.head_bias or any(a.get("qkv_bias") or a.get("output_bias") for a in grouped)
    )
    return h
