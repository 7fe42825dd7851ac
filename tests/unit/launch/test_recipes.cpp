// Recipes that tune models, and launches in files that repeat or write others.
#include "reading.hpp"

#include <support/catch.hpp>

#include <launch/detail/settings.hpp>

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

TEST_CASE("ranks that MPI, Slurm and DeepSpeed start are counted", "[launch]") {
  const std::string words =
      " train.py --model_name_or_path Qwen/Qwen2.5-14B --per_device_train_batch_size 1 --bf16 True "
      "--model_max_length 4096";
  const auto ranks = [&](const std::string& before) { return field(read(before + words), "accelerators"); };
  CHECK(ranks("mpirun -np 16 -H h1:8,h2:8 python") == "16");
  CHECK(ranks("srun -N 2 --ntasks-per-node=4 python -u") == "8");
  CHECK(ranks("srun --ntasks 6 python") == "6");
  CHECK(ranks("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\nsrun --container-image=x python") == "32");
  CHECK(ranks("deepspeed --include localhost:0,1,2,3") == "4");
  CHECK(ranks("deepspeed --include a:0,1@b:0,1,2,3") == "6");
  CHECK(ranks("docker run --gpus all deepspeed/deepspeed mpirun -np 16 python") == "16");
  CHECK(ranks("srun -N 2 --ntasks-per-node 8 docker run x python") == "16");
  // One launcher of ranks on each node has its own count.
  CHECK(ranks("srun -N 2 --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 8") == "16");
  // Ranks that a node of the job does not hold are on several.
  const auto served = read(
      "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nvllm serve Qwen/Qwen3-32B -tp $SLURM_GPUS_PER_NODE "
      "-pp $SLURM_NNODES");
  CHECK(field(served, "accelerators") == "8");
  CHECK(field(served, "node_count") == "2");
  CHECK(field(read("#SBATCH --gres=gpu:a100:4\nvllm serve Qwen/Qwen3-32B -tp 4"), "node_count").empty());
}

TEST_CASE("a launch is found in more places where people keep it", "[launch]") {
  const auto direct = read("vllm serve Qwen/Qwen3-8B-FP8 --max-model-len 8192");
  const auto same = [&](const std::string& text, const std::string& name) {
    const auto launch = read(text, name);
    for (const auto* field_name : {"workload", "tp_size", "accelerators", "seq_len", "weight_format"})
      CHECK(field(launch, field_name) == field(direct, field_name));
  };
  const std::string head = "apiVersion: v1\nkind: K\nspec:\n";
  same(
      "FROM vllm/vllm-openai:v0.9.0\nENV LEN=8192\nENTRYPOINT [\"vllm\", \"serve\"]\nCMD "
      "[\"Qwen/Qwen3-8B-FP8\", "
      "\"--max-model-len\", \"${LEN}\"]\n",
      "Dockerfile");
  same(head +
           "  predictor:\n    model:\n      modelFormat: {name: vLLM}\n      storageUri: "
           "hf://Qwen/Qwen3-8B-FP8\n"
           "      args: [--max-model-len=8192]\n",
       "isvc.yaml");
  same(head +
           "  model: {uri: \"hf://Qwen/Qwen3-8B-FP8\"}\n  template:\n    containers:\n    - name: main\n"
           "      env: [{name: VLLM_ADDITIONAL_ARGS, value: \"--max-model-len 8192\"}]\n",
       "llm.yaml");
  same(head +
           "  services:\n    Worker:\n      mainContainer: {image: "
           "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.1, "
           "command: [python3, -m, dynamo.vllm], args: [--model, Qwen/Qwen3-8B-FP8, --max-model-len, "
           "\"8192\"]}\n",
       "dynamo.yaml");
  CHECK(field(read("FROM vllm/vllm-openai:v0.9.0\nCMD [\"--model\", \"Qwen/Qwen3-8B\"]\n", "Dockerfile"),
              "engine") == "vllm@0.9.0");
  CHECK(field(read("uvx vllm@0.10.1 serve Qwen/Qwen3-8B"), "engine") == "vllm@0.10.1");

  // All replicas of a job run the same command.
  const std::string pod =
      "      template: {spec: {containers: [{name: p, image: i, command: [bash, -c, \"torchrun train.py "
      "--model_name_or_path Qwen/Qwen2.5-7B --bf16 true --per_device_train_batch_size 1 --max_seq_length "
      "4096 "
      "--fsdp full_shard\"]}]}}\n";
  const auto job =
      read(head + "  nprocPerNode: \"8\"\n  pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n" + pod +
               "    Worker:\n      replicas: 3\n" + pod,
           "job.yaml");
  CHECK(field(job, "accelerators") == "32");
  CHECK(field(job, "node_count") == "4");

  const auto llama = read("llama-server -m Qwen3-8B-Q4_K_M.gguf -c 16384 -np 2 -ngl 99");
  for (const auto& [text, name] :
       {std::pair<std::string, std::string>(
            "services:\n  l:\n    image: ghcr.io/ggml-org/llama.cpp:server-cuda\n    environment:\n"
            "      LLAMA_ARG_MODEL: /models/Qwen3-8B-Q4_K_M.gguf\n      LLAMA_ARG_CTX_SIZE: 16384\n"
            "      LLAMA_ARG_N_PARALLEL: 2\n      LLAMA_ARG_N_GPU_LAYERS: 99\n",
            "compose.yaml"),
        {"models:\n  q:\n    cmd: llama-server --port ${PORT} -m Qwen3-8B-Q4_K_M.gguf -c 16384 -np 2 -ngl "
         "99\n",
         "config.yaml"},
        {"OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=2 ollama run qwen3:8b", "command line"},
        {"./server -m models/Qwen3-8B-Q4_K_M.gguf -c 16384 -np 2 -ngl 99", "command line"}}) {
    const auto launch = read(text, name);
    for (const auto* own : {"workload", "seq_len", "batch_size", "weight_format", "engine"})
      CHECK(field(launch, own) == field(llama, own));
  }
  for (const auto& [tag, model] : {std::pair("deepseek-r1:7b", "DeepSeek_R1_Distill_Qwen_7B"),
                                   {"deepseek-r1:671b", "DeepSeek_R1"},
                                   {"mistral", "Mistral_7B_v0_3"},
                                   {"llama3.2", "Llama3_2_3B"}}) {
    const auto launch = read(std::string("ollama run ") + tag);
    CHECK(field(launch, "workload") == detail::model_of(model, standard_zoo()).entry);
  }
  // A repository of GGUF files of a model in 4 bits keeps its format.
  CHECK(field(read("llama-server -hf ggml-org/gpt-oss-20b-GGUF"), "weight_format").empty());
  CHECK(field(read("llama-server -hf unsloth/gpt-oss-20b-GGUF:F16"), "weight_format").empty());
  CHECK(field(read("llama-server -hf unsloth/gpt-oss-20b-GGUF:Q4_K_M"), "weight_format").empty());
  CHECK(field(read("llama-server -hf Qwen/Qwen3-8B-GGUF"), "weight_format") == "q4_k_m");
  // A repository of one file has its format in its name.
  CHECK(field(read("llama-server -hf ggml-org/Qwen3-Coder-30B-A3B-Instruct-Q8_0-GGUF"), "weight_format") ==
        "q8_0");
  CHECK(field(read("llama-server -hf Qwen/Qwen3-8B-GGUF:IQ2_XS"), "weight_format") == "iq2_xs");
  const auto file = read(
      "llama-server --hf-repo bartowski/Qwen2.5-14B-Instruct-GGUF --hf-file "
      "Qwen2.5-14B-Instruct-Q3_K_M.gguf");
  CHECK(field(file, "weight_format") == "q3_k_m");
  CHECK(field(file, "workload") == "Qwen2_5_14B");
}

TEST_CASE("values that leave a choice to the engine, and bits of QLoRA", "[launch]") {
  const auto open = read("vllm serve Qwen/Qwen3-8B --max-model-len -1");
  CHECK(finding(open, "max-model-len").use == FlagUse::ignored);
  CHECK(field(open, "seq_len").empty());
  CHECK(refusal("vllm serve Qwen/Qwen3-8B --max-model-len -2").find("launch.006") != std::string::npos);
  const auto run = read("kubectl run v --image=vllm/vllm-openai:v0.8.0 -- --model Qwen/Qwen3-8B");
  CHECK(field(run, "engine") == "vllm@0.8.0");
  CHECK(run.findings.size() == 1);
  CHECK(field(read("python qlora.py --model_name_or_path huggyllama/llama-65b --bits 4 --lora_r 64"),
              "weight_format") == "nf4");
}

TEST_CASE("files of NeMo and SGLang state what they state", "[launch]") {
  const auto nemo = read(
      "trainer: {devices: 8, num_nodes: 4, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  "
      "global_batch_size: 256\n"
      "  encoder_seq_length: 4096\n  max_position_embeddings: 4096\n  num_layers: 32\n  hidden_size: 4096\n  "
      "ffn_hidden_size: 11008\n"
      "  num_attention_heads: 32\n  vocab_size: 32000\n  make_vocab_size_divisible_by: 1\n  activation: "
      "fast-swiglu\n"
      "  normalization: rmsnorm\n  bias: false\n  position_embedding_type: rope\n"
      "  share_embeddings_and_output_weights: false\n  optim: {name: distributed_fused_adam}\n",
      "nemo.yaml");
  CHECK(field(nemo, "workload") == "Llama2_7B");
  CHECK(field(nemo, "zero_stage") == "1");
  const auto sglang = read("model-path: Qwen/Qwen3-8B\ntensor-parallel-size: 2\n", "sglang.yaml");
  CHECK(sglang.format == LaunchFormat::sglang);
  CHECK(field(sglang, "tp_size") == "2");
}

TEST_CASE("what TRL takes where no word speaks, and methods that run several models", "[launch]") {
  const std::string words = " --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1";
  const auto trl = read("trl sft" + words);
  CHECK(field(trl, "precision") == "bf16");
  CHECK(field(trl, "recomputation") == "full");
  CHECK(field(trl, "seq_len") == "1024");
  CHECK(field(read("torchrun --nproc_per_node 2 sft.py" + words), "precision") == "fp32");
  for (const std::string script : {"trl/scripts/grpo.py", "run_dpo.py"})
    CHECK(finding(read("accelerate launch " + script + words), script).use == FlagUse::contradicts);
}

TEST_CASE("launchers that leave a count open start with the devices that are named", "[launch]") {
  const std::string words =
      " train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --bf16 true "
      "--max_length "
      "2048";
  const Fields many{{"hardware", "A100"}, {"accelerators", "16"}};
  const auto gpu = read("torchrun --standalone --nproc-per-node=gpu" + words, "command line", many);
  CHECK(field(gpu, "batch_size") == "16");
  const auto range = read("torchrun --nnodes=2:4 --nproc_per_node 8" + words);
  CHECK(field(range, "accelerators") == "16");  // of the fewest machines
  CHECK(field(range, "node_count") == "2");
  CHECK(field(read("torchrun --nnodes=1:4 --nproc_per_node gpu" + words, "command line", many),
              "accelerators") == "16");
  // A shell that Slurm starts knows the variables of the job.
  const auto inner = read(
      "#SBATCH --nodes=2 --gpus-per-node=8\nsrun --container-image=x bash -c 'python3 -m "
      "sglang.launch_server "
      "--model-path deepseek-ai/DeepSeek-V3 --tp 16 --nnodes $SLURM_NNODES'");
  CHECK(field(inner, "node_count") == "2");
  // The process that starts the others of MPI is on none of the nodes.
  const auto job = read(
      "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec:\n  mpiReplicaSpecs:\n    Launcher:\n      "
      "replicas: 1\n      template: {spec: {containers: [{image: i, command: [mpirun, -np, \"16\", python, "
      "train.py, --model_name_or_path, Qwen/Qwen2.5-7B, --per_device_train_batch_size, \"1\"]}]}}\n    "
      "Worker:\n      replicas: 2\n",
      "job.yaml");
  CHECK(field(job, "accelerators") == "16");
  CHECK(field(job, "node_count") == "2");
}

TEST_CASE("a recipe of torchtune says its model and its method by its name", "[launch]") {
  const auto full = read(
      "tune run --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full batch_size=2 "
      "tokenizer.max_seq_len=4096");
  CHECK(field(full, "workload") == "Llama3_8B");
  CHECK(field(full, "accelerators") == "4");
  CHECK(field(full, "states") == "parameter=bf16,gradient=bf16,moment=bf16,master=none");
  CHECK(finding(full, "config").use == FlagUse::ignored);
  // What the file of a recipe says is in the zoo; of a recipe that it does not have, no batch is made up.
  const auto single =
      read("tune run full_finetune_single_device --config llama3_1/8B_full_single_device batch_size=4");
  CHECK(field(single, "batch_size") == "4");
  CHECK(field(single, "recomputation") == "full");
  CHECK(field(single, "states") == "parameter=bf16,gradient=none,moment=int8,master=none");
  CHECK(finding(single, "optimizer_in_bwd").use == FlagUse::used);
  const auto adapted = read("tune run lora_finetune_single_device --config llama3_1/8B_lora_single_device");
  CHECK(field(adapted, "batch_size") == "16");  // 2, 8 times
  CHECK(field(adapted, "lora_modules") == "all");
  const auto tuned = read("tune run lora_finetune_single_device --config qwen2_5/7B_qlora_single_device");
  CHECK(field(tuned, "batch_size").empty());
  CHECK(field(tuned, "workload") == "Qwen2_5_7B");
  CHECK(field(tuned, "weight_format") == "nf4");
}

TEST_CASE("older words of training say what newer ones do", "[launch]") {
  const auto titan = read(
      "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nbatch_size = 8\nseq_len = 8192\n"
      "data_parallel_degree = -1\ntensor_parallel_degree = 8\n[experimental]\npipeline_parallel_degree = 2\n"
      "[float8]\nenable_float8_linear = false\n",
      "job.toml", {{"hardware", "H100"}, {"accelerators", "64"}});
  CHECK(field(titan, "tp_size") == "8");
  CHECK(field(titan, "pp_size") == "2");
  CHECK(field(titan, "batch_size") == "32");  // 8 on each of 4
  CHECK(field(titan, "zero_stage") == "2");
  CHECK(finding(titan, "float8.enable_float8_linear").use == FlagUse::ignored);

  const auto deepspeed =
      read(R"({"train_batch_size": 32, "zero_optimization": {"stage": 2, "cpu_offload": true}})", "ds.json",
           {{"hardware", "V100"}, {"workload", "GPT2"}, {"accelerators", "4"}});
  CHECK(field(deepspeed, "offload_states") == "1");
  CHECK(field(deepspeed, "offload_gradients") == "1");

  const std::string fsdp =
      "torchrun --nnodes 2 --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B "
      "--per_device_train_batch_size 1 --bf16 true --fsdp ";
  for (const auto& [words, stage] : {std::pair("\"hybrid_shard auto_wrap\"", "3"),
                                     {"hybrid_shard_zero2", "2"},
                                     {"\"full_shard offload\"", "3"},
                                     {"true", "3"},
                                     {"no_shard", ""}}) {
    INFO(words);
    const auto launch = read(fsdp + words);
    CHECK(field(launch, "zero_stage") == stage);
    CHECK(field(launch, "shard_size") == (std::string(words).find("hybrid") == std::string::npos ? "" : "8"));
  }
  CHECK(finding(read(fsdp + "auto_wrap"), "fsdp").use == FlagUse::contradicts);
}

TEST_CASE("a shape is that of a model only where all of its layers are alike", "[launch]") {
  const std::string words =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --ffn-hidden-size "
      "28672 "
      "--num-attention-heads 64 --group-query-attention --num-query-groups 8 --seq-length 8192 "
      "--max-position-embeddings 8192 --swiglu --normalization RMSNorm --disable-bias-linear "
      "--position-embedding-type rope --untie-embeddings-and-output-weights --bf16 --micro-batch-size 1 "
      "--global-batch-size 8 --tensor-model-parallel-size 8";
  CHECK(field(read(words + " --vocab-size 128256"), "workload") == "Llama3_70B");
  const auto open = read(words);
  CHECK(field(open, "workload") == "Llama2_70B");  // of its shape, with the smallest vocabulary
  // A window is no part of what the flags state.
  const auto mistral = read(
      "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
      "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 "
      "--max-position-embeddings 32768 --swiglu --normalization RMSNorm --disable-bias-linear "
      "--position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 32000 --bf16");
  CHECK(field(mistral, "workload") != "Mistral_7B");
  // BERT sees both sides, and other scripts train what these flags do not state.
  const std::string small =
      " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
      "--max-position-embeddings 512 --micro-batch-size 8 --global-batch-size 64 --fp16 --vocab-size 30522";
  const auto bert = read("torchrun --nproc_per_node 8 pretrain_bert.py" + small).build(standard_zoo());
  CHECK(bert.scenario.workload->architecture == Architecture::encoder);
  CHECK(parameter_count(*bert.scenario.workload).base() == Approx(335.3e6).epsilon(0.005));
  CHECK(refusal("torchrun pretrain_t5.py --encoder-num-layers 12 --hidden-size 768").find("launch.020") !=
        std::string::npos);
  CHECK(refusal("torchrun pretrain_mamba.py" + small).find("launch.020") != std::string::npos);
  CHECK(field(read("torchrun pretrain_t5.py --hidden-size 768", "x",
                   {{"hardware", "H100"}, {"workload", "T5_Small"}}),
              "workload") == "T5_Small");
}

TEST_CASE("what fits is counted on all data-parallel ranks", "[launch]") {
  const auto fit = [](const std::string& text, const std::string& device) {
    return fit_of(read(text, "command line", {{"hardware", device}}), standard_zoo());
  };
  const std::string llama = "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 8192";
  const auto one = fit(llama, "H100"), four = fit(llama + " -dp 4", "H100");
  CHECK(one.ranks == 1);
  CHECK(four.ranks == 4);
  CHECK(one.requests > 50);
  CHECK(four.requests == 4 * one.requests);
  const std::string sglang =
      "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B --context-length "
      "8192 --tp 1";
  CHECK(fit(sglang + " --dp 4", "H100").requests == 4 * fit(sglang, "H100").requests);
  // Ranks of attention hold whole requests, however many the engine works on.
  const std::string deepseek =
      "python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention "
      "--context-length 8192";
  const auto groups = fit(deepseek, "H200"), limited = fit(deepseek + " --max-running-requests 64", "H200");
  CHECK(groups.ranks == 8);
  CHECK(std::fmod(groups.requests, 8) == 0);
  CHECK(limited.requests == Approx(groups.requests).epsilon(0.05));
  const auto spread =
      fit("vllm serve Qwen/Qwen3-235B-A22B-FP8 -dp 8 --enable-expert-parallel --max-model-len 8192 "
          "--max-num-seqs 64",
          "H100");
  const auto quiet =
      fit("vllm serve Qwen/Qwen3-235B-A22B-FP8 -dp 8 --enable-expert-parallel --max-model-len 8192", "H100");
  CHECK(spread.ranks == 8);
  CHECK(spread.requests == Approx(quiet.requests).epsilon(0.05));
}

TEST_CASE("the activations of a mixture are those of one micro-batch of a rank", "[launch]") {
  const std::string mixtral =
      "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 "
      "--global-batch-size 256 --bf16 --pipeline-model-parallel-size 4 --use-distributed-optimizer";
  const auto activations = [&](const std::string& more) {
    const auto fit = fit_of(read(mixtral + more, "x", {{"hardware", "H100"}, {"workload", "Mixtral_8x7B"}}),
                            standard_zoo());
    for (const auto& item : fit.items)
      if (item.part == "activations") return item.bytes.base();
    return 0.0;
  };
  // By hand, with 8 layers of a stage and 4 micro-batches in flight: 32 GB.
  CHECK(activations(" --expert-model-parallel-size 8") == Approx(34e9).epsilon(0.1));
  CHECK(activations(" --expert-model-parallel-size 8") ==
        Approx(activations(" --expert-model-parallel-size 4")).epsilon(0.1));
}

TEST_CASE("llama.cpp keeps the embedding in host memory, and moves there what does not fit", "[launch]") {
  const auto& zoo = standard_zoo();
  const auto on = [](const std::string& words, const std::string& device) {
    return read("llama-server -m " + words, "command line", {{"hardware", device}});
  };
  const auto sum = [](const Fit& fit, std::string_view what) {
    Data<> out;
    for (const auto& item : fit.items)
      if (item.what.find(what) != std::string::npos) out += item.bytes;
    return out.base();
  };
  const auto some = fit_of(on("Qwen2.5-14B-Instruct-Q4_K_M.gguf -ngl 42 -c 8192", "RTX4090"), zoo);
  CHECK(sum(some, "embedding") == 0);
  CHECK(sum(some, "margin of") == 0);  // kept by an engine that places the layers itself
  CHECK(some.requests == 1);           // of 8192 tokens, which is the whole cache
  const auto itself = fit_of(on("Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192", "RTX4090"), zoo);
  CHECK(sum(itself, "margin of") == 1024.0 * 1024 * 1024);
  CHECK(sum(fit_of(on("Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -fitt 2048", "RTX4090"), zoo), "margin of") ==
        2048.0 * 1024 * 1024);
  // An output matrix that is the embedding stays.
  CHECK(sum(fit_of(on("gemma-2-9b-it-Q6_K.gguf -ngl 99 -c 4096", "RTX4090"), zoo), "embedding") > 5e8);

  const auto large = on("Meta-Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 8192", "RTX4090");
  const double moved = std::stod(field(large, "offload_weights"));
  CHECK(moved > 0.3);
  CHECK(moved < 0.7);
  CHECK(fit_of(large, zoo).fits);
  // One layer more on the device would not fit.
  const double kept = std::round(80 * (1 - moved));
  const auto stated = [&](double layers) {
    return fit_of(on("Meta-Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 8192 -ngl " + detail::count_text(layers),
                     "RTX4090"),
                  zoo)
        .fits;
  };
  CHECK(stated(kept));
  CHECK_FALSE(stated(kept + 5));
  // Of a mixture the experts go first.
  const auto mixture = on("gpt-oss-120b-mxfp4.gguf -c 16384", "RTX4090");
  CHECK(std::stod(field(mixture, "offload_experts")) > 0.5);
  CHECK(field(mixture, "offload_weights").empty());
  CHECK(field(on("Meta-Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 8192 -fit off", "RTX4090"), "offload_weights")
            .empty());
  CHECK(field(on("Qwen3-8B-Q4_K_M.gguf -c 8192", "RTX4090"), "offload_weights").empty());
}

TEST_CASE("weights for which an engine has no kernels on a device contradict", "[launch]") {
  const auto on = [](const std::string& model, const std::string& device) {
    const auto launch =
        read("vllm serve " + model + " --max-model-len 4096", "command line", {{"hardware", device}});
    return std::any_of(launch.findings.begin(), launch.findings.end(),
                       [](const FlagFinding& f) { return f.use == FlagUse::contradicts; });
  };
  CHECK(on("Qwen/Qwen3-8B-FP8", "V100"));
  CHECK(on("Qwen/Qwen3-32B-FP8", "V100"));  // by the formats of an entry
  CHECK_FALSE(on("Qwen/Qwen3-8B-FP8", "T4"));
  CHECK_FALSE(on("Qwen/Qwen3-8B-FP8", "A100"));
  CHECK_FALSE(on("Qwen/Qwen3-8B", "V100"));
}

TEST_CASE("units of systemd and workflows are read, and what is not read has its name", "[launch]") {
  const auto direct = read("vllm serve Qwen/Qwen2.5-32B-Instruct -tp 2 --max-model-len 16384");
  for (const auto& [text, name] :
       {std::pair<std::string, std::string>(
            "[Unit]\nDescription=vLLM\n[Service]\nEnvironment=\"TP=2\" LEN=16384\n"
            "ExecStart=-/opt/bin/vllm serve Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size ${TP} \\\n"
            "  --max-model-len $LEN\nRestart=always\n",
            "v.service"),
        {"on: [push]\njobs:\n  b:\n    runs-on: h100\n    steps:\n    - uses: actions/checkout@v4\n"
         "    - run: |\n        vllm serve Qwen/Qwen2.5-32B-Instruct -tp 2 --max-model-len 16384 &\n"
         "        sleep 60\n",
         "w.yml"}}) {
    const auto launch = read(text, name);
    for (const auto* own : {"workload", "tp_size", "seq_len"})
      CHECK(field(launch, own) == field(direct, own));
  }
  for (const auto& [text, program] :
       {std::pair("docker run ghcr.io/huggingface/text-generation-inference:3.3.4 --model-id x",
                  "text-generation-inference"),
        {"docker run ghcr.io/huggingface/text-embeddings-inference:1.7 --model-id x",
         "text-embeddings-inference"},
        {"docker run --gpus all nvcr.io/nim/meta/llama-3.1-8b-instruct:1.3.3", "nim"}})
    CHECK_THAT(refusal(text), Contains("launch.003") && Contains(program));
}

TEST_CASE("recipes whose gradients are freed layer by layer, and whose moments are narrow", "[launch]") {
  const auto gradients = [](const Launch& launch) {
    for (const auto& item : fit_of(launch, standard_zoo()).items)
      if (item.part == "gradients") return item.bytes.base();
    return 0.0;
  };
  const std::string tune =
      "tune run full_finetune_single_device --config llama3_1/8B_full_single_device dtype=bf16 batch_size=1";
  const auto kept = read(tune + " optimizer_in_bwd=False"), freed = read(tune + " optimizer_in_bwd=True");
  CHECK(gradients(kept) == Approx(2 * 8.03e9).epsilon(1e-3));
  CHECK(gradients(freed) == 0);
  CHECK(field(freed, "states") == "parameter=bf16,gradient=none,moment=int8,master=none");
  const auto wide = read(tune + " optimizer_in_bwd=True optimizer._component_=bitsandbytes.optim.PagedAdamW");
  CHECK(field(wide, "states") == "parameter=bf16,gradient=none,moment=bf16,master=none");
  CHECK(field(read(tune + " optimizer._component_=torchao.optim.AdamW4bit"), "moment_precision") == "int4");
  // Stage 0 of DeepSpeed is a stage too.
  const auto stage = [](const char* file) {
    return read(std::string("accelerate launch train.py --model_name_or_path Qwen/Qwen3-8B --num_processes 8 "
                            "--per_device_train_batch_size 1 --bf16 --deepspeed ") +
                file);
  };
  CHECK(field(stage("examples/deepspeed/ds_z0_config.json"), "zero_stage").empty());
  CHECK(finding(stage("examples/deepspeed/ds_z0_config.json"), "deepspeed").use == FlagUse::used);
  CHECK(field(stage("examples/deepspeed/ds_z2_config.json"), "zero_stage") == "2");
}
