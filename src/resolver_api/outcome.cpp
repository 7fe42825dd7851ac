#include <mlsysim/resolver_api/outcome.hpp>

namespace mlsysim {

std::string Infeasible::text() const {
  std::string out = reason;
  if (!smallest_change.empty()) out += "\n  smallest change: " + smallest_change;
  for (const auto& fact : facts) out += "\n  " + fact.name + ": " + fact.value;
  return out;
}

void detail::no_result(const Infeasible& why) {
  throw SolverError({.id = "mlsysim.resolve.001",
                     .message = "there is no result to read",
                     .found = "infeasible: " + why.reason,
                     .expected = "a feasible outcome",
                     .hint = why.smallest_change.empty() ? "test the outcome before reading it"
                                                         : "test the outcome first; " + why.smallest_change});
}

}  // namespace mlsysim
