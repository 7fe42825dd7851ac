// Shapes that flags of Megatron-LM state.

#include "reading.hpp"

using namespace launches;
using Catch::Matchers::Contains;

TEST_CASE("latents, shared experts and dense first layers are part of the shape", "[launch]") {
  const std::string words =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 27 --hidden-size 2048 --num-attention-heads "
      "16 "
      "--multi-latent-attention --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim "
      "128 "
      "--ffn-hidden-size 10944 --moe-ffn-hidden-size 1408 --num-experts 64 --moe-router-topk 6 "
      "--swiglu --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights "
      "--disable-bias-linear --expert-model-parallel-size 8 --seq-length 4096 --micro-batch-size 1 "
      "--global-batch-size 64 --bf16 --vocab-size 102400";
  const std::string shared = " --moe-shared-expert-intermediate-size 2816",
                    layers = " --moe-layer-freq \"([0]+[1]*26)\"";
  const auto known = read(words + shared + layers);
  CHECK(field(known, "workload") == "DeepSeek_V2_Lite");
  CHECK(finding(known, "multi-latent-attention").use == FlagUse::used);
  CHECK(finding(known, "ffn-hidden-size").use == FlagUse::used);
  // Without shared experts no entry is it.
  const auto own = read(words + layers).build(standard_zoo());
  const Workload& model = *own.scenario.workload;
  REQUIRE(model.main()->mixer.latent.has_value());
  CHECK(model.main()->layers.size() == 2);
  CHECK(model.experts()->count == 64.0);
  CHECK_THAT(refusal(words + " --moe-layer-freq \"[0]+[1]*25\""), Contains("launch.210"));
  // Two names have this shape: the one in 16 bits is the model that is trained.
  CHECK(field(read("torchrun pretrain_gpt.py --num-layers 48 --hidden-size 2048 --num-attention-heads 32 "
                   "--group-query-attention --num-query-groups 4 --kv-channels 128 --ffn-hidden-size 6144 "
                   "--num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --swiglu --qk-layernorm "
                   "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
                   "--untie-embeddings-and-output-weights --seq-length 4096 --micro-batch-size 1 "
                   "--global-batch-size 8 --bf16 --vocab-size 151936"),
              "workload") != "Qwen3_30B_A3B_FP8");
  CHECK_THAT(refusal("vllm serve --tensor-parallel-size 2"), Contains("launch.013"));
}

TEST_CASE("a padded vocabulary is the one that the flags state", "[launch]") {
  // 50,257 rounded up to a multiple of 128 x 4.
  const auto padded = read(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 "
      "--global-batch-size 64 --fp16 --vocab-size 50257 --tensor-model-parallel-size 4");
  CHECK(padded.build(standard_zoo()).scenario.workload->stacks.front().input.vocab == 50688.0);
  CHECK(finding(padded, "vocab-size").use == FlagUse::used);
  // A model that the caller names may have another.
  const auto other = read(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
      "--num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 "
      "--micro-batch-size 4 --global-batch-size 64 --fp16 --vocab-size 50257",
      "command line", {{"hardware", "H100"}, {"workload", "Llama3_8B"}});
  CHECK(finding(other, "vocab-size").use == FlagUse::contradicts);
}
