#pragma once
/// Names the bottleneck of an estimate: the longest of its compute, memory, network and overhead times.
///
/// Training and inference that do not fit in memory are limited by capacity. Overhead of a training step is
/// the longer of launches and pipeline bubble. Network includes the host link.
///
/// Example: decode with 0.9 ms compute, 6.5 ms memory, 1.7 ms network, 2.0 ms overhead: `Bottleneck::memory`.

#include <mlsysim/estimate/inference.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/estimate/training.hpp>

#include <span>
#include <string_view>

namespace mlsysim {

[[nodiscard]] Bottleneck prefill_limit(const ServingEstimate<>& numbers);
[[nodiscard]] Bottleneck decode_limit(const ServingEstimate<>& numbers);
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
