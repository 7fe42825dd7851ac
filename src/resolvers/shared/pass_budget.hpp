#pragma once
// Token budget of an engine's passes, and the passes that are captured as graphs.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/hardware.hpp>

#include <optional>

namespace mlsysim {
struct ServingEngine;
}

namespace mlsysim::detail {

/// Prompt tokens that a rank takes in one pass at most: as asked, or what the engine prepares for on such a
/// device, or the convention (noted). `engine` may be null.
/// @cite agrawal2024sarathi; vllm-engine-arguments, max_num_batched_tokens
[[nodiscard]] double pass_tokens(std::optional<double> asked, const ServingEngine* engine,
                                 const HardwareNode& hardware, Notes& notes);

/// Requests of a rank of the largest step that the engine has captured on such a device; none where that is
/// not known, or there is no engine.
[[nodiscard]] std::optional<double> captured_requests(const ServingEngine* engine,
                                                      const HardwareNode& hardware, double tp_size);

}  // namespace mlsysim::detail
