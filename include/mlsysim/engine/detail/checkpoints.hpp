#pragma once
/// Checkpoints of models: zoo/launch/checkpoints.yaml.
///
/// Example: "llama 3 8b instruct" has 8,192 positions; the entry of its shape, Llama3_8B, has 131,072.

#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// The repository from which engines download a model of the zoo; the name itself where none is known.
[[nodiscard]] std::string repository_of(const std::string& model);
/// Positions that a checkpoint states, where they may be others than those of the entry that has its shape.
/// @param checkpoint as ModelName has it
[[nodiscard]] std::optional<double> positions_of(std::string_view checkpoint);

}  // namespace mlsysim::detail
