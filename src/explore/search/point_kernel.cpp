#include "explore/search/point_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim::detail {
namespace {

constexpr double kVaries = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<std::string> constraint_texts(const Question& question, const LawEntry& entry) {
  std::vector<std::string> out;
  const auto has = [&](std::string_view name) { return find_field(entry.results, name) != nullptr; };
  if (question.implicit_constraints && has("memory_used") && has("memory_capacity"))
    out.emplace_back("memory_used <= memory_capacity");
  if (question.implicit_constraints && has("plan_fits")) out.emplace_back("plan_fits >= 1");
  if (question.implicit_constraints && has("overload")) out.emplace_back("overload <= 0 request/s");
  out.insert(out.end(), question.constraints.begin(), question.constraints.end());
  return out;
}

Compiled::Compiled(const Question& question, const LawEntry& entry) {
  const ExpressionScope scope{entry.inputs, entry.results};
  for (const auto& o : question.objectives) {
    objectives.push_back(Expression::parse(o.text, scope));
    signs.push_back(o.goal == Goal::minimize ? 1.0 : -1.0);
  }
  for (const auto& text : constraint_texts(question, entry))
    constraints.push_back(ConstraintExpression::parse(text, scope));
  for (const auto& text : question.show) show.push_back(Expression::parse(text, scope));
  if (question.histogram) histogram = Expression::parse(*question.histogram, scope);
}

std::vector<const Expression*> Compiled::all() const {
  std::vector<const Expression*> out;
  for (const auto& e : show) out.push_back(&e);
  for (const auto& c : constraints) out.push_back(&c.left()), out.push_back(&c.right());
  for (const auto& e : objectives) out.push_back(&e);
  if (histogram) out.push_back(&*histogram);
  return out;
}

std::vector<std::size_t> axes_of_columns(const Space& space, std::span<const Space::Column> columns) {
  // Columns of one coupled axis share its stride; so do axes of one row and their neighbor, which the rows
  // tell apart.
  std::vector<std::size_t> out;
  for (const auto& c : columns) {
    std::uint64_t stride = space.inner();
    for (std::size_t i = space.structural_axes(); i < space.axes().size(); ++i) {
      stride /= space.axes()[i].size();
      if (stride != c.stride || space.axes()[i].size() != c.values.size()) continue;
      out.push_back(i - space.structural_axes());
      break;
    }
  }
  return out;
}

void Compiled::record(const Subject& subject, const Space& space) {
  const LawEntry& law = subject.entry;
  if (!law.is_law()) return;
  const auto columns = space.columns(subject);
  const auto expressions = all();
  const Tape whole = record_tape(columns.size(), [&](std::span<const Recorded> in) {
    std::vector<Recorded> slots(subject.point.begin(), subject.point.end());
    for (std::size_t k = 0; k < columns.size(); ++k) slots[columns[k].input] = in[k];
    const auto results = replay(law.tape(), slots);
    slots.insert(slots.end(), results.begin(), results.end());
    std::vector<Recorded> out;
    for (const Expression* e : expressions) out.push_back((*e)(std::span<const Recorded>(slots)));
    return out;
  });
  // Conditions that the ranges of the axes already decide are decided once, here.
  std::vector<Interval> box;
  for (const auto& c : columns) {
    const auto [low, high] = c.values.extent();
    box.emplace_back(low, high);
  }
  tape = reduced(whole, {.box = box});
  is_law = true;
  for (std::size_t a = space.structural_axes(); a < space.axes().size(); ++a)
    sizes_.push_back(space.axes()[a].size());
  const auto axes = axes_of_columns(space, columns);
  for (std::size_t k = 0; k < columns.size(); ++k) inputs_.push_back({axes[k], columns[k].values});
}

const ColumnProgram& Compiled::program() const {
  program_made_.call([this] { program_.emplace(tape); });
  return *program_;
}
const GridProgram& Compiled::grid() const {
  grid_made_.call([this] { grid_.emplace(tape, sizes_, inputs_); });
  return *grid_;
}

PointKernel::PointKernel(const Space& space, const Question& question) : space_(space), question_(question) {}

std::string PointKernel::bind(std::uint64_t outer) {
  std::shared_ptr<const Subject> subject;
  try {
    subject = std::make_shared<const Subject>(space_.bind(outer));
    auto compiled = std::make_shared<Compiled>(question_, subject->entry);
    compiled->record(*subject, space_);
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
  const std::size_t n_in = columns_.size(), n_out = compiled_->expressions();
  buffer_.assign((n_in + n_out) * kStride, 0.0);
  filled_.assign(n_in, kVaries);
  in_.resize(n_in);
  out_.resize(n_out);
  for (std::size_t i = 0; i < n_in; ++i) in_[i] = buffer_.data() + i * kStride;
  for (std::size_t i = 0; i < n_out; ++i) out_[i] = buffer_.data() + (n_in + i) * kStride;
  objectives_.resize(compiled_->objectives.size());
  workspace_.reset();
  grid_workspace_.reset();
}

void PointKernel::fill(const Space::Column& c, double& filled, double* to, std::uint64_t at,
                       std::size_t points) {
  const std::uint64_t n = c.values.size();
  if (c.stride >= kBlock) {
    // One value over the block, or two where it changes inside; a value that stays is not written again.
    const double x = c.values[at / c.stride % n];
    const auto left = c.stride - at % c.stride;
    if (left >= points) {
      if (filled == x) return;
      std::fill_n(to, kBlock, x);
      filled = x;
      return;
    }
  }
  filled = kVaries;
  std::uint64_t row = at / c.stride % n, left = c.stride - at % c.stride;
  for (std::size_t p = 0; p < points;) {
    const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(left, points - p));
    if (c.stride == 1) {
      // The fastest axis: copy up to its end.
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(n - row, points - p));
      c.values.copy(row, length, to + p);
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
  if (compiled_->has_grid()) {
    points_ = points;
    failures_.clear();
    if (!grid_workspace_) grid_workspace_.emplace(compiled_->grid());
    compiled_->grid().run(at, points, out_.data(), *grid_workspace_);
    return;
  }
  for (std::size_t k = 0; k < columns_.size(); ++k)
    fill(columns_[k], filled_[k], buffer_.data() + k * kStride, at, points);
  evaluate(points);
}

void PointKernel::run(std::span<const std::uint64_t> points) {
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto& c = columns_[k];
    double* const to = buffer_.data() + k * kStride;
    for (std::size_t p = 0; p < points.size(); ++p) to[p] = c.values[points[p] / c.stride % c.values.size()];
    filled_[k] = kVaries;
  }
  evaluate(points.size());
}

void PointKernel::run(std::span<const std::uint32_t> low, std::span<const std::uint32_t> high,
                      std::span<const std::size_t> axes) {
  std::size_t points = 1;
  for (std::size_t a = 0; a < low.size(); ++a) points *= high[a] - low[a];
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Space::Column& c = columns_[k];
    std::size_t inside = 1;  // points until the next row
    for (std::size_t a = axes[k] + 1; a < low.size(); ++a) inside *= high[a] - low[a];
    double* const to = buffer_.data() + k * kStride;
    for (std::size_t p = 0; p < points;)
      for (std::uint32_t row = low[axes[k]]; row < high[axes[k]]; ++row, p += inside)
        std::fill_n(to + p, inside, c.values[row]);
    filled_[k] = kVaries;
  }
  evaluate(points);
}

void PointKernel::evaluate(std::size_t points) {
  points_ = points;
  failures_.clear();
  if (!compiled_->is_law) return call_each(points);
  if (!workspace_) workspace_.emplace(compiled_->program());
  compiled_->program().run(in_.data(), out_.data(), points, *workspace_);
}

void PointKernel::call_each(std::size_t points) {
  const LawEntry& law = subject_->entry;
  const std::size_t n_in = law.inputs.size();
  slots_.resize(n_in + law.results.size());
  const auto expressions = compiled_->all();
  for (std::size_t p = 0; p < points; ++p) {
    std::copy(subject_->point.begin(), subject_->point.end(), slots_.begin());
    for (std::size_t k = 0; k < columns_.size(); ++k) slots_[columns_[k].input] = in_[k][p];
    if (law.attempt != nullptr) {
      if (auto why = law.attempt(law.self.get(), slots_.data(), slots_.data() + n_in); !why.empty())
        failures_.emplace_back(p, std::move(why));
    } else {
      law.evaluate(law.self.get(), slots_.data(), slots_.data() + n_in);
    }
    for (std::size_t e = 0; e < expressions.size(); ++e)
      out_[e][p] = (*expressions[e])(std::span<const double>(slots_));
  }
}

double PointKernel::relative_excess(std::size_t c, std::size_t p) const {
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
