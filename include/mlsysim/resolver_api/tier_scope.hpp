#pragma once
/// Which resolver runs on this thread, so that a tier is held to what it may do.

#include <mlsysim/resolver_api/resolver_info.hpp>

#include <string_view>

namespace mlsysim {

/// Says, while it lives, that a resolver of this tier runs on this thread.
///
/// A Model evaluates one state and a Solver meets one target: neither may run an Optimizer, in C++, in Python
/// or in a plugin.
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
