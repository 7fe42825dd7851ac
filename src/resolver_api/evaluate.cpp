#include <mlsysim/resolver_api/evaluate.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

FieldMask supplied_mask(std::span<const FieldInfo> fields, const void* in) {
  FieldMask mask;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (!(fields[i].read(in) == fields[i].default_value)) mask.set(i);
  return mask;
}

std::string_view fidelity_of(std::span<const FieldInfo> fields, const void* object) {
  const FieldInfo* field = find_field(fields, "fidelity");
  if (field == nullptr || field->kind != ValueKind::choice) return {};
  const Value value = field->read(object);
  const auto* chosen = std::get_if<std::string>(&value);  // none where it is optional and absent
  const auto at = std::find(field->choices.begin(), field->choices.end(), chosen != nullptr ? *chosen : "");
  return at == field->choices.end() ? std::string_view() : *at;
}

Infeasible no_answer(std::string_view resolver, const Search* search) {
  if (search != nullptr && search->last() != nullptr) return search->last()->why_infeasible();
  Infeasible why;
  why.reason = fmt::format("{} finds no answer for these inputs", resolver);
  return why;
}

void check_searched(std::span<const FieldInfo> fields, const void* result, std::string_view resolver) {
  for (const FieldInfo& f : fields)
    if ((f.name == "total_searched" || f.name.ends_with(".total_searched")) && !(read_number(f, result) > 0))
      throw SolverError({.id = "mlsysim.resolve.043",
                         .message = fmt::format("the Optimizer '{}' answers without a search", resolver),
                         .key = std::string(f.name),
                         .found = "no candidate",
                         .expected = "the summary of search.minimize, search.maximize or search.pareto",
                         .hint = "an answer that needs no search is a Model's or a Solver's"});
}

namespace {

const FieldInfo* numeric(std::span<const FieldInfo> fields, std::string_view name) {
  const auto* f = find_field(fields, name);
  return f != nullptr && (f->kind == ValueKind::number || f->kind == ValueKind::quantity ||
                          f->kind == ValueKind::flag)
             ? f
             : nullptr;
}

}  // namespace

Verification verify_by_law(const LawEntry& law, std::span<const FieldInfo> inputs, const void* in,
                           std::span<const FieldInfo> outputs, const void* out) {
  std::vector<double> point(law.inputs.size());
  std::size_t count_at = point.size();  // the answer, where it is a count
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& wanted = law.inputs[i];
    const auto* answer = numeric(outputs, wanted.name);
    const auto* field = answer != nullptr ? answer : numeric(inputs, wanted.name);
    if (field == nullptr)
      return {{},
              fmt::format("{} needs '{}', which is neither an input nor a result", law.info.id, wanted.name)};
    if (!(field->exps == wanted.exps))
      return {{}, fmt::format("'{}' has another dimension in {}", wanted.name, law.info.id)};
    const auto value = field->read(answer != nullptr ? out : in);
    if (std::holds_alternative<std::monostate>(value))
      return {{}, fmt::format("'{}' is absent", wanted.name)};
    point[i] = read_number(*field, answer != nullptr ? out : in);
    if (answer != nullptr && (answer->integral || wanted.integral)) count_at = i;
  }
  Verification done;
  done.not_checked = fmt::format("no input is a result of {}", law.info.id);
  const auto found = law(point);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& result = law.results[i];
    const auto* target = numeric(inputs, result.name);
    if (target == nullptr || !(target->exps == result.exps)) continue;
    const double asked = read_number(*target, in);
    if (count_at == point.size()) {
      done.checks.push_back(Check::equal(result.name, AnyQuantity::from_base(asked, result.exps),
                                         AnyQuantity::from_base(found[i], result.exps)));
      continue;
    }
    // The smallest count that will do: whether more raises or lowers the result says which side is the good
    // one.
    const auto at = [&](double n) {
      auto moved = point;
      moved[count_at] = n;
      return law(moved)[i];
    };
    const double n = point[count_at];
    const auto range = base_range(law.inputs[count_at]);
    const bool has_less = range.open_low ? n - 1 > range.low : n - 1 >= range.low;
    const bool rising = has_less ? found[i] > at(n - 1) : at(n + 1) > found[i];
    const auto meets = [&](double x) { return rising ? x >= asked : x <= asked; };
    done.checks.push_back(Check::threshold(result.name, n, meets(found[i]), has_less && meets(at(n - 1))));
  }
  return done;
}

}  // namespace mlsysim::detail
