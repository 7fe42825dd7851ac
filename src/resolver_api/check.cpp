#include <mlsysim/resolver_api/check.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

Check::Check(CheckKind kind, std::string_view name, const AnyQuantity& target, const AnyQuantity& found,
             double tolerance)
    : kind_(kind), name_(name) {
  const double want = target.base(), got = found.base();
  residual_ = std::abs(got - want);
  if (want != 0) residual_ /= std::abs(want);
  // A NaN residual must not pass, so the comparison is written this way round.
  passed_ = target.exponents() == found.exponents() && residual_ <= tolerance;
  detail_ =
      fmt::format("{} {}, {} found, residual {:.2g}", pretty(target, 6),
                  kind == CheckKind::gradient ? "by differences" : "asked", pretty(found, 6), residual_);
}

Check Check::threshold(std::string_view name, double n, bool n_meets, bool one_less_meets) {
  Check check(CheckKind::integer_threshold, name, AnyQuantity(n), AnyQuantity(n), 0);
  check.passed_ = n_meets && !one_less_meets;
  check.residual_ = check.passed_ ? 0 : 1;
  check.detail_ = fmt::format("{} {}, {} {}", pretty(n, 12), n_meets ? "meets" : "does not meet",
                              pretty(n - 1, 12), one_less_meets ? "meets too" : "does not");
  return check;
}

// The cube root of the rounding unit balances truncation and rounding of a central difference.
double Check::step(double x) { return 6.055454452393343e-06 * std::max(std::abs(x), 1e-3); }

std::string Check::text() const {
  return fmt::format("{} ({}): {}{}", name_, name_of(kind_), detail_, passed_ ? "" : ": FAILED");
}

bool Verification::passed() const {
  return checked() && std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.passed(); });
}

std::string Verification::text() const {
  if (!checked()) return "not checked: " + not_checked;
  std::string out = "checked";
  for (std::size_t i = 0; i < checks.size(); ++i) out += (i == 0 ? ": " : "; ") + checks[i].text();
  return out;
}

}  // namespace mlsysim
