#include <mlsysim/observe/events.hpp>

#include <mlsysim/units/error.hpp>

#include <new>

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

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

BreakReason of_facts(const ErrorFacts& f, BreakReason otherwise) {
  if (holds(f.message, "memory")) return BreakReason::infeasible_memory;
  if (holds(f.message, "version")) return BreakReason::version_mismatch;
  if (holds(f.message, "not finite") || holds(f.found, "nan") || holds(f.found, "inf"))
    return BreakReason::numeric;
  if (f.key == "precision") return BreakReason::unsupported_precision;
  if (f.found == "nothing" || holds(f.message, "is missing") || holds(f.message, "needs '"))
    return BreakReason::missing_field;
  return otherwise;
}

}  // namespace

const BreakInfo& about(BreakReason reason) { return kAbout[static_cast<std::size_t>(reason)]; }

BreakReason break_reason(const std::exception_ptr& error) {
  if (error == nullptr) return BreakReason::internal;
  try {
    std::rethrow_exception(error);
  } catch (const UnitError&) {
    return BreakReason::unit_error;
  } catch (const DimensionError&) {
    return BreakReason::unit_error;
  } catch (const PluginError& e) {
    return holds(e.facts().message, "took") || holds(e.facts().message, "in time")
               ? BreakReason::timeout
               : BreakReason::plugin_error;
  } catch (const LookupError& e) {
    if (e.facts().key == "hardware" || holds(e.facts().message, "device"))
      return BreakReason::unknown_hardware;
    if (e.facts().key == "workload" || holds(e.facts().message, "model")) return BreakReason::unknown_model;
    return BreakReason::unknown_name;
  } catch (const PipelineError& e) {
    return of_facts(e.facts(), BreakReason::missing_stage_input);
  } catch (const SolverError& e) {
    return of_facts(e.facts(), BreakReason::no_solution);
  } catch (const DomainError& e) {
    return of_facts(e.facts(), BreakReason::out_of_domain);
  } catch (const Error& e) {
    return of_facts(e.facts(), BreakReason::invalid_input);
  } catch (...) {
    return BreakReason::internal;
  }
}

BreakReason break_reason(const Infeasible& why) {
  const bool memory = holds(why.reason, "memory") || holds(why.reason, " GB") || holds(why.reason, " GiB") ||
                      holds(why.reason, "fit");
  return memory ? BreakReason::infeasible_memory : BreakReason::infeasible_constraint;
}

}  // namespace mlsysim
