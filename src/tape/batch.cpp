#include <mlsysim/tape/batch.hpp>

#include <mlsysim/tape/tape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mlsysim {
namespace {

/// Points from which compiling for what stays the same is worth its time.
constexpr std::size_t kMany = 1024;

void check_shape(const LawEntry& law, std::span<const Column> in, std::size_t points) {
  if (in.size() != law.inputs.size()) {
    throw InputError({.id = "mlsysim.tools.006",
                      .message = fmt::format("'{}' was given the wrong number of columns", law.info.id),
                      .found = fmt::format("{} columns", in.size()),
                      .expected = fmt::format("{}, one per input", law.inputs.size())});
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_constant || in[i].values.size() >= points) continue;
    throw InputError({.id = "mlsysim.tools.007",
                      .message = fmt::format("column '{}' is too short", law.inputs[i].name),
                      .key = law.inputs[i].name,
                      .found = fmt::format("{} numbers", in[i].values.size()),
                      .expected = fmt::format("{}, one per point", points),
                      .hint = "give one number instead of a column if it is the same for all points"});
  }
}

}  // namespace

BatchKernel::BatchKernel(const LawEntry& law, std::vector<std::size_t> results)
    : law_(&law), results_(std::move(results)) {
  if (!results_.empty()) return;
  results_.resize(law.results.size());
  std::iota(results_.begin(), results_.end(), std::size_t{0});
}

void BatchKernel::vary(std::span<const std::size_t> inputs, std::span<const double> point) {
  kept_.assign(point.begin(), point.end());
  for (const std::size_t i : inputs) kept_[i].reset();
  general_.reset();
}

void BatchKernel::run(std::span<const Column> in, std::span<const std::span<double>> out,
                      std::size_t points) {
  check_shape(*law_, in, points);
  if (out.size() != results_.size() ||
      std::any_of(out.begin(), out.end(), [&](const auto& column) { return column.size() < points; })) {
    throw InputError({.id = "mlsysim.tools.008",
                      .message = fmt::format("the output columns do not fit '{}'", law_->info.id),
                      .found = fmt::format("{} columns", out.size()),
                      .expected = fmt::format("{} columns of at least {} numbers", results_.size(), points)});
  }
  if (points == 0) return;
  if (law_->is_law())
    run_law(in, out, points);
  else
    run_plain(in, out, points);
}

void BatchKernel::run_plain(std::span<const Column> in, std::span<const std::span<double>> out,
                            std::size_t points) const {
  std::vector<double> given(in.size()), found(law_->results.size());
  for (std::size_t p = 0; p < points; ++p) {
    for (std::size_t i = 0; i < given.size(); ++i)
      given[i] = in[i].is_constant ? in[i].constant : in[i].values[p];
    law_->evaluate(law_->self.get(), given.data(), found.data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i][p] = found[results_[i]];
  }
}

Tape BatchKernel::wanted_part(std::span<const std::optional<double>> fixed) const {
  return law_->part({.fixed = fixed, .results = results_});
}

const ColumnProgram& BatchKernel::program_for(std::span<const Column> in, std::size_t points) {
  const auto fixed = [&](std::size_t i) {
    return in[i].is_constant ? std::optional(in[i].constant) : std::nullopt;
  };
  bool same = special_.has_value();
  for (std::size_t i = 0; same && i < in.size(); ++i) same = fixed_[i] == fixed(i);
  if (same) return *special_;
  if (std::max(points, expected_) >= kMany) {
    fixed_.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) fixed_[i] = fixed(i);
    special_.emplace(wanted_part(fixed_));
    special_space_.emplace(*special_);
    return *special_;
  }
  if (!general_) {
    general_.emplace(wanted_part(kept_));
    general_space_.emplace(*general_);
  }
  return *general_;
}

void BatchKernel::run_law(std::span<const Column> in, std::span<const std::span<double>> out,
                          std::size_t points) {
  const ColumnProgram& program = program_for(in, points);
  auto& space = special_ && &program == &*special_ ? *special_space_ : *general_space_;
  std::vector<const double*> from(in.size());
  std::vector<double*> to(out.size());
  spread_.resize(in.size() * kBlock);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].is_constant) std::fill_n(spread_.data() + i * kBlock, kBlock, in[i].constant);
  // Block by block, because a constant is a column of one block only.
  for (std::size_t at = 0; at < points; at += kBlock) {
    for (std::size_t i = 0; i < in.size(); ++i)
      from[i] = in[i].is_constant ? spread_.data() + i * kBlock : in[i].values.data() + at;
    for (std::size_t i = 0; i < out.size(); ++i) to[i] = out[i].data() + at;
    program.run(from.data(), to.data(), std::min(kBlock, points - at), space);
  }
}

void check_columns(const LawEntry& law, std::span<const Column> in, std::size_t points) {
  check_shape(law, in, points);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const FieldInfo& field = law.inputs[i];
    if (in[i].is_constant) {
      check_range(field, in[i].constant);
      continue;
    }
    // One vectorized pass finds the extremes; the slow check with the message runs only when they are
    // suspicious.
    const auto values = in[i].values.first(points);
    double low = INFINITY, high = -INFINITY, poison = 0;
    bool whole = true;
    if (field.integral)
      whole = std::all_of(values.begin(), values.end(), [](double x) { return x == std::floor(x); });
    for (const double x : values) {
      low = x < low ? x : low;
      high = high < x ? x : high;
      poison += x * 0.0;
    }
    const FieldRange range = base_range(field);
    const bool inside =
        whole && poison == 0.0 && high <= range.high && (range.open_low ? low > range.low : low >= range.low);
    if (points == 0 || inside) continue;
    for (std::size_t p = 0; p < points; ++p) {
      try {
        check_range(field, values[p]);
      } catch (Error& e) {
        e.add_context(fmt::format("at point {} of column '{}'", p, field.name));
        throw;
      }
    }
  }
}

BatchResult batch(const LawEntry& law, std::span<const Column> in, std::size_t points) {
  check_columns(law, in, points);
  BatchKernel kernel(law);
  BatchResult r;
  r.method = kernel.method();
  r.columns.resize(law.results.size());
  std::vector<std::span<double>> out;
  for (auto& column : r.columns) {
    column.resize(points);
    out.emplace_back(column);
  }
  kernel.run(in, out, points);
  return r;
}

}  // namespace mlsysim
