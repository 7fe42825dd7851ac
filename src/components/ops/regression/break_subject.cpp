// A law whose input is a number of breaks, as one whose inputs are the places at which they are.

#include <mlsysim/ops/regression/breaks.hpp>

#include "ops/regression/cell_subject.hpp"

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

constexpr std::string_view kId = "CompiledStepByBreaks";

/// The law: places first, then the other inputs of the compiled step, then those of the tail.
struct ByPlace {
  std::shared_ptr<const Subject> compiled, tail;  ///< the second is null where no requests arrive
  std::vector<std::string> places;
  std::size_t breaks = 0, step = 0, service = 0;

  void run(const double* in, double* out) const {
    auto point = compiled->point;
    double sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) sum += *in++;
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = i == breaks ? sum : *in++;
    const auto results = compiled->entry(point);
    *out++ = sum;
    out = std::copy(results.begin(), results.end(), out);
    if (tail == nullptr) return;
    auto line = tail->point;
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = i == service ? results[step] : *in++;
    const auto waits = tail->entry(line);
    std::copy(waits.begin(), waits.end(), out);
  }
};

Subject subject_from(std::shared_ptr<const ByPlace> law, const std::map<std::string, double>& counts) {
  Subject out;
  const Subject& compiled = *law->compiled;
  out.title = compiled.title;
  out.assumptions = compiled.assumptions;
  out.thread_safe = compiled.thread_safe && (law->tail == nullptr || law->tail->thread_safe);
  out.entry.info = compiled.entry.info;
  out.entry.info.id = kId;
  FieldInfo place = compiled.entry.inputs[law->breaks];
  out.entry.results.push_back(place);
  for (const auto& name : law->places) {
    place.name = name;
    out.entry.inputs.push_back(place);
    const auto at = counts.find(name);
    out.point.push_back(at == counts.end() ? 0 : at->second);
  }
  const auto append = [&](const Subject& s, std::size_t without) {
    for (std::size_t i = 0; i < s.entry.inputs.size(); ++i)
      if (i != without) {
        out.entry.inputs.push_back(s.entry.inputs[i]);
        out.point.push_back(s.point[i]);
      }
    out.entry.results.insert(out.entry.results.end(), s.entry.results.begin(), s.entry.results.end());
  };
  append(compiled, law->breaks);
  if (law->tail != nullptr) append(*law->tail, law->service);
  out.entry.self = std::move(law);
  out.entry.evaluate = [](const void* self, const double* in, double* to) {
    static_cast<const ByPlace*>(self)->run(in, to);
  };
  return out;
}

std::vector<std::string> names_in(const std::map<std::string, double>& counts) {
  std::vector<std::string> out;
  for (const auto& [name, count] : counts) out.push_back(name);
  return out;
}

/// The inputs of a resolver among those that were given; what it takes is taken off `rest`.
std::map<std::string, std::string> taken_inputs(std::string_view resolver,
                                                const std::map<std::string, std::string>& given,
                                                std::map<std::string, std::string>& rest) {
  std::map<std::string, std::string> out;
  const auto fields = ResolverRegistry::standard().find(resolver)->inputs();
  for (const auto& [name, text] : given)
    if (find_field(fields, name) != nullptr) {
      out[name] = text;
      rest.erase(name);
    }
  return out;
}

}  // namespace

Subject break_subject(const std::map<std::string, std::string>& inputs,
                      const std::map<std::string, double>& counts, const Zoo& zoo) {
  auto rest = inputs;
  auto steps = taken_inputs("CompilationModel", inputs, rest);
  auto waits = taken_inputs("TailLatencyModel", inputs, rest);
  for (const char* given : {"breaks", "service_latency"})
    if (inputs.contains(given)) rest[given] = "";
  if (!rest.empty())
    throw InputError(
        {.id = "mlsysim.ci.020",
         .message = "the price of breaks is not asked with this input",
         .key = rest.begin()->first,
         .found = fmt::format("'{}'", rest.begin()->first),
         .expected = "an input of CompilationModel or TailLatencyModel that the records do not give",
         .hint = "mlsysim resolver show CompilationModel lists them"});
  auto law = std::make_shared<ByPlace>();
  law->compiled = detail::resolver_subject("CompilationModel", steps, zoo);
  law->places = names_in(counts);
  law->breaks = law->compiled->input("breaks");
  if (waits.contains("arrival_rate")) {
    waits["service_latency"] = "1 ms";  // the step takes its place
    law->tail = detail::resolver_subject("TailLatencyModel", waits, zoo);
    law->step = law->compiled->result("compiled");
    law->service = law->tail->input("service_latency");
  }
  return subject_from(std::move(law), counts);
}

Subject with_more_places(const Subject& subject, const std::vector<std::string>& names) {
  if (subject.entry.info.id != kId) return subject;
  const auto& law = *static_cast<const ByPlace*>(subject.entry.self.get());
  auto wider = std::make_shared<ByPlace>(law);
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < law.places.size(); ++i) counts[law.places[i]] = subject.point[i];
  for (const auto& name : names)
    if (is_break_place(name)) counts.try_emplace(name, 0);
  wider->places = names_in(counts);
  auto out = subject_from(std::move(wider), counts);
  // The other inputs follow the places, in the same order.
  std::copy(subject.point.begin() + static_cast<std::ptrdiff_t>(law.places.size()), subject.point.end(),
            out.point.begin() + static_cast<std::ptrdiff_t>(counts.size()));
  return out;
}

Difference priced_diff(const CompileDiff& diff, const BreakPricing& fidelity_model, const Zoo& zoo) {
  std::map<std::string, double> before, after;
  std::map<std::string, std::string> shown;
  for (const auto& p : diff.places) {
    before[p.name()] += p.before;
    after[p.name()] += p.after;
    shown[p.name()] = p.shown();
  }
  const auto metric = !fidelity_model.metric.empty()                   ? fidelity_model.metric
                      : fidelity_model.inputs.contains("arrival_rate") ? "p99_latency"
                                                                       : "compiled";
  const auto from = break_subject(fidelity_model.inputs, before, zoo),
             to = break_subject(fidelity_model.inputs, after, zoo);
  const auto report = compare(from, to, metric);
  Difference out{.cell = to.title,
                 .metric = metric,
                 .unit = std::string(report.unit),
                 .before = report.at_from,
                 .after = report.at_to,
                 .exps = report.exps,
                 .exact = report.exact};
  out.verdict = report.at_to == report.at_from ? Verdict::same
                : (better_by_dimension(report.exps) == Better::higher) == (report.at_to > report.at_from)
                    ? Verdict::better
                    : Verdict::worse;
  for (const auto& term : report.terms)
    if (term.part != 0)
      out.causes.push_back({shown.contains(term.input) ? "breaks at " + shown.at(term.input) : term.input,
                            fmt::format("{:g}", term.from), fmt::format("{:g}", term.to), term.part});
  const auto price = fidelity_model.inputs.find("device_hour"),
             devices = fidelity_model.inputs.find("accelerators");
  if (price != fidelity_model.inputs.end())
    out.per_year = detail::yearly(
        FleetPrice{
            devices == fidelity_model.inputs.end() ? 1 : AnyQuantity::parse(devices->second).as<dim::none>(),
            AnyQuantity::parse(price->second).as<dim::money>()},
        out);
  return out;
}

}  // namespace mlsysim
