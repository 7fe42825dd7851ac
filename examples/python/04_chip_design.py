"""A chip-design question, from question to Pareto front; the same as examples/cpp/06_chip_design."""

import mlsysim
from mlsysim import Hardware, Models

# Eight accelerators serve Llama-3.1-70B; the design that we start from is the H100.
today = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8, accelerators_per_node=8, batch_size=64, load="burst", seq_len=2048,
                    output_tokens=512, precision="bf16")

print("Today:", today.sensitivity("itl").binding, end="\n\n")

half = today.results["itl"] / 2
print("Half the time per token:", today.solve(f"itl <= {half.to('ms').magnitude} ms", "hardware.memory.bandwidth"))

# Prices per unit are assumptions of this study.
cost = ("(7000 USD * hardware.compute.dense / 1000 TFLOP/s + 2500 USD * hardware.memory.bandwidth / 1 TB/s + "
        "60 USD * hardware.memory.capacity / 1 GB) * accelerators / facility.lifetime / token_throughput "
        "+ kwh_price * energy_per_token")
designs = {
    "hardware.compute.dense": "250 TFLOP/s..2000 TFLOP/s:8",
    "hardware.memory.bandwidth": "2 TB/s..12 TB/s:21",
    "hardware.memory.capacity": "48 GB..288 GB:6",
    "batch_size": "1..512*2",
}
front = today.pareto(designs, minimize=[cost, "itl"], subject_to="ttft <= 10 s")
print(f"{front.total:.0f} designs and batches")
print(f"{front.feasible:.0f} feasible, {len(front.front)} on the front")

best = today.optimize(designs, minimize=cost, subject_to=["itl <= 25 ms", "ttft <= 10 s"], show=["itl"],
                      strategy="branch-and-bound")
for name, value in best.best[0].labels.items():
    print(f"  {name:26} {value}")
price = best.best[0].objectives[cost].to("USD/Mtoken").magnitude
print(f"  cost of a million tokens {price:.3g} USD at {best.best[0].shown['itl'].to('ms').magnitude:.3g} ms per token")
print(f"The cheapest design is {best.exactness}.")
