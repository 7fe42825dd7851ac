#include "resolvers/shared/pass_budget.hpp"

#include "resolvers/shared/figures.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/specs/serving_engine.hpp>

namespace mlsysim::detail {

double pass_tokens(std::optional<double> asked, const ServingEngine* engine, const HardwareNode& hardware,
                   Notes& notes) {
  if (asked) return *asked;
  const auto capacity = hardware.memory.capacity;
  if (engine == nullptr || !engine->memory || engine->memory->steps.empty() || !capacity) {
    Notes quiet;
    const double tokens = number("catalogue.serving.chunk_tokens", quiet);
    notes.assume("prefill_chunk_tokens", tokens,
                 "most tokens of a pass of vLLM and TensorRT-LLM on large devices (vllm-engine-arguments), "
                 "zoo/catalogue.yaml");
    return tokens;
  }
  const double tokens = batched_tokens(*engine->memory, *capacity);
  if (notes.wanted())
    notes.assume("prefill_chunk_tokens", tokens, "what " + engine->name + " prepares for, zoo/runtimes");
  return tokens;
}

std::optional<double> captured_requests(const ServingEngine* engine, const HardwareNode& hardware,
                                        double tp_size) {
  const auto capacity = hardware.memory.capacity;
  if (engine == nullptr || !engine->memory || !capacity) return std::nullopt;
  return graph_requests(*engine->memory, *capacity, tp_size);
}

}  // namespace mlsysim::detail
