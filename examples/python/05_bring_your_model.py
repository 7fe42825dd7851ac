"""Models as people have them: a mixture with sparse attention, a model that sees, and a training step that JAX lowered."""

import pathlib

import mlsysim

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
CONFIGS = DATA / "model_files" / "configs"
H100, H200 = mlsysim.Hardware.Cloud.H100, mlsysim.Hardware.Cloud.H200


def serve(model, device, batch, length, **plan):
    card = mlsysim.SystemEvaluator.evaluate("serve", model, device, batch, seq_len=length, **plan)
    return card.performance


# 61 layers of latent attention, each with an index that chooses 2,048 tokens, and 256 experts in 58 of them.
sparse = mlsysim.import_model(CONFIGS / "deepseek-ai--DeepSeek-V3.2.json")
answer = serve(sparse, H200, 2, 32768, precision="fp8", accelerators=8, tp_size=8)
print(f"{sparse.name}: {sparse.stacks[0].feed_forward.experts.count:.0f} experts, {answer['kv_cache_size'].to('GB'):.4g} of cache,")
print(f"first token after {answer['ttft'].to('s'):.3g}, then one every {answer['itl'].to('ms'):.3g}")

# A tower of 27 layers reads the image; the language model does not know.
seeing = mlsysim.import_model(CONFIGS / "Qwen--Qwen3-VL-8B-Instruct.json")
answer = serve(seeing, H100, 8, 4096)
print(f"{seeing.name}: first token after {answer['ttft'].to('ms'):.4g}, then one every {answer['itl'].to('ms'):.4g}")

# Forward, backward and update of a decoder block as one StableHLO program.
step = mlsysim.read_program(DATA / "programs" / "stablehlo" / "jax_train_step.mlir")
print(f"{step.format}: {step.totals['products']:.0f} products, {step.totals['macs']:.0f} multiply-adds")
card = mlsysim.SystemEvaluator.evaluate("train", step.workload(), H100, 1, "fp32")
print(card.performance.summary)
