#pragma once
// Parts of an explanation that are lists of figures: of the device, of what was assumed, of memory, of the
// first token.

#include <mlsysim/engine/explain.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Figures of the device behind a derivation, each with its source.
[[nodiscard]] std::vector<DeviceFigure> figures_of(const HardwareNode& hardware, Precision precision);
[[nodiscard]] std::string figures_text(std::span<const DeviceFigure> figures);
/// Each assumption once.
[[nodiscard]] std::string assumptions_text(const NoteBook& book);
[[nodiscard]] std::string memory_text(const MemoryBreakdown<>& memory);
/// "network", with the way that a collective over several levels takes.
[[nodiscard]] std::string limit_of_network(const Op<>& op, const Links<>& links);
/// The parts of a pass whose operators are not listed.
[[nodiscard]] std::string whole_pass_text(const InferencePassModel::Result& a);
/// The terms of the first token that there are.
[[nodiscard]] std::string first_token_text(const ServingEstimate<>& numbers);

}  // namespace mlsysim::detail
