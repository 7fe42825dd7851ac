"""One model on one device: what limits it, and where the time goes."""

import mlsysim

llama, h100 = mlsysim.Models.Llama3_8B, mlsysim.Hardware.Cloud.H100

for batch in (1, 16, 256):
    p = mlsysim.Engine.solve(llama, h100, batch_size=batch)
    print(f"batch {batch}: {p.latency:.3g} a step, limited by {p.bottleneck}, {p.memory.total.to('GB'):.3g} of memory")

print(h100.provenance("memory.bandwidth").authored, "says", h100.provenance("memory.bandwidth").kind)
