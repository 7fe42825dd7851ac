#pragma once
/// Refusals of texts that are no launch, or none that is read.

#include "manifest.hpp"

#include <mlsysim/launch/launch.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

inline constexpr Fault kNoLaunch{
    .id = "mlsysim.launch.003",
    .message = "this is no launch that is known",
    .expected =
        "vllm serve, sglang serve, python3 -m sglang.launch_server, trtllm-serve, pretrain_*.py or a script "
        "of "
        "the Trainer with their flags; or a file of TensorRT-LLM, NeMo, DeepSpeed, torchtitan, Accelerate, "
        "axolotl, LLaMA-Factory, torchtune or MLPerf"};

/// Describes the program that a text without a known launch starts, or what its file holds.
[[nodiscard]] std::string unread_program(const LaunchQuestion& question);
/// The advice for a launch that is not read.
[[nodiscard]] std::string what_instead(const LaunchQuestion& q);
/// Refuses a manifest that starts no engine that is read.
[[noreturn]] void refuse_manifest(const Manifest& manifest, std::string_view name);

}  // namespace mlsysim::detail
