#pragma once
/// Names the bottleneck of an estimate: the longest part of its time.
///
/// Parts are compute, memory, network and overhead, of the time between tokens also the prompts of other
/// requests, of a training step also the pipeline bubble. Training and inference that do not fit in memory
/// are limited by capacity. Network includes the host link.
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

/// The limit in words that follow "limited by": "memory bandwidth".
[[nodiscard]] std::string_view limit_words(Bottleneck limit);

/// A part of a time: the number of the estimate, and words for a reader.
struct TimePart {
  std::string_view name, words;
};
/// The parts of `ttft`, `itl`, `step_latency` or `latency`, as the limits above compare them. The longest is
/// what limits the time. Empty for any other number.
[[nodiscard]] std::span<const TimePart> parts_of_time(std::string_view metric);

}  // namespace mlsysim
