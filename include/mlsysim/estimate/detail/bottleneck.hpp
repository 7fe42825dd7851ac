#pragma once
/// Bottleneck of an estimate: the longest of its compute, memory, network and overhead times, or capacity.

#include <mlsysim/estimate/inference.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/estimate/training.hpp>

#include <span>
#include <string_view>

namespace mlsysim {

[[nodiscard]] Bottleneck prefill_limit(const ServingEstimate<>& numbers);
[[nodiscard]] Bottleneck decode_limit(const ServingEstimate<>& numbers);
/// The network is all links of a device, that to host memory too.
[[nodiscard]] Bottleneck step_limit(const TrainingEstimate<>& numbers);
[[nodiscard]] Bottleneck inference_limit(const InferenceEstimate<>& numbers);

/// A part of a time: the number of the estimate, and words for a reader.
struct TimePart {
  std::string_view name, words;
};
/// The parts of `ttft`, `itl`, `step_latency` or `latency`: arithmetic, memory, network, overhead. The
/// longest is what limits the time. Empty for any other number.
[[nodiscard]] std::span<const TimePart> parts_of_time(std::string_view metric);

}  // namespace mlsysim
