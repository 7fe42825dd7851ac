#pragma once
/// Base of the conditions that comparisons of scalars return, which code cannot branch on.
///
/// A law runs on numbers and on the recording scalar. While recording, the value of a comparison is not
/// known. Every condition type therefore converts to bool only into a compile error with advice. That also
/// catches `std::max`, `std::min`, `?:` and `while`.
/// Example: `if (a < b)` on `Recorded` fails to compile with "write select(condition, a, b), or
/// mlsysim::min/max".

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
