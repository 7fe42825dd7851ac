#include "detail/objects.hpp"

#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

namespace mlsysim::plugin::detail {
namespace {

constexpr int kDeepest = 16;
thread_local int depth = 0;

struct Deeper {
  Deeper() { ++depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --depth; }
};

}  // namespace

void LocalServices::log(std::int32_t level, std::string_view text) {
  if (log_) log_(level, text);
}
std::uint64_t LocalServices::zoo_count(std::string_view type) { return count_objects(standard_zoo(), type); }
const MlsObject* LocalServices::zoo_at(std::string_view type, std::uint64_t index) {
  return objects_.handle(object_at(standard_zoo(), type, index));
}
const MlsObject* LocalServices::zoo_find(std::string_view type, std::string_view name) {
  return objects_.handle(find_object(standard_zoo(), type, name));
}

void LocalServices::object_field(const MlsObject* object, std::string_view path, const Visit& visit) {
  bool found = false;
  read_object(objects_.object(object), objects_, [&](std::string_view name, const MlsValue& value) {
    if (name != path || found) return;
    found = true;
    visit(name, value);
  });
  if (found) return;
  std::vector<std::string> known;
  read_object(objects_.object(object), objects_,
              [&](std::string_view name, const MlsValue&) { known.emplace_back(name); });
  fail(MLS_NOT_FOUND, unknown_name("mlsysim.plugin.023", fmt::format("there is no figure '{}'", path), path,
                                   known, "a path of the zoo's files, such as 'memory.bandwidth'"));
}

void LocalServices::object_read(const MlsObject* object, const Visit& visit) {
  read_object(objects_.object(object), objects_, [&](std::string_view name, const MlsValue& value) {
    if (value.kind != MLS_NONE) visit(name, value);
  });
}

double LocalServices::convert(double number, std::string_view from, std::string_view to) {
  const auto& units = UnitRegistry::standard();
  const auto expr = units.parse_unit(from);
  return AnyQuantity::from_base(number * expr.mul / expr.div, expr.exps).in(to, units);
}

void LocalServices::evaluate(MlsCall* call, std::string_view name, std::span<const MlsNamed> inputs,
                             const Visit& visit) {
  const auto resolver = ResolverRegistry::standard().share(name);
  if (call->tier == Tier::model && resolver->info().tier != Tier::model)
    fail(MLS_FAILED_PRECONDITION,
         {.id = "mlsysim.plugin.024",
          .message = fmt::format("a model may not ask the {} '{}'", name_of(resolver->info().tier), name),
          .key = std::string(name),
          .found = "a model that makes decisions",
          .expected = "a model that evaluates one state",
          .hint = "make it a solver or an optimizer"});
  if (depth >= kDeepest)
    fail(MLS_FAILED_PRECONDITION, {.id = "mlsysim.plugin.025",
                                   .message = "resolvers ask each other in a circle",
                                   .key = std::string(name),
                                   .found = fmt::format("{} calls within each other", depth),
                                   .expected = "an end of the chain"});
  const Deeper deeper;
  Record record(*resolver, Side::inputs);
  for (const auto& [key, value] : inputs) {
    const auto field = read_text(key, "name of an input");
    const auto* info = find_field(resolver->inputs(), field);
    const auto declared = info != nullptr && value.text.size == 0 ? info->unit : std::string_view();
    record.set(field, from_c(value, declared, objects_));
  }
  const auto answer = mlsysim::evaluate(*resolver, record);
  if (!answer.outcome.feasible())
    fail(MLS_FAILED_PRECONDITION,
         {.id = "mlsysim.plugin.026",
          .message = fmt::format("{} has no result: {}", name, answer.outcome.why()->reason),
          .key = std::string(name),
          .found = "infeasible",
          .expected = "inputs with a result",
          .hint = answer.outcome.why()->smallest_change});
  const Record& result = *answer.outcome;
  for (const auto& f : result.fields()) {
    const Value v = f.read(result.data());
    visit(f.name, to_c(v, f.exps, objects_));
  }
}

bool LocalServices::cancel_requested(MlsCall* call) {
  const auto* search = call->context == nullptr ? nullptr : call->context->search;
  return search != nullptr && search->cancel != nullptr && search->cancel->requested();
}

}  // namespace mlsysim::plugin::detail
