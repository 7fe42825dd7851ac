#pragma once
// Inputs of ServingModel for resolvers whose requests come and go, without an engine: one batch of constant
// size.

#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/models/serving.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

/// A batch of `batch` requests that hold `tokens` each.
template <class In>
[[nodiscard]] ServingModel::Inputs static_batch(const In& in, double tokens, double batch) {
  auto out = fields_of<ServingModel::Inputs>(in);
  out.seq_len = std::max(1.0, std::round(tokens));
  out.batch_size = batch;
  out.output_tokens.reset();
  out.engine = nullptr;
  out.execution.reset();
  out.fidelity = in.fidelity;
  return out;
}

}  // namespace mlsysim::detail
