#pragma once
// How tokens travel to experts on other ranks: from a request into a plan and the structure of its phases.

#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim::detail {

/// Bytes of a value on its way, with its part of a scale: 4 B for 128 values of 8 bits (deepseek-v3-report,
/// section 3.3.2), 1 B for 16 of 4 (nvfp4).
[[nodiscard]] inline double travelling_bytes(Precision format) {
  const double bytes = bytes_per_element(format);
  return bytes >= 2 ? bytes : bytes < 1 ? bytes + 1.0 / 16 : bytes + 4.0 / 128;
}

/// Sets the expert exchange as the request states it, else by the default of the request's phase. It is set
/// for every mixture of experts, whatever the degrees, since these are inputs of one law. Notes are only for
/// experts on several ranks.
/// @param ranks between which the experts are divided
/// @param narrow serving multiplies in 8 bits or fewer, so that tokens are quantized before they travel
/// (deepseek-v3-report, section 3.3.3); training frameworks send what they keep, 16 bits at least
/// @param copies what is noted where nothing is said
template <class In>
void set_expert_exchange(const In& in, double ranks, bool narrow, std::string_view copies, Plan<>& plan,
                         Structure& s, Notes& notes) {
  if (s.moe) {
    s.expert_overlap = in.expert_overlap;
    s.expert_copies = in.expert_copies.value_or(ExpertCopies::per_node);
    plan.rank_imbalance = in.rank_imbalance.value_or(0);
    if (in.dispatch_precision || narrow)
      plan.dispatch_bytes = travelling_bytes(in.dispatch_precision.value_or(Precision::fp8)) * unit::B;
  }
  if (!s.moe || ranks <= 1)
    return warn_of_idle(in, {"dispatch_precision", "expert_copies", "expert_overlap", "rank_imbalance"},
                        "where no experts lie on other ranks", notes);
  if (!in.dispatch_precision && narrow)
    notes.assume(
        "dispatch_precision", Precision::fp8,
        "products take 8 bits or fewer: tokens are quantised before they travel (deepseek-v3-report)");
  else if (!in.dispatch_precision)
    notes.assume("dispatch_precision", "that of the activations", "nothing is quantised before it travels");
  if (!in.expert_copies) notes.assume("expert_copies", copies, "deepep-readme: kernels for many and for few");
  if (!in.rank_imbalance)
    notes.assume("rank_imbalance", "that of chance", "even routing (blom1958statistical)");
  if (in.expert_overlap == ExpertOverlap::none)
    notes.assume("expert_overlap", ExpertOverlap::none, "the exchange is waited for");
}

}  // namespace mlsysim::detail
