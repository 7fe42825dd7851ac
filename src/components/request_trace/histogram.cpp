#include "request_trace/detail/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr std::uint64_t kExact = 256;
constexpr int kExactBits = 8;

}  // namespace

std::size_t NumberHistogram::bin_of(std::uint64_t x) {
  if (x < kExact) return static_cast<std::size_t>(x);
  const int octave = static_cast<int>(std::bit_width(x)) - 1 - kExactBits;
  return static_cast<std::size_t>(kExact * static_cast<std::uint64_t>(octave) + (x >> octave));
}

std::uint64_t NumberHistogram::first_of(std::size_t bin) {
  if (bin < 2 * kExact) return bin;
  const auto octave = bin / kExact - 1;
  return (kExact + bin % kExact) << octave;
}

void NumberHistogram::add(std::uint64_t x) {
  const auto bin = bin_of(x);
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  ++bins_[bin];
  ++count_;
  least_ = std::min(least_, x);
  most_ = std::max(most_, x);
  const double value = static_cast<double>(x), apart = value - mean_;
  mean_ += apart / static_cast<double>(count_);
  squares_ += apart * (value - mean_);
}

double NumberHistogram::deviation() const {
  return count_ > 0 ? std::sqrt(squares_ / static_cast<double>(count_)) : 0;
}

double NumberHistogram::quantile(double share) const {
  const auto wanted = std::max(1.0, std::ceil(share * static_cast<double>(count_)));
  double below = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    below += static_cast<double>(bins_[bin]);
    if (below >= wanted) return static_cast<double>(std::max(first_of(bin), least_));
  }
  return most();
}

CountedSpread NumberHistogram::spread(double unit) const {
  CountedSpread out{.count = static_cast<double>(count_)};
  if (count_ == 0) return out;
  out.mean = mean_ * unit;
  out.deviation = deviation() * unit;
  out.least = static_cast<double>(least_) * unit;
  out.most = most() * unit;
  out.p50 = quantile(0.5) * unit;
  out.p90 = quantile(0.9) * unit;
  out.p99 = quantile(0.99) * unit;
  // A whole number stands for what rounds to it, so bins end half-way to the next.
  std::vector<CountedShare> counted;
  double below = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] == 0) continue;
    counted.push_back({(static_cast<double>(first_of(bin)) - 0.5) * unit, below / out.count});
    below += static_cast<double>(bins_[bin]);
    counted.push_back({(static_cast<double>(first_of(bin + 1)) - 0.5) * unit, below / out.count});
  }
  out.laws = fit_laws(out.mean, out.deviation, counted);
  return out;
}

}  // namespace mlsysim::detail
