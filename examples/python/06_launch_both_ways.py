"""A launch of an engine as a plan, a better plan, and what starts that one."""

import mlsysim

launch = mlsysim.launches.read("vllm serve Qwen/Qwen3-32B -tp 2 --max-model-len 32k --enforce-eager --port 8000", hardware="H100")
for flag in launch["flags"]:
    print(f"{flag['flag']}: {flag['use']}")

before = mlsysim.launches.fit("vllm serve Qwen/Qwen3-32B --max-model-len 32k --gpu-memory-utilization 0.8", hardware="H100")
after = mlsysim.launches.fit("vllm serve Qwen/Qwen3-32B -tp 2 --max-model-len 32k --gpu-memory-utilization 0.8", hardware="H100")
print("on one device, of which it may have 80 %:", "fits" if before["fits"] else "does not fit")
print("on two:", "fits" if after["fits"] else "does not fit")

text, lost = mlsysim.launches.export(launch["plan"], "sglang", checkpoint="Qwen/Qwen3-32B")
print(text.strip())
print("no flag for:", ", ".join(lost) or "nothing")

# And back: the launch of the other engine means the same devices.
again = mlsysim.launches.read(" ".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\", " "), hardware="H100")
print("tp_size", launch["fields"]["tp_size"], "and", again["fields"]["tp_size"])
