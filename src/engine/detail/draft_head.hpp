#pragma once
// Heads that propose tokens for the model that they stand on.

#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// A head as a model of its own.
struct DraftHead {
  Workload model;
  std::string note;  ///< what was taken for it
};
/// The head of this kind on a model: "eagle" is one layer like the model's last, dense in place of experts,
/// "mtp" the model's own draft layers where its entry has them, else as "eagle", "medusa" a square matrix and
/// an output matrix for each token. The others read the model's embedding and output matrix, which take no
/// further memory. Absent for another word. The matrix that joins hidden state and embedding before the
/// layer, 2 hidden^2 weights, is not counted.
/// @cite li2024eagle, section 4; cai2024medusa, section 2.1
[[nodiscard]] std::optional<DraftHead> draft_head(std::string_view kind, const Workload& model);

}  // namespace mlsysim::detail
