// Search by slopes, where NLopt was found (MLSYSIM_WITH_NLOPT): axes over continuous numbers become variables
// between their ends, all others are enumerated.

#include "explore/search/local_optimizer.hpp"
#include "explore/search/search.hpp"

#include <mlsysim/tape/random.hpp>
#include <mlsysim/tape/tangents.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace mlsysim::detail {
namespace {

constexpr std::uint64_t kMostChoices = 4096;  // combinations of the other axes
constexpr std::size_t kSamples = 64;  // points of the grid that are looked at for starts, per combination
constexpr std::size_t kStarts = 8;
constexpr double kLogarithmic = 4;  // range in ratio from which a variable moves in ratios
constexpr double kInside =
    1e-11;  // constraints are tightened by this share, so that a solution at a limit meets it
constexpr double kHuge = 1e30;

/// A continuous number: its place in the subject and its range.
struct Variable {
  std::size_t axis = 0, input = 0;
  double low = 0, high = 0;
  bool ratio = false;

  [[nodiscard]] double value(double u) const {
    if (u <= 0) return low;
    if (u >= 1) return high;
    return ratio ? low * std::exp(u * std::log(high / low)) : low + u * (high - low);
  }
  /// Derivative of the value.
  [[nodiscard]] double slope(double u) const { return ratio ? value(u) * std::log(high / low) : high - low; }
  [[nodiscard]] double place(double x) const {
    if (high == low) return 0;
    return std::clamp(ratio ? std::log(x / low) / std::log(high / low) : (x - low) / (high - low), 0.0, 1.0);
  }
};

/// The axes of the grid over numbers, split.
struct Layout {
  std::vector<Variable> variables;
  std::vector<std::size_t> fixed;      ///< axes over numbers that are enumerated
  std::vector<std::uint64_t> strides;  ///< of each axis over numbers
  std::uint64_t choices = 1;           ///< of the enumerated ones, structural axes included

  explicit Layout(const Space& space) : choices(space.outer()) {
    const auto& axes = space.axes();
    const Subject& s = space.sample();
    std::uint64_t stride = space.inner();
    for (std::size_t a = space.structural_axes(); a < axes.size(); ++a) {
      stride /= axes[a].size();
      strides.push_back(stride);
      const std::size_t input = s.input(axes[a].names[0]);
      const bool free = axes[a].rows.empty();  // coupled values are enumerated
      const auto [low, high] = free ? axes[a].numbers.extent() : Axis::Extent{0, 0};
      Variable v{.axis = a, .input = input, .low = low, .high = high};
      v.ratio = v.low > 0 && v.high > kLogarithmic * v.low;
      if (free && !s.entry.inputs[input].integral && v.low < v.high) {
        variables.push_back(v);
      } else {
        fixed.push_back(a);
        choices *= axes[a].size();
      }
    }
  }
};

/// Objective and constraints of one subject as functions of the variables, and the best point that they were
/// asked at.
class Smooth {
 public:
  Smooth(const Subject& subject, const Compiled& compiled, std::vector<Variable> variables,
         const std::atomic<bool>* cancel)
      : subject_(subject),
        compiled_(compiled),
        variables_(std::move(variables)),
        point_(subject.point),
        cancel_(cancel) {
    last_.assign(variables_.size(), -1);
    scale_.assign(compiled.constraints.size(), 0);
    values_.slope.resize(variables_.size());
  }

  /// Numbers of the scale of a start keep the steps of the optimizer reasonable.
  void scale_by(std::span<const double> u) {
    evaluate(u);
    objective_scale_ = std::max(std::fabs(signed_objective_), 1e-300);
    for (std::size_t c = 0; c < scale_.size(); ++c) {
      const double size = std::max(std::fabs(left_of(c)), std::fabs(right_of(c)));
      scale_[c] = std::isfinite(size) && size > 0 ? size : 1;
    }
    std::fill(last_.begin(), last_.end(), -1);
  }

  const SmoothValues& operator()(std::span<const double> u) {
    if (!std::equal(u.begin(), u.end(), last_.begin())) evaluate(u);
    return values_;
  }

  std::size_t evaluations = 0;
  bool found = false;
  double best = HUGE_VAL;  ///< signed objective
  std::vector<double> best_point, best_slots, best_u;

 private:
  void record() {
    const Tape& law = subject_.entry.tape();
    tape_ = reduced(record_tape(variables_.size(),
                                [&](std::span<const Recorded> in) {
                                  std::vector<Recorded> slots(point_.begin(), point_.end());
                                  for (std::size_t i = 0; i < variables_.size(); ++i)
                                    slots[variables_[i].input] = in[i];
                                  const auto results = replay(law, slots);
                                  slots.insert(slots.end(), results.begin(), results.end());
                                  const std::span<const Recorded> all(slots);
                                  std::vector<Recorded> out{compiled_.objectives[0](all)};
                                  for (const auto& c : compiled_.constraints)
                                    out.push_back(c.left()(all)), out.push_back(c.right()(all));
                                  return out;
                                }),
                    {});
    tangents_.emplace(tape_);
  }
  [[nodiscard]] double left_of(std::size_t c) const { return tangents_->value(1 + 2 * c); }
  [[nodiscard]] double right_of(std::size_t c) const { return tangents_->value(2 + 2 * c); }
  [[nodiscard]] double scale_at(std::size_t c) const { return scale_[c] > 0 ? scale_[c] : 1; }
  /// Sign that makes "at most 0" of a constraint.
  [[nodiscard]] double side_of(std::size_t c) const {
    const auto k = compiled_.constraints[c].comparison();
    return k == Comparison::at_least || k == Comparison::above ? -1.0 : 1.0;
  }

  void evaluate(std::span<const double> u) {
    ++evaluations;
    std::copy(u.begin(), u.end(), last_.begin());
    if (!tangents_) record();
    const std::size_t n = variables_.size(), m = compiled_.constraints.size();
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = point_[variables_[i].input] = variables_[i].value(u[i]);
    values_.at_most.clear();
    values_.equal.clear();
    std::vector<double> slopes(m * n, 0.0), excess(m, 0.0);
    // At the upper end the slope of interest is the one downwards.
    for (const double direction : {1.0, -1.0}) {
      std::vector<std::size_t> seeds;
      for (std::size_t i = 0; i < n; ++i)
        if ((u[i] >= 1) == (direction < 0)) seeds.push_back(i);
      for (std::size_t first = 0; first < seeds.size() || (first == 0 && direction > 0);
           first += Tangents::kSeeds) {
        const auto some =
            std::span(seeds).subspan(first, std::min<std::size_t>(seeds.size() - first, Tangents::kSeeds));
        tangents_->run(x, some, direction);
        const auto spread = [&](auto partial, double factor, double* to) {
          for (std::size_t k = 0; k < some.size(); ++k) {
            const double slope = factor * partial(k) * direction * variables_[some[k]].slope(u[some[k]]);
            to[some[k]] = std::isfinite(slope) ? slope : 0;
          }
        };
        spread([&](std::size_t k) { return tangents_->partial(0, k); }, compiled_.signs[0] / objective_scale_,
               values_.slope.data());
        for (std::size_t c = 0; c < m; ++c)
          spread(
              [&](std::size_t k) {
                return tangents_->partial(1 + 2 * c, k) - tangents_->partial(2 + 2 * c, k);
              },
              side_of(c) / scale_at(c), slopes.data() + c * n);
      }
    }
    signed_objective_ = compiled_.signs[0] * tangents_->value(0);
    for (std::size_t c = 0; c < m; ++c) excess[c] = side_of(c) * (left_of(c) - right_of(c)) / scale_at(c);
    bool feasible = std::isfinite(signed_objective_);
    std::vector<double> limits, equals;
    for (std::size_t c = 0; c < m; ++c) {
      const auto& k = compiled_.constraints[c];
      const double left = left_of(c), right = right_of(c);
      const bool equal = k.comparison() == Comparison::equal;
      // An equality holds as far as a search by numbers can say.
      feasible =
          feasible && (equal ? std::fabs(left - right) <= 1e-9 * std::max(std::fabs(left), std::fabs(right))
                             : k.holds(left, right));
      const double beyond = std::isfinite(excess[c]) ? excess[c] : kHuge;
      const auto* const slope = slopes.data() + c * n;
      const bool moves = std::any_of(slope, slope + n, [](double d) { return d != 0; });
      // A limit that no variable moves is met or not: no margin makes it so.
      (equal ? values_.equal : values_.at_most)
          .push_back(equal         ? beyond
                     : moves       ? beyond + kInside
                     : beyond <= 0 ? -1.0
                                   : beyond);
      auto& to = equal ? equals : limits;
      to.insert(to.end(), slopes.begin() + static_cast<std::ptrdiff_t>(c * n),
                slopes.begin() + static_cast<std::ptrdiff_t>((c + 1) * n));
    }
    values_.at_most_slope = std::move(limits);
    values_.equal_slope = std::move(equals);
    values_.objective = std::isfinite(signed_objective_) ? signed_objective_ / objective_scale_ : kHuge;
    values_.stop = cancel_ != nullptr && cancel_->load(std::memory_order_relaxed);
    if (feasible && (!found || signed_objective_ < best)) {
      found = true;
      best = signed_objective_;
      best_point = point_;
      best_slots = point_;
      const auto results = subject_.entry(point_);
      best_slots.insert(best_slots.end(), results.begin(), results.end());
      best_u.assign(u.begin(), u.end());
    }
  }

  const Subject& subject_;
  const Compiled& compiled_;
  std::vector<Variable> variables_;
  std::vector<double> point_, last_, scale_;
  Tape tape_;  ///< from the variables to the objective and the two sides of each constraint
  std::optional<Tangents> tangents_;
  SmoothValues values_;
  double signed_objective_ = 0, objective_scale_ = 1;
  const std::atomic<bool>* cancel_;
};

class GradientSearcher {
 public:
  GradientSearcher(const Space& space, const Question& question, const ExploreOptions& options)
      : space_(space),
        question_(question),
        options_(options),
        layout_(space),
        kernel_(space, question),
        constraints_(constraint_texts(question, space.sample().entry).size()) {
    result.reduction = Reduction(question, constraints_);
    result.range = {0, space.size()};
    result.next = space.size();
  }

  void run() {
    const std::uint64_t fixed = layout_.choices / space_.outer();
    for (std::uint64_t outer = 0; outer < space_.outer() && !cancelled(); ++outer) {
      const std::string reason = kernel_.bind(outer);
      if (!reason.empty()) {
        result.reduction.skip(reason, static_cast<double>(space_.inner()));
        continue;
      }
      for (std::uint64_t choice = 0; choice < fixed && !cancelled(); ++choice) {
        std::uint64_t base = 0, left = choice;
        for (std::size_t k = layout_.fixed.size(); k-- > 0;) {
          const std::size_t a = layout_.fixed[k];
          base += left % space_.axes()[a].size() * layout_.strides[a - space_.structural_axes()];
          left /= space_.axes()[a].size();
        }
        search(outer, base);
        if (options_.progress) {
          const double done = static_cast<double>(outer * fixed + choice + 1),
                       total = static_cast<double>(layout_.choices);
          const double seconds =
              std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
          options_.progress({done, total, done / std::max(seconds, 1e-9), seconds / done * (total - done)});
        }
      }
    }
    result.complete = !cancelled();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  ExploreAnswer answer() const {
    auto out = write_answer(space_, question_, result);
    out.exactness = Exactness::heuristic;
    out.evaluated += evaluations_;
    out.covered = out.evaluated;
    out.method = fmt::format(
        "{}: {} starts in each of {} combinations of the other axes, {:.0f} evaluations with slopes; a best "
        "point of its "
        "neighbourhood, not proven the best of all",
        local_optimizer(), starts(), layout_.choices, evaluations_);
    if (best_ && (out.best.empty() || best_value_ < out.best[0].objectives[0] * sign_)) out.best = {*best_};
    if (!out.best.empty()) out.bound = out.best[0].objectives[0];
    return out;
  }

  SearchResult result;

 private:
  [[nodiscard]] bool cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t starts() const {
    return std::clamp<std::size_t>(static_cast<std::size_t>(256 / layout_.choices), 2, kStarts);
  }

  /// Points of the grid with these rows of the enumerated axes: corners first, then spread at random, the
  /// same every time.
  std::vector<std::uint64_t> samples(std::uint64_t base) const {
    std::vector<std::uint64_t> out;
    const std::size_t n = layout_.variables.size();
    for (std::uint64_t k = 0; k < kSamples; ++k) {
      std::uint64_t at = base;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t a = layout_.variables[i].axis, rows = space_.axes()[a].size();
        std::size_t row =
            k == 0 ? 0
            : k == 1
                ? rows - 1
                : static_cast<std::size_t>(uniform_draw(options_.seed, static_cast<std::uint32_t>(i), k) *
                                           static_cast<double>(rows));
        at += row * layout_.strides[a - space_.structural_axes()];
      }
      out.push_back(at);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  void search(std::uint64_t outer, std::uint64_t base) {
    const auto points = samples(base);
    kernel_.run(points);
    std::vector<std::uint64_t> indices(points);
    for (auto& i : indices) i += outer * space_.inner();
    result.reduction.add(kernel_, indices);
    const MissWord* const misses = kernel_.misses();
    const double* const objective = kernel_.objective(0);
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int x = std::popcount(misses[a]), y = std::popcount(misses[b]);
      return x != y ? x < y : objective[a] < objective[b];
    });
    // The subject with the enumerated rows put in.
    Subject subject = kernel_.subject();
    for (const auto& c : kernel_.columns())
      subject.point[c.input] = c.values[base / c.stride % c.values.size()];
    Smooth smooth(subject, kernel_.compiled(), layout_.variables, options_.cancel);
    std::size_t at_most = 0, equal = 0;
    for (const auto& c : kernel_.compiled().constraints)
      ++(c.comparison() == Comparison::equal ? equal : at_most);
    const std::size_t n = layout_.variables.size();
    const std::size_t each = std::max<std::size_t>(
        40, static_cast<std::size_t>(options_.evaluations / (layout_.choices * (starts() + 1))));
    for (std::size_t s = 0; s <= std::min(starts(), order.size()) && !cancelled(); ++s) {
      std::vector<double> u(n, 0.5);
      if (s > 0)
        for (std::size_t i = 0; i < n; ++i) {
          const auto& v = layout_.variables[i];
          const auto& axis = space_.axes()[v.axis];
          u[i] = v.place(axis.number(points[order[s - 1]] /
                                     layout_.strides[v.axis - space_.structural_axes()] % axis.size()));
        }
      smooth.scale_by(u);
      improve([&](std::span<const double> x) -> const SmoothValues& { return smooth(x); }, u, at_most, equal,
              each);
    }
    evaluations_ += static_cast<double>(smooth.evaluations);
    sign_ = kernel_.compiled().signs[0];
    if (!smooth.found || (best_ && smooth.best >= best_value_)) return;
    best_value_ = smooth.best;
    FoundPoint p;
    std::uint64_t nearest = base;
    for (std::size_t i = 0; i < n; ++i) {
      const auto& v = layout_.variables[i];
      nearest += space_.axes()[v.axis].numbers.nearest(v.value(smooth.best_u[i])) *
                 layout_.strides[v.axis - space_.structural_axes()];
    }
    p.index = outer * space_.inner() + nearest;
    p.between = true;
    const auto rows = space_.rows_at(p.index);
    for (std::size_t a = 0; a < rows.size(); ++a) p.labels.push_back(space_.axes()[a].label(rows[a]));
    for (std::size_t i = 0; i < n; ++i) {
      const auto& v = layout_.variables[i];
      p.labels[v.axis] =
          DynamicValue(Value(v.value(smooth.best_u[i])), subject.entry.inputs[v.input].exps).text();
    }
    const std::span<const double> slots(smooth.best_slots);
    for (const auto& o : kernel_.compiled().objectives) p.objectives.push_back(o(slots));
    for (const auto& e : kernel_.compiled().show) p.shown.push_back(e(slots));
    best_ = std::move(p);
  }

  const Space& space_;
  const Question& question_;
  const ExploreOptions& options_;
  Layout layout_;
  PointKernel kernel_;
  std::size_t constraints_;
  std::optional<FoundPoint> best_;
  double best_value_ = HUGE_VAL, sign_ = 1, evaluations_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

std::string obstacle_of(const Space& space, const Question& question, const ExploreOptions& options) {
  if (question.objectives.size() != 1) return "a search by slopes needs one objective";
  if (question.top != 1) return "a search by slopes keeps the best point only";
  if (question.histogram) return "a histogram needs every point";
  if (options.shards != 1 || !options.resume.empty() || options.checkpoint)
    return "shards and restarts belong to an exhaustive search";
  if (!space.sample().entry.is_law()) return "the subject has no exact slopes: it is not a law";
  const Layout layout(space);
  if (layout.variables.empty())
    return "no axis is over a continuous number: counts, choices and coupled values are enumerated";
  if (layout.choices > kMostChoices)
    return fmt::format("the axes over counts and choices have {} combinations, more than {}", layout.choices,
                       kMostChoices);
  return {};
}

ExploreAnswer run(const Space& space, const Question& question, const ExploreOptions& options) {
  GradientSearcher search(space, question, options);
  search.run();
  return search.answer();
}

}  // namespace

const HeuristicSearch* gradient_search() {
  static constexpr HeuristicSearch search{obstacle_of, run};
  return &search;
}

}  // namespace mlsysim::detail
