#include <mlsysim/tape/batch.hpp>

#include <mlsysim/tape/kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

static_assert(BatchKernel::kBlock % kLanes == 0);

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

BatchKernel::BatchKernel(const LawEntry& law)
    : law_(&law),
      buffer_((law.inputs.size() + law.results.size()) * kStride),
      in_(law.inputs.size()),
      out_(law.results.size()) {}

void BatchKernel::run(std::span<const Column> in, std::span<const std::span<double>> out, std::size_t points) {
  check_shape(*law_, in, points);
  if (out.size() != out_.size() ||
      std::any_of(out.begin(), out.end(), [&](const auto& column) { return column.size() < points; })) {
    throw InputError({.id = "mlsysim.tools.008",
                      .message = fmt::format("the output columns do not fit '{}'", law_->info.id),
                      .found = fmt::format("{} columns", out.size()),
                      .expected = fmt::format("{} columns of at least {} numbers", out_.size(), points)});
  }
  const auto input_buffer = [&](std::size_t i) { return buffer_.data() + i * kStride; };
  const auto output_buffer = [&](std::size_t i) { return buffer_.data() + (in.size() + i) * kStride; };
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_constant) continue;
    std::fill_n(input_buffer(i), kBlock, in[i].constant);
    in_[i] = input_buffer(i);
  }
  // Plain entries take any number of points; calls of user code for padding would be seen by it.
  const std::size_t grain = law_->is_law ? kLanes : 1;
  for (std::size_t at = 0; at < points; at += kBlock) {
    const std::size_t count = std::min(kBlock, points - at);
    const std::size_t whole = count / grain * grain;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!in[i].is_constant) in_[i] = in[i].values.data() + at;
    for (std::size_t i = 0; i < out.size(); ++i) out_[i] = out[i].data() + at;
    if (whole > 0) law_->batch(law_->self.get(), in_.data(), out_.data(), whole);
    if (whole == count) continue;
    // The last lanes repeat the last point, so that no lane computes with values that nobody gave.
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_constant) continue;
      const double* from = in_[i] + whole;
      double* to = input_buffer(i);
      for (std::size_t j = 0; j < kLanes; ++j) to[j] = from[std::min(j, count - whole - 1)];
      in_[i] = to;
    }
    for (std::size_t i = 0; i < out.size(); ++i) out_[i] = output_buffer(i);
    law_->batch(law_->self.get(), in_.data(), out_.data(), kLanes);
    for (std::size_t i = 0; i < out.size(); ++i)
      std::copy_n(output_buffer(i), count - whole, out[i].data() + at + whole);
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
    // One vectorised pass finds the extremes; the slow check with the message runs only when they are suspicious.
    const auto values = in[i].values.first(points);
    double low = INFINITY, high = -INFINITY, poison = 0;
    bool whole = true;
    if (field.integral) whole = std::all_of(values.begin(), values.end(), [](double x) { return x == std::floor(x); });
    for (const double x : values) {
      low = x < low ? x : low;
      high = high < x ? x : high;
      poison += x * 0.0;
    }
    const FieldRange range = base_range(field);
    const bool inside = whole && poison == 0.0 && high <= range.high && (range.open_low ? low > range.low : low >= range.low);
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
