#pragma once
// One result of a law as a function of one input, and what inverting it needs.

#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/interval.hpp>
#include <mlsysim/tape/invert.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/tape/tangents.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace mlsysim::detail {

constexpr std::size_t kMostTried = 1U << 24;  // counts that are tried one by one
constexpr double kEqual = 1e-14;              // relative distance at which a value counts as the target

/// Counts in increasing order: all from `low` on, or listed ones.
struct Counts {
  double low = 0;
  std::size_t size = 0;
  std::vector<double> listed;
  bool some = false;

  [[nodiscard]] double operator[](std::size_t i) const {
    return some ? listed[i] : low + static_cast<double>(i);
  }
};

class Slice {
 public:
  Slice(const LawEntry& law, std::span<const double> in, const InverseQuery& q)
      : law_(law), q_(q), at_(in.begin(), in.end()) {
    if (!law.is_law()) return;
    tape_ = alone(q.result);
    columns_.emplace(tape_);
    tangents_.emplace(tape_);
    ranges_.emplace(tape_);
    box_.assign(in.begin(), in.end());
  }

  double operator()(double x) {
    ++evaluations;
    at_[q_.free] = x;
    return law_(at_)[q_.result];
  }
  std::vector<double> operator()(const std::vector<double>& xs) {
    evaluations += static_cast<long>(xs.size());
    return columns_ ? column(*columns_, xs) : results_at(xs, q_.result);
  }
  /// Those of the counts from `low` to `high` that exist.
  [[nodiscard]] Counts counts(double low, double high) const {
    const auto all = static_cast<std::size_t>(high - low) + 1;
    std::vector<Required> left;  // requirements that not every count meets
    for (const auto& r : q_.only) {
      if (law_.is_law()) {
        const Tape guard = alone(r.result);
        if (guard.fixed(guard.output(0)) == r.value) continue;
      }
      left.push_back(r);
    }
    if (left.empty()) return {low, all, {}, false};
    if (all > kMostTried)
      throw InputError({.id = "mlsysim.tools.020",
                        .message = fmt::format("too many values of '{}' would be tried one by one",
                                               law_.inputs[q_.free].name),
                        .key = law_.inputs[q_.free].name,
                        .found = fmt::format("{} values, of which some have no plan", all),
                        .expected = fmt::format("at most {}", kMostTried),
                        .hint = "narrow the search with --low and --high"});
    Counts out{low, 0, {}, true};
    out.listed.resize(all);
    std::iota(out.listed.begin(), out.listed.end(), low);
    for (const auto& r : left) {
      const auto found = results_at(out.listed, r.result);
      std::vector<double> kept;
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] == r.value) kept.push_back(out.listed[i]);
      out.listed = std::move(kept);
    }
    out.size = out.listed.size();
    return out;
  }
  /// Slope at `x`; not a number for a resolver that is not a law.
  double slope(double x) {
    if (!tangents_) return std::numeric_limits<double>::quiet_NaN();
    at_[q_.free] = x;
    tangents_->run(at_, {&q_.free, 1}, 1.0);
    return tangents_->partial(0, 0);
  }
  /// Range of the result over [a, b]; the whole line for a resolver that is not a law.
  Interval range(double a, double b) {
    if (!ranges_) return Interval::whole();
    box_[q_.free] = Interval(a, b);
    return ranges_->tight(0, box_);
  }
  /// Whether the result is known to go one way over [a, b].
  bool monotone(double a, double b) {
    if (!ranges_) return false;
    box_[q_.free] = Interval(a, b);
    ranges_->run(box_);
    return ranges_->trends(0)[q_.free] != Trend::unknown;
  }

  [[nodiscard]] bool at_target(double value) const {
    return std::fabs(value - q_.target) <= kEqual * std::fabs(q_.target);
  }
  [[nodiscard]] bool meets(double value) const {
    switch (q_.relation) {
      case Relation::at_most:
        return value <= q_.target;
      case Relation::at_least:
        return value >= q_.target;
      case Relation::equals:
        break;
    }
    return at_target(value);
  }
  /// Whether every value of a range meets the target, or none does.
  [[nodiscard]] bool all_meet(const Interval& r) const {
    return q_.relation == Relation::at_most ? r.high <= q_.target
                                            : q_.relation == Relation::at_least && r.low >= q_.target;
  }
  [[nodiscard]] bool none_meets(const Interval& r) const {
    switch (q_.relation) {
      case Relation::at_most:
        return r.low > q_.target;
      case Relation::at_least:
        return r.high < q_.target;
      case Relation::equals:
        break;
    }
    return !r.contains(q_.target) && !at_target(r.low) && !at_target(r.high);
  }
  [[nodiscard]] double residual(double value) const {
    if (q_.relation != Relation::equals) return 0.0;
    const double distance = std::fabs(value - q_.target);
    return q_.target != 0 ? distance / std::fabs(q_.target) : distance;
  }
  [[nodiscard]] double target() const { return q_.target; }
  [[nodiscard]] Relation relation() const { return q_.relation; }
  [[nodiscard]] bool is_law() const { return law_.is_law(); }

  long evaluations = 0;

 private:
  /// The part of the tape between one result and the free input.
  [[nodiscard]] Tape alone(std::size_t result) const {
    std::vector<std::optional<double>> fixed(at_.begin(), at_.end());
    fixed[q_.free].reset();
    return law_.part({.fixed = fixed, .results = {&result, 1}});
  }
  [[nodiscard]] std::vector<double> results_at(const std::vector<double>& xs, std::size_t result) const {
    if (law_.is_law()) return column(ColumnProgram(alone(result)), xs);
    std::vector<double> at = at_, out;
    for (const double x : xs) {
      at[q_.free] = x;
      out.push_back(law_(at)[result]);
    }
    return out;
  }
  [[nodiscard]] std::vector<double> column(const ColumnProgram& program,
                                           const std::vector<double>& xs) const {
    // A fixed input is one block of equal values; only the free input is as long as the question.
    std::vector<double> out(xs.size()), same;
    for (const double x : at_) same.insert(same.end(), kBlock, x);
    std::vector<const double*> in(at_.size());
    for (std::size_t i = 0; i < at_.size(); ++i) in[i] = same.data() + i * kBlock;
    ColumnProgram::Workspace workspace(program);
    for (std::size_t done = 0; done < xs.size(); done += kBlock) {
      in[q_.free] = xs.data() + done;
      double* const to[] = {out.data() + done};
      program.run(in.data(), to, std::min(kBlock, xs.size() - done), workspace);
    }
    return out;
  }

  const LawEntry& law_;
  const InverseQuery& q_;
  std::vector<double> at_;
  Tape tape_;
  std::optional<ColumnProgram> columns_;
  std::optional<Tangents> tangents_;
  std::optional<Ranges> ranges_;
  std::vector<Interval> box_;
};

/// Points at which a domain is looked at, both ends included; logarithmically too over more than two decades.
[[nodiscard]] std::vector<double> scan_points(double low, double high, int n);
/// Notes the smallest and largest finite value; the outcome is undefined where there is none.
void note_reach(Inversion& answer, const std::vector<double>& values);
/// Answers for a count.
void solve_counts(Slice& f, double low, double high, int scan, Inversion& answer);

}  // namespace mlsysim::detail
