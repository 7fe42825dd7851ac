// How engines divide the memory of a device, worked by hand from their sources (zoo/runtimes names them).

#include "support/catch.hpp"

#include <mlsysim/estimate/cache_rule.hpp>
#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <optional>
#include <vector>

using namespace mlsysim;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024, kMiB = 1024.0 * 1024;
constexpr double kWeights = 2 * 8190735360.0;       // Qwen3-8B in bf16
constexpr double kToken = 36 * 2 * 8 * 128 * 2;     // its cache: 36 layers, keys and values of 8 heads of 128
constexpr double kEmbedding = 2 * 151936.0 * 4096;  // of these weights, apart from the output matrix
constexpr double kReserve = kGiB;                   // context and workspaces, zoo/defaults.yaml

HardwareNode device_of(double gib) {
  HardwareNode d = standard_zoo().at<HardwareNode>("H100");
  d.memory.capacity = gib * unit::GiB;
  return d;
}

MemoryAccount account(const char* engine, const HardwareNode& d, const char* model = "Qwen3_8B",
                      double tp = 1) {
  MemoryQuestion q;
  q.model = &standard_zoo().at<Workload>(model);
  q.device = &d;
  q.context = 4096;
  q.tensor_parallel = tp;
  q.precision = q.kv_precision = Precision::bf16;
  q.engine = &standard_zoo().at<ServingEngine>(engine);
  return memory_account(q, conventions_of(standard_zoo()));
}

double held(const MemoryAccount& a, std::string_view begins) {
  for (const auto& i : a.engine->held)
    if (i.what.starts_with(begins)) return i.bytes / unit::B;
  FAIL("nothing is held that begins with " << begins);
  return 0;
}

double pool(const MemoryAccount& a) { return a.engine->pool / unit::B; }

}  // namespace

TEST_CASE("vLLM takes a share of the whole device", "[model_files]") {
  const auto d = device_of(80);
  const auto a = account("vllm", d);
  const double granted = 80 * kGiB * 0.92;
  CHECK(held(a, "outside gpu_memory_utilization 0.92") == Approx(80 * kGiB - granted).epsilon(1e-9));
  const double work = held(a, "activations of the largest pass, 8192 tokens");
  CHECK(pool(a) == Approx(granted - kWeights - kReserve - work).epsilon(1e-12));
  // Blocks of 16 tokens; one of them holds nothing.
  CHECK(a.engine->tokens == (std::floor(pool(a) / (16 * kToken)) - 1) * 16);
  CHECK(a.engine->fits);
  // Smaller devices prepare for smaller passes, larger ones for larger.
  CHECK(held(account("vllm", device_of(24)), "activations of the largest pass, 2048 tokens") < work);
  CHECK(held(account("vllm", device_of(192)), "activations of the largest pass, 16384 tokens") > work);
}

TEST_CASE("SGLang keeps what its table says and shares the rest", "[model_files]") {
  const auto share = [](double kept, double gib) {
    return std::round((1 - kept * kMiB / (gib * kGiB)) * 1000) / 1000;
  };
  const auto checked = [&](double gib, const char* model, double tp, double kept, double weights) {
    INFO(gib << " GiB, " << model << " over " << tp);
    const auto a = account("sglang", device_of(gib), model, tp);
    const double f = share(kept, gib), free = gib * kGiB - kReserve;
    CHECK(held(a, "outside mem_fraction_static") == Approx(free * (1 - f)).epsilon(1e-12));
    if (weights > 0) {
      CHECK(pool(a) == Approx(free * f - weights).epsilon(1e-12));
      CHECK(a.engine->tokens == std::floor(pool(a) / kToken));  // pages of one token
    }
  };
  // 512 always, 1.5 for each of 8192 tokens, 128 a rank, 2 for each of 256 captured requests.
  checked(80, "Qwen3_8B", 1, 512 + 1.5 * 8192 + 128 + 2 * 256, kWeights);
  // The share that the engine's own documentation gives for eight ranks: about 0.81.
  checked(80, "Qwen3_8B", 8, 512 + 1.5 * 8192 + 1024 + 2 * 512, 0);
  CHECK(share(512 + 1.5 * 8192 + 1024 + 2 * 512, 80) == Approx(0.81).margin(0.01));
  // Graphs of prompts with latent attention.
  checked(80, "DeepSeek_V3", 8, 512 + 1.5 * 8192 + 1024 + 2 * 512 + 1536, 0);
  checked(24, "Qwen3_8B", 1, 512 + 1.5 * 4096 + 128 + 2 * 48, kWeights);
  // On large devices ten gibibytes at least, and what the table says is more.
  checked(64, "Qwen3_8B", 1, 512 + 1.5 * 8192 + 128 + 2 * 256, kWeights);
}

TEST_CASE("recurrent states leave SGLang's pool, and share that of the others", "[model_files]") {
  const auto d = device_of(192);
  const auto sglang = account("sglang", d, "Qwen3_5_27B"), vllm = account("vllm", d, "Qwen3_5_27B");
  const double state = sglang.sum(MemoryPart::state) / unit::B;
  CHECK(state > 150e6);
  double weights = 0;
  for (const auto& i : sglang.items)
    if (i.part == MemoryPart::weights) weights += i.bytes / unit::B;
  const double kept = held(sglang, "outside mem_fraction_static");
  CHECK(pool(sglang) == Approx(192 * kGiB - kReserve - kept - weights - state).epsilon(1e-12));
  // 4,096 tokens of 65,536 B: a token costs its share of the state too where they share a pool.
  CHECK(sglang.engine->tokens / (pool(sglang) / 65536) == Approx(1).epsilon(0.07));
  CHECK(vllm.engine->tokens / (pool(vllm) / (65536 + state / 4096)) == Approx(1).epsilon(0.07));
}

TEST_CASE("TensorRT-LLM shares what is left, llama.cpp keeps a margin", "[model_files]") {
  const auto d = device_of(80);
  const auto trt = account("trtllm", d), llama = account("llama.cpp", d);
  const double work = held(trt, "activations of the largest pass, 8192 tokens");
  CHECK(pool(trt) == Approx(0.9 * (80 * kGiB - kWeights - kReserve - work)).epsilon(1e-12));
  CHECK(held(trt, "outside free_gpu_memory_fraction 0.9") == Approx(pool(trt) / 9).epsilon(1e-9));
  CHECK(trt.engine->tokens == std::floor(pool(trt) / (32 * kToken)) * 32);
  const double small = held(llama, "activations of the largest pass, 512 tokens");
  CHECK(held(llama, "margin of --fit-target") == kGiB);
  // llama.cpp reads the embedding in host memory.
  CHECK(pool(llama) == Approx(80 * kGiB - (kWeights - kEmbedding) - kReserve - small - kGiB).epsilon(1e-12));
  CHECK(llama.engine->tokens == std::floor(pool(llama) / (256 * kToken)) * 256);
}

TEST_CASE("requests and their memory are those of one expert-parallel rank", "[model_files]") {
  const auto d = device_of(140);
  const auto with = [&](double ranks) {
    MemoryQuestion q;
    q.model = &standard_zoo().at<Workload>("Qwen3_30B_A3B");
    q.device = &d;
    q.requests = 16;
    q.expert_parallel = ranks;
    q.engine = &standard_zoo().at<ServingEngine>("vllm");
    return memory_account(q, conventions_of(standard_zoo()));
  };
  const auto one = with(1), eight = with(8);
  for (const auto part : {MemoryPart::cache, MemoryPart::logits})
    CHECK(eight.sum(part).base() == Approx(one.sum(part).base()).epsilon(1e-12));
  CHECK(eight.sum(MemoryPart::weights) < one.sum(MemoryPart::weights) * 0.3);
  CHECK(eight.engine->pool > one.engine->pool);
  CHECK(eight.engine->tokens > one.engine->tokens);
  CHECK(eight.engine->tokens < 4 * one.engine->tokens);
}

TEST_CASE("what was said to an engine goes before what it does by itself", "[model_files]") {
  const auto d = device_of(80);
  MemoryQuestion q;
  q.model = &standard_zoo().at<Workload>("Qwen3_8B");
  q.device = &d;
  q.precision = q.kv_precision = Precision::bf16;
  q.engine = &standard_zoo().at<ServingEngine>("sglang");
  q.shares.fraction = 0.5;
  q.shares.block_tokens = 64;
  const auto& c = conventions_of(standard_zoo());
  auto a = memory_account(q, c);
  CHECK(pool(a) == Approx(0.5 * 79 * kGiB - kWeights).epsilon(1e-12));
  CHECK(a.engine->tokens == std::floor(pool(a) / (64 * kToken)) * 64);
  q.shares.cache = 10 * unit::GiB;
  a = memory_account(q, c);
  CHECK(pool(a) == 10 * kGiB);
  // What is kept is too little for a pass: the engine does not look, so the answer says it.
  q.shares.cache.reset();
  q.shares.fraction = 0.999;
  CHECK_FALSE(memory_account(q, c).engine->notes.empty());
}

TEST_CASE("a policy is data: an engine of one's own, and one whose policy is not known", "[model_files]") {
  const Zoo zoo = load_text(R"(schema: mlsysim/engine@1
entries:
- name: mine
  origin: user
  source: {kind: estimate, recorded: 2026-11-23, spread: 30 %, note: made for a test}
  host_step: 1 ms
  host_request: 10 us
  request_time: 0 ms
  memory:
    version: "1"
    share_of: rest
    knob: share
    share: 0.25
    margin: 2 GiB
    block_tokens: 8
    steps: [{pass_tokens: 1}]
    not_modelled: [everything else]
)",
                            "mine.yaml", standard_zoo());
  const auto d = device_of(80);
  MemoryQuestion q;
  q.model = &standard_zoo().at<Workload>("Qwen3_8B");
  q.device = &d;
  q.precision = q.kv_precision = Precision::bf16;
  q.engine = &zoo.only<ServingEngine>();
  const auto a = memory_account(q, conventions_of(standard_zoo()));
  const double work = held(a, "activations of the largest pass, 1 tokens");
  CHECK(pool(a) == Approx(0.25 * (79 * kGiB - kWeights - work) - 2 * kGiB).epsilon(1e-12));
  CHECK(std::find(a.not_modelled.begin(), a.not_modelled.end(), "mine: everything else") !=
        a.not_modelled.end());
  q.engine = &standard_zoo().at<ServingEngine>("tensorrt_llm_cpp");
  try {
    (void)memory_account(q, conventions_of(standard_zoo()));
    FAIL("an engine without a rule was answered");
  } catch (const InputError& e) {
    CHECK(e.facts().id == "mlsysim.answer.013");
    CHECK(e.facts().key == "tensorrt_llm_cpp");
  }
}

TEST_CASE("a pool is what the engine's share leaves", "[model_files][by_hand]") {
  const PoolDemand<> d{.total = 80.0 * unit::GiB,
                       .weights = 16.0 * unit::GiB,
                       .reserve = 1.0 * unit::GiB,
                       .activations = 2.0 * unit::GiB,
                       .margin = 0.5 * unit::GiB};
  const auto pool = [&](ShareOf of) { return pool_of(of, 0.9, d) / unit::GiB; };
  CHECK(pool(ShareOf::total) == Approx(0.9 * 80 - 16 - 1 - 2 - 0.5));
  CHECK(pool(ShareOf::free) == Approx(0.9 * (80 - 1) - 16 - 0.5));
  CHECK(pool(ShareOf::rest) == Approx(0.9 * (80 - 16 - 1 - 2) - 0.5));
}

TEST_CASE("shares that are tried are whole percents above the one at hand", "[model_files]") {
  CHECK(larger_shares(0.955) == std::vector<double>{0.96, 0.97, 0.98});
  CHECK(larger_shares(0.98).empty());
  const auto usual = larger_shares(std::nullopt);
  CHECK((usual.size() == 9 && usual.front() == 0.9 && usual.back() == 0.98));
}

TEST_CASE("weights that fill a device leave no tokens, and counts have an end", "[model_files]") {
  const auto a = account("vllm", device_of(10));  // of 15 GiB of weights
  CHECK((pool(a) == 0 && a.engine->tokens == 0));
  CHECK_FALSE(a.engine->fits);
  MemoryQuestion q;
  q.model = &standard_zoo().at<Workload>("Qwen3_8B");
  for (const double context : {0.5, 1e12 + 1}) {
    q.context = context;
    CHECK_THROWS_AS(memory_account(q, conventions_of(standard_zoo())), DomainError);
  }
}

TEST_CASE("weights that leave the device are on the host", "[model_files]") {
  const auto d = device_of(80);
  for (const char* name : {"Qwen3_8B", "Mixtral_8x7B"}) {
    MemoryQuestion q;
    q.model = &standard_zoo().at<Workload>(name);
    q.device = &d;
    q.precision = Precision::bf16;
    const auto bytes = [&](MemoryPart part) {
      return memory_account(q, conventions_of(standard_zoo())).sum(part) / unit::B;
    };
    const double whole = bytes(MemoryPart::weights);
    CHECK(bytes(MemoryPart::host) == 0);
    q.offload_weights = 0.25;
    CHECK(bytes(MemoryPart::weights) == Approx(0.75 * whole).epsilon(1e-12));
    CHECK(bytes(MemoryPart::host) == Approx(0.25 * whole).epsilon(1e-12));
    // Of the experts alone: what stays and what goes are the whole still.
    q.offload_weights = 0, q.offload_experts = 0.5;
    CHECK(bytes(MemoryPart::weights) + bytes(MemoryPart::host) == Approx(whole).epsilon(1e-12));
    CHECK((bytes(MemoryPart::host) > 0) == (name == std::string_view("Mixtral_8x7B")));
  }
}
