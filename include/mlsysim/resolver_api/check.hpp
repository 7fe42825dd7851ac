#pragma once
/// Check of a solver's answer: the answer is put back into the equation and compared with the target.
///
///   residual = |found - target| / |target|      passed = residual <= tolerance (1e-9)
///
/// A count passes when n meets the target and n - 1 does not. A gradient is compared with a central
/// difference (1e-5).
/// Example: 10 ms asked and 10.1 ms found gives residual 0.01 and fails. f = x^3 at 2 passes with the claim
/// 12 and fails with 11.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// How an answer was checked.
enum class CheckKind : std::uint8_t { equality, integer_threshold, gradient };
template <>
inline constexpr auto names_of<CheckKind> = ChoiceNames{"check", "equality", "integer threshold", "gradient"};

/// One comparison of what was asked with what the answer gives.
class [[nodiscard]] Check {
 public:
  /// The answer gives `found` where `target` was asked; they are the same within `tolerance` of the target.
  template <class D>
  Check(const Quantity<D, double>& target, const Quantity<D, double>& found, std::string_view name = "target",
        double tolerance = 1e-9)
      : Check(CheckKind::equality, name, AnyQuantity(target), AnyQuantity(found), tolerance) {}
  Check(double target, double found, std::string_view name = "target", double tolerance = 1e-9)
      : Check(CheckKind::equality, name, AnyQuantity(target), AnyQuantity(found), tolerance) {}
  /// The same for quantities whose dimension is known at run time only.
  static Check equal(std::string_view name, const AnyQuantity& target, const AnyQuantity& found,
                     double tolerance = 1e-9) {
    return {CheckKind::equality, name, target, found, tolerance};
  }

  /// The smallest whole number that will do: `n` meets the target and `n - 1` does not.
  static Check threshold(std::string_view name, double n, bool n_meets, bool one_less_meets);

  /// A derivative against the central difference of `f` at `x`.
  template <class F>
  static Check gradient(std::string_view name, double claimed, F&& f, double x, double tolerance = 1e-5) {
    const double h = step(x);
    return {CheckKind::gradient, name, AnyQuantity((f(x + h) - f(x - h)) / (2 * h)), AnyQuantity(claimed),
            tolerance};
  }

  [[nodiscard]] CheckKind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool passed() const { return passed_; }
  /// |found - target| / |target|, or the distance itself where the target is 0; 0 or 1 for a threshold.
  [[nodiscard]] double residual() const { return residual_; }
  /// "target_latency: 10 ms asked, 10 ms found, residual 0"
  [[nodiscard]] std::string text() const;

 private:
  Check(CheckKind kind, std::string_view name, const AnyQuantity& target, const AnyQuantity& found,
        double tolerance);
  static double step(double x);

  CheckKind kind_ = CheckKind::equality;
  std::string name_;
  std::string detail_;
  double residual_ = 0;
  bool passed_ = false;
};

/// All checks of one answer, or the reason why it was not checked.
struct Verification {
  std::vector<Check> checks;
  std::string not_checked;  ///< why nothing was compared; empty when something was

  [[nodiscard]] bool checked() const { return !checks.empty(); }
  [[nodiscard]] bool passed() const;
  /// "checked: ..." or "not checked: ..."
  [[nodiscard]] std::string text() const;
};

}  // namespace mlsysim
