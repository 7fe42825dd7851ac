#include "answer/engine_memory.hpp"

#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr Data<> kMiB = 1.0 * unit::MiB;
constexpr Data<> kGiB = 1.0 * unit::GiB;

double in_gib(Data<> x) { return x / kGiB; }

/// Largest batch whose decoding SGLang captures as a graph, by memory and ranks (memory_hook.py, 0.5.23).
double sglang_graph_batch(double gib, double tp) {
  if (gib < 20) return 8;
  if (gib < 35) return tp < 4 ? 48 : 160;
  if (gib < 60) return tp < 4 ? 32 : 160;
  if (gib < 160) return tp < 4 ? 256 : 512;
  return 512;
}

/// What SGLang keeps from weights and cache where no share is given (memory_hook.py, 0.5.23).
Data<> sglang_reserve(const EngineDemand& d, double chunk) {
  const double gib = in_gib(d.total);
  double mib = 512 + 1.5 * std::max(chunk, 2048.0) + d.tensor_parallel / 8 * 1024 +
               2 * sglang_graph_batch(gib, d.tensor_parallel);
  if (d.latent) mib += 1536;  // graphs of the prompt
  if (d.total > 61440 * kMiB) mib = std::max(mib, 10240.0);
  return mib * kMiB;
}

}  // namespace

double batched_tokens(MemoryPolicy policy, Data<> total) {
  const double gib = in_gib(total);
  switch (policy) {
    case MemoryPolicy::vllm:  // API server (arg_utils.py, 0.33.0)
      return gib >= 160 ? 16384 : gib >= 70 ? 8192 : 2048;
    case MemoryPolicy::sglang:
      return gib < 20 ? 2048 : gib < 60 ? 4096 : gib < 160 ? 8192 : 16384;
    case MemoryPolicy::tensorrt_llm:
      return 8192;
    case MemoryPolicy::llama_cpp:
      return 512;
    case MemoryPolicy::none:
      break;
  }
  return 1;
}

EngineMemory engine_memory(MemoryPolicy policy, const EngineDemand& d, Data<> activations) {
  EngineMemory out;
  const auto hold = [&](std::string what, Data<> bytes) {
    out.held.push_back({.part = MemoryPart::margin, .what = std::move(what), .bytes = bytes});
  };
  double block = 1, lost = 0;  // tokens of a block, and blocks that hold nothing
  switch (policy) {
    case MemoryPolicy::vllm: {
      const double share = d.shares.fraction.value_or(0.92);
      const Data<> budget = std::ceil(d.total / unit::B * share) * unit::B;
      hold(fmt::format("outside gpu_memory_utilization {}", share), d.total - budget);
      hold("activations of the profiling pass", activations);
      out.pool = budget - d.weights - d.reserve - activations;
      block = 16;
      lost = 1;
      break;
    }
    case MemoryPolicy::sglang: {
      const Data<> kept = sglang_reserve(d, d.shares.pass_tokens.value_or(batched_tokens(policy, d.total)));
      // The share is rounded to three digits before it is applied.
      const double share = d.shares.fraction.value_or(std::round((d.total - kept) / d.total * 1000) / 1000);
      const Data<> free = d.total - d.reserve;
      hold("outside mem_fraction_static, for activations and graphs", free * (1 - share));
      out.pool = free * share - d.weights - d.state;
      break;
    }
    case MemoryPolicy::tensorrt_llm: {
      const Data<> free = d.total - d.weights - d.reserve - activations;
      const double share = d.shares.fraction.value_or(0.9);
      hold(fmt::format("outside free_gpu_memory_fraction {}", share), free * (1 - share));
      hold("activations of the dummy pass", activations);
      out.pool = free * share;
      block = 32;
      break;
    }
    case MemoryPolicy::llama_cpp:
      hold("margin of --fit-target 1024 MiB", kGiB);
      hold("compute buffer of 512 tokens", activations);
      out.pool = d.total - d.reserve - d.weights - activations - kGiB;
      block = 256;
      break;
    case MemoryPolicy::none:
      return out;
  }
  block = d.shares.block_tokens.value_or(block);
  if (d.shares.cache) out.pool = *d.shares.cache;
  const bool apart = policy == MemoryPolicy::sglang;  // its states were taken out before
  const Data<> wanted = d.cache + (apart ? Data<>() : d.state);
  const Data<> token = wanted / (d.requests * d.context);
  out.pool = max(out.pool, Data<>());
  out.tokens = token > Data<>() ? std::max(0.0, std::floor(out.pool / (token * block)) - lost) * block : 0;
  out.fits = out.tokens >= d.requests * std::ceil(d.context / block) * block;
  return out;
}

}  // namespace mlsysim::detail
