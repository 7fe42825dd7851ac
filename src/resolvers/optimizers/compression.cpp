#include "resolvers/models/guard_rails.hpp"

#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/resolvers/optimizers/compression.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlsysim {
namespace {

/// A candidate with what CompressionModel says about it.
struct JudgedCompression {
  CompressionModel::Inputs inputs;
  CompressionModel::Result result;
};

std::vector<JudgedCompression> candidates(const CompressionOptimizer::Inputs& in) {
  std::vector<JudgedCompression> out;
  const auto add = [&](const CompressionModel::Inputs& one) {
    out.push_back({one, CompressionModel{}.solve(one)});
  };
  const auto given = fields_of<CompressionModel::Inputs>(in);
  for (const double bits : {16.0, 8.0, 6.0, 4.0, 3.0, 2.0}) {
    auto one = given;
    one.target_bitwidth = bits;
    add(one);
  }
  const auto prune = [&](double share, SparsityType type) {
    auto one = given;
    one.method = CompressionMethod::pruning;
    one.sparsity = share;
    one.sparsity_type = type;
    add(one);
  };
  prune(0.5, SparsityType::n_m);
  for (const double share : {0.5, 0.75}) prune(share, SparsityType::structured);
  for (const double share : {0.5, 0.9}) prune(share, SparsityType::unstructured);
  return out;
}

}  // namespace

std::optional<CompressionOptimizer::Result> CompressionOptimizer::solve(const Inputs& in, Search& search,
                                                                        Notes& notes) const {
  const auto append = [](std::string& text, const std::string& name) {
    text += (text.empty() ? "" : ", ") + name;
  };
  std::vector<JudgedCompression> all;
  std::string unjudged;
  for (auto& c : candidates(in)) {
    if (c.result.estimated_accuracy_delta)
      all.push_back(std::move(c));
    else
      append(unjudged, c.result.label);
  }
  const auto loss = [](const JudgedCompression& c) { return std::abs(*c.result.estimated_accuracy_delta); };
  const auto front = search.pareto(all, [&](const JudgedCompression& c) {
    const auto& r = c.result;
    ParetoScore score{.objectives = {r.compressed_size, 1.0 / std::max(r.inference_speedup, 1e-9), loss(c)}};
    score.constraints = detail::guard_rails(in, r);
    return score;
  });
  if (front.points.empty()) return std::nullopt;
  const auto rank = [&loss](const JudgedCompression& c) {
    return std::pair{loss(c), c.result.compressed_size.base() / std::max(c.result.inference_speedup, 1e-9)};
  };
  const JudgedCompression* best = front.points.front().item;
  Result r{front.summary};
  for (const auto& p : front.points) {
    append(r.frontier, p.item->result.label);
    if (rank(*p.item) < rank(*best)) best = p.item;
  }
  for (const auto& c : all)
    if (std::none_of(front.points.begin(), front.points.end(), [&](const auto& p) { return p.item == &c; }))
      append(r.dominated, c.result.label);
  r.best = best->result.label;
  r.compressed_size = best->result.compressed_size;
  r.inference_speedup = best->result.inference_speedup;
  r.estimated_accuracy_delta = *best->result.estimated_accuracy_delta;
  r.unjudged = unjudged.empty() ? "none" : unjudged;
  (void)CompressionModel{}.solve(best->inputs, notes);  // says what the best one assumes
  return r;
}

}  // namespace mlsysim
