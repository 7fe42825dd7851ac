#include "detail/guard_rails.hpp"

#include <mlsysim/catalogue/optimizers/compression.hpp>
#include <mlsysim/table/take_fields.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlsysim {
namespace {

/// A candidate with what CompressionModel says about it.
struct Judged {
  std::string name;
  CompressionModel::Result result;
};

std::vector<Judged> candidates(const CompressionOptimizer::Inputs& in, Notes& notes) {
  std::vector<Judged> out;
  const auto add = [&](const CompressionModel::Inputs& one) {
    auto r = CompressionModel{}.solve(one, notes);
    std::string name = r.label;
    out.push_back({std::move(name), std::move(r)});
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
  const auto all = candidates(in, notes);
  const auto front = search.pareto(all, [&](const Judged& c) {
    const auto& r = c.result;
    ParetoScore score{.objectives = {r.compressed_size, 1.0 / std::max(r.inference_speedup, 1e-9),
                                     std::abs(r.estimated_accuracy_delta)}};
    score.constraints = detail::guard_rails(in, r);
    return score;
  });
  if (front.points.empty()) return std::nullopt;
  const auto rank = [](const Judged& c) {
    return std::pair{std::abs(c.result.estimated_accuracy_delta),
                     c.result.compressed_size.base() / std::max(c.result.inference_speedup, 1e-9)};
  };
  const Judged* best = front.points.front().item;
  Result r{front.summary};
  const auto append = [](std::string& text, const std::string& name) {
    text += (text.empty() ? "" : ", ") + name;
  };
  for (const auto& p : front.points) {
    append(r.frontier, p.item->name);
    if (rank(*p.item) < rank(*best)) best = p.item;
  }
  for (const auto& c : all)
    if (std::none_of(front.points.begin(), front.points.end(), [&](const auto& p) { return p.item == &c; }))
      append(r.dominated, c.name);
  r.best = best->name;
  r.compressed_size = best->result.compressed_size;
  r.inference_speedup = best->result.inference_speedup;
  r.estimated_accuracy_delta = best->result.estimated_accuracy_delta;
  return r;
}

}  // namespace mlsysim
