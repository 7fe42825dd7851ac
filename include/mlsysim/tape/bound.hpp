#pragma once
/// Ranges of results over a box of inputs.

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

/// Runs a law on ranges of its inputs, in canonical base units.
///
/// For a resolver that is not a law: the smallest and largest result at the corners and middle of the box
/// (all corners up to 10 ranged inputs, one input at a time beyond), which is no bound, and says so.
/// @param wanted indices of results, in their order; empty: all
/// @throws InputError, DomainError if the box is not within the ranges of the law
[[nodiscard]] Bounds bound(const LawEntry& law, std::span<const Interval> box,
                           std::span<const std::size_t> wanted = {});

}  // namespace mlsysim
