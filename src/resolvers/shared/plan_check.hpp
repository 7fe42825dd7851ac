#pragma once
// Degrees that a model cannot be divided by.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/workload.hpp>

#include <string_view>

namespace mlsysim::detail {

/// How a model is divided. What a resolver does not know stays 1.
struct Degrees {
  double tp = 1, pp = 1, ep = 1;
  double expert_tp = tp;  ///< devices that share a routed expert
  double cp = 1, v_stages = 1;
  bool sequence_parallel = true;

  /// Ranks between which the sequences of a replica are divided, see Plan::sequence_ranks.
  [[nodiscard]] double sequence_ranks() const { return ep * expert_tp / tp; }
  /// Devices of a replica.
  [[nodiscard]] double replica() const { return tp * pp * sequence_ranks() * cp; }
};

/// Checks how experts are folded over the devices of a layer.
/// @throws DomainError where their groups do not divide each other
void check_folding(const Degrees& degrees);

/// Checks degrees against what the model has: heads, layers, experts, tokens of a sequence.
///
/// Uneven divisions are priced as the fullest device has it, with a warning.
/// @throws DomainError where a device would have no part of the model at all
void check_degrees(const Workload& workload, const Degrees& degrees, double seq_len, Notes& notes);

/// Refuses a workload that makes no tokens one after the other.
/// @param field the input that names it
/// @throws InputError
void require_tokens(const Workload& workload, std::string_view field);

/// Devices that share each layer of a draft model: those that share its target's, one where it has fewer
/// heads. Noted.
[[nodiscard]] double draft_degree(const Workload& draft, double tp_size, Notes& notes);

}  // namespace mlsysim::detail
