#include "explore/search/search.hpp"

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace mlsysim {
namespace {

std::string words_of(const std::vector<std::string>& axes, const FoundPoint& p) {
  std::string out;
  for (std::size_t a = 0; a < p.labels.size(); ++a)
    out += fmt::format("{}{} {}", a == 0 ? "" : ", ", axes[a], p.labels[a]);
  return out;
}

}  // namespace

namespace detail {
namespace {

/// The numbers of single points, computed again for the report.
class Reader {
 public:
  Reader(const Space& space, const Question& question) : space_(space), kernel_(space, question) {}

  FoundPoint operator()(std::uint64_t index) { return (*this)(std::span(&index, 1))[0]; }
  /// Blocks of neighbors at once: a block costs hardly more than a point.
  std::vector<FoundPoint> operator()(std::span<const std::uint64_t> indices) {
    std::vector<FoundPoint> out;
    out.reserve(indices.size());
    std::vector<std::uint64_t> block;
    while (out.size() < indices.size()) {
      const auto left = indices.subspan(out.size());
      const std::uint64_t outer = left[0] / space_.inner();
      bind(outer);
      block.clear();
      for (const auto index : left.first(std::min(left.size(), PointKernel::kBlock))) {
        if (index / space_.inner() != outer) break;
        block.push_back(index % space_.inner());
      }
      kernel_.run(block);
      for (std::size_t p = 0; p < block.size(); ++p) out.push_back(point(left[p], p));
    }
    return out;
  }

 private:
  void bind(std::uint64_t outer) {
    if (outer == outer_) return;
    (void)kernel_.bind(outer);
    outer_ = outer;
  }
  /// Point `at` of the block.
  [[nodiscard]] FoundPoint point(std::uint64_t index, std::size_t at) const {
    FoundPoint p{.index = index};
    const auto rows = space_.rows_at(index);
    p.labels.reserve(rows.size());
    for (std::size_t a = 0; a < rows.size(); ++a) p.labels.push_back(space_.axes()[a].label(rows[a]));
    const auto& c = kernel_.compiled();
    p.objectives.reserve(c.objectives.size());
    for (std::size_t k = 0; k < c.objectives.size(); ++k)
      p.objectives.push_back(kernel_.stated_objective(k)[at]);
    p.shown.reserve(c.show.size());
    for (std::size_t k = 0; k < c.show.size(); ++k) p.shown.push_back(kernel_.shown(k)[at]);
    return p;
  }

  const Space& space_;
  PointKernel kernel_;
  std::uint64_t outer_ = static_cast<std::uint64_t>(-1);
};

/// Asks the points that are listed for their warnings.
std::vector<std::string> warn_of(const Space& space, std::vector<FoundPoint>& points) {
  std::vector<std::pair<std::uint64_t, std::vector<std::string>>> of;
  for (auto& p : std::span(points).first(std::min(points.size(), kMostWarned)))
    of.emplace_back(p.index, p.warnings = space.warnings_at(p.index));
  return shared_warnings(of, points.size());
}

}  // namespace

std::string shown(double base, const Exponents& exps, std::string_view unit, int digits) {
  const auto q = AnyQuantity::from_base(base, exps);
  return unit.empty() ? pretty(q, digits) : pretty(q, unit, digits);
}

FoundPoint found_at(const Space& space, const Question& question, std::uint64_t index) {
  return Reader(space, question)(index);
}

ExploreAnswer write_answer(const Space& space, const Question& question, const SearchResult& r) {
  ExploreAnswer out;
  const LawEntry& entry = space.sample().entry;
  const Compiled compiled(question, entry);
  out.title = space.title();
  out.one_by_one = !space.sample().thread_safe;
  for (const auto& a : space.axes()) out.axes.push_back(a.title());
  out.objectives = question.objectives;
  for (const auto& o : compiled.objectives) {
    out.units.emplace_back(o.unit());
    out.exps.push_back(o.exponents());
  }
  out.show = question.show;
  for (const auto& s : compiled.show) {
    out.show_units.emplace_back(s.unit());
    out.show_exps.push_back(s.exponents());
  }
  const Reduction& red = r.reduction;
  out.total = static_cast<double>(r.range.last - r.range.first);
  out.evaluated = red.evaluated;
  out.covered = static_cast<double>(r.next - r.range.first);
  out.feasible = red.counts.feasible;
  out.infeasible = red.counts.infeasible;
  out.not_finite = red.counts.not_finite;
  out.skipped = red.counts.skipped;
  for (const auto& reason : red.counts.skip_reasons)
    out.skip_reasons.emplace_back(reason.reason, reason.points);
  std::stable_sort(out.skip_reasons.begin(), out.skip_reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Reader read(space, question), nearest(space, question);
  for (std::size_t c = 0; c < compiled.constraints.size(); ++c) {
    const auto& m = red.misses[c];
    const auto& constraint = compiled.constraints[c];
    ConstraintCount count{.text = constraint.text(),
                          .violated = m.violated,
                          .alone = m.alone,
                          .nearest = {},
                          .nearest_left = m.left,
                          .need = {},
                          .relaxation = {}};
    if (m.alone > 0) {
      count.nearest = nearest(m.index);
      const auto& left = constraint.left();
      const std::string unit(left.unit());
      // As many digits as tell it from the limit.
      std::string need = shown(m.left, left.exponents(), unit);
      for (int digits = 6; digits <= 16 && need == constraint.right().text(); digits += 2)
        need = shown(m.left, left.exponents(), unit, digits);
      count.relaxation = fmt::format("{} at {} instead of {} admits {}", left.text(), need,
                                     constraint.right().text(), words_of(out.axes, *count.nearest));
      count.need = std::move(need);
    }
    out.constraints.push_back(std::move(count));
  }
  for (const auto& [value, index] : red.top.entries()) out.best.push_back(read(index));
  std::vector<std::uint64_t> front;
  for (const auto& e : red.front.entries()) front.push_back(e.index);
  std::sort(front.begin(), front.end());
  out.front = read(front);
  if (compiled.histogram) {
    out.histogram = Histogram{.text = compiled.histogram->text(),
                              .unit = compiled.histogram->unit(),
                              .exps = compiled.histogram->exponents(),
                              .bins = {red.bins.begin(), red.bins.end()},
                              .zero_or_less = red.zero_or_less};
  }
  out.exactness = r.proven ? Exactness::proven : Exactness::enumerated;
  if (!r.complete) out.exactness = Exactness::heuristic;
  out.complete = r.complete;
  out.boxes = r.boxes;
  out.bound = compiled.signs.empty() ? r.bound : r.bound * compiled.signs[0];
  if (!r.proven && !out.best.empty()) out.bound = out.best[0].objectives[0];
  out.seconds = r.seconds;
  out.threads = r.threads;
  out.assumptions = space.sample().assumptions;
  out.warnings = warn_of(space, out.objectives.size() > 1 ? out.front : out.best);
  return out;
}

}  // namespace detail

std::vector<std::string> shared_warnings(
    std::span<const std::pair<std::uint64_t, std::vector<std::string>>> of, std::size_t listed) {
  constexpr std::size_t named = 3;
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> by_text;
  for (const auto& [point, warnings] : of)
    for (const auto& text : warnings) {
      auto known = std::ranges::find(by_text, text, [](const auto& w) { return w.first; });
      if (known == by_text.end()) known = by_text.insert(by_text.end(), {text, {}});
      if (known->second.empty() || known->second.back() != point) known->second.push_back(point);
    }
  std::vector<std::string> out;
  for (const auto& [text, points] : by_text) {
    if (points.size() == of.size()) {
      out.push_back(text);
      continue;
    }
    const auto first = std::span(points).first(std::min(points.size(), named));
    const auto more = points.size() - first.size();
    out.push_back(fmt::format("{} {}{}: {}", points.size() == 1 ? "point" : "points", fmt::join(first, ", "),
                              more == 0 ? "" : fmt::format(" and {} more", more), text));
  }
  if (listed > of.size())
    out.push_back(fmt::format("of {} points the first {} were asked for their warnings", listed, of.size()));
  return out;
}

Infeasible ExploreAnswer::why_infeasible() const {
  Infeasible why;
  if (skipped >= total && !skip_reasons.empty()) {
    why.reason = fmt::format("none of {:.0f} points can be evaluated: {}", total, skip_reasons[0].first);
    why.smallest_change = "change the fixed inputs or the structural axes";
    return why;
  }
  std::vector<std::string> binding;
  const ConstraintCount* easiest = nullptr;
  for (const auto& c : constraints) {
    if (c.violated > 0) binding.push_back(fmt::format("'{}' excludes {:.0f}", c.text, c.violated));
    if (c.nearest && (easiest == nullptr || c.alone > easiest->alone)) easiest = &c;
    if (c.nearest) why.facts.push_back({c.text, c.relaxation});
  }
  why.reason = fmt::format("no point of {:.0f} meets every constraint: {}", total, fmt::join(binding, ", "));
  if (conflict && conflict->constraints.size() == 1) {
    why.facts.push_back({"conflict", fmt::format("no point meets '{}', whatever the other constraints",
                                                 conflict->constraints[0])});
  } else if (conflict && conflict->constraints.size() > 1) {
    why.facts.push_back(
        {"conflict",
         fmt::format("no point meets all of '{}'; without any one of them some point meets the rest of these",
                     fmt::join(conflict->constraints, "', '"))});
  }
  if (easiest != nullptr) {
    std::vector<std::string> each;
    for (const auto& c : constraints)
      if (c.nearest) each.push_back(c.relaxation);
    why.smallest_change =
        each.size() == 1 ? each[0] : fmt::format("any one of: {}", fmt::join(each, "; or "));
  } else if (conflict && conflict->nearest) {
    why.smallest_change =
        fmt::format("no single constraint; together, {} admit {}", fmt::join(conflict->relaxations, " and "),
                    words_of(axes, *conflict->nearest));
  } else {
    why.smallest_change =
        "at least two constraints exclude every point together; relax the ones that exclude most";
  }
  return why;
}

namespace {

/// The area between points and the origin, all of whose coordinates are below 0, as points are added.
struct Staircase {
  std::map<double, double> steps;  ///< the least x of the points that are not above y, by y
  double area = 0;

  void add(double x, double y) {
    auto above = steps.upper_bound(y);
    double from = y, before = above == steps.begin() ? 0.0 : std::prev(above)->second;
    if (before <= x) return;
    for (; above != steps.end() && above->second >= x; above = steps.erase(above)) {
      area += (above->first - from) * (before - x);
      from = above->first;
      before = above->second;
    }
    area += ((above == steps.end() ? 0.0 : above->first) - from) * (before - x);
    steps.insert_or_assign(y, x);
  }
};

/// The best, or the worst, of the front in each objective.
std::vector<double> ends_of(const ExploreAnswer& answer, bool best) {
  std::vector<double> out;
  for (std::size_t k = 0; k < answer.objectives.size() && !answer.front.empty(); ++k) {
    const auto [low, high] =
        std::ranges::minmax_element(answer.front, {}, [&](const auto& point) { return point.objectives[k]; });
    out.push_back(((answer.objectives[k].goal == Goal::minimize) == best ? low : high)->objectives[k]);
  }
  return out;
}

}  // namespace

std::vector<double> ExploreAnswer::ideal() const { return ends_of(*this, true); }
std::vector<double> ExploreAnswer::nadir() const { return ends_of(*this, false); }

std::optional<double> ExploreAnswer::relative_hypervolume() const {
  if (objectives.size() < 2 || front.empty()) return std::nullopt;
  const auto from = ideal(), to = nadir();
  double box = 1;
  for (std::size_t k = 0; k < from.size(); ++k) box *= std::fabs(to[k] - from[k]);
  if (!(box > 0) || !std::isfinite(box)) return std::nullopt;
  return hypervolume(to) / box;
}

double ExploreAnswer::hypervolume(std::span<const double> reference) const {
  if (objectives.size() < 2 || reference.size() != objectives.size())
    throw InputError(
        {.id = "mlsysim.explore.058",
         .message = "a hypervolume needs a reference value per objective",
         .found = fmt::format("{} values for {} objectives", reference.size(), objectives.size()),
         .expected = "two or more of each"});
  // Smaller is better; slices along the last objective, each a hypervolume of one dimension less.
  using Points = std::vector<std::vector<double>>;
  Points points;
  for (const auto& p : front) {
    std::vector<double> x;
    bool inside = true;
    for (std::size_t k = 0; k < reference.size(); ++k) {
      const double sign = objectives[k].goal == Goal::minimize ? 1.0 : -1.0;
      x.push_back(sign * (p.objectives[k] - reference[k]));
      inside = inside && x.back() < 0;
    }
    if (inside) points.push_back(std::move(x));
  }
  const std::function<double(Points, std::size_t)> volume = [&](Points set, std::size_t dims) -> double {
    if (set.empty()) return 0;
    std::sort(set.begin(), set.end(),
              [dims](const auto& a, const auto& b) { return a[dims - 1] < b[dims - 1]; });
    double sum = 0, least = 0;
    Staircase below;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const double next = i + 1 < set.size() ? set[i + 1][dims - 1] : 0.0;
      least = std::min(least, set[i][0]);
      if (dims == 3) below.add(set[i][0], set[i][1]);
      if (next == set[i][dims - 1]) continue;
      // With up to three objectives a slice follows from the one before: a long front does not cost its
      // square.
      const double slice =
          dims == 2   ? -least
          : dims == 3 ? below.area
                      : volume({set.begin(), set.begin() + static_cast<std::ptrdiff_t>(i) + 1}, dims - 1);
      sum += (next - set[i][dims - 1]) * slice;
    }
    return sum;
  };
  return volume(std::move(points), reference.size());
}

}  // namespace mlsysim
