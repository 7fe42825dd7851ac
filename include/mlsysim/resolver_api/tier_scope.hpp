#pragma once
/// Records which resolver runs on this thread, and refuses a search inside a Model or a Solver.
///
/// A Model evaluates one state and a Solver meets one target, so neither may run an Optimizer.
/// Example: a Model "M" that evaluates an Optimizer throws SolverError "the Model 'M' runs a search". An
/// Optimizer may evaluate Models, Solvers and other Optimizers.

#include <mlsysim/resolver_api/resolver_info.hpp>

#include <string_view>

namespace mlsysim {

/// States, while it lives, that a resolver of this tier runs on this thread. It applies to C++, Python and
/// plugins.
class TierScope {
 public:
  /// @param name outlives the scope
  /// @throws SolverError for an Optimizer inside a Model or a Solver
  TierScope(Tier tier, std::string_view name);
  TierScope(const TierScope&) = delete;
  TierScope& operator=(const TierScope&) = delete;
  ~TierScope();

 private:
  Tier outer_tier_;
  std::string_view outer_name_;
};

namespace detail {
/// @throws SolverError inside a Model or a Solver
void refuse_search_in_lower_tier();
}  // namespace detail

}  // namespace mlsysim
