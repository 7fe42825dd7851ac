#pragma once
/// Bounds of the results of a law while its inputs vary within a box.
///
///     low[r] <= law(x)[r] <= high[r]      for all x with box[i].low <= x[i] <= box[i].high
///
/// A law gets outer bounds from interval arithmetic with a monotonicity test, see tape/ranges.hpp. They are
/// exact where the result is monotone in every input. Any other resolver gets the extremes of sampled points:
/// the corners and the middle of the box. Such extremes lie inside the true range and are no bound.
/// @cite moore2009interval, section 6.4
/// Example: Roofline, 10 TFLOP at 1000 TFLOP/s, 20 to 40 GB at 2 to 4 TB/s: the time is 10 to 20 ms.

#include <mlsysim/tape/interval.hpp>
#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <span>
#include <vector>

namespace mlsysim {

/// Ranges of the results asked for; outer bounds if the method is exact, inner estimates if it is sampled.
struct Bounds {
  Method method = Method::exact;
  std::vector<Interval> results;
};

/// Bounds of the results over ranges of the inputs, in canonical base units.
///
/// Sampling visits all corners of up to 10 ranged inputs. Beyond 10 it moves one input at a time.
/// @param wanted indices of results, in their order; empty: all
/// @throws InputError, DomainError if the box is not within the ranges of the law
[[nodiscard]] Bounds bound(const LawEntry& law, std::span<const Interval> box,
                           std::span<const std::size_t> wanted = {});

}  // namespace mlsysim
