#include <mlsysim/pipeline/breaks.hpp>

#include <mlsysim/units/error.hpp>

#include <algorithm>

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

/// What an error is about, where its type does not say so. In the order of the ids, which are never used
/// again.
struct Known {
  std::string_view id;
  BreakReason reason;
};
constexpr std::array kKnown{Known{"mlsysim.answer.011", BreakReason::missing_field},
                            Known{"mlsysim.answer.013", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.001", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.002", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.003", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.020", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.030", BreakReason::infeasible_constraint},
                            Known{"mlsysim.catalogue.031", BreakReason::infeasible_constraint},
                            Known{"mlsysim.catalogue.034", BreakReason::unsupported_op},
                            Known{"mlsysim.catalogue.035", BreakReason::infeasible_memory},
                            Known{"mlsysim.catalogue.039", BreakReason::missing_field},
                            Known{"mlsysim.catalogue.041", BreakReason::no_solution},
                            Known{"mlsysim.catalogue.043", BreakReason::infeasible_constraint},
                            Known{"mlsysim.catalogue.075", BreakReason::infeasible_constraint},
                            Known{"mlsysim.catalogue.076", BreakReason::infeasible_constraint},
                            Known{"mlsysim.cli.061", BreakReason::missing_field},
                            Known{"mlsysim.engine.011", BreakReason::infeasible_constraint},
                            Known{"mlsysim.engine.041", BreakReason::missing_field},
                            Known{"mlsysim.engine.043", BreakReason::version_mismatch},
                            Known{"mlsysim.explore.002", BreakReason::numeric},
                            Known{"mlsysim.explore.044", BreakReason::numeric},
                            Known{"mlsysim.explore.062", BreakReason::numeric},
                            Known{"mlsysim.launch.012", BreakReason::unknown_model},
                            Known{"mlsysim.launch.020", BreakReason::unknown_model},
                            Known{"mlsysim.pipeline.012", BreakReason::missing_stage_input},
                            Known{"mlsysim.pipeline.018", BreakReason::missing_stage_input},
                            Known{"mlsysim.plugin.035", BreakReason::version_mismatch},
                            Known{"mlsysim.plugin.105", BreakReason::version_mismatch},
                            Known{"mlsysim.plugin.108", BreakReason::unknown_hardware},
                            Known{"mlsysim.plugin.116", BreakReason::timeout},
                            Known{"mlsysim.price.032", BreakReason::missing_field},
                            Known{"mlsysim.programs.011", BreakReason::dynamic_shape},
                            Known{"mlsysim.programs.014", BreakReason::version_mismatch},
                            Known{"mlsysim.programs.015", BreakReason::version_mismatch},
                            Known{"mlsysim.programs.016", BreakReason::unsupported_op},
                            Known{"mlsysim.programs.017", BreakReason::version_mismatch},
                            Known{"mlsysim.programs.020", BreakReason::dynamic_shape},
                            Known{"mlsysim.programs.024", BreakReason::version_mismatch},
                            Known{"mlsysim.resolve.003", BreakReason::numeric},
                            Known{"mlsysim.resolve.012", BreakReason::missing_field},
                            Known{"mlsysim.resolve.013", BreakReason::numeric},
                            Known{"mlsysim.spec.020", BreakReason::missing_field},
                            Known{"mlsysim.spec.040", BreakReason::missing_field},
                            Known{"mlsysim.spec.041", BreakReason::missing_field},
                            Known{"mlsysim.spec.042", BreakReason::unsupported_precision},
                            Known{"mlsysim.tools.005", BreakReason::missing_field},
                            Known{"mlsysim.unit.018", BreakReason::numeric},
                            Known{"mlsysim.zoo.022", BreakReason::version_mismatch},
                            Known{"mlsysim.zoo.023", BreakReason::version_mismatch},
                            Known{"mlsysim.zoo.031", BreakReason::missing_field}};
static_assert(std::is_sorted(kKnown.begin(), kKnown.end(),
                             [](const Known& a, const Known& b) { return a.id < b.id; }));

/// By the id; a name that is not there by what was looked for.
BreakReason reason_of(const ErrorFacts& f, BreakReason otherwise) {
  const auto* at = std::lower_bound(kKnown.begin(), kKnown.end(), std::string_view(f.id),
                                    [](const Known& k, std::string_view id) { return k.id < id; });
  return at != kKnown.end() && at->id == f.id ? at->reason : otherwise;
}

BreakReason missing_name(const ErrorFacts& f) {
  return f.key == "hardware"   ? BreakReason::unknown_hardware
         : f.key == "workload" ? BreakReason::unknown_model
                               : BreakReason::unknown_name;
}

}  // namespace

const BreakInfo& about(BreakReason reason) { return kAbout[static_cast<std::size_t>(reason)]; }

BreakReason break_reason(const std::exception_ptr& error) {
  if (error == nullptr) return BreakReason::internal;
  try {
    std::rethrow_exception(error);
  } catch (const UnitError& e) {
    return reason_of(e.facts(), BreakReason::unit_error);
  } catch (const DimensionError& e) {
    return reason_of(e.facts(), BreakReason::unit_error);
  } catch (const PluginError& e) {
    return reason_of(e.facts(), BreakReason::plugin_error);
  } catch (const LookupError& e) {
    return reason_of(e.facts(), missing_name(e.facts()));
  } catch (const PipelineError& e) {
    return reason_of(e.facts(), BreakReason::missing_stage_input);
  } catch (const SolverError& e) {
    return reason_of(e.facts(), BreakReason::no_solution);
  } catch (const DomainError& e) {
    return reason_of(e.facts(), BreakReason::out_of_domain);
  } catch (const Error& e) {
    return reason_of(e.facts(), BreakReason::invalid_input);
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
