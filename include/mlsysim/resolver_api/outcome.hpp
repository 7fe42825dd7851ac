#pragma once
/// A result, or the reason why there is none. "Infeasible" is a value here, not an exception.
///
/// Example: a model of 141 GB on a device of 80 GB gives an Outcome that is false, with `why()->reason`
/// "weights do not fit". `value()` then throws SolverError "infeasible: weights do not fit".

#include <mlsysim/units/error.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mlsysim {

/// Why there is no result, and what would have to change.
struct Infeasible {
  struct Fact {
    std::string name;
    std::string value;
  };

  std::string reason;           ///< one sentence: "needs 141 GB, the device has 80 GB"
  std::string smallest_change;  ///< what to change: "2 devices, or weights in fp8"; may be empty
  std::vector<Fact> facts;      ///< the figures behind it

  /// Reason, change and facts as lines of text.
  [[nodiscard]] std::string text() const;
};

namespace detail {
[[noreturn]] void no_result(const Infeasible& why);
}

/// A result of type `R` or an `Infeasible`.
template <class R> class [[nodiscard]] Outcome {
 public:
  using result_type = R;

  Outcome(R result) : state_(std::in_place_index<0>, std::move(result)) {}     // NOLINT: both are answers
  Outcome(Infeasible why) : state_(std::in_place_index<1>, std::move(why)) {}  // NOLINT: both are answers

  [[nodiscard]] bool feasible() const { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const { return feasible(); }

  /// The result. @throws SolverError with the reason when there is none
  [[nodiscard]] const R& value() const& {
    if (!feasible()) detail::no_result(*why());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] R&& value() && {
    if (!feasible()) detail::no_result(*why());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const R& operator*() const& { return value(); }
  [[nodiscard]] const R* operator->() const { return &value(); }

  /// Why there is no result; null when there is one.
  [[nodiscard]] const Infeasible* why() const { return std::get_if<1>(&state_); }

 private:
  std::variant<R, Infeasible> state_;
};

}  // namespace mlsysim
