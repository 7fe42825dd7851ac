#pragma once
// The guard rails of a compression, for the model that judges one and the optimizer that compares many.

#include <mlsysim/resolver_api/score.hpp>
#include <mlsysim/resolvers/models/compression.hpp>

#include <cmath>

namespace mlsysim::detail {

/// The guard rails that `in` names, with what a compression makes of them; in order of their weight.
template <class In>
[[nodiscard]] InlineList<Constraint, 8> guard_rails(const In& in, const CompressionModel::Result& r) {
  InlineList<Constraint, 8> out;
  if (in.size_limit) out.push_back(at_most("model_size", r.compressed_size, *in.size_limit));
  // A loss that is not known may be all of it.
  if (in.max_accuracy_drop)
    out.push_back(
        at_most("quality", std::abs(r.estimated_accuracy_delta.value_or(1.0)), *in.max_accuracy_drop));
  if (in.min_speedup) out.push_back(at_least("speedup", r.inference_speedup, *in.min_speedup));
  if (in.require_hardware_support)
    out.push_back(at_least("hardware_support", r.hardware_supported ? 1.0 : 0.0, 1.0));
  return out;
}

}  // namespace mlsysim::detail
