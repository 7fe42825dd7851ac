// Which devices a launch runs on: those that it names, sees, or asks a scheduler for.
#include "reading.hpp"

#include <support/catch.hpp>

#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <cmath>
#include <string>

using namespace mlsysim;
using namespace launches;

TEST_CASE("llama.cpp spreads layers over the devices that it sees", "[launch]") {
  const std::string serve = "llama-server -m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192";
  const auto on = [](const std::string& words, const std::string& machine) {
    return read(words, "command line", {{"hardware", machine}});
  };
  const auto two = on(serve, "2xRTX3090");
  CHECK(field(two, "hardware") == "RTX3090");
  CHECK(field(two, "accelerators") == "2");
  CHECK(field(two, "pp_size") == "2");
  CHECK(field(two, "tp_size") == "1");
  CHECK(fit_of(two, standard_zoo()).fits);  // 42.5 GB of weights and 2.7 GB of cache in 2 x 25.8 GB
  CHECK_FALSE(fit_of(on(serve, "RTX3090"), standard_zoo()).fits);
  // Parts of each layer, one device, and shares.
  CHECK(field(on(serve + " -sm row", "2xRTX3090"), "tp_size") == "2");
  CHECK(field(on(serve + " -sm none", "2xRTX3090"), "accelerators") == "1");
  const auto uneven = on(serve + " -ts 3,1,0", "4xRTX3090");
  CHECK(field(uneven, "pp_size") == "2");
  CHECK(finding(uneven, "tensor-split").use == FlagUse::used);
  CHECK(finding(on(serve + " -sm row -ts 3,1", "2xRTX3090"), "tensor-split").use == FlagUse::contradicts);
  CHECK(finding(on(serve + " -ts 1,1", "RTX3090"), "tensor-split").use == FlagUse::used);
  // Devices that the launch names, and what the caller says.
  CHECK(field(on(serve + " --device CUDA0,CUDA1", "4xRTX3090"), "accelerators") == "2");
  CHECK(field(on("CUDA_VISIBLE_DEVICES=0,1,2 " + serve, "4xRTX3090"), "pp_size") == "3");
  CHECK(field(on("CUDA_VISIBLE_DEVICES=1,2 ollama run llama3.3:70b", "4xRTX3090"), "pp_size") == "2");
  CHECK(field(on("docker run --gpus 2 ghcr.io/ggml-org/llama.cpp:server-cuda -m "
                 "Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192",
                 "4xRTX3090"),
              "accelerators") == "2");
  const auto pod = read(
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: ghcr.io/ggml-org/llama.cpp:server-cuda\n  "
      "  args: [-m, "
      "Llama-3.3-70B-Instruct-Q4_K_M.gguf, -ngl, '99', -c, '8192']\n    resources: {limits: "
      "{nvidia.com/gpu: 3}}\n",
      "pod.yaml", {{"hardware", "4xRTX3090"}});
  CHECK(field(pod, "accelerators") == "3");
  const auto told = read(serve, "command line", {{"hardware", "4xRTX3090"}, {"tp_size", "2"}});
  CHECK(field(told, "tp_size") == "2");
  CHECK(field(told, "pp_size") == "2");
  // What does not fit lies in host memory, of all devices.
  const auto moved = on("ollama run llama3.3:70b-instruct-q8_0", "2xRTX3090");
  CHECK(std::stod(field(moved, "offload_weights")) > 0.2);  // 75 GB, and 51.5 GB of devices
  CHECK(std::stod(field(moved, "offload_weights")) < 0.6);
  CHECK(fit_of(moved, standard_zoo()).fits);
}

TEST_CASE("launchers start a rank on every device that they see", "[launch]") {
  const std::string words =
      " train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --bf16 True "
      "--model_max_length 2048";
  const auto on = [&](const std::string& before, const std::string& machine) {
    return read(before + words, "command line", {{"hardware", machine}});
  };
  for (const std::string before : {"CUDA_VISIBLE_DEVICES=0,1 accelerate launch",
                                   "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node gpu",
                                   "docker run -e CUDA_VISIBLE_DEVICES=0,1 x accelerate launch"}) {
    const auto launch = on(before, "RTX4090");
    CHECK(field(launch, "accelerators") == "2");
    CHECK(field(launch, "batch_size") == "4");
  }
  const auto all = on("deepspeed", "4xV100");
  CHECK(field(all, "accelerators") == "4");
  CHECK(field(all, "batch_size") == "8");
  CHECK(field(on("accelerate launch", "DGX_H100"), "accelerators") == "8");
  // A count that the launch states is the count, and the other devices are idle.
  const auto some = on("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 1", "4xV100");
  CHECK(field(some, "accelerators") == "1");
  CHECK(field(some, "hardware") == "V100");
  CHECK(field(on("accelerate launch", "RTX4090"), "accelerators") == "1");
}

TEST_CASE("the usual names of DeepSpeed's files say what lies in host memory", "[launch]") {
  const auto fields = [](const std::string& file) {
    return read(
        "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 1\nsequence_len: 2048\nbf16: true\ndeepspeed: " +
            file + "\n",
        "recipe.yml", {{"hardware", "H100"}, {"accelerators", "8"}});
  };
  const auto both = fields("examples/deepspeed/ds_z3_offload_config.json");
  CHECK(field(both, "zero_stage") == "3");
  CHECK(field(both, "offload_states") == "1");
  CHECK(field(both, "offload_weights") == "1");
  CHECK(std::any_of(both.notes.begin(), both.notes.end(), [](const std::string& note) {
    return note.find("optimizer states and weights in host memory") != std::string::npos;
  }));
  const auto all = fields("deepspeed_configs/zero3_bf16_cpuoffload_all.json");
  CHECK(field(all, "offload_states") == "1");
  CHECK(field(all, "offload_weights") == "1");
  const auto weights = fields("deepspeed_configs/zero3_bf16_cpuoffload_params.json");
  CHECK(field(weights, "offload_states").empty());
  CHECK(field(weights, "offload_weights") == "1");
  const auto none = fields("examples/deepspeed/ds_z3_no_offload.json");
  CHECK(field(none, "zero_stage") == "3");
  CHECK(field(none, "offload_states").empty());
  CHECK(field(none, "offload_weights").empty());
  const auto second = fields("zero2_offload.json");
  CHECK(field(second, "zero_stage") == "2");
  CHECK(field(second, "offload_states") == "1");
  CHECK(field(second, "offload_weights").empty());
}

TEST_CASE("a cache whose bytes are given is held against the device", "[launch]") {
  const auto fit = [](const std::string& bytes) {
    return fit_of(
        read("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 --kv-cache-memory-bytes " +
                 bytes,
             "command line", {{"hardware", "L4"}}),
        standard_zoo());
  };
  // 16.1 GB of weights and 12.9 GB of cache are more than 24 GB.
  const auto large = fit("12G");
  CHECK_FALSE(large.fits);
  CHECK(large.summary.find("12.9 GB that is asked for") != std::string::npos);
  REQUIRE_FALSE(large.changes.empty());
  CHECK(large.changes.front().change.find("a cache of at most") == 0);
  // 3 GiB have room beside them, and the share of the engine has no say: 24576 tokens of 131072 B, less a
  // block.
  const auto small = fit("3G");
  CHECK(small.fits);
  CHECK(small.requests == 2);
  CHECK(std::none_of(small.items.begin(), small.items.end(), [](const FitItem& item) {
    return item.what.find("gpu_memory_utilization") != std::string::npos;
  }));
}

TEST_CASE("llama.cpp takes the length of the model where nothing limits its context", "[launch]") {
  const auto& zoo = standard_zoo();
  const auto on = [&](const std::string& words, const std::string& device) {
    return read("llama-server " + words, "command line", {{"hardware", device}});
  };
  // 8.7 GB of weights and 40960 x 147456 B of cache in 25.8 GB.
  for (const std::string length : {"", " -c 0"}) {
    const auto launch = on("-hf Qwen/Qwen3-8B-GGUF:Q8_0 -ngl 99" + length, "RTX4090");
    REQUIRE(launch.serving->context.has_value());
    CHECK(*launch.serving->context == 40960);
    CHECK(field(launch, "seq_len").empty());  // what a request has is not what it may have
    CHECK(fit_of(launch, zoo).requests == 1);
  }
  // 131072 x 131072 B do not fit beside 4.9 GB in 12.9 GB: the engine shortens them to what does.
  const std::string model = "-m Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf -ngl 99";
  const auto shortened = on(model, "RTX3060");
  const double most = shortened.serving->context.value_or(0);
  CHECK(most > 4096);
  CHECK(most < 131072);
  CHECK(std::fmod(most, 256) == 0);
  CHECK(fit_of(shortened, zoo).fits);
  const auto stated = [&](double tokens) {
    return fit_of(on(model + " -c " + std::to_string(static_cast<int>(tokens)), "RTX3060"), zoo).fits;
  };
  CHECK(stated(most));
  CHECK_FALSE(stated(most + 256));
  CHECK(on(model + " --fit off", "RTX3060").serving->context == 131072);
  // Ollama gives a request 4096 tokens unless it is told otherwise.
  CHECK(read("ollama run qwen3:8b").serving->context == 4096);
}

TEST_CASE("commands that a scheduler or a terminal starts are read", "[launch]") {
  for (const auto* text : {"sbatch --nodes 1 --wrap=\"vllm serve Qwen/Qwen3-8B -tp 2\"",
                           "sbatch --wrap 'vllm serve Qwen/Qwen3-8B -tp 2'",
                           "tmux new-session -d -s 'my server' 'vllm serve Qwen/Qwen3-8B -tp 2'",
                           "tmux send-keys -t x 'vllm serve Qwen/Qwen3-8B -tp 2' Enter",
                           "python3 -m dynamo.trtllm --model-path Qwen/Qwen3-8B --tensor-parallel-size 2"}) {
    const auto launch = read(text);
    CHECK(field(launch, "workload") == "Qwen3_8B");
    CHECK(field(launch, "tp_size") == "2");
  }
  // A macro of llama-swap stands for the beginning of a command.
  const auto swap = read(
      "macros:\n  srv: /app/llama-server --port ${PORT} -ngl 99\nmodels:\n  q:\n    cmd: |\n      ${srv}\n"
      "      -m Qwen3-8B-Q4_K_M.gguf -c 8192\n",
      "swap.yaml");
  CHECK(field(swap, "workload") == "Qwen3_8B");
  CHECK(swap.serving->context == 8192);
  // Names of programs that are not read.
  CHECK(refusal("trtllm-bench --model x build").find("trtllm-bench") != std::string::npos);
  CHECK(refusal("python -m sglang.bench_serving --model x").find("sglang.bench_serving") !=
        std::string::npos);
}

TEST_CASE("the old form of a file of DeepSpeed turns on the first stage", "[launch]") {
  const Fields fields{{"hardware", "H100"}, {"workload", "Llama3_8B"}, {"accelerators", "8"}};
  const std::string rest = R"("train_batch_size": 8, "bf16": {"enabled": true}})";
  CHECK(field(read(R"({"zero_optimization": true, )" + rest, "ds.json", fields), "zero_stage") == "1");
  CHECK(field(read(R"({"zero_optimization": {"stage": 2}, )" + rest, "ds.json", fields), "zero_stage") ==
        "2");
}

TEST_CASE("vLLM moves layers to the host, and keeps embedding and output matrix on the device", "[launch]") {
  const auto moved = read("vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ -tp 2 --cpu-offload-gb 10");
  // 21.5 GB are asked for; layers have 16.2 of 19.3 GB, beside 2 x 152064 x 5120 x 2 B.
  CHECK(std::stod(field(moved, "offload_weights")) == Approx(16.2 / 19.3).epsilon(0.01));
}
