#pragma once
// Which laws a question is answered with: read from tapes, so that it is what the code calls.

#include <cstdint>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Recorded estimates (estimate/*.hpp) that a resolver uses; several may be joined.
enum class Question : std::uint8_t {
  none = 0,
  serving = 1,          ///< replicas with a static batch, also with a draft model
  passes = 2,           ///< prompts and decode steps alone
  training = 4,         ///< an optimizer step
  training_memory = 8,  ///< what it holds
  inference = 16,       ///< one batch on one device
  macro = 32,           ///< cost, energy and carbon of a period
  kernels = 64,         ///< the time of one batch on one device, at operator fidelity alone
  node_step = 128,      ///< an optimizer step of devices that each hold the whole model
};
[[nodiscard]] constexpr Question operator|(Question a, Question b) {
  return static_cast<Question>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool asks(Question all, Question one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

/// Ids of the laws on whose results an answer hangs, at either fidelity, in the order in which they are first
/// called: dense models and mixtures, on one device and over pipeline stages, nodes and expert-parallel
/// ranks. Recorded once, some milliseconds.
[[nodiscard]] std::vector<std::string_view> traced_laws(Question question);

}  // namespace mlsysim::detail
