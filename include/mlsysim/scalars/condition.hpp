#pragma once
/// What comparisons of scalars give, and the refusal to branch on it.
///
/// A law is one text for all scalars, so a comparison is data: eight lanes may disagree, a range may not know yet.
/// Every condition type converts to bool only into an error with one sentence of advice; that also catches
/// `std::max`, `std::min`, `?:` and `while`.

#include <type_traits>

namespace mlsysim::detail {

/// Base of the condition types: any use as a bool is a compile error that says what to write.
struct NoBranch {
  template <class B>
    requires std::is_same_v<B, bool>
  constexpr operator B() const {  // NOLINT(google-explicit-constructor)
    static_assert(!std::is_same_v<B, bool>,
                  "a law must not branch on a value: write select(condition, a, b), or mlsysim::min/max");
    return false;
  }
};

/// What `repeat` must know about a scalar used as a count; each scalar specialises it.
template <class T>
struct LoopTraits {
  /// States of several lanes or of a range of counts are merged by `select`.
  static constexpr bool merges = false;
  /// A count without end gives a result of which nothing is known, instead of an error.
  static constexpr bool may_be_endless = false;
  /// Largest number of rounds that the count stands for; not a number if it is none.
  [[nodiscard]] static constexpr double upper(const T& count) { return static_cast<double>(count); }
  /// Notes on a loop's result that it changes in steps with the count; only derivatives care.
  template <class S>
  static constexpr void mark_steps(S&, const T&) {}
};

}  // namespace mlsysim::detail
