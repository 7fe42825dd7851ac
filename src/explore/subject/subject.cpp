#include <mlsysim/explore/subject/subject.hpp>

#include "explore/subject/spec_figures.hpp"
#include "explore/subject/spec_ranges.hpp"

#include <mlsysim/resolver_api/detail/exchangeable.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/tape/register.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>

namespace mlsysim {
namespace {

std::string_view without_level(std::string_view name) {
  for (const std::string_view level : {"feasibility.", "performance.", "macro."})
    if (name.starts_with(level)) return name.substr(level.size());
  return name;
}

bool absent(const DynamicValue& v) { return std::holds_alternative<std::monostate>(v.value); }

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

bool has_number(const FieldInfo& field, const void* object) {
  const Value v = field.read(object);
  return std::holds_alternative<double>(v) || std::holds_alternative<bool>(v);
}

/// A resolver that is no law, called a point at a time. All points run the code of the inputs that it was
/// asked with.
struct Caller {
  std::shared_ptr<const Resolver> resolver;
  std::deque<std::string> units;  ///< of fields that declare no kind
  std::vector<FieldInfo> inputs, results;
  std::vector<DynamicValue> fixed;  ///< every input as it was given
  detail::SpecFigures figures;      ///< behind the inputs: they follow them

  struct Memory {
    const Resolver& r;
    std::vector<std::max_align_t> in, out;
    Memory(const Resolver& resolver_, const void* others)
        : r(resolver_),
          in(r.input_size() / sizeof(std::max_align_t) + 1),
          out(r.output_size() / sizeof(std::max_align_t) + 1) {
      detail::construct_inputs_like(r, others, in.data());
      r.construct_outputs(out.data());
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
      r.destroy_outputs(out.data());
      r.destroy_inputs(in.data());
    }
  };

  std::optional<Memory> asked;  ///< the inputs that it was asked with hold on to their code

  /// Results at a point; where the resolver has no answer, why, and no numbers. A result that is absent is no
  /// number.
  /// @throws what the resolver throws
  [[nodiscard]] std::string run(const double* in, double* out) const {
    Memory memory(*resolver, asked->in.data());
    const auto fields = resolver->inputs();
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (!absent(fixed[i])) write_checked(fields[i], memory.in.data(), fixed[i]);
    for (std::size_t i = 0; i < inputs.size(); ++i) detail::write_number(inputs[i], memory.in.data(), in[i]);
    const auto copies = figures.apply(in + inputs.size(), memory.in.data());
    SolveContext context;
    const bool ok = resolver->solve(memory.in.data(), memory.out.data(), context) == Status::ok;
    for (std::size_t i = 0; i < results.size(); ++i)
      out[i] = ok && has_number(results[i], memory.out.data())
                   ? detail::read_number(results[i], memory.out.data())
                   : kNoNumber;
    // Reasons hold figures of their point; a sweep counts by reason, so this one leaves them out.
    return ok ? std::string() : fmt::format("{} is infeasible", resolver->info().name);
  }

  /// Runs a point without a message: the results of a point without an answer are NaN.
  void run_quietly(const double* in, double* out) const {
    try {
      (void)run(in, out);
    } catch (const PluginError&) {
      throw;  // a fault in the resolver itself is not a property of the point
    } catch (const Error&) {
      std::fill_n(out, results.size(), kNoNumber);
    }
  }

  /// Runs a point and returns the reason of a failure, for callers that count failures by reason.
  [[nodiscard]] std::string attempt(const double* in, double* out) const {
    std::string failure;
    try {
      failure = run(in, out);
    } catch (const PluginError& error) {
      const auto& facts = error.facts();
      failure = "plugin_error: " + facts.message + (facts.found.empty() ? "" : ": " + facts.found);
    } catch (const Error& error) {
      failure = error.facts().message;
    }
    if (!failure.empty()) std::fill_n(out, results.size(), kNoNumber);
    return failure;
  }
};

/// A field of any kind, as at this object: a number there is a number or quantity of its dimension.
/// @param units keeps the texts of units
FieldInfo settled(const FieldInfo& declared, const void* object, std::deque<std::string>& units) {
  FieldInfo f = declared;
  if (f.kind != ValueKind::any || !is_dynamic(f)) return f;
  const DynamicValue here = read_dynamic(f, object);
  if (!std::holds_alternative<double>(here.value)) return f;
  f.exps = here.exps;
  f.kind = f.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
  if (!f.exps.dimensionless()) f.unit = units.emplace_back(canonical_unit(f.exps));
  return f;
}

/// The results with the kinds that they have at these inputs, where a resolver made at run time declares
/// none.
std::vector<FieldInfo> outputs_here(const Resolver& r, const std::vector<DynamicValue>& inputs,
                                    std::deque<std::string>& units) {
  std::vector<FieldInfo> out(r.outputs().begin(), r.outputs().end());
  if (std::none_of(out.begin(), out.end(), [](const FieldInfo& f) { return f.kind == ValueKind::any; }))
    return out;
  Record in(r, Side::inputs), result(r, Side::outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!absent(inputs[i])) in.set(r.inputs()[i].name, inputs[i]);
  SolveContext context;
  if (r.solve(in.data(), result.data(), context) != Status::ok) return out;
  for (auto& f : out) f = settled(f, result.data(), units);
  return out;
}

}  // namespace

std::size_t Subject::input(std::string_view name) const {
  const FieldInfo* field = find_field(entry.inputs, name);
  return field == nullptr ? entry.input(name) : static_cast<std::size_t>(field - entry.inputs.data());
}
std::size_t Subject::result(std::string_view name) const {
  name = without_level(name);
  for (const auto& [missing, why] : absent)
    if (missing == name)
      throw LookupError({.id = "mlsysim.explore.067",
                         .message = fmt::format("{} has no '{}'", title, name),
                         .key = missing,
                         .found = why,
                         .expected = "a figure of the device",
                         .hint = "give it, or ask for another result"});
  return entry.result(name);
}

Subject subject_of(std::shared_ptr<const Resolver> resolver, const void* inputs) {
  const Resolver& r = *resolver;
  Subject s;
  s.title = r.info().name;
  s.thread_safe = r.info().thread_safe;
  if (const LawEntry* law = r.law(); law != nullptr) {
    s.entry = *law;
    for (const auto& f : law->inputs) s.point.push_back(detail::read_number(f, inputs));
    check_inputs(s.entry, s.point);
    return s;
  }
  auto caller = std::make_shared<Caller>();
  caller->resolver = std::move(resolver);
  caller->asked.emplace(r, inputs);
  for (const auto& declared : r.inputs()) {
    caller->fixed.push_back(read_dynamic(declared, inputs));
    const FieldInfo f = settled(declared, inputs, caller->units);
    if (f.kind != ValueKind::number && f.kind != ValueKind::quantity && f.kind != ValueKind::flag) continue;
    if (!has_number(f, inputs)) continue;
    caller->inputs.push_back(f);
    s.point.push_back(detail::read_number(f, inputs));
  }
  caller->figures = detail::SpecFigures(r.inputs(), inputs);
  s.point.insert(s.point.end(), caller->figures.point().begin(), caller->figures.point().end());
  // Results that are absent here are listed too: they may be there at another point.
  caller->results = detail::numeric_fields(outputs_here(r, caller->fixed, caller->units));
  std::vector<double> here(caller->results.size());
  (void)caller->run(s.point.data(), here.data());  // throws for inputs that contradict each other
  s.entry.info = {.id = r.info().name, .equation = r.info().law, .source = r.info().source};
  s.entry.inputs = caller->inputs;
  s.entry.inputs.insert(s.entry.inputs.end(), caller->figures.inputs().begin(),
                        caller->figures.inputs().end());
  s.entry.results = caller->results;
  s.entry.self = caller;
  s.entry.evaluate = [](const void* self, const double* in, double* out) {
    static_cast<const Caller*>(self)->run_quietly(in, out);
  };
  s.estimates = [caller, inputs_here = s.entry.inputs, point = s.point] {
    return detail::spec_ranges(inputs_here, point, caller->resolver->inputs(), caller->fixed);
  };
  s.entry.attempt = [](const void* self, const double* in, double* out) {
    return static_cast<const Caller*>(self)->attempt(in, out);
  };
  return s;
}

}  // namespace mlsysim
