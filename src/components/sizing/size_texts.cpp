// Questions of size as people write them.

#include <mlsysim/sizing/size.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace mlsysim {
/// The most devices that somebody asks for pass the gate of every other count.
static double checked_devices(const char* name, double x) {
  FieldInfo f;
  f.name = name;
  f.meaning = "devices at most";
  f.low = 1;
  f.integral = true;
  check_range(f, x);
  return x;
}

/// A format that is tried.
static Precision format_named(const std::string& name, const Scenario& scenario) {
  if (scenario.precision || scenario.weight_format || scenario.weight_bits)
    throw InputError({.id = "mlsysim.explore.198",
                      .message = "formats are tried where none is stated",
                      .key = "precisions",
                      .found = fmt::format("precisions beside {}",
                                           scenario.precision ? "precision" : "a format of weights"),
                      .expected = "one of them",
                      .hint = "leave out the format, or precisions"});
  if (const auto found = choice_of<Precision>(name)) return *found;
  throw InputError({.id = "mlsysim.explore.199",
                    .message = fmt::format("there is no precision '{}'", name),
                    .key = "precisions",
                    .found = fmt::format("'{}'", name),
                    .expected = fmt::format("of {}", fmt::join(Choices<Precision>::names, ", ")),
                    .hint = "e.g. --precisions bf16,fp8"});
}

SizeQuestion size_question(const Scenario& scenario, const SizeTexts& texts) {
  SizeQuestion q{.scenario = scenario};
  q.rate = scenario.arrival_rate.value_or(RequestRate<>());
  q.scenario.arrival_rate.reset();
  const std::array<std::pair<std::string_view, const std::string*>, 3> limits{
      {{"ttft", &texts.ttft}, {"itl", &texts.itl}, {"e2e", &texts.e2e}}};
  for (const auto& [time, text] : limits)
    if (!text->empty()) q.limits.push_back(ServiceLimit::parse(time, *text));
  if (!texts.within.empty()) q.within = AnyQuantity::parse(texts.within).as<dim::time>();
  if (q.within && *q.within <= Time<>())
    throw InputError({.id = "mlsysim.explore.189",
                      .message = "there is no time to train in",
                      .key = "within",
                      .found = fmt::format("'{}'", texts.within),
                      .expected = "more than 0",
                      .hint = "e.g. --tokens 15T --within '90 d'"});
  q.most_devices = checked_devices("most_devices", texts.most_devices);
  q.most_replica_devices = checked_devices("most_replica_devices", texts.most_replica_devices);
  q.level = texts.level;
  q.disaggregated = texts.disaggregated;
  for (const auto& name : texts.precisions) q.precisions.push_back(format_named(name, scenario));
  return q;
}

}  // namespace mlsysim
