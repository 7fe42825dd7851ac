"""Twenty measurements of our own: which part of the model is off, and constants that fit them, with error bars."""

import pathlib
import tempfile

from mlsysim import validation

# Stream kernels on a card that sustains less than its class: 1.47 TB/s for long arrays, 6 us before anything moves.
rows = ["hardware,values,reads,writes,measured [GB/s]"]
for power in range(20, 30):
    for reads in (1, 2):
        values, traffic = 2**power, (reads + 1) * 8 * 2**power
        rows.append(f"A100,{values},{reads},1,{traffic / (6e-6 + traffic / 1.47e12) / 1e9:.2f}")

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "own.csv").write_text("\n".join(rows) + "\n")
(folder / "own.yaml").write_text(
    """schema: mlsysim/validation@1
title: streams of our card
data: own.csv
source: {kind: measured, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: memory_stream
measured: {value: gbps, unit: GB/s}
inputs: {hardware: {column: hardware}, values: values, reads: reads, writes: writes}
groups: [reads]
"""
)
(folder / "own.csv").write_text((folder / "own.csv").read_text().replace("measured [GB/s]", "gbps"))
(folder / "again.csv").write_text("\n".join(rows) + "\n")

best = validation.compare(folder / "again.csv", "memory_stream")[0]
print(f"explained best by: {best['term']}")

fit = validation.calibrate("A100", folder / "own.yaml", constants=["efficiency.memory"])
memory = fit.constants["efficiency.memory"]
print(f"share of the bandwidth: prior {memory['prior']:.2f}, fitted {memory['value']:.2f}, identified: {memory['identified']}")
print(f"median error: before {fit.result['before']['median']:.1%}, after {fit.result['after']['median']:.1%}")
interval = fit.interval(folder / "own.yaml", 19)
print("the longest array lies inside its 80 % interval:", interval["p10"] <= interval["measured"] <= interval["p90"])
