#pragma once
/// What limits an answer, read off its numbers: the longest of the times that it is made of.

#include <mlsysim/answer/inference.hpp>
#include <mlsysim/answer/serving.hpp>
#include <mlsysim/answer/training.hpp>

namespace mlsysim {

[[nodiscard]] Bottleneck prefill_limit(const ServingEstimate<>& numbers);
[[nodiscard]] Bottleneck decode_limit(const ServingEstimate<>& numbers);
/// The network is all links of a device, that to host memory too.
[[nodiscard]] Bottleneck step_limit(const TrainingEstimate<>& numbers);
[[nodiscard]] Bottleneck inference_limit(const InferenceEstimate<>& numbers);

}  // namespace mlsysim
