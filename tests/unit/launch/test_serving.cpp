// Launches of servers: the mode of their models, memory that flags state, and what an engine would refuse.
#include "reading.hpp"

#include <support/catch.hpp>

#include <launch/detail/flag_table.hpp>

#include <mlsysim/engine/detail/checkpoints.hpp>
#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>

using namespace mlsysim;
using namespace launches;
using Catch::Matchers::Contains;

namespace {

double number(const Launch& launch, const std::string& name) { return std::stod(field(launch, name)); }

double held(const Fit& fit, std::string_view part) {
  double out = 0;
  for (const auto& item : fit.items)
    if (item.part == part) out += item.bytes.base();
  return out;
}

}  // namespace

TEST_CASE("a server of a model that generates no tokens has one pass", "[launch]") {
  const std::string flags =
      " --max-model-len 448 --kv-cache-dtype fp8 --gpu-memory-utilization 0.5 --max-num-batched-tokens 4096";
  for (const auto* model : {"BAAI/bge-m3", "BAAI/bge-reranker-v2-m3"}) {
    INFO(model);
    const auto launch = read(std::string("vllm serve ") + model + flags);
    CHECK(launch.mode == Mode::infer);
    CHECK(field(launch, "mode") == "infer");
    for (const auto* idle : {"kv_precision", "memory_fraction", "prefill_chunk_tokens"})
      CHECK(field(launch, idle).empty());
    const auto built = launch.build(standard_zoo());
    CHECK(SystemEvaluator::evaluate(built.scenario).passed_all());
    CHECK(fit_of(launch, standard_zoo()).fits);
  }
  // An encoder and its decoder answer token by token, and hold what the encoder has read of each request.
  for (const auto* model : {"Qwen/Qwen3-8B", "openai/whisper-large-v3"}) {
    const auto generates = read(std::string("vllm serve ") + model + flags);
    CHECK(field(generates, "mode") == "serve");
    CHECK(field(generates, "kv_precision") == "fp8");
    CHECK(SystemEvaluator::evaluate(generates.build(standard_zoo()).scenario).passed_all());
  }
  const auto fit = fit_of(read("vllm serve openai/whisper-large-v3" + flags), standard_zoo());
  CHECK(fit.fits);
  // 32 layers, keys and values of 1,280 in one byte: 1,500 frames of the encoder, 448 tokens of the answer.
  const double each = 32.0 * 2 * 1280 * (1500 + 448);
  const double most = held(fit, "pool") / each;  // but for a block that stays empty
  CHECK((fit.requests <= most && fit.requests > most - 2));
}

TEST_CASE("the bytes of a cache are in the plan", "[launch]") {
  const auto launch = read(
      "vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes 20G --gpu-memory-utilization "
      "0.5",
      "command line", {{"hardware", "A100"}});
  CHECK(field(launch, "kv_cache_memory") == "21474836480 B");
  CHECK(field(launch, "memory_fraction").empty());
  CHECK(finding(launch, "gpu-memory-utilization").use == FlagUse::ignored);
  // 20 GiB at 147,456 B a token are 145,635 tokens: 17 requests of 8192.
  const auto fit = fit_of(launch, standard_zoo());
  CHECK(fit.requests == 17);
  const auto card = SystemEvaluator::evaluate(launch.build(standard_zoo()).scenario);
  CHECK(card.performance.find("max_active_requests")->number() == Approx(17).margin(1));
  // More than the device has left: no request fits, in either answer.
  const auto large = read("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes 80G",
                          "command line", {{"hardware", "A100"}});
  CHECK_FALSE(fit_of(large, standard_zoo()).fits);
  CHECK_FALSE(SystemEvaluator::evaluate(large.build(standard_zoo()).scenario).passed_all());
}

TEST_CASE("flags in the forms in which the logs of vLLM give them", "[launch]") {
  CHECK(field(read("vllm serve Qwen/Qwen3-8B --kv-cache-memory=4294967296"), "kv_cache_memory") ==
        field(read("vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 4294967296"), "kv_cache_memory"));
  CHECK(field(read("vllm serve Qwen/Qwen3-8B -O0"), "execution") == "eager");
  for (const auto& f : read("vllm serve Qwen/Qwen3-8B -O3").findings)
    CHECK(f.what.find("not in the table") == std::string::npos);
}

TEST_CASE("a server that sees fewer devices than it has ranks is refused", "[launch]") {
  const std::string serve = "vllm serve meta-llama/Llama-3.3-70B-Instruct --max-model-len 8192 -tp 4";
  CHECK_THAT(refusal("CUDA_VISIBLE_DEVICES=0,1 " + serve), Contains("mlsysim.launch.015"));
  CHECK(number(read("CUDA_VISIBLE_DEVICES=0,1,2,3 " + serve), "accelerators") == 4);
  CHECK(number(read("CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 " + serve), "accelerators") == 4);
  CHECK_THAT(refusal("docker run --gpus 2 vllm/vllm-openai --model meta-llama/Llama-3.3-70B-Instruct -tp 4"),
             Contains("mlsysim.launch.015"));
  const std::string compose =
      "services:\n  vllm:\n    image: vllm/vllm-openai:latest\n    command: --model "
      "Qwen/Qwen2.5-72B-Instruct "
      "--tensor-parallel-size 4\n    deploy:\n      resources:\n        reservations:\n          devices:\n"
      "            - driver: nvidia\n              device_ids: ['0', '3']\n              capabilities: "
      "[gpu]\n";
  CHECK_THAT(refusal(compose, "compose.yaml"), Contains("mlsysim.launch.015"));
  // Machines that the text does not show hold the other ranks.
  CHECK(number(read("ray start --head\nCUDA_VISIBLE_DEVICES=0,1 " + serve), "accelerators") == 4);
  CHECK(number(read("CUDA_VISIBLE_DEVICES=0,1 " + serve + " --nnodes 2"), "accelerators") == 4);
}

TEST_CASE("requests longer than the positions of a model are refused", "[launch]") {
  const std::string serve = "vllm serve google/gemma-2-9b-it --max-model-len 16384";
  CHECK_THAT(refusal(serve), Contains("mlsysim.launch.015"));
  CHECK(refusal("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 " + serve).empty());
  CHECK(refusal("docker run -e VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm/vllm-openai --model google/gemma-2-9b-it "
                "--max-model-len 16384")
            .empty());
  CHECK_THAT(refusal("VLLM_ALLOW_LONG_MAX_MODEL_LEN=0 " + serve), Contains("mlsysim.launch.015"));
  const std::string sglang =
      "python -m sglang.launch_server --model-path google/gemma-2-9b-it --context-length 16384";
  CHECK_THAT(refusal(sglang), Contains("mlsysim.launch.015"));
  CHECK(refusal("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 " + sglang).empty());
  CHECK(refusal("vllm serve google/gemma-2-9b-it --max-model-len 8192").empty());
}

TEST_CASE("llama.cpp divides layers by the shares of a launch", "[launch]") {
  const Fields two{{"hardware", "RTX4090"}, {"accelerators", "2"}};
  const std::string serve = "llama-server -m Qwen2.5-72B-Instruct-Q4_K_M.gguf -ngl 999 -c 8192";
  const auto even = fit_of(read(serve, "command line", two), standard_zoo()),
             uneven = fit_of(read(serve + " -ts 3,1", "command line", two), standard_zoo());
  CHECK(even.fits);
  CHECK_FALSE(uneven.fits);
  CHECK(held(uneven, "weights") == Approx(1.5 * held(even, "weights")));  // 3/4 in place of 1/2
  CHECK(held(uneven, "total") > held(uneven, "capacity"));
}

TEST_CASE("patterns place tensors in host memory", "[launch]") {
  const Fields card{{"hardware", "RTX4090"}};
  const auto experts = [&](const std::string& pattern) {
    return read("llama-server -hf unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M -ngl 99 -c 8192 -ot \"" + pattern + "\"",
                "command line", card);
  };
  CHECK(number(experts("exps=CPU"), "offload_experts") == Approx(1));
  CHECK(number(experts(R"(\.ffn_.*_exps\.=CPU)"), "offload_experts") == Approx(1));
  // Layers 20 to 29 of 48, and 10 of three matrices of each.
  CHECK(number(experts(R"(blk\.(2[0-9])\.ffn.*=CPU)"), "offload_experts") == Approx(10.0 / 48));
  CHECK(number(experts(R"(\.ffn_(up|down)_exps\.=CPU)"), "offload_experts") == Approx(2.0 / 3));
  // The first pattern that matches wins.
  CHECK(number(experts(R"(blk\.[0-9]\.=CUDA0,exps=CPU)"), "offload_experts") == Approx(38.0 / 48));
  CHECK(finding(experts("(.*)*exps=CPU"), "override-tensor").use == FlagUse::contradicts);
  const auto dense = read(
      "llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192 -ot "
      "\"blk\\.(3[0-9]|4[0-7])\\.ffn.*=CPU\"",
      "command line", card);
  // 18 of 48 layers, of which the feed-forward part holds 0.77 of the weights.
  CHECK(number(dense, "offload_weights") == Approx(18.0 / 48 * 0.77).epsilon(0.02));
}

TEST_CASE("flags of a draft of llama.cpp are known", "[launch]") {
  const auto launch = read(
      "llama-server -m Qwen2.5-72B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192 -md Qwen2.5-0.5B-Instruct-Q8_0.gguf "
      "-ngld 99 --draft-max 16 --draft-min 5 --draft-p-min 0.8 -cd 4096 -devd CUDA0 -ctkd q8_0");
  CHECK(field(launch, "draft_tokens") == "16");
  for (const auto& f : launch.findings) {
    INFO(f.flag);
    CHECK(detail::flag_table(LaunchFormat::llama_cpp).find(f.flag, {}) != nullptr);
  }
}

TEST_CASE("what a launch leaves open is a note, and its image states its release", "[launch]") {
  const auto noted = [](const Launch& launch) {
    return std::any_of(launch.notes.begin(), launch.notes.end(),
                       [](const auto& note) { return note.find("Qwen3-8B.gguf") != std::string::npos; });
  };
  CHECK(noted(read("llama-server -m /models/Qwen3-8B.gguf -c 4096")));
  CHECK(field(read("docker run rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702 vllm serve Qwen/Qwen3-8B",
                   "command line", {{"hardware", "MI300X"}}),
              "engine") == "vllm@0.9.1");
  // The same on each machine of a job, but for its place.
  const std::string node =
      "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --nnodes 2 --node-rank ";
  CHECK(number(read(node + "0\n" + node + "1\n", "serve.sh"), "accelerators") == 16);
  // Variables of other programs make no submission to MLPerf.
  CHECK_THAT(refusal("NGPU=8 CONFIG_FILE=llama3_8b.toml ./start.sh", "run.sh"),
             Contains("mlsysim.launch.003"));
  // What a shell would compute is one word, wherever it stands.
  CHECK(
      field(
          read("PORT=$(shuf -i 8000-9000 -n 1)\nvllm serve Qwen/Qwen3-8B --port $PORT --max-model-len 4096"),
          "accelerators") == "1");
}

TEST_CASE("a checkpoint has the positions of its own configuration", "[launch]") {
  const std::string flag = " --max-model-len ";
  for (const auto& [name, positions] : {std::pair("meta-llama/Meta-Llama-3-8B-Instruct", 8192),
                                        {"unsloth/llama-3-8b-Instruct-bnb-4bit", 8192},
                                        {"neuralmagic/Meta-Llama-3-70B-Instruct-FP8", 8192},
                                        {"meta-llama/Llama-3.1-8B-Instruct", 131072},
                                        {"Llama3_8B", 131072},
                                        {"Qwen/Qwen3-4B", 40960},
                                        {"Qwen/Qwen3-4B-Instruct-2507", 262144},
                                        {"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", 262144},
                                        {"Qwen/Qwen2.5-7B", 131072},
                                        {"Qwen/Qwen2.5-7B-Instruct", 32768},
                                        {"Qwen/Qwen2.5-Coder-32B-Instruct-AWQ", 32768},
                                        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 131072},
                                        {"moonshotai/Kimi-K2-Instruct-0905", 262144}}) {
    INFO(name);
    const std::string serve = std::string("vllm serve ") + name;
    CHECK(refusal(serve + flag + std::to_string(positions)).empty());
    CHECK_THAT(refusal(serve + flag + std::to_string(positions + 1)), Contains("mlsysim.launch.015"));
    // Without a length, the engine starts for all of them.
    CHECK(read(serve).serving->positions == positions);
  }
  // What the caller names is what it is.
  CHECK(read("vllm serve meta-llama/Meta-Llama-3-8B", "x", {{"hardware", "H100"}, {"workload", "Llama3_8B"}})
            .serving->positions == 131072);
}

TEST_CASE("every checkpoint with positions of its own is one of an entry that has others", "[launch]") {
  const auto file = YAML::LoadFile(std::string(MLSYSIM_SOURCE_DIR) + "/zoo/launch/checkpoints.yaml");
  std::size_t rows = 0;
  for (const auto& row : file["positions"])
    for (const auto& name : row.second) {
      INFO(name.as<std::string>());
      const auto model = detail::model_of(name.as<std::string>(), standard_zoo());
      REQUIRE_FALSE(model.entry.empty());
      // A copy that follows instructions may have those of the entry, and its base others.
      if (!name.as<std::string>().ends_with("-Instruct"))
        CHECK(standard_zoo().at<Workload>(model.entry).max_positions != row.first.as<double>());
      CHECK(detail::positions_of(model.checkpoint) == row.first.as<double>());
      ++rows;
    }
  CHECK(rows > 40);
}

TEST_CASE("a server of vectors or scores takes no steps", "[launch]") {
  for (const std::string words :
       {"vllm serve Qwen/Qwen3-8B --task embed", "vllm serve Qwen/Qwen3-8B --runner pooling",
        "vllm serve Qwen/Qwen3-8B --convert classify",
        "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --is-embedding",
        "llama-server -m Qwen3-8B-Q8_0.gguf --embeddings --pooling last"}) {
    INFO(words);
    const auto launch = read(words);
    CHECK(field(launch, "output_tokens") == "1");
    CHECK_NOTHROW(launch.build(standard_zoo()));
  }
  CHECK(field(read("vllm serve Qwen/Qwen3-8B --task generate"), "output_tokens").empty());
  CHECK(field(read("llama-server -m bge-m3-f16.gguf --embeddings"), "mode") == "infer");
}

TEST_CASE("towers lie in memory where the engine loads them", "[launch]") {
  const auto weights = [](const std::string& text) {
    double towers = 0;
    const auto launch = read(text);
    for (const auto& item : fit_of(launch, standard_zoo()).items)
      if (item.part == "weights" && item.what.find("tower") != std::string::npos) towers += item.bytes.base();
    return std::pair(towers, field(launch, "towers"));
  };
  const auto none = std::pair(0.0, std::string("false"));
  CHECK(weights("llama-server -m Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192") == none);
  CHECK(weights("llama-server -hf ggml-org/Qwen2.5-VL-7B-Instruct-GGUF --no-mmproj -ngl 99 -c 8192") == none);
  CHECK(weights("vllm serve Qwen/Qwen2.5-VL-7B-Instruct --language-model-only --max-model-len 8192") == none);
  for (const std::string words :
       {"llama-server -m Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf --mmproj m.gguf -ngl 99 -c 8192",
        "llama-server -hf ggml-org/Qwen2.5-VL-7B-Instruct-GGUF -ngl 99 -c 8192", "ollama run qwen2.5vl:7b",
        "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 8192"}) {
    INFO(words);
    CHECK(weights(words).first > 3e8);  // 0.67 G of weights, 4 bits at least
    CHECK(weights(words).second.empty());
  }
  // A model of words has none to leave out.
  CHECK(field(read("llama-server -m Qwen3-8B-Q8_0.gguf -c 4096"), "towers").empty());
  const auto answer = [](const std::string& text) {
    return *SystemEvaluator::evaluate(read(text).build(standard_zoo()).scenario)
                .feasibility.find("memory_used");
  };
  const std::string vllm = "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 8192";
  CHECK(std::get<double>(answer(vllm).value) >
        std::get<double>(answer(vllm + " --language-model-only").value) + 1.2e9);
}

TEST_CASE("a launch on a part of a rack runs on its devices", "[launch]") {
  const auto part = read("vllm serve deepseek-ai/DeepSeek-R1 -tp 4", "x", {{"hardware", "GB200 NVL72"}});
  CHECK(field(part, "hardware") == "GB200");
  CHECK(number(part, "accelerators") == 4);
  CHECK_NOTHROW(part.build(standard_zoo()));
}
