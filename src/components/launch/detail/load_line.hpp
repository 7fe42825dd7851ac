#pragma once
/// The load of a plan as a comment of its launch, and back.
///
/// Engines have no flag for the lengths and the arrivals of requests. A launch that was exported states them
/// in one comment, so that a reader predicts the same load.
///
/// Example: "# load: seq_len 2048, output_tokens 512".

#include <mlsysim/engine/scenario.hpp>

#include <map>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Whether a field of a plan says what arrives.
[[nodiscard]] bool is_load(std::string_view field);
/// The comment with all fields of the load that a plan states, as a line; empty where it states none.
[[nodiscard]] std::string load_line(const Scenario& scenario);
/// The fields that such comments of a launch state; none where a comment has another form.
[[nodiscard]] std::map<std::string, std::string> stated_load(std::string_view launch);

}  // namespace mlsysim::detail
