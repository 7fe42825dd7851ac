// Launches in the files and scripts of other programs, and what is said of those that are not read.
#include "reading.hpp"

#include <support/catch.hpp>

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using namespace launches;
using Catch::Matchers::Contains;

TEST_CASE("charts and jobs of Kubernetes that hold a launch deeper inside", "[launch]") {
  const auto ray = read(
      "apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n    applications:\n    - name: "
      "llm\n"
      "      args:\n        llm_configs:\n        - model_loading_config: {model_id: q, model_source: "
      "Qwen/Qwen2.5-7B-Instruct}\n          engine_kwargs: {tensor_parallel_size: 2, max_model_len: 8192}\n"
      "          accelerator_type: A10G\n",
      "ray.yaml", {});
  CHECK(field(ray, "workload") == "Qwen2_5_7B");
  CHECK(field(ray, "tp_size") == "2");
  CHECK(field(ray, "hardware") == "A10G");

  const auto job = read(
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer:\n    numNodes: 2\n"
      "    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n    command: [torchrun, train.py, "
      "--model_name_or_path, Qwen/Qwen2.5-7B, --per_device_train_batch_size, \"1\", --bf16, \"True\"]\n",
      "job.yaml");
  CHECK(field(job, "accelerators") == "16");
  CHECK(field(job, "node_count") == "2");
  CHECK(field(job, "batch_size") == "16");

  const std::string server =
      "containers: [{name: vllm, image: 'ghcr.io/llm-d/llm-d:v0.2.0', modelCommand: vllmServe, "
      "args: [--max-model-len, \"16384\"]}]";
  const auto apart =
      read("modelArtifacts:\n  uri: hf://Qwen/Qwen3-32B\ndecode:\n  parallelism: {tensor: 4}\n  " + server +
               "\nprefill:\n  parallelism: {tensor: 2}\n  " + server + "\n",
           "values.yaml");
  CHECK(field(apart, "workload") == "Qwen3_32B");
  CHECK(field(apart, "tp_size") == "4");
  CHECK(field(apart, "seq_len") == "16256");

  const std::string chart = "servingEngineSpec:\n  modelSpec:\n  - name: m\n    modelURL: Qwen/Qwen3-8B\n";
  CHECK(field(read(chart, "values.yaml"), "engine") == "vllm");
  CHECK(field(read(chart + "    repository: vllm/vllm-openai\n    tag: v0.11.0\n", "values.yaml"),
              "engine") == "vllm@0.11.0");
  CHECK(field(read("image: {repository: vllm/vllm-openai, tag: v0.12.0,\n  repository_: x}\nargs: [--model, "
                   "Qwen/Qwen3-8B]\n"
                   "image2:\n  repository: x\n",
                   "values.yaml"),
              "engine") == "vllm@0.12.0");
}

TEST_CASE("what a shell of a container computes is no variable", "[launch]") {
  const auto text = [](const std::string& ranks) {
    return "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai\n    env: [{name: "
           "TP, "
           "value: \"4\"}]\n    args: [--model, Qwen/Qwen3-8B, --tensor-parallel-size, " +
           ranks + "]\n";
  };
  CHECK(field(read(text("$(TP)"), "pod.yaml"), "tp_size") == "4");
  CHECK_THAT(refusal(text("\"$(nvidia-smi -L | wc -l)\""), "pod.yaml"),
             Contains("launch.006") && Contains("nvidia-smi"));
}

TEST_CASE("torchtitan's script takes its job from the environment", "[launch]") {
  for (const std::string before : {"CONFIG_FILE=./train_configs/llama3_8b.toml NGPU=4 ./run_train.sh",
                                   "MODULE=llama3 CONFIG=llama3_8b NGPU=4 bash run_train.sh",
                                   "export CONFIG_FILE=llama3_8b.toml NGPU=4\n./run_llama_train.sh"}) {
    INFO(before);
    const auto launch =
        read(before +
             " --parallelism.tensor_parallel_degree 2 --training.local_batch_size 1 --training.seq_len 8192");
    CHECK(launch.format == LaunchFormat::torchtitan);
    CHECK(field(launch, "workload") == "Llama3_8B");
    CHECK(field(launch, "accelerators") == "4");
    CHECK(field(launch, "tp_size") == "2");
    CHECK(field(launch, "batch_size") == "2");
    CHECK(finding(launch, "job.config_file").use == FlagUse::ignored);
  }
  CHECK(field(read("CONFIG_FILE=llama3_8b.toml ./run_train.sh"), "accelerators") == "8");  // its default
  // A script of that name is torchtitan's only where it is told a job.
  CHECK_FALSE(launch_format("./run_train.sh --lr 1", "command line").has_value());
}

TEST_CASE("FSDP in the words of accelerate launch", "[launch]") {
  const auto stage = [](const std::string& words) {
    const auto launch =
        read("accelerate launch --num_processes 8 " + words +
             " train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --bf16");
    return field(launch, "zero_stage") + "/" + field(launch, "offload_states");
  };
  CHECK(stage("--use_fsdp") == "3/");
  CHECK(stage("--use_fsdp --fsdp_sharding_strategy 1") == "3/");
  CHECK(stage("--use_fsdp --fsdp_sharding_strategy 2") == "2/");
  CHECK(stage("--fsdp_sharding_strategy SHARD_GRAD_OP --use_fsdp") == "2/");
  CHECK(stage("--use_fsdp --fsdp_sharding_strategy 3") == "/");
  CHECK(stage("--use_fsdp --fsdp_offload_params true") == "3/1");
  CHECK(stage("") == "/");
}

TEST_CASE("what is not read is called by its name", "[launch]") {
  CHECK_THAT(refusal("koboldcpp --model L3-8B.gguf --gpulayers 33"),
             Contains("launch.003") && Contains("koboldcpp"));
  CHECK_THAT(refusal("steps: [a]\nother: 3\n", "pipeline.yaml"),
             Contains("launch.003") && Contains("steps, other"));
  // Of a model, what is known.
  CHECK_THAT(refusal("vllm serve gradientai/Llama-3-8B-Instruct-262k"),
             Contains("launch.012") && Contains("Llama3_8B") && Contains("'262k'"));
  CHECK(detail::known_beginning("acme/nothing-7b", standard_zoo()).empty());
  CHECK(detail::known_beginning("Alibaba-NLP/gte-some-7B", standard_zoo()).empty());
}

TEST_CASE("models of Ollama's library by the names of their makers", "[launch]") {
  for (const auto& [tag, checkpoint] :
       {std::pair("qwen3:30b", "Qwen/Qwen3-30B-A3B"),
        {"qwen3-coder", "Qwen/Qwen3-Coder-30B-A3B-Instruct"},
        {"qwen2.5vl:72b", "Qwen/Qwen2.5-VL-72B-Instruct"},
        {"mistral-small3.2", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"},
        {"mistral-nemo", "mistralai/Mistral-Nemo-Instruct-2407"},
        {"phi3.5", "microsoft/Phi-3.5-mini-instruct"},
        {"command-r", "CohereLabs/c4ai-command-r-08-2024"},
        {"deepseek-v3.1:671b", "deepseek-ai/DeepSeek-V3.1"},
        {"deepseek-coder-v2:16b", "deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct"},
        {"tinyllama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"}}) {
    INFO(tag);
    const auto launch = read(std::string("ollama run ") + tag);
    CHECK(field(launch, "workload") == detail::model_of(checkpoint, standard_zoo()).entry);
    CHECK(field(launch, "weight_format") == "q4_k_m");
  }
  CHECK(field(read("ollama run bge-m3"), "mode") == "infer");
}

TEST_CASE("benchmarks that run an engine state their load", "[launch]") {
  const auto same = [](const std::string& words, const std::string& engine, const std::string& batch) {
    INFO(words);
    const auto launch = read(words);
    CHECK(field(launch, "engine") == engine);
    CHECK(field(launch, "workload") == "Qwen3_8B");
    CHECK(field(launch, "seq_len") == "1024");
    CHECK(field(launch, "output_tokens") == "128");
    CHECK(field(launch, "batch_size") == batch);
    CHECK_NOTHROW(launch.build(standard_zoo()));
    return launch;
  };
  const auto latency =
      same("vllm bench latency --model Qwen/Qwen3-8B --input-len 1024 --output-len 128 --batch-size 8 -tp 2",
           "vllm", "8");
  CHECK(field(latency, "load") == "burst");
  CHECK(field(latency, "tp_size") == "2");
  same(
      "python benchmarks/benchmark_throughput.py --model Qwen/Qwen3-8B --input-len 1024 --output-len 128 "
      "--num-prompts 100",
      "vllm", "100");
  same(
      "python3 -m sglang.bench_one_batch --model-path Qwen/Qwen3-8B --batch 16 --input-len 1024 --output-len "
      "128",
      "sglang", "16");
  const auto llama =
      same("./llama-bench -m Qwen3-8B-Q4_K_M.gguf -p 1024 -n 128 -ngl 99 -r 3", "llama_cpp", "");
  CHECK(field(llama, "weight_format") == "q4_k_m");
  // A client of a server that runs elsewhere starts no engine.
  CHECK_FALSE(launch_format("vllm bench serve --model Qwen/Qwen3-8B", "command line").has_value());
}

TEST_CASE("an image may be told its program, and llama.cpp takes longer requests than its model",
          "[launch]") {
  const auto told = read("docker run --entrypoint vllm vllm/vllm-openai:v0.11.0 serve Qwen/Qwen3-8B -tp 2");
  CHECK(field(told, "workload") == "Qwen3_8B");
  CHECK(field(told, "engine") == "vllm@0.11.0");
  const auto notes = [](const std::string& words) {
    const auto launch = read("llama-server -m Llama-3-8B-Instruct-Q8_0.gguf -ngl 99 " + words);
    std::size_t found = 0;
    for (const auto& note : launch.notes) found += note.find("8192 positions") != std::string::npos ? 1 : 0;
    return found;
  };
  CHECK(notes("-c 32768") == 1);
  CHECK(notes("-c 32768 -np 4") == 0);
}

TEST_CASE("trtllm-bench has its options on both sides of its benchmark", "[launch]") {
  const auto bench = read(
      "trtllm-bench --model nvidia/Llama-3.3-70B-Instruct-FP8 throughput --dataset d.txt --backend pytorch "
      "--tp 4 "
      "--max_batch_size 256 --max_num_tokens 8192 --kv_cache_free_gpu_mem_fraction 0.85 --concurrency 128");
  CHECK(bench.format == LaunchFormat::trtllm);
  CHECK(field(bench, "workload") == "Llama3_70B");
  CHECK(field(bench, "tp_size") == "4");
  CHECK(field(bench, "batch_size") == "128");
  CHECK(field(bench, "memory_fraction") == "0.85");
  for (const auto& f : bench.findings) CHECK(f.what.find("not in the table") == std::string::npos);
}

TEST_CASE("TRL starts a server of vLLM for its trainers", "[launch]") {
  const auto launch =
      read("trl vllm-serve --model Qwen/Qwen2.5-7B --tensor_parallel_size 2 --max_model_len 4096");
  CHECK(launch.format == LaunchFormat::vllm);
  CHECK(field(launch, "tp_size") == "2");
  CHECK(launch.serving->context == 4096);
}

TEST_CASE("a server that is not read has a way out", "[launch]") {
  CHECK_THAT(refusal("OLLAMA_CONTEXT_LENGTH=8192 ollama serve"), Contains("ollama run MODEL"));
  CHECK_THAT(refusal("text-embeddings-router --model-id BAAI/bge-m3"), Contains("mlsysim eval"));
  CHECK_THAT(refusal("lmdeploy serve api_server Qwen/Qwen3-8B --tp 2"), Contains("generic engine"));
}

TEST_CASE("a leader and its workers are one job", "[launch]") {
  const auto launch = read(R"(apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
        - name: leader
          image: lmsysorg/sglang:v0.5.3
          command: [python3, -m, sglang.launch_server, --model-path, deepseek-ai/DeepSeek-R1, --tp, "16",
                    --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX), --trust-remote-code, --host, 0.0.0.0]
    workerTemplate:
      spec:
        containers:
        - name: worker
          image: lmsysorg/sglang:v0.5.3
          command: [python3, -m, sglang.launch_server, --model-path, deepseek-ai/DeepSeek-R1, --tp, "16",
                    --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX)]
)",
                           "lws.yaml");
  CHECK(field(launch, "tp_size") == "16");
  CHECK(field(launch, "accelerators") == "16");
  // Two servers that differ are two.
  CHECK_THAT(
      refusal("vllm serve Qwen/Qwen3-8B --port 1\nvllm serve Qwen/Qwen3-8B --port 2 --max-model-len 4096\n"),
      Contains("launch.004"));
}

TEST_CASE("vLLM's chart may ask for a part of a device", "[launch]") {
  const auto launch = read(R"(servingEngineSpec:
  modelSpec:
  - name: llama
    repository: vllm/vllm-openai
    modelURL: meta-llama/Llama-3.1-8B-Instruct
    requestGPU: 1
    requestGPUType: nvidia.com/mig-3g.40gb
    vllmConfig: {maxModelLen: 16384}
)",
                           "values.yaml");
  CHECK(field(launch, "hardware").find("3g.40gb") != std::string::npos);
}
