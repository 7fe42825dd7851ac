// Recipes that tune models, and launches in files that repeat or write others.
#include "reading.hpp"

#include <support/catch.hpp>

#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

using namespace mlsysim;
using namespace launches;
using Catch::Matchers::Contains;

TEST_CASE("recipes and launches of the Trainer", "[launch]") {
  const Fields four{{"hardware", "H100"}, {"accelerators", "4"}};
  // An axolotl recipe: adapters of rank 32 on all products, over frozen weights of 4 bits.
  const auto axolotl = read(
      "base_model: meta-llama/Llama-3.1-8B\nadapter: qlora\nload_in_4bit: true\nsequence_len: 4096\nlora_r: "
      "32\n"
      "lora_target_linear: true\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: auto\n"
      "gradient_checkpointing: true\ndatasets:\n  - path: x\n    type: alpaca\n",
      "qlora.yml", four);
  CHECK(axolotl.mode == Mode::train);
  CHECK(field(axolotl, "workload") == "Llama3_8B");
  CHECK(field(axolotl, "weight_format") == "nf4");
  CHECK(field(axolotl, "lora_rank") == "32");
  CHECK(field(axolotl, "lora_modules") == "all");
  CHECK(field(axolotl, "batch_size") == "32");  // 2 * 4 on each of 4
  CHECK(field(axolotl, "precision") == "bf16");
  CHECK(field(axolotl, "recomputation") == "full");
  CHECK_NOTHROW(axolotl.build(standard_zoo()));
  // LLaMA-Factory recomputes unless it is told not to, and its adapters lie on all products.
  const std::string factory =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: lora\ncutoff_len: 2048\n"
      "per_device_train_batch_size: 1\nbf16: true\n";
  CHECK(field(read(factory, "sft.yaml", four), "recomputation") == "full");
  CHECK(field(read(factory, "sft.yaml", four), "lora_rank") == "8");
  CHECK(field(read(factory + "disable_gradient_checkpointing: true\n", "sft.yaml", four), "recomputation") ==
        "none");
  CHECK(finding(read(factory + "deepspeed: x.json\n", "sft.yaml", four), "deepspeed").use ==
        FlagUse::contradicts);
  // torchtune holds everything in the one format, and writes booleans as Python does.
  const auto tune = read(
      "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  max_seq_len: "
      "4096\nbatch_size: 2\n"
      "dtype: bf16\nenable_activation_checkpointing: True\ncompile: False\n",
      "full.yaml", four);
  CHECK(field(tune, "workload") == "Llama3_8B");
  CHECK(field(tune, "states") == "parameter=bf16,gradient=bf16,moment=bf16,master=none");
  CHECK(field(tune, "recomputation") == "full");
  // A script of the Trainer behind a launcher: flags without a value, a stage that a file's name states.
  const auto script = read(
      "deepspeed --num_gpus=8 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf --deepspeed "
      "ds_z3_offload.json "
      "--per_device_train_batch_size 4 --block_size 2048 --bf16 --gradient_checkpointing True --do_train");
  CHECK(field(script, "accelerators") == "8");
  CHECK(field(script, "zero_stage") == "3");
  CHECK(field(script, "offload_gradients") == "1");
  CHECK(field(script, "batch_size") == "32");
  CHECK(field(script, "recomputation") == "full");
  CHECK(field(read("accelerate launch --num_processes 8 --config_file zero2.yaml sft.py --model_name_or_path "
                   "Qwen/Qwen2.5-7B --max_seq_length 4096 --bf16"),
              "batch_size") == "64");  // 8 a device where no flag speaks
  CHECK(field(read("trl sft --model_name_or_path Qwen/Qwen2.5-7B --max_length 1024 --use_peft",
                   "command line", four),
              "lora_modules") == "attention");
}

TEST_CASE("a script that a script writes is read", "[launch]") {
  const auto launch = read(
      "#!/bin/bash\nTP=8\ncat > run.sh <<EOF\nvllm serve Qwen/Qwen3-32B --tensor-parallel-size $TP\nEOF\n"
      "srun bash run.sh\n",
      "job.sh");
  CHECK(field(launch, "tp_size") == "8");
  CHECK(finding(launch, "tensor-parallel-size").where.line == 4);
  // What another program reads is no script of a shell.
  CHECK(refusal("python3 - <<'EOF'\nvllm serve Qwen/Qwen3-32B\nEOF\n", "job.sh").find("launch.0") !=
        std::string::npos);
}

TEST_CASE("manifests repeat what an anchor names", "[launch]") {
  const auto launch = read(
      "x-engine: &engine\n  image: vllm/vllm-openai:v0.10.0\n  restart: yes\n  environment: &env {TP: "
      "\"4\"}\nservices:\n"
      "  big:\n    <<: *engine\n    command: --model Qwen/Qwen3-32B --tensor-parallel-size 4\n",
      "docker-compose.yml");
  CHECK(field(launch, "workload") == "Qwen3_32B");
  CHECK(field(launch, "tp_size") == "4");
  // A text does not grow without end by its aliases.
  std::string laughs = "services:\n  image: vllm/vllm-openai\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("  a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) laughs += fmt::format("{}*a{}", k == 0 ? "" : ", ", i - 1);
    laughs += "]\n";
  }
  CHECK(refusal(laughs, "docker-compose.yml").find("mlsysim.zoo.") != std::string::npos);
}

TEST_CASE("a Modelfile is a launch of llama.cpp", "[launch]") {
  const std::string rest = "PARAMETER num_ctx 8192\nPARAMETER num_gpu 24\nSYSTEM You are helpful.\n";
  for (const auto* from : {"llama3.1:8b", "llama3.1:8b-instruct-q4_K_M", "./llama-3.1-8b-q4_k_m.gguf"}) {
    const auto file = read("# mine\nFROM " + std::string(from) + "\n" + rest, "Modelfile");
    const auto direct = read("llama-server -m llama-3.1-8b-q4_k_m -c 8192 -ngl 24");
    for (const auto* name : {"workload", "weight_format", "seq_len", "offload_weights", "engine"})
      CHECK(field(file, name) == field(direct, name));
  }
  CHECK(refusal("FROM python:3.11\nRUN pip install vllm\n", "Dockerfile").find("launch.003") !=
        std::string::npos);
}

TEST_CASE("every launcher of ranks says how many there are", "[launch]") {
  const std::string words =
      " pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --bf16 "
      "--tensor-model-parallel-size 2 --vocab-size 50257";
  for (const std::string launcher :
       {"torchrun --nproc_per_node 8 --nnodes 2", "deepspeed --num_gpus 8 --num_nodes 2"}) {
    const auto launch = read(launcher + words);
    CHECK(field(launch, "accelerators") == "16");
    CHECK(field(launch, "node_count") == "2");
  }
}
