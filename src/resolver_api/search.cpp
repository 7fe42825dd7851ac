#include <mlsysim/resolver_api/search.hpp>

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim {

namespace detail {

std::string index_name(std::size_t index) { return fmt::format("#{}", index); }
std::string number_name(double number) { return pretty(number, 12); }
std::string point_name(std::span<const FieldInfo> fields, const void* point) {
  return struct_text(fields, point, 12);
}

void add_candidate(Error& error, const Namer& name) {
  error.add_context(fmt::format("while scoring candidate '{}'", name()));
}

void check_objectives(const InlineList<Objective, 4>& objectives, std::size_t expected) {
  if (objectives.size() == expected && expected > 0) return;
  throw InputError({.id = "mlsysim.resolve.005",
                    .message = "the candidates of a Pareto search need the same number of objectives",
                    .key = "objectives",
                    .found = fmt::format("{}", objectives.size()),
                    .expected = expected > 0 ? fmt::format("{}", expected) : "at least 1"});
}

}  // namespace detail

void Search::report(const detail::Tally& tally) const {
  options_.progress({tally.total(), tally.feasible(), tally.best_objective()});
}

}  // namespace mlsysim
