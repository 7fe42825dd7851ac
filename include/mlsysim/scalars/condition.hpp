#pragma once
/// Conditions that comparisons of scalars return. Code cannot branch on them.
///
/// A law is one text for numbers and for the recording, so a comparison is data: its value is not known while
/// recording. Every condition type converts to bool only into an error with one sentence of advice; that also
/// catches `std::max`, `std::min`, `?:` and `while`.

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

}  // namespace mlsysim::detail
