/// Fuzzes launches of engines: command lines, scripts, YAML, JSON and TOML. Whatever the bytes, only
/// mlsysim::Error is thrown, every error has an id and says something, every flag has an end with a reason,
/// and what is read is a plan that its own reader takes.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds for a fixed number of rounds:
/// fuzz_launch [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;

struct Seed {
  const char* name;
  std::string text;
};

const std::vector<Seed>& seeds() {
  static const std::vector<Seed> all{
      {"command line",
       "X=1 vllm serve Llama-3.1-8B -tp 2 --max-model-len 8k --kv-cache-dtype fp8 --no-enable-prefix-caching "
       "--speculative-config '{\"method\":\"eagle\",\"num_speculative_tokens\":3}' --enforce-eager --port "
       "80"},
      {"s.sh",
       "# a script\nTP=8\nARGS=( --tp $TP --enable-dp-attention --dp-size ${DP:-8} )\npython3 -m "
       "sglang.launch_server "
       "--model-path deepseek-ai/DeepSeek-V3 ${ARGS[@]} --mem-fraction-static 0.82 > log 2>&1 &\n"},
      {"t.sh",
       "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads "
       "32 "
       "--group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --vocab-size 128256 "
       "--micro-batch-size 1 --global-batch-size 64 --bf16 "
       "--recompute-granularity full --recompute-modules a b\n"},
      {"config_a.sh",
       "export DGXNNODES=2\nexport DGXNGPU=8\nexport TP=4\n: \"${MINIBS:=4}\"\nexport Y=$(( 2 * 3 ))\n"},
      {"f.yaml",
       "tensor_parallel_size: 8\nenable_attention_dp: true\nkv_cache_config:\n  dtype: fp8\n"
       "  free_gpu_memory_fraction: 0.85\ncuda_graph_config: null\n"},
      {"a.yaml",
       "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\nnum_processes: 8\n"},
      {"d.json",
       "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, "
       "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}}"},
      {"j.toml",
       "[training]\nlocal_batch_size = 2 # x\nseq_len = 8_192\n[parallelism]\ntensor_parallel_degree = 2\n"
       "[activation_checkpoint]\nmode = \"full\"\nlist = [1,\n 2]\n"},
      {"p.py",
       "from vllm import LLM\nSIZE = 2\nmodel = f\"meta-llama/Llama-3.1-{SIZE}B\"\ncmd = ['vllm', 'serve', "
       "'Qwen/Qwen3-8B']\ncmd += ['--max-model-len', str(8192)]\n"
       "llm = LLM(model=model, tensor_parallel_size=SIZE, enforce_eager=True, "
       "speculative_config={'method': 'ngram'})\n"},
  };
  return all;
}

bool check(const std::string& text, const std::string& name) {
  return fuzz::takes(text, [&] {
    LaunchQuestion q{.text = text, .name = name};
    q.fields = {{"hardware", "H100"}};
    if (name != "t.sh" && name.find("sh") != 1) q.fields["workload"] = "Llama3_8B";
    const auto launch = read_launch(q, standard_zoo());
    for (const auto& f : launch.findings)
      if (f.what.empty()) fail("a flag without an end", text);
    const auto plan = launch_plan(launch);
    try {
      (void)launch.build(standard_zoo());
    } catch (const Error&) {
      return;  // a launch that no machine can run
    }
    (void)parse_plan(plan, "plan.yaml", standard_zoo()).build();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& seed : seeds()) check(text, seed.name);
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all{" ",          "\n",   "'",
                                            "\"",         "\\",   "$",
                                            "${",         "}",    "$(",
                                            ")",          "(",    "A=(",
                                            "A=$A$A\n",   "#",    "|",
                                            ";",          "&",    ">",
                                            "--",         "-",    "=",
                                            "--tp",       "-1",   "0",
                                            "1e308",      "nan",  "auto",
                                            "null",       "[",    "]",
                                            "{",          ",",    ":",
                                            "true",       "fp8",  "--config x.yaml",
                                            "vllm serve", "\xC3", "999999999999",
                                            "--no-",      ".",    "..",
                                            "8k"};
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 4000;
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  for (const auto& seed : seeds())
    if (!check(seed.text, seed.name)) fail("a seed that is refused teaches nothing", seed.text);
  long answered = 0;
  for (long i = 0; i < rounds; ++i) {
    const auto& seed = seeds()[random() % seeds().size()];
    const std::vector<std::string> one{seed.text};
    const auto as_named = [&seed](const std::string& text) { return check(text, seed.name); };
    answered += fuzz::bounded(as_named, fuzz::mutated({one, pieces()}, random)) ? 1 : 0;
  }
  std::printf("%ld rounds, %ld answers\n", rounds, answered);
  fuzz::replay_corpus();
  return answered > 0 ? 0 : 1;
}
#endif
