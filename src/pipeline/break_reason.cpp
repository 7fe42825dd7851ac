#include <mlsysim/pipeline/breaks.hpp>

#include <mlsysim/units/error.hpp>

#include <array>

namespace mlsysim {
namespace {

constexpr std::array<BreakInfo, Choices<BreakReason>::names.size()> kAbout{{
    {"MB001", "error", "a field that the answer needs is not given",
     "give it, or choose an entry that states it"},
    {"MB002", "error", "a stage lacks an input", "link it to a stage that produces it, or give its value"},
    {"MB003", "error", "a unit or a dimension is not the one that is due",
     "write the quantity with its unit"},
    {"MB004", "error", "the device does not compute in this precision", "choose one that it has"},
    {"MB005", "error", "an operator is not known", "describe it, or leave it out"},
    {"MB006", "degraded", "a size is not known before the program runs", "state it"},
    {"MB007", "error", "it does not fit into the memory",
     "more devices, a smaller batch or a smaller format"},
    {"MB008", "error", "a constraint cannot be met", "relax it: the answer says by how much"},
    {"MB009", "error", "there is no solution", "widen the range of what is looked for"},
    {"MB010", "degraded", "a value lies outside of the domain of a law",
     "stay inside, or take the answer as a guess"},
    {"MB011", "error", "the device is not known", "look for its name with mlsysim zoo search"},
    {"MB012", "error", "the model is not known", "look for its name with mlsysim zoo search"},
    {"MB013", "error", "a file or a plugin is of another version", "update the older side"},
    {"MB014", "error", "a plugin failed", "run mlsysim-plugin-check on it"},
    {"MB015", "error", "it took too long", "allow more time"},
    {"MB016", "error", "a number is not finite", "look at the inputs: one is zero or huge"},
    {"MB017", "degraded", "a coarser model stood in", "give what the finer one needs"},
    {"MB018", "error", "a budget is exceeded", "see which figure changed"},
    {"MB019", "error", "the library failed where it should not", "report it with the inputs"},
    {"MB020", "error", "a name is not known", "see the near misses of the message"},
    {"MB021", "error", "an input has the wrong form", "see what the message expected"},
}};

template <class E> bool is(const Error& error) { return dynamic_cast<const E*>(&error) != nullptr; }

/// The reason of an error that states none; of an unknown name, by what was looked for.
BreakReason reason_of_type(const Error& e) {
  if (is<UnitError>(e) || is<DimensionError>(e)) return BreakReason::unit_error;
  if (is<PluginError>(e)) return BreakReason::plugin_error;
  if (is<LookupError>(e) && e.facts().key == "hardware") return BreakReason::unknown_hardware;
  if (is<LookupError>(e) && e.facts().key == "workload") return BreakReason::unknown_model;
  if (is<LookupError>(e)) return BreakReason::unknown_name;
  if (is<PipelineError>(e)) return BreakReason::missing_stage_input;
  if (is<SolverError>(e)) return BreakReason::no_solution;
  if (is<DomainError>(e)) return BreakReason::out_of_domain;
  return BreakReason::invalid_input;
}

}  // namespace

const BreakInfo& about(BreakReason reason) { return kAbout[static_cast<std::size_t>(reason)]; }

BreakReason break_reason(const std::exception_ptr& error) {
  if (error == nullptr) return BreakReason::internal;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.facts().reason.value_or(reason_of_type(e));
  } catch (...) {
    return BreakReason::internal;
  }
}

BreakReason break_reason(const Infeasible& why) {
  for (const auto& fact : why.facts)
    if (fact.name == "binding" && fact.value == "memory_utilization") return BreakReason::infeasible_memory;
  return BreakReason::infeasible_constraint;
}

}  // namespace mlsysim
