"""How long one execution of an operator takes on a device."""

import math
from types import SimpleNamespace

from collectives import collective_time


def ceil_div(a, b):
    return math.ceil(a / b)


def together(a, b):
    """Two sides of one kernel that overlap imperfectly: sqrt(a^2 + b^2)."""
    return math.hypot(a, b)


def burst_rate(work, peak, device):
    """A short burst runs above what the power limit sustains: peak (1 + burst / (1 + work / (peak
    burst_time))) (aiconfigurator-gemm-h100, rate of large products against their duration)."""
    return peak * (1 + device.burst / (1 + work / (peak * device.burst_time)))


def product_time(op, device, executions):
    """Whole tiles dealt to units in whole waves, or the depth spread over all units at the price of a second
    pass; the faster way (nvidia2023matmul, "Tile Quantization", "Wave Quantization"; osama2023streamk,
    section 4)."""
    d = device
    if d.experts and "routed" in op.parts:
        return expert_product_time(op, d)
    share = d.matrix_share * d.wide_ratio if op.wide else d.matrix_share
    share *= d.grouped if "routed" in op.parts else 1
    rate = burst_rate(op.work * executions, d.matrix_rate * share, d)
    # A product narrower than a tile is padded to whole matrix instructions.
    # Kernels that widen weights on their way multiply by warp (frantar2024marlin, section 3).
    rows = min(d.matrix_rows, 16) if op.dequantizes_in_kernel else d.matrix_rows
    tile_m = min(rows * ceil_div(max(op.m, 1), rows), d.tile_m)
    tile_n = min(rows * ceil_div(max(op.n, 1), rows), d.tile_n)
    tiles = ceil_div(op.m, tile_m) * ceil_div(op.n, tile_n) * op.copies
    waves = ceil_div(tiles, d.units)
    step = 2 * tile_m * tile_n * d.units / rate  # one wave over a depth of 1
    memory = op.traffic / (d.memory_bandwidth * d.memory_share * d.product_stream)
    whole = waves * (op.k * step + d.wave)
    spread = max(op.k * tiles / d.units, d.split_depth) * step + d.wave
    busy = min(together(whole, memory), together(spread, memory) + d.split)
    return cost(d.launch * min(op.copies, 1) + busy, min(whole, spread + d.split), memory, d.launch)


def of_shape(device, op):
    """Constants of a routed product: of tuned tiles where the library has them for its shape."""
    e = device.experts
    return e.tuned if any(abs(op.device_experts - n) + abs(op.expert_width - w) < 0.5 for n, w in e.shapes) else e


def expert_product_time(op, d):
    """The same in the kernels of a family for routed experts: tiles of its own rows and 64 columns, its own share of
    the peak of its arithmetic and of the bandwidth, no burst, and nothing for the start of a tile."""
    e = of_shape(d, op)
    tiles = ceil_div(op.m, e.tile) * ceil_div(op.n, 64) * op.copies
    step = 2 * e.tile * 64 * d.units / (d.experts.peak * e.share)
    memory = op.traffic / (d.memory_bandwidth * d.memory_share * e.stream)
    whole = ceil_div(tiles, d.units) * op.k * step
    spread = max(op.k * tiles / d.units, 1) * step
    busy = min(together(whole, memory), together(spread, memory) + d.split)
    return cost(e.launch * min(op.copies, 1) + busy, min(whole, spread + d.split), memory, e.launch)


ATTENTION_BACKWARD = 2.5  # five products for two, because the scores are formed again


def attention_time(op, device):
    """Blocks of query rows over units; heads of a group packed into one block; the longest block decides, or
    the keys are split over the units (dao2024flashattention2, section 3.2; Dao et al. 2023, Flash-Decoding), where
    they are read from a cache. On latents all heads of a token fill a block; where tokens chose their entries each is
    a sequence by itself, and a block has 64 heads.
    Softmax runs beside the products (sqrt(a^2 + b^2)), but not faster with narrower formats. Of a backward pass
    both take as many times longer."""
    d, back = device, op.run == "backward"
    new, keys = max(op.m, 1), max(op.n, 1)
    reach = max(op.reach if op.reach > 0 else op.n, 1)
    pairs = max(op.copies * new * reach, 1)
    peak = d.matrix_rate * d.cache_ratio * d.attention_share
    peak *= d.attention_backward if back else 1
    copies, chosen, latents = op.copies, op.keys == "chosen", op.keys in ("latents", "chosen")
    # Kernels for one query of a sequence and for several differ; a prompt may have one token.
    several = (new > 1 or op.keys == "made") and not latents
    group = min(op.group_heads, d.prompt_group) if several else op.group_heads
    tile, rows_tile = d.attention_tile, d.prompt_tile if several else d.attention_tile
    if chosen:
        copies, new, keys, rows_tile = copies * new, 1, reach, min(tile, 64)
    packed = new * group
    blocks = copies * min(ceil_div(packed, rows_tile) / group, ceil_div(new, rows_tile))
    rows = min(packed, rows_tile)
    grain = tile / 8  # rows of one matrix instruction
    padded = grain * ceil_div(rows, grain)
    last = ceil_div(min(keys, 2 * reach), tile)  # steps of the longest block
    # One query takes whole steps; of several the block on the diagonal is done whole.
    mean = min(reach / tile + 0.5 * max(rows_tile / tile, 1), last) if new > 1 else last
    products = padded * tile * d.units * op.work / pairs / peak
    softmax = padded * tile * d.units * d.softmax_work / (d.vector_rate * d.vector_share)
    softmax *= ATTENTION_BACKWARD / d.attention_backward if back else 1
    # Keys and values of a step, over the 64 KiB of 128 keys of 512 bytes.
    held = max(op.copies / op.group_heads * keys, 1)
    least = d.attention_step * (op.traffic - op.live * (2 if back else 1)) / held / 512
    block, block_rows = (
        (d.prompt_block, d.prompt_rows) if several else (d.attention_block, d.attention_rows)
    )
    launch, split, stream = d.attention_launch, d.attention_split, d.attention_stream
    if latents:
        launch, split, stream = d.launch, d.latent_split, d.latent_stream
        block, block_rows, least = (d.chosen_block, 0, d.chosen_step) if chosen else (d.latent_block, 0, 0)
    step = max(together(products, softmax), least)
    fixed = block + block_rows * rows / tile
    every = blocks / d.units * (fixed + mean * step)
    present = min(op.copies, 1)
    memory = op.traffic / (d.memory_bandwidth * d.memory_share * stream)
    whole, spread = max(every, (fixed + last * step) * present), max(every, (fixed + 0.5 * step) * present)
    ways = [(together(whole, memory), whole)]
    if op.keys not in ("made", "undivided"):
        ways.append((together(spread, memory) + split, spread + split))
    return cost(launch * present + min(total for total, _ in ways), min(compute for _, compute in ways), memory, launch)


def stream_time(op, device):
    """Roofline with a rounded corner: (compute^4 + memory^4)^(1/4) (williams2009roofline; the corner is a
    convention)."""
    compute = op.work / (device.vector_rate * device.vector_share)
    memory = op.traffic / (device.memory_bandwidth * device.memory_share)
    high, low = max(compute, memory), min(compute, memory)
    soft = high * (1 + (low / high) ** 4) ** 0.25 if high > 0 else 0.0
    launch = of_shape(device, op).launch if device.experts and "routed" in op.parts else device.launch
    search = device.search * op.searched / device.units
    return cost(soft + launch + search, compute + search, memory, launch)


def chain_bytes(arrays, op, tokens, chunk):
    """Of 16-bit values: vectors of each token, and a state for each chunk."""
    token = op.k * (arrays["keys"] / op.group_heads + arrays["wide_keys"]) + op.n * arrays["values"]
    token += arrays["squares"] * min(tokens, chunk)
    return 2 * op.copies * (token * tokens + op.k * op.n * arrays["cells"] * ceil_div(tokens, chunk))


def recurrence_time(op, d, k):
    """A chain of launches: most take all chunks at once, one passes the state from chunk to chunk, a block on a unit
    for each part of a state; rows of a triangular solve follow one another. Backward it runs twice. Convolutions
    and steps are one launch that streams, the former over whole chunks."""
    tokens = max(op.m, 1)
    chunks, inside = ceil_div(tokens, k.chunk), min(tokens, k.chunk)
    times = 2 if k.listed and op.run == "backward" else 1
    rate = d.memory_bandwidth * d.memory_share * k.stream
    if k.listed:
        work = op.copies * tokens * (2 * inside * (3 * op.k + 2 * op.n) + 6 * op.k * op.n)
        compute = work / (d.matrix_rate * d.matrix_share)
        aside = chain_bytes(k.aside, op, tokens, k.chunk)
        steps = chunks * ceil_div(op.copies * max(op.n / k.columns, 1), d.units) * k.step
    else:
        compute = op.work / (d.vector_rate * d.vector_share)
        aside = op.traffic + op.live * (chunks * k.chunk / tokens - 1)
        steps = 0
    rows, ordered = inside * k.row, chain_bytes(k.in_order, op, tokens, k.chunk) / rate
    aside = (aside + op.state * k.states) / rate
    launches = times * k.launches
    total = launches * k.launch + times * (rows + max(aside + max(steps, ordered), compute))
    priced = cost(total, times * (compute + rows + steps), times * (aside + ordered), launches * k.launch)
    priced.launches = launches
    return priced


def cost(total, compute, memory, overhead, network=0.0):
    return SimpleNamespace(total=total, compute=compute, memory=memory, overhead=overhead, network=network, launches=1)


def price(op, device, links, executions):
    """One execution [s]. `executions`: how often a device of the fullest stage runs it in one pass, for the
    power limit."""
    if op.kind == "collective":
        time = collective_time(op, links)
        return cost(time, 0.0, 0.0, 0.0, time)
    if op.kind == "host_transfer":
        time = op.message / device.host_bandwidth
        return cost(time, 0.0, 0.0, 0.0, time)
    if op.kind == "host_compute":
        time = op.message / op.host_bandwidth
        return cost(time, 0.0, 0.0, 0.0, time)
    if op.kind == "matmul":
        return product_time(op, device, executions)
    if op.kind == "attention":
        return attention_time(op, device)
    chain = device.recurrences.get((op.recurrence, op.stepping))
    return recurrence_time(op, device, chain) if chain else stream_time(op, device)
