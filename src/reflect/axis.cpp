#include <mlsysim/reflect/axis.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

Axis::Axis(std::vector<double> base_values, Exponents exps) : exps_(exps) {
  if (base_values.empty()) return;
  size_ = base_values.size();
  listed_ = std::make_shared<std::vector<double>>(std::move(base_values));
  table_ = listed_->data();
  parts_.push_back({.count = size_});
}

Axis Axis::of(Part part, Exponents exps) {
  Axis out(exps);
  if (part.count == 0) return out;
  out.size_ = part.count;
  out.parts_.push_back(part);
  return out;
}

Axis Axis::between(double low, double high, std::size_t count, Spacing spacing, Exponents exps) {
  const bool even = spacing == Spacing::linear;
  return of({.count = count,
             .form = even ? Form::linear : Form::logarithmic,
             .start = low,
             .by = even ? high - low : high / low,
             .end = high},
            exps);
}
Axis Axis::steps(double first, double step, std::size_t count, Exponents exps) {
  return of({.count = count, .form = Form::steps, .start = first, .by = step}, exps);
}
Axis Axis::ratios(double first, double ratio, std::size_t count, Exponents exps) {
  return of({.count = count, .form = Form::ratios, .start = first, .by = ratio}, exps);
}

void Axis::add(double base) {
  const bool all_listed = table_ != nullptr || size_ == 0;
  if (listed_ == nullptr)
    listed_ = std::make_shared<std::vector<double>>();
  else if (listed_.use_count() > 1)
    listed_ = std::make_shared<std::vector<double>>(*listed_);  // copies keep what they had
  if (parts_.empty() || parts_.back().form != Form::listed)
    parts_.push_back({.first = size_, .at = listed_->size()});
  listed_->push_back(base);
  ++parts_.back().count;
  ++size_;
  table_ = all_listed ? listed_->data() : nullptr;
}

void Axis::add(const Axis& more) {
  for (Part part : std::vector(more.parts_)) {  // a copy: `more` may be this
    if (part.form == Form::listed) {
      for (std::size_t i = 0; i < part.count; ++i) add(more.member_of(part, i));
      continue;
    }
    part.first = size_;
    parts_.push_back(part);
    size_ += part.count;
    table_ = nullptr;
  }
}

const Axis::Part& Axis::part_with(std::size_t i) const {
  if (parts_.size() == 1) return parts_[0];
  return *(std::upper_bound(parts_.begin(), parts_.end(), i,
                            [](std::size_t at, const Part& p) { return at < p.first; }) -
           1);
}

double Axis::member_of(const Part& p, std::size_t i) const {
  const auto x = static_cast<double>(i);
  switch (p.form) {
    case Form::listed:
      return (*listed_)[p.at + i];
    case Form::steps:
      return p.start + x * p.by;
    case Form::ratios:
      return p.start * std::pow(p.by, x);
    default:
      break;
  }
  if (i == 0) return p.start;
  if (i + 1 == p.count) return p.end;
  const double t = x / static_cast<double>(p.count - 1);
  if (p.form == Form::linear) return p.start + p.by * t;
  // A power that rounding takes off a whole number is that number: 1 to 64 in seven steps is 1, 2, 4, ...
  const double x_there = p.start * std::pow(p.by, t), whole = std::round(x_there);
  return std::fabs(x_there - whole) <= 1e-13 * whole ? whole : x_there;
}

double Axis::member(std::size_t i) const {
  const Part& p = part_with(i);
  return member_of(p, i - p.first);
}

void Axis::copy(std::size_t first, std::size_t count, double* to) const {
  while (count > 0) {
    const Part& p = part_with(first);
    const std::size_t from = first - p.first, n = std::min(count, p.count - from);
    if (p.form == Form::listed)
      std::copy_n(listed_->data() + p.at + from, n, to);
    else
      for (std::size_t i = 0; i < n; ++i) to[i] = member_of(p, from + i);
    first += n;
    to += n;
    count -= n;
  }
}

Axis::Extent Axis::extent(std::size_t first, std::size_t last) const {
  Extent out{HUGE_VAL, -HUGE_VAL};
  const auto hold = [&](double x) { out = {std::min(out.low, x), std::max(out.high, x)}; };
  while (first < last) {
    const Part& p = part_with(first);
    const std::size_t from = first - p.first, n = std::min(last - first, p.count - from);
    if (p.form == Form::listed) {
      for (std::size_t i = 0; i < n; ++i) hold((*listed_)[p.at + from + i]);
    } else {
      hold(member_of(p, from));
      hold(member_of(p, from + n - 1));
    }
    first += n;
  }
  return out;
}

bool Axis::finite() const {
  for (const Part& p : parts_) {
    if (p.form != Form::listed) {
      if (!std::isfinite(p.start) || !std::isfinite(member_of(p, p.count - 1))) return false;
    } else if (!std::all_of(listed_->begin() + static_cast<std::ptrdiff_t>(p.at),
                            listed_->begin() + static_cast<std::ptrdiff_t>(p.at + p.count),
                            [](double x) { return std::isfinite(x); })) {
      return false;
    }
  }
  return true;
}

bool Axis::whole() const {
  const auto is_whole = [](double x) { return x == std::floor(x); };
  for (const Part& p : parts_) {
    const bool plain = p.form == Form::steps || p.form == Form::ratios;
    if (plain && is_whole(p.start) && is_whole(p.by)) continue;
    for (std::size_t i = 0; i < p.count; ++i)
      if (!is_whole(member_of(p, i))) return false;
  }
  return true;
}

bool Axis::ascending() const {
  double before = -HUGE_VAL;
  for (const Part& p : parts_) {
    if (p.form == Form::listed) {
      const double* const x = listed_->data() + p.at;
      if (!(x[0] >= before) || !std::is_sorted(x, x + p.count)) return false;
    } else if (const bool up = p.count == 1 || member_of(p, p.count - 1) >= p.start;
               !up || !(p.start >= before)) {
      return false;
    }
    before = member_of(p, p.count - 1);
  }
  return true;
}

std::size_t Axis::nearest(double x) const {
  std::size_t best = 0;
  const auto compare = [&](std::size_t i) {
    const double far = std::fabs((*this)[i] - x), least = std::fabs((*this)[best] - x);
    if (far < least || (far == least && i < best)) best = i;
  };
  for (const Part& p : parts_) {
    if (p.form == Form::listed) {
      for (std::size_t i = 0; i < p.count; ++i) compare(p.first + i);
      continue;
    }
    // A range runs one way: the first member that is not before x, and the one before that.
    const bool up = member_of(p, p.count - 1) >= p.start;
    std::size_t low = 0, high = p.count;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const double here = member_of(p, middle);
      if (up ? here < x : here > x)
        low = middle + 1;
      else
        high = middle;
    }
    if (low > 0) compare(p.first + low - 1);
    if (low < p.count) compare(p.first + low);
  }
  return best;
}

Axis Axis::listed_up_to(std::size_t most) const {
  if (table_ != nullptr || size_ == 0 || size_ > most) return *this;
  std::vector<double> all(size_);
  copy(0, size_, all.data());
  return {std::move(all), exps_};
}

std::size_t Axis::memory() const {
  return sizeof(Axis) + parts_.capacity() * sizeof(Part) +
         (listed_ == nullptr ? 0 : listed_->capacity() * sizeof(double));
}

std::string Axis::text() const {
  std::string out;
  for (const Part& p : parts_) {
    if (p.form == Form::listed)
      for (std::size_t i = 0; i < p.count; ++i)
        out += fmt::format("{}{}", out.empty() ? "" : " ", format_exact(member_of(p, i)));
    else
      out += fmt::format("{}{}..{}:{}{}", out.empty() ? "" : " ", format_exact(p.start),
                         format_exact(member_of(p, p.count - 1)), p.count,
                         p.form == Form::logarithmic ? "log"
                         : p.form == Form::ratios    ? fmt::format("*{}", format_exact(p.by))
                         : p.form == Form::steps     ? fmt::format("+{}", format_exact(p.by))
                                                     : "");
  }
  return out;
}

}  // namespace mlsysim
