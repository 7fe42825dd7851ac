#include "detail/point_kernel.hpp"

#include "detail/point_failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kStride = BatchKernel::kStride;
constexpr double kVaries = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<std::string> constraint_texts(const Question& question, const LawEntry& entry) {
  std::vector<std::string> out;
  const auto has = [&](std::string_view name) { return find_field(entry.results, name) != nullptr; };
  if (question.implicit_constraints && has("memory_used") && has("memory_capacity")) out.emplace_back("memory_used <= memory_capacity");
  if (question.implicit_constraints && has("plan_fits")) out.emplace_back("plan_fits >= 1");
  out.insert(out.end(), question.constraints.begin(), question.constraints.end());
  return out;
}

Compiled::Compiled(const Question& question, const LawEntry& entry) {
  const ExpressionScope scope{entry.inputs, entry.results};
  for (const auto& o : question.objectives) {
    objectives.push_back(Expression::parse(o.text, scope));
    signs.push_back(o.goal == Goal::minimize ? 1.0 : -1.0);
  }
  for (const auto& text : constraint_texts(question, entry)) constraints.push_back(ConstraintExpression::parse(text, scope));
  for (const auto& text : question.show) show.push_back(Expression::parse(text, scope));
  if (question.histogram) histogram = Expression::parse(*question.histogram, scope);
}

PointKernel::PointKernel(const Space& space, const Question& question) : space_(space), question_(question) {}

std::string PointKernel::bind(std::uint64_t outer) {
  std::shared_ptr<const Subject> subject;
  try {
    subject = std::make_shared<const Subject>(space_.bind(outer));
    auto compiled = std::make_shared<const Compiled>(question_, subject->entry);
    use(std::move(subject), std::move(compiled));
    return {};
  } catch (const Error& error) {
    if (subject != nullptr)
      for (const auto& [name, why] : subject->absent)
        if (name == error.facts().key) return fmt::format("no {}: {}", name, why);
    return error.facts().message;
  }
}

void PointKernel::use(std::shared_ptr<const Subject> subject, std::shared_ptr<const Compiled> compiled) {
  subject_ = std::move(subject);
  compiled_ = std::move(compiled);
  columns_ = space_.columns(*subject_);
  const LawEntry& law = subject_->entry;
  const std::size_t n_in = law.inputs.size(), n_out = law.results.size();
  buffer_.assign((n_in + n_out) * kStride, 0.0);
  filled_.assign(n_in, kVaries);
  in_.resize(n_in);
  out_.resize(n_out);
  pointers_.resize(n_in + n_out);
  for (std::size_t i = 0; i < n_in; ++i) {
    double* column = buffer_.data() + i * kStride;
    std::fill_n(column, kBlock, subject_->point[i]);
    in_[i] = pointers_[i] = column;
  }
  for (std::size_t i = 0; i < n_out; ++i) pointers_[n_in + i] = out_[i] = buffer_.data() + (n_in + i) * kStride;
  values_.clear();
  values_.resize(compiled_->show.size() + 2 * compiled_->constraints.size() + compiled_->objectives.size() + 1);
  objectives_.resize(compiled_->objectives.size());
}

void PointKernel::fill(const Space::Column& c, double* to, std::uint64_t at, std::size_t points) {
  const std::uint64_t n = c.values.size();
  if (c.stride >= kBlock) {
    // One value over the block, or two where it changes inside; a value that stays is not written again.
    const double x = c.values[at / c.stride % n];
    const auto left = c.stride - at % c.stride;
    if (left >= points) {
      double& known = filled_[c.input];
      if (known == x) return;
      std::fill_n(to, kBlock, x);
      known = x;
      return;
    }
  }
  filled_[c.input] = kVaries;
  std::uint64_t row = at / c.stride % n, left = c.stride - at % c.stride;
  for (std::size_t p = 0; p < points;) {
    const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(left, points - p));
    if (c.stride == 1) {
      // The fastest axis: copy as long as it goes on.
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(n - row, points - p));
      std::copy_n(c.values.data() + row, length, to + p);
      p += length;
      row = 0;
      left = 1;
      continue;
    }
    std::fill_n(to + p, run, c.values[row]);
    p += run;
    row = row + 1 == n ? 0 : row + 1;
    left = c.stride;
  }
}

void PointKernel::run(std::uint64_t at, std::size_t points) {
  for (const auto& c : columns_) fill(c, buffer_.data() + c.input * kStride, at, points);
  evaluate(points);
}

void PointKernel::run(std::span<const std::uint64_t> points) {
  for (const auto& c : columns_) {
    double* const to = buffer_.data() + c.input * kStride;
    for (std::size_t p = 0; p < points.size(); ++p) to[p] = c.values[points[p] / c.stride % c.values.size()];
    filled_[c.input] = kVaries;
  }
  evaluate(points.size());
}

void PointKernel::run(std::span<const std::uint32_t> low, std::span<const std::uint32_t> high, std::span<const std::size_t> axes) {
  std::size_t points = 1;
  for (std::size_t a = 0; a < low.size(); ++a) points *= high[a] - low[a];
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Space::Column& c = columns_[k];
    std::size_t inside = 1;  // points until the next row
    for (std::size_t a = axes[k] + 1; a < low.size(); ++a) inside *= high[a] - low[a];
    double* const to = buffer_.data() + c.input * kStride;
    for (std::size_t p = 0; p < points;)
      for (std::uint32_t row = low[axes[k]]; row < high[axes[k]]; ++row, p += inside) std::fill_n(to + p, inside, c.values[row]);
    filled_[c.input] = kVaries;
  }
  evaluate(points);
}

std::vector<std::size_t> PointKernel::axes_of_columns() const {
  // Columns of one coupled axis share its stride; so do axes of one row and their neighbour, which the rows tell apart.
  std::vector<std::size_t> out;
  for (const auto& c : columns_) {
    std::uint64_t stride = space_.inner();
    for (std::size_t i = space_.structural_axes(); i < space_.axes().size(); ++i) {
      stride /= space_.axes()[i].size();
      if (stride != c.stride || space_.axes()[i].size() != c.values.size()) continue;
      out.push_back(i - space_.structural_axes());
      break;
    }
  }
  return out;
}

void PointKernel::evaluate(std::size_t points) {
  points_ = points;
  // Whole lanes; the points beyond hold values of earlier blocks, which are admissible.
  const std::size_t padded = std::min(kBlock, (points + 7) / 8 * 8);
  failures_.clear();
  const ListenForFailures listening(failures_);
  subject_->entry.batch(subject_->entry.self.get(), in_.data(), out_.data(), subject_->entry.is_law ? padded : points);
}

const double* PointKernel::value(const Expression& e, std::size_t buffer) {
  if (const int slot = e.lone_slot(); slot >= 0) return pointers_[static_cast<std::size_t>(slot)];
  auto& to = values_[buffer];
  if (to.size() < kBlock) {
    to.resize(kBlock);
    if (e.constant()) std::fill_n(to.begin(), kBlock, e(std::span<const double>{}));
  }
  if (!e.constant()) e.evaluate(pointers_, to.data(), points_, work_);
  return to.data();
}

double PointKernel::relative_excess(std::size_t c, std::size_t p) {
  const double a = left_side(c)[p], b = right_side(c)[p];
  return std::fabs(a - b) / std::max({std::fabs(a), std::fabs(b), 1e-300});
}

const double* PointKernel::objective(std::size_t k) {
  const double* x = stated_objective(k);
  if (compiled_->signs[k] > 0) return x;
  auto& to = objectives_[k];
  to.resize(kBlock);
  for (std::size_t p = 0; p < points_; ++p) to[p] = -x[p];
  return to.data();
}

const MissWord* PointKernel::misses() {
  std::fill_n(misses_.begin(), points_, MissWord{0});
  for (std::size_t c = 0; c < compiled_->constraints.size(); ++c)
    mark_misses(compiled_->constraints[c].comparison(), left_side(c), right_side(c),
                MissWord{1} << std::min(c, kMissBits), misses_.data(), points_);
  for (std::size_t k = 0; k < compiled_->objectives.size(); ++k)
    mark_not_finite(stated_objective(k), misses_.data(), points_);
  // A point whose resolver failed holds no numbers, so it misses nothing else.
  for (const auto& [p, reason] : failures_) misses_[p] = kNotFinite;
  return misses_.data();
}

}  // namespace mlsysim::detail
