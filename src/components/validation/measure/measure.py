#!/usr/bin/env python3
"""Measure one machine for `mlsysim calibrate`. Needs PyTorch only (CUDA, ROCm or CPU) and downloads nothing.

    python measure.py --plan                      list the points and why each one is taken
    python measure.py --out FOLDER                measure for at most two minutes
    python measure.py --out FOLDER --deadline 45  drop the least valuable points first
    python measure.py --points FILE               measure the kernels of `mlsysim decide --points FILE` in their place

The folder receives CSV files in the columns of the tables that were measured on an H100, one YAML definition for each predicted
quantity (for `mlsysim validate` and `mlsysim calibrate`), definitions.md and machine.json. Each row is flushed when it is measured.
A point that runs out of memory or fails becomes a row with its reason in the column `skipped`.
"""
from __future__ import annotations

import argparse
import csv
import ctypes
import json
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

STARTED = time.monotonic()

REPLAY_SECONDS = 2e-3  # of one replay: long beside an event, short beside the reaction of a power limit
REPLAYS, FEWEST_REPLAYS, WARM_UPS = 7, 3, 2
BURST_SECONDS = 1.5  # all replays of a point together, where a call is slow
CACHES, MOST_SETS = 4, 64  # operands rotate over this many times the last-level cache
IDLE_SECONDS, SUSTAINED_SECONDS, SUSTAINED_RAMP = 2.0, 2.0, 0.5  # of windows that count; before a sustained one, clocks and power settle
DEADLINE, RESERVE = 120.0, 1.5  # the reserve is for writing and ending

# -------------------------------------------------------------------------------------------------------------------- points
@dataclass(frozen=True)
class Point:
    table: str
    op: str
    size: dict
    seconds: float  # expected on an accelerator
    cpu_seconds: float  # expected on one core
    identifies: str
    why: str
    needs: str = ""  # accelerator, fp8 or power: left out where the machine has none
    turn: int = 1  # 2: the same work measured again later in the run

    def expected(self, cpu: bool) -> float:
        return self.cpu_seconds if cpu else self.seconds

    @property
    def name(self) -> str:
        size = " ".join(f"{k}={v}" for k, v in self.size.items())
        return f"{self.table}: {self.op} {size}".rstrip() + (" (again)" if self.turn > 1 else "")

def mm(m, n, k, identifies, why, seconds=0.4, cpu=0.3, turn=1):
    return Point("gemm", "mm", dict(dtype="wide", m=m, n=n, k=k), seconds, cpu, identifies, why, turn=turn)

def fp8(m, n, k, identifies, why):
    return Point("gemm", "scaled_mm", dict(dtype="fp8", m=m, n=n, k=k), 0.4, 0.2, identifies, why, "fp8")

def attend(op, batch, context, heads, kv_heads, head_dim, identifies, why, cpu=0.4, causal=1):
    size = dict(batch=batch, new_tokens=1 if op == "decode" else context, context=context, heads=heads, kv_heads=kv_heads,
                head_dim=head_dim, causal=0 if op == "decode" else causal)
    return Point("attention", op, size, 0.5, cpu, identifies, why)

def stream(op, rows, columns, identifies, why, cpu=0.5):
    return Point("elementwise", op, dict(rows=rows, columns=columns), 0.4, cpu, identifies, why)

def host(op, count, identifies, why, needs=""):
    return Point("overhead", op, dict(count=count), 0.3, 0.2, identifies, why, needs)

def held(point, identifies, why):
    """The point repeated for two seconds and more."""
    return replace(point, size=dict(point.size, sustained=1), seconds=3.2, cpu_seconds=3.2, identifies=identifies, why=why)

def again(points, why="later in the run: a host scatters by a factor of 1.5"):
    return [replace(p, turn=2, why=why) for p in points]

HOST = (
    host("F.linear 16x256x256", 500, "host.operator", "dispatch of a product, the commonest operator of an eager step"),
    host("add of one element", 500, "host.operator", "dispatch of the cheapest operator"),
    host("raw kernel launch", 500, "kernels.issue", "a launch without an operator: the floor of an eager step", "accelerator"),
    host("graph replay", 1, "host.graph_launch", "launch of a captured graph, once a step", "accelerator"),
    host("graph replay", 1000, "kernels.floor", "time from one smallest kernel of a graph to the next", "accelerator"),
    host("nn.Linear module 16x256x256", 500, "host.module", "a module call beside its operator"),
    host("nn.Linear forward recorded for autograd", 500, "host.record", "the forward pass of training records its graph"),
    host("nn.Linear forward and backward", 200, "host.backward", "the backward pass runs in the autograd engine"),
    host("synchronize after an addition", 200, "host.wait", "a step that waits for the device", "accelerator"),
    host("item of one element", 200, "host.wait", "a framework that reads a value in each step"),
)
SQUARE = mm(4096, 4096, 4096, "efficiency.matrix, efficiency.burst", "square product; repeated at the end to see drift")
LARGE = mm(8192, 8192, 8192, "efficiency.matrix, efficiency.burst, efficiency.burst_time", "the largest product: best burst", 0.6, 1.0)
ADD = stream("add", 1, 1 << 28, "efficiency.memory", "1.6 GB through memory: the rate that bounds decoding")
STEP = dict(batch=1, context=2048)
PROMPT = attend("prefill", 1, 8192, 32, 8, 128, "efficiency.vector, efficiency.attention", "a long prompt: products and softmax", 1.2)

# The order is the value; a deadline drops points from the end. Kernel points stand in the order of order.py: the next point lowers
# the variance of decode, prefill and training times most, given the Jacobian of the predictions and the points before it.
POINTS = (
    Point("idle", "no process on the device", {}, 2.2, 2.2, "power.idle", "power of a machine without a process", "power"),
    mm(256, 4096, 4096, "efficiency.matrix, efficiency.product_stream", "where streaming of weights ends: tells both rates"),
    attend("decode", 64, 2048, 32, 8, 128, "efficiency.attention_stream", "a full batch reads its cache at the rate of the memory"),
    LARGE,
    *HOST[:3],
    mm(64, 28672, 4096, "efficiency.product_stream", "few rows, wide: weights stream from memory, as in batched decoding"),
    stream("add", 1, 1024, "kernels.launch", "the smallest element-wise kernel: floor in a graph", 0.1),
    Point("decoder", "decode", dict(STEP, execution="eager"), 5.0, 2.5, "not fitted", "a decode step of a 1B decoder, eager"),
    Point("decoder", "decode", dict(STEP, execution="graph"), 3.0, 0.1, "not fitted", "the same step in a CUDA graph", "accelerator"),
    Point("training", "step", dict(microbatch=2, seq=2048), 6.0, 5.0, "not fitted", "one training step, eager"),
    ADD,
    *HOST[3:],
    fp8(8192, 8192, 8192, "efficiency.matrix_narrow", "the largest fp8 product"),
    fp8(64, 28672, 4096, "efficiency.product_stream_narrow", "few rows in fp8: weights stream from memory"),
    mm(64, 4096, 14336, "efficiency.product_stream, kernels.split", "few rows, deep: split along the sums"),
    held(LARGE, "efficiency.matrix, draw.work", "two seconds of products: rate and power under the power limit"),
    *again(HOST[:3]),
    fp8(4096, 4096, 4096, "efficiency.matrix_narrow", "square fp8 product"),
    attend("decode", 8, 4096, 32, 8, 128, "efficiency.attention_stream", "between one sequence and a full batch"),
    mm(1, 4096, 14336, "efficiency.product_stream", "one row: matrix times vector"),
    attend("prefill", 4, 2048, 32, 8, 64, "efficiency.vector, kernels.prompt_block", "head size 64: half of the products per softmax"),
    mm(4096, 14336, 4096, "efficiency.matrix, efficiency.burst_time", "a feed-forward product of a prompt"),
    attend("decode", 64, 512, 16, 8, 64, "efficiency.attention_stream, kernels.attention_step", "many short sequences, head size 64"),
    mm(16, 4096, 4096, "efficiency.product_stream", "few rows, small weights"),
    fp8(2048, 4096, 4096, "efficiency.matrix_narrow", "fp8 of a few waves"),
    mm(128, 8192, 1024, "kernels.launch, kernels.wave", "shallow: start and end of a tile weigh most"),
    held(ADD, "efficiency.memory, draw.traffic", "two seconds of traffic: bandwidth and power"),
    Point("idle", "a process holds a context and launches nothing", {}, 2.2, 2.2, "power.idle", "power while a server waits", "power"),
    fp8(64, 4096, 14336, "efficiency.product_stream_narrow", "fp8 of few rows, deep"),
    SQUARE,
    attend("decode", 1, 512, 32, 8, 128, "kernels.attention_launch", "the smallest decode attention: its floor"),
    attend("decode", 1, 16384, 32, 8, 128, "kernels.attention_split", "one long sequence is split over all units and summed"),
    stream("rms_norm", 16384, 16384, "efficiency.norm", "a norm over 1 GB: row reductions stream slower than additions"),
    stream("rms_norm", 1, 1024, "kernels.norm", "the smallest norm: floor of a kernel with a reduction", 0.1),
    *again(HOST[3:]),
    replace(SQUARE, turn=2, why="again: drift, another tenant or a capped clock show as a factor"),
    held(PROMPT, "efficiency.attention, draw.work", "two seconds of prompt attention: burst in `us`, rate and power under the limit"),
    host("copy host to device, pinned", 1 << 28, "host_link.bandwidth", "offloading and loading over the host link", "accelerator"),
    host("copy device to host, pinned", 1 << 28, "host_link.bandwidth", "the other direction", "accelerator"),
    host("copy host to device, pinned", 1 << 16, "host_link.latency", "a small copy: its floor", "accelerator"),
    fp8(512, 28672, 4096, "efficiency.matrix_narrow", "fp8, wide"),
    mm(2048, 4096, 4096, "efficiency.matrix", "two to four waves"),
    fp8(16, 4096, 14336, "efficiency.product_stream_narrow", "fp8 of few rows"),
    mm(1024, 28672, 4096, "efficiency.matrix", "wide product of a prompt"),
    attend("decode", 16, 8192, 32, 1, 128, "efficiency.attention_stream", "one key-value head: all query heads share a read"),
    mm(64, 512, 16384, "kernels.split", "very deep and narrow: split along the sums"),
    mm(1024, 4096, 4096, "kernels.wave", "one to two waves of tiles"),
    mm(16, 256, 256, "kernels.launch", "the smallest product: its floor"),
    fp8(512, 4096, 4096, "efficiency.matrix_narrow, kernels.launch", "fp8 of few waves: most off on an H100"),
    mm(512, 4096, 4096, "kernels.wave", "between streaming and arithmetic"),
    mm(2048, 1024, 4096, "kernels.wave", "too few tiles for all units"),
    attend("prefill", 1, 512, 32, 8, 128, "kernels.prompt_block, kernels.attention_launch", "one short prompt"),
    attend("prefill", 16, 512, 32, 8, 128, "kernels.prompt_block, kernels.prompt_rows", "many short prompts"),
    attend("prefill", 4, 2048, 32, 1, 128, "efficiency.attention", "one key-value head in a prompt"),
    attend("prefill", 4, 2048, 32, 8, 128, "efficiency.attention", "an ordinary batch of prompts"),
    stream("copy", 1, 1 << 28, "efficiency.copy", "a copy inside a graph is slower than an addition"),
    stream("softmax", 2048, 131072, "efficiency.softmax", "softmax over wide rows reads its input more than once", 1.0),
    stream("layer_norm", 16384, 16384, "efficiency.norm", "layer norm beside rms norm"),
    attend("prefill", 4, 2048, 16, 16, 64, "efficiency.attention", "an encoder: every pair is seen", causal=0),
    attend("forward_backward", 2, 2048, 32, 8, 128, "efficiency.attention_backward", "attention of a training step", 1.2),
    Point("decoder", "decode", dict(STEP, execution="compiled layers, graph"), 25.0, 45.0, "not fitted", "the same step, layers compiled"),
)

def available(points, abilities):
    """The points that a machine with these abilities can measure."""
    return [p for p in points if not p.needs or p.needs in abilities]

def fitting(points, seconds, cpu, pace=1.0):
    """Drop points from the end, the least valuable first, until the expected time of the rest is at most `seconds`."""
    kept, total = list(points), pace * sum(p.expected(cpu) for p in points)
    while kept and total > seconds + 1e-9:
        total -= pace * kept.pop().expected(cpu)
    return kept

ASKED = {  # what a file of points may ask for: the sizes of a kernel, what it identifies, and what it needs
    ("gemm", "mm"): ("m n k", "efficiency.product_stream, efficiency.matrix", ""),
    ("gemm", "scaled_mm"): ("m n k", "efficiency.product_stream_narrow, efficiency.matrix_narrow", "fp8"),
    ("attention", "decode"): ("batch context heads kv_heads head_dim", "efficiency.attention_stream", ""),
    ("attention", "prefill"): ("batch context heads kv_heads head_dim", "efficiency.attention", ""),
    ("attention", "forward_backward"): ("batch context heads kv_heads head_dim", "efficiency.attention_backward", ""),
}
MOST_VALUES = 1 << 31  # of one operand

def asked_point(entry: dict) -> Point:
    """A kernel of a file of points. Raises ValueError that says what is wrong with it."""
    kind = str(entry.get("table")), str(entry.get("op"))
    if kind not in ASKED:
        raise ValueError(f"found {kind[0]} {kind[1]}, expected one of {', '.join(' '.join(k) for k in ASKED)}")
    names, identifies, needs = ASKED[kind]
    size, names = entry.get("size"), names.split()
    if not isinstance(size, dict) or sorted(size) != sorted(names):
        raise ValueError(f"found the sizes {', '.join(size) if isinstance(size, dict) else size!r}, expected {', '.join(names)}")
    for name, value in size.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= MOST_VALUES or value != int(value):
            raise ValueError(f"found {name} {value!r}, expected a whole number from 1 to {MOST_VALUES}")
    size = {name: int(size[name]) for name in names}
    why = str(entry.get("why", "asked for"))
    if kind[0] == "gemm":
        m, n, k = size.values()
        most, point = max(m * n, m * k, n * k), Point("gemm", kind[1], dict(dtype="fp8" if needs else "wide", **size), 0.4, 2.0, identifies, why, needs)
    else:
        batch, context, heads, kv_heads, head_dim = size.values()
        if heads % kv_heads:
            raise ValueError(f"found {kv_heads} kv_heads for {heads} heads, expected a divisor of the heads")
        most, point = batch * context * max(heads, kv_heads) * head_dim, attend(kind[1], *size.values(), identifies, why, 2.0)
    if most > MOST_VALUES:
        raise ValueError(f"found an operand of {most} values, expected at most {MOST_VALUES}")
    return point

def asked_points(path) -> list:
    """[(device, Point)] of a file of `mlsysim decide --points`; a device is "" where the file names none. Raises ValueError, OSError."""
    with open(path, encoding="utf-8") as file:
        text = file.read(1 << 20)
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: found no JSON ({error}), expected a file of mlsysim decide --points") from None
    points = asked.get("points") if isinstance(asked, dict) and asked.get("schema") == "mlsysim/measure-request@1" else None
    if points == []:
        raise ValueError(f"{path}: found no points, expected a kernel or more: nothing that decide could measure makes the choice surer")
    if not isinstance(points, list) or not points or not all(isinstance(p, dict) for p in points):
        raise ValueError(f"{path}: found no list of points, expected a file of mlsysim decide --points (schema mlsysim/measure-request@1)")
    out = []
    for i, entry in enumerate(points):
        try:
            out.append((str(entry.get("hardware", "")), asked_point(entry)))
        except ValueError as error:
            raise ValueError(f"{path}: point {i + 1}: {error}") from None
    return out

def points_on(asked, hardware) -> list:
    """The points that a file asks for on a device. Raises ValueError where it asks for none there."""
    points = {p.name: p for name, p in asked if name in ("", hardware)}
    if not points:
        raise ValueError(f"found points on {', '.join(sorted({name for name, _ in asked}))}, expected some on {hardware}; "
                         "--hardware NAME says which of them this machine is")
    return list(points.values())

CPU_CUTS = {  # a CPU core measures about 1/256 of the arithmetic and 1/64 of the traffic
    "gemm": dict(m=16, n=4, k=4), "attention": dict(batch=8, new_tokens=4, context=4, heads=4, kv_heads=4), "elementwise": dict(rows=4, columns=16),
    "decoder": dict(context=8), "training": dict(seq=8)}

def shrunk(p: Point) -> Point:
    """The point at the size for a CPU core."""
    cuts = CPU_CUTS.get(p.table, {})
    return replace(p, size={k: max(1, v // cuts[k]) if k in cuts else v for k, v in p.size.items()})

def plan_text(cpu: bool, deadline: float) -> str:
    points = available(POINTS, () if cpu else {"accelerator", "fp8", "power"})
    kept, where = len(fitting(points, deadline - RESERVE, cpu)), "a CPU core" if cpu else "an accelerator"
    lines = [f"{len(points)} points, the most valuable first; {kept} of them fit {deadline:g} s on {where}"]
    for i, p in enumerate([shrunk(p) for p in points] if cpu else points):
        needs, dropped = f" (needs {p.needs})" if p.needs else "", "" if i < kept else "  [dropped]"
        lines += [f"{i + 1:3} {p.expected(cpu):5.1f} s  {p.name}{needs}{dropped}", f"             {p.identifies}: {p.why}"]
    return "\n".join(lines)

def points_json() -> str:
    """The points for programs: measure_points.json beside this file, which `mlsysim measure --plan` and `calibrate` read."""
    def entry(p):
        return {"name": p.name, "cpu_name": shrunk(p).name, "table": p.table, "op": p.op, "size": p.size, "seconds": p.seconds,
                "cpu_seconds": p.cpu_seconds, "identifies": [x for x in p.identifies.split(", ") if x != "not fitted"], "why": p.why,
                "needs": p.needs, "turn": p.turn}
    lines = ",\n".join("  " + json.dumps(entry(p)) for p in POINTS)
    return f'{{"schema": "mlsysim/measure-points@1", "reserve": {RESERVE}, "deadline": {DEADLINE:g}, "points": [\n{lines}\n]}}'

# -------------------------------------------------------------------------------------------------------------------- output
BURST = "us,us_min,us_max,repeats,operand_sets,sustained_us,sustained_calls,power_w,energy_j,sm_mhz,celsius,edges,us_spread,replays,timing,turn,skipped"
HELD_MS = "sustained_ms,sustained_calls,power_w,energy_j,sm_mhz,celsius,edges"
MEMORY = "peak_alloc_bytes,peak_reserved_bytes,device_used_bytes"
COLUMNS = {name: text.split(",") for name, text in {
    "gemm": f"op,dtype,scaling,m,n,k,{BURST}",
    "attention": f"op,backend,dtype,batch,new_tokens,context,heads,kv_heads,head_dim,causal,{BURST}",
    "elementwise": f"op,dtype,rows,columns,read,written,{BURST}",
    "overhead": "name,count,host_us,us,us_min,us_max,device_us,us_per_node,host_us_spread,turn,skipped",
    "idle": "state,power_w,sm_mhz,celsius,edges",
    "decoder": f"model,op,execution,dtype,batch,context,ms,ms_min,ms_max,loop_ms,loop_ms_min,loop_ms_max,graph_ms,compile_s,"
               f"compiled_loop_ms,{MEMORY},skipped,{HELD_MS}",
    "training": f"model,precision,optimizer,microbatch,seq,checkpointing,parameters,ms,ms_min,ms_max,{MEMORY},note,{HELD_MS},dtype,skipped",
}.items()}
COLUMN_TEXT = """
* `us`, `us_min`, `us_max`: time of one call: median, least and most of `replays` replays of `repeats` calls (about 2 ms each, after
  two to warm up): a short burst at full clock. `us_spread`: 1.4826 x the median absolute deviation over the median.
* `timing`: graph (a captured graph is replayed) or loop (calls one by one; on an accelerator small kernels then show the host).
* `operand_sets`: sets of operands among which calls rotate, together four times the last-level cache or more.
* `sustained_us`: time of one call while it is repeated for 2 s, after 0.5 s to settle. `power_w`: slope of the energy counter from
  its first to its last edge in these 2 s; `edges`: new values inside; `energy_j` = power_w x sustained_us; `sm_mhz`, `celsius`: means.
* `host_us`: time to issue one call; `us`: with the wait at the end; `count`: calls, nodes of the graph, or bytes of a copy;
  `device_us`: from event to event. `turn` 2: the same work later in the run.
* `read`, `written`: values that pass. `ms`: single calls on an idle device; `loop_ms`: calls back to back.
  `compile_s`: cold compile time of one layer. `skipped`: why a row has no value (out of memory, not supported, failed).
* The wide format is bf16, or fp16 where the device lacks it, or fp32 on a CPU, where sizes are smaller (`--plan --device cpu`).
"""

class Output:
    """Tables in one folder. Each row is written and flushed at once; a table's definitions are written with its first row."""

    def __init__(self, folder, definitions=None):
        self.folder, self.definitions, self.files = Path(folder), definitions or {}, {}
        self.folder.mkdir(parents=True, exist_ok=True)

    def row(self, table: str, values: dict):
        unknown = set(values) - set(COLUMNS[table])
        if unknown:
            raise KeyError(f"{table} has no column {sorted(unknown)}")
        new = table not in self.files
        if new:
            self.files[table] = open(self.folder / f"{table}.csv", "w", newline="", encoding="utf-8")
            for name, text in self.definitions.get(table, {}).items():
                self.text(f"{name}.yaml", text)
        cells = [f"{v:.6g}" if isinstance(v, float) else v for v in map(values.get, COLUMNS[table])]  # None is an empty cell
        csv.writer(self.files[table], lineterminator="\n").writerows([COLUMNS[table], cells] if new else [cells])
        self.files[table].flush()
        os.fsync(self.files[table].fileno())

    def text(self, name: str, text: str):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

def definitions_for(hardware, dtype, source) -> dict:
    """Definitions of the schema mlsysim/validation@1, by table and name: how columns become inputs of a prediction."""
    each, dtype_column = 4 if dtype == "fp32" else 2, "{column: dtype}"
    formats = "{{column: dtype, words: {{{0}: {0}}}, otherwise: another definition has this format}}".format
    wide = {"precision": formats(dtype), "rows": "m", "columns": '"n"', "depth": "k"}
    narrow, pulled = {**wide, "precision": formats("fp8"), "input_bytes": "1"}, {"repeats": f"{WARM_UPS} * repeats + replays * repeats"}
    seen = {"precision": dtype_column, "kv_precision": dtype_column,
            **{k: k for k in ("batch", "new_tokens", "context", "heads", "kv_heads", "head_dim")}}
    step = {"workload": "{column: model}", "concurrency": "batch", "seq_len": "context - 1", "output_tokens": "1", "precision": dtype_column}
    train = {"workload": "{column: model}", "execution": "eager", "kernel_fusion": '"false"', "accelerators": "1", "batch_size": "microbatch",
             "microbatch_size": "microbatch", "seq_len": "seq", "precision": dtype_column, "optimizer": "adamw", "recomputation": "none"}
    values = {"values": "written", "reads": "read / written", "writes": "1", "value_bytes": str(each)}
    busy = {"us": f"({WARM_UPS} + replays) * repeats * us * 0.000001", "sustained_us": str(SUSTAINED_RAMP + SUSTAINED_SECONDS)}
    decode = ["{column: op, is: [prefill, forward_backward], reason: prompts are another table}"]
    prompts = ["{column: op, is: [decode, forward_backward], reason: decoding is another table; backward passes have no measurand}",
               '{column: causal, is: ["0"], reason: attention that is not causal has no measurand}']
    add = ["{column: op, is: [rms_norm, layer_norm, softmax, copy], reason: norms and softmax and copies have no measurand}"]
    eager = ["{column: execution, is: [eager], reason: eager steps are another table}"]
    captured = ['{column: execution, is: [graph, "compiled layers, graph"], reason: captured steps are another table}']
    labels, out = {"gemm": "m, n, k", "attention": "op, batch, context, heads, head_dim", "elementwise": "op, columns",
                   "decoder": "op, execution, batch", "training": "microbatch, seq"}, {}
    for table, name, measurand, value, unit, inputs, left_out, group in (
            ("gemm", f"gemm_{dtype}", "matrix_product", "us", "us", {**wide, **pulled}, [], "k"),
            ("gemm", "gemm_fp8", "matrix_product", "us", "us", {**narrow, **pulled}, [], "k"),
            ("gemm", "gemm_sustained", "matrix_product", "sustained_us", "us", {**wide, "repeats": "sustained_calls"}, [], "k"),
            ("gemm", "gemm_power", "product_power", "power_w", "W", {**wide, "duration": "sustained_us"}, [], "k"),
            ("attention", "attention_decode", "attention", "us", "us", seen, decode, "context"),
            ("attention", "attention_prefill", "attention", "us", "us", seen, prompts, "context"),
            ("attention", "attention_sustained", "attention", "sustained_us", "us", seen, prompts, "context"),
            ("attention", "attention_power", "attention_power", "power_w", "W", {**seen, "duration": "sustained_us"}, prompts, "context"),
            ("elementwise", "elementwise", "memory_stream", f"(read + written) * {each} / us * 0.001", "GB/s", values, add, "columns"),
            ("decoder", "decode_graph", "token_time", "loop_ms", "ms", {**step, "execution": "graph"}, eager, "model"),
            ("decoder", "decode_eager", "token_time", "loop_ms", "ms", {**step, "execution": "eager"}, captured, "model"),
            ("training", "training_step", "training_step", "ms", "ms", train, [], "model"),
            ("overhead", "overhead", "", "", "", {}, [], ""), ("idle", "idle", "", "", "", {}, [], "")):
        lines = ["schema: mlsysim/validation@1", f'title: "{name} of this machine"', f"data: {table}.csv", f"source: {source}"]
        lines += [f"measurand: {measurand}", f"measured: {{value: {value}, unit: {unit}}}", f"groups: [{group}]", *([f"busy: {busy[value]}"] if value in busy else []), "labels: [" + ", ".join(f'"{x}"' for x in labels[table].split(", ")) + "]", "inputs:", f"  hardware: {hardware}"] \
            if measurand else ["unpredicted: no measurand yet for what a host costs or an idle device draws"]
        lines += [f"  {key}: {text}" for key, text in inputs.items()] + ["left_out:"] * bool(left_out) + [f"- {rule}" for rule in left_out]
        out.setdefault(table, {})[name] = "\n".join(lines) + "\n"
    return out

# --------------------------------------------------------------------------------------------------------------------- power
# A process of its own reads the counter of an NVIDIA board, so that neither Python's lock nor a busy host delays a reading. NVML is
# the driver's own library, which pynvml wraps. Without it the columns of power stay empty.
def nvml_reader():
    """A function that returns joules, MHz and Celsius."""
    lib, board = ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"), ctypes.c_void_p()
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
    lib.nvmlInit_v2()
    find, key = ("Index_v2", int(chosen)) if chosen.isdigit() else ("UUID", chosen.encode())
    if getattr(lib, f"nvmlDeviceGetHandleBy{find}")(key, ctypes.byref(board)):
        raise OSError("NVML does not know the device")
    def number(name, kind, *more):
        value = kind()
        return value.value if getattr(lib, f"nvmlDeviceGet{name}")(board, *more, ctypes.byref(value)) == 0 else None
    return lambda: (number("TotalEnergyConsumption", ctypes.c_ulonglong) / 1e3, number("ClockInfo", ctypes.c_uint, 1),
                    number("Temperature", ctypes.c_uint, 0))

def sample_power(path: str, make=nvml_reader, source="NVML energy counter"):
    """Body of the sampling process: a line for each new value of the counter, until the parent ends."""
    parent, last = os.getppid(), None
    with open(path, "w", encoding="utf-8", buffering=1) as out:
        try:
            read = make()
            read()
        except Exception:  # no such library, board or counter
            source = ""
        out.write(f"# {source}\n")
        while source and os.getppid() == parent:
            values = read()
            if values[0] != last:
                out.write(",".join("" if v is None else f"{v:.6f}" for v in (time.monotonic(), *values)) + "\n")
                last = values[0]
            time.sleep(0.004)

class Power:
    def __init__(self, wanted: bool = True):
        self.file, self.process = Path(tempfile.mkdtemp(prefix="measure-")) / "edges.csv", None
        self.file.touch()
        if wanted:
            self.process = subprocess.Popen([sys.executable, str(Path(__file__).resolve()), "--sample-power", str(self.file)])
        until = time.monotonic() + 5
        while wanted and time.monotonic() < until and not self.file.stat().st_size:
            time.sleep(0.05)
        self.source = self.file.read_text(encoding="utf-8").split("\n")[0][2:]

    def window(self, begin: float, end: float) -> dict:
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.source else []
        return power_between([line.split(",") for line in lines if line.count(",") == 3], begin, end) if self.source else {}

    def close(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
        shutil.rmtree(self.file.parent, ignore_errors=True)

def power_between(edges, begin, end) -> dict:
    """Mean power from the first to the last edge inside the window, and the means of clock and temperature."""
    inside = [e for e in edges if begin <= float(e[0]) <= end]
    if len(inside) < 3:
        return {"edges": len(inside)}
    first, last = inside[0], inside[-1]
    means = {name: [float(e[at]) for e in inside if e[at]] for name, at in (("sm_mhz", 2), ("celsius", 3))}
    return {"power_w": (float(last[1]) - float(first[1])) / (float(last[0]) - float(first[0])), "edges": len(inside),
            **{name: statistics.fmean(v) for name, v in means.items() if v}}

# -------------------------------------------------------------------------------------------------------------------- device
class Device:
    """The device under test, and how work on it is timed."""

    def __init__(self, torch, kind: str):
        self.torch, self.kind, self.accelerator = torch, kind, kind != "cpu"
        self.name, self.pools = "cuda" if self.accelerator else "cpu", {}
        self.dtype, self.dtype_name, self.properties = torch.float32, "fp32", None
        if self.accelerator:
            torch.cuda.init()
            self.properties = torch.cuda.get_device_properties(0)
            new = kind == "rocm" or torch.cuda.get_device_capability(0)[0] >= 8
            self.dtype, self.dtype_name = (torch.bfloat16, "bf16") if new else (torch.float16, "fp16")
        self.cache = self.cache_bytes()
        self.fp8 = self.fp8_type()

    def cache_bytes(self) -> int:
        if self.accelerator:  # of an MI300 the cache beside the memory counts; boards before it have less
            return 256 << 20 if self.kind == "rocm" else int(getattr(self.properties, "L2_cache_size", 0)) or 64 << 20
        file = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
        size = int(file.read_text().strip().rstrip("K")) << 10 if file.exists() else 32 << 20
        return min(size, 64 << 20)  # the cache of a virtual machine belongs to others too

    def fp8_type(self):
        """The fp8 type that the matrix units take; None without one."""
        for name in ("float8_e4m3fn", "float8_e4m3fnuz") if self.accelerator else ():
            try:
                a, one = self.torch.ones(32, 32, device="cuda").to(getattr(self.torch, name)), self.torch.ones((), device="cuda")
                self.torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one, out_dtype=self.dtype)
                return a.dtype
            except Exception:  # no such type, no such unit, or another signature
                continue
        return None

    def sync(self):
        if self.accelerator:
            self.torch.cuda.synchronize()

    def sets(self, shapes, dtype=None, outputs=()):
        """Sets of operands over four times the cache. Inputs are views of one random pool, so that filling costs once; outputs are
        views of another, so that no result becomes an operand."""
        dtype = dtype or self.dtype
        size, out_size = (sum(padded(s) for s in some) for some in (shapes, outputs))
        each = size * self.torch.finfo(dtype).bits // 8 + out_size * self.torch.finfo(self.dtype).bits // 8
        count = max(1, min(MOST_SETS, math.ceil(CACHES * self.cache / each)))
        pool, scratch = self.pool("in", dtype, count * size), self.pool("out", self.dtype, count * out_size)
        return [[*carved(pool, i * size, shapes), *carved(scratch, i * out_size, outputs)] for i in range(count)]

    def pool(self, use, dtype, size):
        if size and (use, dtype) not in self.pools or size and self.pools[use, dtype].numel() < size:
            self.pools.pop((use, dtype), None)
            part = self.torch.randn(min(size, 1 << 22), dtype=self.dtype, device=self.name).to(dtype)
            many = part.view(self.torch.uint8).repeat(math.ceil(size / part.numel()))  # random enough for power, and filled at once
            self.pools[use, dtype] = many.view(dtype)
        return self.pools.get((use, dtype))

    def free(self):
        self.pools.clear()
        if self.accelerator:
            self.torch.cuda.empty_cache()

    def capture(self, calls, repeats):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for i in range(repeats):
                calls[i % len(calls)]()
        return graph.replay

    def mark(self):
        if not self.accelerator:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def clock(self, run, times):
        """Seconds of each of several runs, issued back to back."""
        marks = [self.mark()]
        for _ in range(times):
            run()
            marks.append(self.mark())
        self.sync()
        return [a.elapsed_time(b) / 1e3 if self.accelerator else b - a for a, b in zip(marks, marks[1:])]

    def replayable(self, calls):
        """A function that runs calls for about 2 ms, how many they are, and how they are issued."""
        for call in calls[:3 if self.accelerator else 1]:
            call()
        self.sync()
        graphs, run, probe = self.accelerator, calls[0], 1
        try:
            run, probe = (self.capture(calls, 16), 16) if graphs else (run, probe)
        except Exception as error:  # some operators cannot be captured
            if reason_of(error) == "out of memory":
                raise
            graphs = False
        each = min(self.clock(run, 2)) / probe
        repeats = max(1, min(2000, round(REPLAY_SECONDS / max(each, 1e-7))))
        run = self.capture(calls, repeats) if graphs else lambda: [calls[i % len(calls)]() for i in range(repeats)]
        return run, repeats, "graph" if graphs else "loop"

    def burst(self, run, repeats):
        slow = max(self.clock(run, WARM_UPS if self.accelerator else 1))
        replays = max(FEWEST_REPLAYS, min(REPLAYS, int(BURST_SECONDS / max(slow, 1e-6))))
        return statistics_of("us", [t / repeats * 1e6 for t in self.clock(run, replays)], spread=True)

    def sustained(self, run, repeats, each_us, power):
        """Repeat for 2 s and more. The first half second, in which clock and power settle, does not count."""
        batch = max(1, round(0.02 / max(each_us * repeats * 1e-6, 1e-7)))  # runs between two looks at the clock
        begin = now = time.monotonic()
        counted_from, calls = None, 0
        while counted_from is None or now - counted_from < SUSTAINED_SECONDS:
            for _ in range(batch):
                run()
            self.sync()
            now = time.monotonic()
            if counted_from is not None:
                calls += batch * repeats
            elif now - begin >= SUSTAINED_RAMP:
                counted_from = now
        row = {"sustained_us": (now - counted_from) / calls * 1e6, "sustained_calls": calls, **power.window(counted_from, now)}
        return {**row, **({"energy_j": row["power_w"] * row["sustained_us"] * 1e-6} if "power_w" in row else {})}

def padded(shape) -> int:
    return -(-math.prod(shape) // 128) * 128

def carved(pool, at, shapes):
    starts = [at + sum(padded(s) for s in shapes[:i]) for i in range(len(shapes))]
    return [pool[start:start + math.prod(shape)].view(shape) for start, shape in zip(starts, shapes)]

def statistics_of(name, values, spread=False):
    middle = statistics.median(values)
    scatter = 1.4826 * statistics.median(abs(v - middle) for v in values) / max(middle, 1e-12)
    return {name: middle, f"{name}_min": min(values), f"{name}_max": max(values), **({f"{name}_spread": scatter, "replays": len(values)} if spread else {})}

# ------------------------------------------------------------------------------------------------------------------- kernels
def product_calls(device, p):
    torch, s = device.torch, p.size
    a, b, c = (s["m"], s["k"]), (s["n"], s["k"]), (s["m"], s["n"])
    if s["dtype"] != "fp8":
        return [lambda x=x, w=w, y=y: torch.mm(x, w.t(), out=y) for x, w, y in device.sets([a, b], outputs=[c])]
    one, out = torch.ones((), device=device.name), device.dtype
    return [lambda x=x, w=w: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=out, use_fast_accum=True)
            for x, w in device.sets([a, b], device.fp8)]

def attention_calls(device, p):
    torch, s = device.torch, p.size
    more = {"enable_gqa": True} if s["heads"] != s["kv_heads"] else {}  # since PyTorch 2.5; before, the row says so
    def call(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(s["causal"]), **more)
    def both(*operands):
        leaves = [x.detach().requires_grad_() for x in operands]
        out = call(*leaves)
        torch.autograd.grad(out, leaves, out.detach())
    run = both if p.op == "forward_backward" else call
    q, kv = ((s["batch"], s[length], s[heads], s["head_dim"]) for length, heads in (("new_tokens", "heads"), ("context", "kv_heads")))
    return [lambda x=x: run(*x) for x in device.sets([q, kv, kv])]

def stream_calls(device, p):
    torch, f, shape = device.torch, device.torch.nn.functional, (p.size["rows"], p.size["columns"])
    if p.op == "add":
        return [lambda a=a, b=b, c=c: torch.add(a, b, out=c) for a, b, c in device.sets([shape, shape], outputs=[shape])]
    if p.op == "copy":
        return [lambda a=a, c=c: c.copy_(a) for a, c in device.sets([shape], outputs=[shape])]
    call = {"softmax": lambda x: torch.softmax(x, -1), "layer_norm": lambda x: f.layer_norm(x, shape[1:]),
            "rms_norm": lambda x: f.rms_norm(x, shape[1:])}[p.op]
    return [lambda x=x: call(x) for x, in device.sets([shape])]

KERNELS = {"gemm": product_calls, "attention": attention_calls, "elementwise": stream_calls}

def kernel_row(p: Point, wide: str) -> dict:
    """The columns that say what a row is, without what is measured."""
    narrow, values = p.size.get("dtype") == "fp8", p.size.get("rows", 0) * p.size.get("columns", 0)
    more = {"gemm": {"scaling": "tensor" if narrow else ""}, "attention": {"backend": "default"},
            "elementwise": {"read": values * (2 if p.op == "add" else 1), "written": values}}[p.table]
    size = {k: v for k, v in p.size.items() if k != "sustained"}
    return {"op": p.op, "turn": p.turn, **size, "dtype": "fp8" if narrow else wide, **more}

def measure_kernel(device, power, p):
    with device.torch.enable_grad() if p.op == "forward_backward" else device.torch.no_grad():
        calls = KERNELS[p.table](device, p)
        run, repeats, timing = device.replayable(calls)
        row = {**device.burst(run, repeats), "repeats": repeats, "operand_sets": len(calls), "timing": timing}
        return {**row, **(device.sustained(run, repeats, row["us"], power) if p.size.get("sustained") else {})}

# ---------------------------------------------------------------------------------------------------------------------- host
def host_call(device, p):
    """One call, so small that only the host counts; a graph of `count` additions; or a copy of `count` bytes."""
    torch, count, link = device.torch, p.size["count"], device.name
    x, one, layer = torch.randn(16, 256, device=link), torch.ones(1, device=link), torch.nn.Linear(256, 256, bias=False, device=link)
    weight = layer.weight.detach()
    one.add_(1.0)
    if p.op == "graph replay":
        return device.capture([lambda: one.add_(1.0)], count)
    if p.op.startswith("copy"):
        ends = [torch.empty(count, dtype=torch.uint8, pin_memory=True), torch.empty(count, dtype=torch.uint8, device=link)]
        source, target = ends if "host to device" in p.op else ends[::-1]
        return lambda: target.copy_(source, non_blocking=True)
    return {"F.linear 16x256x256": lambda: torch.nn.functional.linear(x, weight), "add of one element": lambda: one.add_(1.0),
            "raw kernel launch": lambda: torch.cuda._sleep(1), "synchronize after an addition": lambda: (one.add_(1.0), device.sync()),
            "item of one element": lambda: one.add_(1.0).item(), "nn.Linear module 16x256x256": lambda: layer(x),
            "nn.Linear forward recorded for autograd": lambda: layer(x),
            "nn.Linear forward and backward": lambda: layer(x).sum().backward()}[p.op]

def measure_host(device, p):
    whole_graph = p.op == "graph replay" or p.op.startswith("copy")
    count = 1 if whole_graph else p.size["count"]
    with device.torch.enable_grad() if "autograd" in p.op or "backward" in p.op else device.torch.no_grad():
        call, issued, whole = host_call(device, p), [], []
        call()
        device.sync()
        for _ in range(9 if whole_graph else 5):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            issued.append((time.perf_counter() - begin) / count * 1e6)
            device.sync()
            whole.append((time.perf_counter() - begin) / count * 1e6)
        row = {**statistics_of("us", whole), "host_us": statistics.median(issued),
               "host_us_spread": statistics_of("us", issued, spread=True)["us_spread"]}
        if whole_graph:
            row["device_us"] = statistics.median(device.clock(call, 7)) * 1e6
        return {**row, **({"us_per_node": row["device_us"] / p.size["count"]} if p.op == "graph replay" else {})}

# -------------------------------------------------------------------------------------------------------------------- checks
MODELS = {  # name in the zoo, or in zoo/models.yaml of the folder: sizes
    "Llama3_2_1B": dict(layers=16, hidden=2048, heads=32, kv_heads=8, head_dim=64, ffn=8192, vocab=128256),
    "MeasureDecoder_Small": dict(layers=12, hidden=768, heads=12, kv_heads=4, head_dim=64, ffn=2048, vocab=32000),
    "MeasureDecoder_Tiny": dict(layers=4, hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=768, vocab=8192),
}

def parameters_of(m) -> int:
    attention = m["hidden"] * (2 * m["heads"] + 2 * m["kv_heads"]) * m["head_dim"]
    return m["layers"] * (attention + 3 * m["hidden"] * m["ffn"] + 2 * m["hidden"]) + (m["vocab"] + 1) * m["hidden"]

class Decoder:
    """A plain decoder: fused QKV and gate-up products, rotary embedding of five kernels each, SDPA over a static cache."""

    def __init__(self, device, sizes, trained=False):
        torch, m, h = device.torch, sizes, sizes["hidden"]
        self.device, self.sizes = device, sizes
        def weight(*shape):
            new = torch.empty(shape, dtype=device.dtype, device=device.name)
            return (new.fill_(1.0) if len(shape) == 1 else new.normal_(std=0.02)).requires_grad_(trained)
        wide, out = (m["heads"] + 2 * m["kv_heads"]) * m["head_dim"], m["heads"] * m["head_dim"]
        self.embedding, self.norm = weight(m["vocab"], h), weight(h)
        self.layers = [(weight(h), weight(wide, h), weight(h, out), weight(h), weight(2 * m["ffn"], h), weight(h, m["ffn"]))
                       for _ in range(m["layers"])]

    def normalized(self, x, weight):
        return self.device.torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-5)

    def layer(self, x, weights, cos, sin, cache):
        torch, m, f = self.device.torch, self.sizes, self.device.torch.nn.functional
        (norm1, qkv, out, norm2, up, down), dim = weights, m["head_dim"]
        def rotated(y):
            a, b = y.chunk(2, -1)
            return y * cos + torch.cat((-b, a), -1) * sin
        heads = f.linear(self.normalized(x, norm1), qkv).view(*x.shape[:2], -1, dim).transpose(1, 2)
        q, k, v = heads.split((m["heads"], m["kv_heads"], m["kv_heads"]), 1)
        q, k = rotated(q), rotated(k)
        if cache is not None:  # the last place of the cache: each step sees exactly `context` tokens
            cache[0][:, :, -1:].copy_(k)
            cache[1][:, :, -1:].copy_(v)
            k, v = cache
        y = f.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True)
        x = x + f.linear(y.transpose(1, 2).flatten(2), out)
        gate, value = f.linear(self.normalized(x, norm2), up).chunk(2, -1)
        return x + f.linear(f.silu(gate) * value, down)

    def logits(self, layer, tokens, cos, sin, caches):
        x = self.device.torch.nn.functional.embedding(tokens, self.embedding)
        for i, weights in enumerate(self.layers):
            x = layer(x, weights, cos, sin, caches[i] if caches else None)
        return self.device.torch.nn.functional.linear(self.normalized(x, self.norm), self.embedding)

def timed_steps(device, step, most_seconds):
    """Single steps on an idle device, and steps back to back, by the wall clock [ms]; fewer where a step is slow."""
    def several(count):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        device.sync()
        return (time.perf_counter() - begin) / count
    several(1)
    one = several(1)
    loops = max(FEWEST_REPLAYS, min(REPLAYS, int(most_seconds / one)))
    inner = max(1, min(20, int(most_seconds / loops / one)))
    return {**statistics_of("ms", [several(1) * 1e3 for _ in range(loops)]),
            **statistics_of("loop_ms", [several(inner) * 1e3 for _ in range(loops)])}

def memory_columns(cuda):
    free, total = cuda.mem_get_info()
    return {"peak_alloc_bytes": cuda.max_memory_allocated(), "peak_reserved_bytes": cuda.max_memory_reserved(), "device_used_bytes": total - free}

def measure_decode(device, p, m):
    torch, s = device.torch, p.size
    with torch.no_grad():
        def values(*shape):
            return torch.randn(shape, dtype=device.dtype, device=device.name)
        model, row = Decoder(device, m), {}
        layer, cos, sin = model.layer, values(1, m["head_dim"]), values(1, m["head_dim"])
        caches = [[values(s["batch"], m["kv_heads"], s["context"], m["head_dim"]) for _ in "kv"] for _ in range(m["layers"])]
        tokens = torch.zeros(s["batch"], 1, dtype=torch.long, device=device.name)
        if s["execution"].startswith("compiled"):
            layer, begin = torch.compile(model.layer, dynamic=False), time.perf_counter()
            layer(values(s["batch"], 1, m["hidden"]), model.layers[0], cos, sin, caches[0])
            device.sync()
            row["compile_s"] = time.perf_counter() - begin
        def step():
            tokens.copy_(model.logits(layer, tokens, cos, sin, caches).argmax(-1))
        run = step
        if s["execution"] != "eager" and device.accelerator:
            step()
            step()
            device.sync()
            run = device.capture([step], 1)
        return {**row, **timed_steps(device, run, 1.0), **(memory_columns(torch.cuda) if device.accelerator else {})}

def measure_training(device, p, m):
    torch, s = device.torch, p.size
    with torch.enable_grad():
        model = Decoder(device, m, trained=True)
        optimizer = torch.optim.AdamW([model.embedding, model.norm, *sum(model.layers, ())], lr=1e-5, **({"fused": True} if device.accelerator else {}))
        cos, sin = (torch.randn(s["seq"], m["head_dim"], dtype=device.dtype, device=device.name) for _ in range(2))
        tokens = torch.randint(m["vocab"], (s["microbatch"], s["seq"]), device=device.name)
        def step():
            logits = model.logits(model.layer, tokens, cos, sin, None).float()
            torch.nn.functional.cross_entropy(logits.view(-1, m["vocab"]), tokens.view(-1)).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        times = timed_steps(device, step, 1.5)
        return {**{k: times[k] for k in ("ms", "ms_min", "ms_max")}, **(memory_columns(torch.cuda) if device.accelerator else {})}

def check_row(p, dtype, model):
    if p.table == "decoder":
        return {"model": model, "op": "decode", "dtype": dtype, **p.size}
    return {"model": model, "precision": f"{dtype} parameters and states", "optimizer": "adamw" if dtype == "fp32" else "adamw fused",
            "checkpointing": "False", "parameters": parameters_of(MODELS[model]), "dtype": dtype, **p.size}

# ------------------------------------------------------------------------------------------------------------------- machine
KNOWN = (("H100 PCIe", "H100_PCIe"), ("H100 NVL", "H100_NVL"), ("H100", "H100"), ("H200 NVL", "H200_NVL"), ("H200", "H200"), (r"H20\b", "H20"), ("B200", "B200"),
         ("A100.*80GB", "A100"), ("V100", "V100"), ("MI300X", "MI300X"), ("MI325X", "MI325X"), ("MI250X", "MI250X"))  # names of the zoo

def core_share() -> float:
    """Share of a core that this process gets while it computes: less than 1 where other programs take the host."""
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < 0.2:
        sum(range(1000))
    return (time.process_time() - used) / (time.perf_counter() - begin)

def machine_facts(device, torch, power) -> dict:
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    cpu, threads = model.group(1) if model else platform.processor(), torch.get_num_threads()
    facts = {"python": platform.python_version(), "pytorch": torch.__version__, "processor": cpu, "cores": os.cpu_count(), "threads": threads,
             "device_kind": device.kind, "cache_bytes": device.cache, "dtype": device.dtype_name, "power_source": power.source}
    if not device.accelerator:
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 16 << 30
        return {**facts, "device": f"{cpu}, {threads} thread(s)", "memory_bytes": pages}
    free, total = torch.cuda.mem_get_info()
    return {**facts, "device": device.properties.name, "units": device.properties.multi_processor_count, "memory_bytes": total,
            "used_before_bytes": total - free, "cuda": torch.version.cuda, "rocm": torch.version.hip}

def own_entry(name, facts, flops, bandwidth, source) -> str:
    """A device entry for a machine that the zoo lacks: the best rates measured here stand in for a data sheet."""
    dtype, size, cache = facts["dtype"], facts["memory_bytes"] / 2**30, facts["cache_bytes"] / 2**20
    return f"""schema: mlsysim/hardware@1
entries:
- {{name: {name}, title: "{facts['device']}", origin: user, source: {source}, category: cloud, accelerator_count: 1,
   device_class: {'cpu' if facts['device_kind'] == 'cpu' else 'gpu'}, compute: {{dense: {{{dtype}: {flops / 1e12:.4g} TFLOP/s}}, default_precision: {dtype}}},
   memory: {{capacity: {size:.4g} GiB, bandwidth: {bandwidth / 1e9:.4g} GB/s, l2_cache: {cache:.4g} MiB}}}}
"""

def model_entries(source) -> str:
    """The decoders of MODELS that the zoo lacks."""
    return "schema: mlsysim/model@2\nentries:\n" + "".join(f"""- name: {name}
  title: "{name}"
  origin: user
  source: {source}
  category: language
  architecture: decoder
  parameters: {parameters_of(m) / 1e6:.6g} Mparam
  max_positions: 8192
  stacks:
  - {{hidden: {m['hidden']}, layers: [{{times: {m['layers']}}}], feed_forward: {{dense: {{width: {m['ffn']}}}}}, input: {{vocab: {m['vocab']}}}, output: {{tied: true}},
     mixer: {{grouped: {{heads: {m['heads']}, kv_heads: {m['kv_heads']}, head_dim: {m['head_dim']}}}}}}}
""" for name, m in MODELS.items() if name.startswith("Measure"))

# ----------------------------------------------------------------------------------------------------------------------- run
def reason_of(error) -> str:
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, MemoryError) or re.search("out of memory|can't allocate memory|not enough memory", text, re.IGNORECASE):
        return "out of memory"
    return f"failed: {type(error).__name__}: {text[:120]}"

def idle_row(power, state) -> dict:
    begin = time.monotonic()
    time.sleep(IDLE_SECONDS)
    return {"state": state, **power.window(begin, time.monotonic())}

def alarm(seconds: float):
    """Ends a point that outlasts the deadline, a compilation for example; 0 takes the alarm back."""
    def ring(*_):
        raise TimeoutError("the deadline came first")
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.0))

def measured_row(device, power, p, model, seconds) -> dict:
    """The row of a point; with the reason where it cannot be measured in this time."""
    if p.table == "idle":
        return idle_row(power, p.op)
    if p.table == "overhead":
        row, work = {"name": p.op, "count": p.size["count"], "turn": p.turn}, lambda: measure_host(device, p)
    elif p.table in KERNELS:
        row, work = kernel_row(p, device.dtype_name), lambda: measure_kernel(device, power, p)
    else:
        measure = measure_decode if p.table == "decoder" else measure_training
        row, work = check_row(p, device.dtype_name, model), lambda: measure(device, p, MODELS[model])
        device.free()
        if device.accelerator:
            device.torch.cuda.reset_peak_memory_stats()
    try:
        alarm(seconds)
        return {**row, **work()}
    except Exception as error:  # every failure is a row: what a machine cannot do is a finding too
        row["skipped"] = reason_of(error)
    finally:
        alarm(0)
    device.free()
    return row

def best_rates(p, row, item) -> dict:
    """FLOP/s of a product, and B/s of products and streams whose operands come from memory."""
    if p.table == "attention" or row.get("us") is None or row.get("dtype") == "fp8" or "dtype" not in row:
        return {}
    if p.table == "elementwise":
        return {"bandwidth": 1e6 * (row["read"] + row["written"]) * item / row["us"]} if row["written"] * item > 16e6 else {}
    m, n, k = row["m"], row["n"], row["k"]
    return {"flops": 2e6 * m * n * k / row["us"], "bandwidth": 1e6 * (m * k + n * k + m * n) * item / row["us"]}

def measure_all(args, torch, kind, power) -> int:
    cpu, date = kind == "cpu", time.strftime("%Y-%m-%d")
    shares = [core_share()]
    asked = asked_points(args.points) if args.points else None
    before = idle_row(power, POINTS[0].op) if power.source and args.deadline > 20 and not asked else None  # before anything touches the device
    device = Device(torch, kind)
    facts = machine_facts(device, torch, power)
    model = list(MODELS)[2 if cpu else 0 if facts["memory_bytes"] > 40e9 else 1]
    known = next((name for pattern, name in KNOWN if device.accelerator and re.search(pattern, facts["device"])), "this_machine")
    hardware, where = args.hardware or known, facts["device"].replace('"', "")
    software = f"PyTorch {facts['pytorch']}, Python {facts['python']}"
    source = f'{{kind: measured, ref: own-measurement, recorded: {date}}}'
    told = source[:-1] + f', hardware: "{where}", software: "{software}"}}'
    output = Output(Path(args.out) / "tables", definitions_for(hardware, device.dtype_name, told))
    output.text("../definitions.md", f"# Measured by measure.py on {where}, {date}\n\n{software}. Random weights and inputs.\n{COLUMN_TEXT}")
    output.text("../zoo/models.yaml", model_entries(source))
    output.text("../zoo/sources.yaml", 'schema: mlsysim/references@1\nentries:\n- {key: own-measurement, text: "measure.py on this machine"}\n')
    abilities = {name for name, there in (("accelerator", device.accelerator), ("fp8", device.fp8), ("power", power.source)) if there}
    wanted = points_on(asked, hardware) if asked else [shrunk(p) if cpu else p for p in POINTS]
    todo = available(wanted, abilities)
    for p in wanted if asked else ():
        if p not in todo:
            print(f"left out: {p.name} needs {p.needs}, which this machine lacks")
    todo = [p for p in todo if p.op != POINTS[0].op]
    planned, spent, expected, pace, rates = len(todo), 0.0, 0.0, 1.0, {}
    if before:
        output.row("idle", before)
    def left():
        return args.deadline - RESERVE - (time.monotonic() - STARTED)
    while todo and fitting(todo, left(), cpu, pace):
        p, begin = todo.pop(0), time.monotonic()
        row = measured_row(device, power, p, model, max(left(), 1.0))
        output.row(p.table, row)
        spent, expected = spent + time.monotonic() - begin, expected + p.expected(cpu)
        pace = min(6.0, max(0.25, spent / expected)) if expected > 2 else 1.0  # of this machine beside the expected one
        for name, value in best_rates(p, row, torch.finfo(device.dtype).bits // 8).items():
            rates[name] = max(rates.get(name, 0), value)
        if args.verbose:
            value = next((row[k] for k in ("skipped", "us", "loop_ms", "ms", "power_w") if row.get(k)), "")
            print(f"{time.monotonic() - STARTED:6.1f} s {time.monotonic() - begin:5.2f} s  {p.name}: {value}", flush=True)
    for file in output.files.values():
        file.close()
    shares.append(core_share())
    elapsed = time.monotonic() - STARTED
    fitted = [t for t in (f"gemm_{device.dtype_name}", "gemm_fp8", "gemm_sustained", "attention_decode", "attention_prefill", "elementwise")
              if (Path(args.out) / "tables" / f"{t}.yaml").exists() and (t != "gemm_fp8" or device.fp8)]
    checks = [t for t in ("decode_eager", "decode_graph", "training_step") if (Path(args.out) / "tables" / f"{t}.yaml").exists()]
    facts.update(date=date, hardware=hardware, model=model, deadline_s=args.deadline, elapsed_s=round(elapsed, 1), core_share=shares,
                 points=planned - len(todo), planned=planned, dropped=[p.name for p in todo], fitted=fitted, checks=checks)
    output.text("../machine.json", json.dumps(facts, indent=1) + "\n")
    if hardware == "this_machine" and len(rates) == 2:
        output.text("../zoo/device.yaml", own_entry(hardware, facts, rates["flops"], rates["bandwidth"], source))
    print(f"{planned - len(todo)} of {planned} points in {elapsed:.0f} s on {where}; the tables are in {args.out}")
    for when, text in ((todo, f"dropped for the deadline: the {len(todo)} least valuable points"),
                       (min(shares) < 0.8, f"warning: this process got {min(shares):.0%} of a core; stop other programs and measure again"),
                       (facts.get("used_before_bytes", 0) > 4e9, "warning: another process holds memory of the device; its work shows in these rows")):
        print(text) if when else None
    if args.no_next:
        return 0
    print(f"next: mlsysim calibrate --zoo {args.out}/zoo --device {hardware} {' '.join(f'--table {args.out}/tables/{t}.yaml' for t in fitted)}\n"
          f"checks: mlsysim validate --zoo {args.out}/zoo --tables {args.out}/tables decode_eager decode_graph training_step", flush=True)
    return 0

def run(args) -> int:
    if any((Path(args.out) / "tables").glob("*.csv")) and not args.force:
        print(f"{args.out} already holds tables; name another folder or add --force", file=sys.stderr)
        return 1
    cache = tempfile.mkdtemp(prefix="measure-compile-")  # a cold cache, so that compile_s means the same everywhere
    os.environ.update(TORCHINDUCTOR_CACHE_DIR=cache, TORCHINDUCTOR_COMPILE_THREADS="1", CUDA_DEVICE_ORDER="PCI_BUS_ID",
                      OMP_NUM_THREADS=str(args.threads))
    power = Power(wanted=False)
    try:
        import torch
        torch.set_num_threads(args.threads)
        kind = args.device or ("cpu" if not torch.cuda.is_available() else "rocm" if torch.version.hip else "cuda")
        power = Power(kind == "cuda")
        return measure_all(args, torch, kind, power)
    except ImportError as error:
        print(f"measure.py needs PyTorch; importing it failed: {error}", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        if not args.points:
            raise
        print(f"measure.py: --points: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted; the rows measured so far are in {args.out}", file=sys.stderr)
        return 130
    finally:
        power.close()
        shutil.rmtree(cache, ignore_errors=True)

def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="measured", metavar="FOLDER", help="folder of the tables (default: measured)")
    parser.add_argument("--deadline", type=float, default=DEADLINE, metavar="SECONDS", help="total time; the least valuable points go first (default: 120)")
    parser.add_argument("--plan", action="store_true", help="print the points, what each identifies and why; measure nothing")
    parser.add_argument("--device", choices=("cpu", "cuda", "rocm"), help="device to measure (default: the accelerator, or else the CPU)")
    parser.add_argument("--threads", type=int, default=1, help="cores that PyTorch may use (default: 1)")
    parser.add_argument("--hardware", metavar="NAME", help="name of the device in the zoo (default: recognized, or an entry of its own)")
    parser.add_argument("--force", action="store_true", help="overwrite tables in the folder")
    parser.add_argument("--points", metavar="FILE", help="kernels to measure instead of the plan, as mlsysim decide --points writes them")
    parser.add_argument("--write-points", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-next", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true", help="print each point with its time")
    parser.add_argument("--sample-power", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.sample_power:
        return sample_power(args.sample_power) or 0
    if args.write_points:
        print(points_json())
        return 0
    if args.plan:
        print(plan_text(args.device == "cpu", args.deadline))
        return 0
    return run(args)

if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    os._exit(ended)  # taking PyTorch down takes seconds, and every file is closed
