#include "detail/also.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

/// Calls `use` with each part between commas that are outside brackets.
template <class Use> void for_each_part(std::string_view text, Use&& use) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const auto part = detail::trimmed(text.substr(begin, i - begin)); !part.empty()) use(part);
    begin = i + 1;
  }
}

constexpr Fault kAlso{.id = "mlsysim.engine.054",
                      .message = "a resolver of 'also' cannot be read",
                      .key = "also",
                      .hint = "e.g. also: EconomicsModel, my_power/PassEnergy(window=2 s)"};

/// Value of an input in the scenario; absent where the scenario has none.
DynamicValue known_value(const FieldInfo& f, const ResolvedScenario& r) {
  static const auto scenario_fields = describe<Scenario>();
  if (f.object_type == ObjectType<HardwareNode>::name) return &r.hardware();
  if (f.object_type == ObjectType<Workload>::name) return r.asked().workload;
  if (f.object_type == ObjectType<Fleet>::name) return &r.fleet();
  if (f.object_type == ObjectType<Node>::name) return r.fleet().node;
  if (f.kind == ValueKind::object) return {};
  if (f.name == "accelerators") return r.accelerators();
  if (f.name == "tp_size") return r.tp_size();
  if (f.name == "seq_len") return r.seq_len();
  const auto* known = find_field(scenario_fields, f.name);
  if (known == nullptr) return {};
  // A field of any kind belongs to a resolver made at run time, which judges for itself.
  if (f.kind != ValueKind::any && (known->kind != f.kind || !(known->exps == f.exps))) return {};
  return read_dynamic(*known, &r.asked());
}

void fill_inputs(Record& in, const Resolver& resolver, const ResolvedScenario& r) {
  for (const auto& f : resolver.inputs())
    if (auto v = known_value(f, r); !std::holds_alternative<std::monostate>(v.value)) in.set(f.name, v);
}

/// The results of a run that are numbers, flags and texts.
std::vector<Metric> metrics_of(const Record& out) {
  std::vector<Metric> all;
  for (const auto& f : out.fields()) {
    const DynamicValue v = read_dynamic(f, out.data());
    const bool shown = std::holds_alternative<double>(v.value) || std::holds_alternative<bool>(v.value) ||
                       std::holds_alternative<std::string>(v.value);
    if (!shown) continue;
    std::string unit(f.unit);
    if (unit.empty() && !(v.exps == Exponents{})) unit = canonical_unit(v.exps);
    all.push_back({std::string(f.name), v.value, v.exps, unit, std::string(f.meaning)});
  }
  return all;
}

}  // namespace

std::vector<AlsoCall> calls_in(std::string_view text) {
  std::vector<AlsoCall> out;
  for_each_part(text, [&](std::string_view part) {
    const auto open = part.find('(');
    AlsoCall call{detail::trimmed(part.substr(0, open)), {}};
    if (open != std::string_view::npos) {
      if (part.back() != ')')
        throw InputError(kAlso.with(
            {.found = fmt::format("'{}'", part), .expected = "a bracket that is closed behind the inputs"}));
      for_each_part(part.substr(open + 1, part.size() - open - 2), [&](std::string_view input) {
        const auto equals = input.find('=');
        if (equals == std::string_view::npos)
          throw InputError(
              kAlso.with({.found = fmt::format("'{}'", input), .expected = "inputs as name=value"}));
        call.inputs.emplace_back(detail::trimmed(input.substr(0, equals)),
                                 detail::trimmed(input.substr(equals + 1)));
      });
    }
    out.push_back(std::move(call));
  });
  return out;
}

EvaluationLevel ask_also(const AlsoCall& call, const ResolvedScenario& r, NoteBook& book) {
  EvaluationLevel out;
  const auto resolver = ResolverRegistry::standard().share(call.resolver);
  out.level_name = resolver->info().name;
  FieldReader reader(standard_zoo());  // keeps what it reads from files
  Record in(*resolver, Side::inputs);
  for (const auto& [name, text] : call.inputs) {
    const auto* field = find_field(resolver->inputs(), name);
    in.set(name, field != nullptr ? reader.read(*field, text) : DynamicValue());  // set() names near misses
  }
  const auto given = in.supplied();
  try {
    Record known(*resolver, Side::inputs);
    fill_inputs(known, *resolver, r);
    for (std::size_t i = 0; i < in.fields().size(); ++i)
      if (!given.test(i) && known.supplied().test(i))
        in.set(in.fields()[i].name, known.get(in.fields()[i].name));
    const auto answer = mlsysim::evaluate(*resolver, in);
    book.append(answer.report.notes);
    if (!answer.outcome.feasible()) {
      out.status = EvaluationLevel::Status::fail;
      out.summary = answer.outcome.why()->reason;
      return out;
    }
    out.metrics = metrics_of(*answer.outcome);
    out.summary = resolver->info().about;
  } catch (const Error& error) {
    out.status = EvaluationLevel::Status::skipped;
    const auto& facts = error.facts();
    std::string why = facts.message;
    if (!facts.found.empty()) why += ": " + facts.found;
    if (!facts.expected.empty()) why += ", expected " + facts.expected;
    out.summary = why;
  }
  return out;
}

}  // namespace mlsysim::detail
