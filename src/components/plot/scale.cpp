#include "detail/scale.hpp"

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim::detail {
namespace {

std::size_t column_or_none(const Table& table, const std::string& name) {
  return name.empty() ? kNoColumn : column_of(table, name);
}

std::string tick_text(double value) { return pretty(value, 6); }

}  // namespace

MarkColumns::MarkColumns(const PictureMark& m)
    : x(column_or_none(m.data, m.x)),
      y(column_or_none(m.data, m.y)),
      x_end(column_or_none(m.data, m.x_end)),
      y_end(column_or_none(m.data, m.y_end)),
      series(column_or_none(m.data, m.series)),
      label(column_or_none(m.data, m.label)),
      amount(column_or_none(m.data, m.amount)) {}

PlacedAxis::PlacedAxis(const Picture& picture, Along along)
    : axis_(along == Along::x ? &picture.x : &picture.y) {
  if (axis_->scale == Scale::category) {
    const auto n = static_cast<double>(axis_->categories.size());
    for (std::size_t i = 0; i < axis_->categories.size(); ++i)
      ticks_.push_back({(static_cast<double>(i) + 0.5) / n, axis_->categories[i]});
    return;
  }
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto take = [&](double x) {
    if (!std::isfinite(x) || (axis_->scale == Scale::logarithmic && !(x > 0))) return;
    low = std::min(low, x);
    high = std::max(high, x);
  };
  for (const auto& mark : picture.marks) {
    const MarkColumns at(mark);
    const auto a = along == Along::x ? at.x : at.y, b = along == Along::x ? at.x_end : at.y_end;
    for (const auto& row : mark.data.rows)
      for (const auto c : {a, b})
        if (c != kNoColumn)
          if (const auto x = number_in(row[c], axis_->unit)) take(*x);
  }
  if (axis_->from_zero) take(0);
  if (axis_->low) low = *axis_->low;
  if (axis_->high) high = *axis_->high;
  settle_ends(low, high);
  if (axis_->scale != Scale::place) make_ticks();
}

/// A picture needs two ends that differ, and room beside the outermost marks.
void PlacedAxis::settle_ends(double low, double high) {
  const bool logarithmic = axis_->scale == Scale::logarithmic;
  if (logarithmic && !(low > 0)) low = high > 0 ? std::min(high, 1.0) / 10 : HUGE_VAL;
  if (!(low <= high && std::isfinite(logarithmic ? high / low : high - low)))
    low = logarithmic ? 1 : 0, high = logarithmic ? 10 : 1;
  if (low == high) {
    const double step = low == 0 ? 1 : std::abs(low) * 0.5;
    high = logarithmic ? high * 2 : high + step;
    low = logarithmic ? low / 2 : low - (axis_->from_zero && low >= 0 ? 0 : step);
  }
  if (axis_->scale == Scale::linear) {
    const double room = 0.04 * (high - low);
    if (!axis_->low && !(axis_->from_zero && low == 0)) low -= room;
    if (!axis_->high && !(axis_->from_zero && high == 0)) high += room;
  } else if (logarithmic) {
    const double room = std::pow(high / low, 0.03);
    if (!axis_->low) low /= room;
    if (!axis_->high) high *= room;
  }
  low_ = low;
  high_ = high;
}

void PlacedAxis::make_ticks() {
  const auto add = [&](double value) {
    const double at = place(value);
    if (at >= -1e-9 && at <= 1 + 1e-9) ticks_.push_back({std::clamp(at, 0.0, 1.0), tick_text(value)});
  };
  if (axis_->scale == Scale::logarithmic) {
    const double decades = std::log10(high_ / low_);
    const int first = static_cast<int>(std::floor(std::log10(low_)));
    const int last = static_cast<int>(std::ceil(std::log10(high_)));
    const int step = std::max(1, static_cast<int>(std::ceil(decades / 8)));
    for (int d = first; d <= last; d += step)
      for (const double m : decades < 1.2   ? std::vector<double>{1, 1.5, 2, 3, 5, 7}
                            : decades < 3.0 ? std::vector<double>{1, 2, 5}
                                            : std::vector<double>{1})
        add(m * std::pow(10.0, d));
    return;
  }
  const double rough = (high_ - low_) / 6, size = std::pow(10.0, std::floor(std::log10(rough)));
  double step = size * 10;
  for (const double m : {1.0, 2.0, 5.0})
    if (m * size >= rough) {
      step = m * size;
      break;
    }
  const double first = std::ceil(low_ / step - 1e-9);
  for (double k = first; k * step <= high_ * (1 + 1e-12) + 1e-12 * step && k < first + 20; ++k)
    add(k == 0 ? 0 : k * step);
}

std::optional<double> PlacedAxis::place(const Table::Cell& cell) const {
  if (axis_->scale == Scale::category) {
    const auto at = std::find(axis_->categories.begin(), axis_->categories.end(), words_of(cell));
    if (at == axis_->categories.end()) return std::nullopt;
    return (static_cast<double>(at - axis_->categories.begin()) + 0.5) /
           static_cast<double>(axis_->categories.size());
  }
  const auto x = number_in(cell, axis_->unit);
  if (!x || (axis_->scale == Scale::logarithmic && !(*x > 0))) return std::nullopt;
  return place(*x);
}

double PlacedAxis::place(double value) const {
  if (axis_->scale == Scale::logarithmic) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

double PlacedAxis::band() const {
  return axis_->categories.empty() ? 1 : 1 / static_cast<double>(axis_->categories.size());
}

std::string PlacedAxis::heading() const {
  return axis_->unit.empty() ? axis_->title : fmt::format("{} [{}]", axis_->title, axis_->unit);
}

std::vector<std::string> series_of(const Picture& picture) {
  std::vector<std::string> out;
  for (const auto& mark : picture.marks) {
    if (mark.series.empty()) continue;
    const auto c = column_of(mark.data, mark.series);
    for (const auto& row : mark.data.rows) {
      auto name = words_of(row[c]);
      if (!name.empty() && std::find(out.begin(), out.end(), name) == out.end())
        out.push_back(std::move(name));
    }
  }
  return out;
}

std::size_t series_at(const PictureMark& mark, std::span<const Table::Cell> row,
                      std::span<const std::string> all) {
  if (mark.series.empty()) return 0;
  const auto at = std::find(all.begin(), all.end(), words_of(row[column_of(mark.data, mark.series)]));
  return at == all.end() ? 0 : static_cast<std::size_t>(at - all.begin());
}

bool lies(const Picture& picture, const PictureMark& mark) {
  return mark.shape == MarkShape::bar && picture.y.scale == Scale::category;
}

}  // namespace mlsysim::detail
