#include <mlsysim/resolver_api/tier_scope.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

// An empty name: nobody runs. An Optimizer may run whatever it likes.
thread_local Tier running_tier = Tier::optimizer;
thread_local std::string_view running_name;

void refuse_inside(std::string_view inner) {
  if (running_tier == Tier::optimizer) return;
  const bool model = running_tier == Tier::model;
  throw SolverError(
      {.id = "mlsysim.resolve.042",
       .message = fmt::format("the {} '{}' runs {}", model ? "Model" : "Solver", running_name, inner),
       .key = std::string(running_name),
       .found = "a search inside a lower tier",
       .expected = model ? "Y = f(X): one state, evaluated" : "X = f^-1(Y): one target, met",
       .hint = "derive it from Optimizer, or link the two as stages of a pipeline"});
}

}  // namespace

TierScope::TierScope(Tier tier, std::string_view name)
    : outer_tier_(running_tier), outer_name_(running_name) {
  if (tier == Tier::optimizer) refuse_inside(fmt::format("the Optimizer '{}'", name));
  running_tier = tier;
  running_name = name;
}

TierScope::~TierScope() {
  running_tier = outer_tier_;
  running_name = outer_name_;
}

void detail::refuse_search_in_lower_tier() { refuse_inside("a search"); }

}  // namespace mlsysim
