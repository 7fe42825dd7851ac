#include "explore/search/reduction.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// JSON has no infinity.
nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}
double number(const nlohmann::ordered_json& j) { return j.is_null() ? HUGE_VAL : j.get<double>(); }

}  // namespace

Reduction::Reduction(const Question& question, std::size_t constraints)
    : misses(constraints),
      top(std::max<std::size_t>(question.top, 1)),
      objectives_(question.objectives.size()) {}

void Reduction::skip(const std::string& reason, double points) { counts.skip(reason, points); }

template <class IndexOf> void Reduction::add_block(PointKernel& kernel, IndexOf index_of) {
  const std::size_t n = kernel.points();
  const MissWord* const missed = kernel.misses();
  // Points whose resolver failed have no numbers; they are no points that miss something.
  for (const auto& [p, reason] : kernel.failures()) skip(reason, 1);
  const std::size_t failed = kernel.failures().size();
  evaluated += static_cast<double>(n - failed);
  const auto [good, bad] = count_misses(missed, n);
  counts.feasible += static_cast<double>(good);
  counts.infeasible += static_cast<double>(bad);
  counts.not_finite += static_cast<double>(n - good - bad - failed);
  for (std::size_t c = 0; bad > 0 && c < std::min(misses.size(), kMissBits + 1); ++c) {
    const double* const left = kernel.left_side(c);
    const double* const right = kernel.right_side(c);
    const MissWord bit = MissWord{1} << c;
    const auto missing = count_constraint(missed, bit, left, right, n);
    NearMiss& m = misses[c];
    m.violated += static_cast<double>(missing.violated);
    m.alone += static_cast<double>(missing.alone);
    if (missing.alone == 0 || missing.least_excess > m.excess) continue;
    for (std::size_t p = 0; p < n; ++p) {
      if (missed[p] != bit) continue;
      m.take(std::fabs(left[p] - right[p]), left[p], index_of(p));
    }
  }
  if (good == 0) return;
  if (kernel.compiled().histogram) {
    const double* const x = kernel.counted();
    for (std::size_t p = 0; p < n; ++p) {
      if (missed[p] != 0) continue;
      if (x[p] > 0)
        bins[static_cast<int>(std::floor(4 * std::log2(x[p])))] += 1;
      else
        zero_or_less += 1;
    }
  }
  if (objectives_ == 0) return;
  const double* const first = kernel.objective(0);
  if (objectives_ == 1) {
    const double best = least_feasible(missed, first, n);
    if (best <= top.threshold())
      for (std::size_t p = 0; p < n; ++p)
        if (missed[p] == 0 && first[p] <= top.threshold()) top.add(first[p], index_of(p));
  } else {
    std::array<const double*, 16> columns{};
    for (std::size_t k = 0; k < objectives_; ++k) columns[k] = kernel.objective(k);
    std::array<double, 16> point{};
    for (std::size_t p = 0; p < n; ++p) {
      if (missed[p] != 0) continue;
      for (std::size_t k = 0; k < objectives_; ++k) point[k] = columns[k][p];
      front.add(std::span(point).first(objectives_), index_of(p));
    }
  }
}

void Reduction::add(PointKernel& kernel, std::uint64_t first) {
  add_block(kernel, [first](std::size_t p) { return first + p; });
}
void Reduction::add(PointKernel& kernel, std::span<const std::uint64_t> indices) {
  add_block(kernel, [indices](std::size_t p) { return indices[p]; });
}

void Reduction::merge(const Reduction& other) {
  evaluated += other.evaluated;
  counts.merge(other.counts);
  zero_or_less += other.zero_or_less;
  for (const auto& [bin, points] : other.bins) bins[bin] += points;
  for (std::size_t c = 0; c < misses.size(); ++c) misses[c].merge(other.misses[c]);
  for (const auto& [value, index] : other.top.entries()) top.add(value, index);
  for (const auto& e : other.front.entries()) front.add(e.values, e.index);
}

nlohmann::ordered_json Reduction::to_json() const {
  using Json = nlohmann::ordered_json;
  Json j{{"evaluated", evaluated},          {"feasible", counts.feasible}, {"infeasible", counts.infeasible},
         {"not_finite", counts.not_finite}, {"skipped", counts.skipped},   {"skip_reasons", Json::object()},
         {"misses", Json::array()},         {"top", Json::array()},        {"front", Json::array()},
         {"bins", Json::array()},           {"zero_or_less", zero_or_less}};
  for (const auto& r : counts.skip_reasons) j["skip_reasons"][r.reason] = r.points;
  for (const auto& m : misses)
    j["misses"].push_back({m.violated, m.alone, number(m.excess), m.left, m.index});
  for (const auto& [value, index] : top.entries()) j["top"].push_back({value, index});
  for (const auto& e : front.entries()) j["front"].push_back({e.values, e.index});
  for (const auto& [bin, points] : bins) j["bins"].push_back({bin, points});
  return j;
}

Reduction Reduction::from_json(const nlohmann::ordered_json& j, const Question& question,
                               std::size_t constraints) {
  Reduction r(question, constraints);
  r.evaluated = j.at("evaluated");
  r.counts.feasible = j.at("feasible");
  r.counts.infeasible = j.at("infeasible");
  r.counts.not_finite = j.at("not_finite");
  r.zero_or_less = j.at("zero_or_less");
  for (const auto& [reason, points] : j.at("skip_reasons").items()) r.counts.skip(reason, points);
  r.counts.skipped = j.at("skipped");
  for (std::size_t c = 0; c < constraints; ++c) {
    const auto& m = j.at("misses").at(c);
    r.misses[c] = {m.at(0), m.at(1), number(m.at(2)), m.at(3), m.at(4)};
  }
  for (const auto& e : j.at("top")) r.top.add(e.at(0), e.at(1));
  std::vector<double> values(question.objectives.size());
  for (const auto& e : j.at("front")) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = e.at(0).at(k);
    r.front.add(values, e.at(1));
  }
  for (const auto& b : j.at("bins")) r.bins[b.at(0)] = b.at(1);
  return r;
}

}  // namespace mlsysim::detail
