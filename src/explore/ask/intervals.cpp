#include <mlsysim/explore/ask/intervals.hpp>

#include "explore/ask/nothing_uncertain.hpp"

#include <mlsysim/spec/device_class.hpp>
#include <mlsysim/spec/serving_engine.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

void note_device(ErrorSubject& about, const HardwareNode* device) {
  if (device == nullptr) return;
  about.device = device->name;
  about.generation = device->device_class != nullptr ? device->device_class->name : std::string();
}

void note_model(IntervalSubject& of, const Workload* workload) {
  if (workload == nullptr) return;
  of.about.family = workload->name;
  of.decodes = workload->is_language_decoder();
}

struct NamedKind {
  std::string_view result, question;
  bool rate;
};
constexpr NamedKind kServed[] = {{"ttft", "first token", false},
                                 {"itl", "time between tokens", false},
                                 {"token_throughput", "serving throughput", true},
                                 {"throughput_per_accelerator", "serving throughput", true},
                                 {"request_latency", "serving throughput", false},
                                 {"cost_per_token", "serving throughput", false},
                                 {"energy_per_token", "energy of a token", false}};
constexpr NamedKind kTrained[] = {{"step_latency", "training step", false},
                                  {"training_time", "training step", false},
                                  {"fleet_throughput", "training step", true},
                                  {"token_throughput", "training step", true},
                                  {"mfu", "training step", true},
                                  {"cost_per_token", "training step", false},
                                  {"memory_used", "memory", false}};
constexpr NamedKind kPassed[] = {
    {"latency", "one pass", false}, {"throughput", "one pass", true}, {"mfu", "one pass", true}};
constexpr NamedKind kDecoded[] = {{"latency", "time between tokens", false},
                                  {"throughput", "time between tokens", true}};

std::optional<NumberKind> among(std::span<const NamedKind> kinds, std::string_view result) {
  for (const auto& k : kinds)
    if (k.result == result) return NumberKind{k.question, k.rate};
  return std::nullopt;
}

/// The results with the ends that ranges of the zoo give them; the values themselves where no figure behind
/// them has a range.
std::vector<UncertainNumber> numbers_of(const Subject& subject, const UncertaintyQuestion& figures,
                                        std::span<const double> here) {
  try {
    return uncertainty(subject, figures).results;
  } catch (const detail::NothingUncertain&) {
  }
  std::vector<UncertainNumber> out;
  for (const auto& name : figures.results) {
    const std::size_t r = subject.result(name);
    const FieldInfo& f = subject.entry.results[r];
    out.push_back({.result = f.name,
                   .meaning = f.meaning,
                   .unit = f.unit,
                   .exps = f.exps,
                   .value = here[r],
                   .low = here[r],
                   .high = here[r]});
  }
  return out;
}

double both(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

IntervalSubject interval_subject(const Scenario& scenario) {
  IntervalSubject of;
  note_device(of.about, scenario.hardware != nullptr ? scenario.hardware
                        : scenario.fleet != nullptr && scenario.fleet->node != nullptr
                            ? scenario.fleet->node->accelerator
                            : nullptr);
  note_model(of, scenario.workload);
  of.mode = scenario.mode;
  if (!of.mode) of.mode = of.decodes ? Mode::serve : Mode::infer;
  return of;
}

IntervalSubject interval_subject(const Resolver& resolver, const void* inputs) {
  IntervalSubject of;
  for (const FieldInfo& f : resolver.inputs()) {
    if (f.kind != ValueKind::object && f.name != "is_training") continue;
    const Value v = f.read(inputs);
    if (const auto* trains = std::get_if<bool>(&v); trains != nullptr && *trains) of.mode = Mode::train;
    const auto* o = std::get_if<ObjectRef>(&v);
    if (o == nullptr || o->object == nullptr) continue;
    if (o->type == ObjectType<HardwareNode>::name)
      note_device(of.about, static_cast<const HardwareNode*>(o->object));
    if (o->type == ObjectType<Node>::name)
      note_device(of.about, static_cast<const Node*>(o->object)->accelerator);
    if (o->type == ObjectType<Fleet>::name && of.about.device.empty())
      if (const Node* node = static_cast<const Fleet*>(o->object)->node; node != nullptr)
        note_device(of.about, node->accelerator);
    if (o->type == ObjectType<Workload>::name && f.name == "workload")
      note_model(of, static_cast<const Workload*>(o->object));
    if (o->type == ObjectType<ServingEngine>::name)
      of.about.origin = static_cast<const ServingEngine*>(o->object)->name;
  }
  return of;
}

std::optional<NumberKind> kind_of_number(std::string_view result, const IntervalSubject& of) {
  if (const auto dot = result.find('.'); dot != std::string_view::npos) result.remove_prefix(dot + 1);
  if (of.mode == Mode::serve) return among(kServed, result);
  if (of.mode == Mode::train) return among(kTrained, result);
  if (of.mode) return among(kPassed, result);
  // A resolver: its results say themselves whether it serves, trains or runs one pass.
  for (const auto kinds :
       {std::span<const NamedKind>(kTrained).first(2), std::span<const NamedKind>(kServed).first(2)})
    if (const auto k = among(kinds, result)) return k;
  if (of.decodes)
    if (const auto k = among(kDecoded, result)) return k;
  if (!of.about.family.empty()) return among(kPassed, result);
  return std::nullopt;
}

std::vector<std::string> measured_results(const Subject& subject, const IntervalSubject& of) {
  std::vector<std::string> out;
  for (const auto& f : subject.entry.results)
    if (kind_of_number(f.name, of)) out.push_back(f.name);
  return out;
}

std::vector<NumberInterval> intervals(const Subject& subject, const IntervalSubject& of,
                                      std::span<const std::string> results, int level,
                                      UncertaintyQuestion figures, const ErrorBook& book) {
  (void)interval_level(level);
  const auto here = subject.entry(subject.point);
  figures.coverage = level / 100.0;
  figures.results.clear();
  for (const auto& name : results)
    if (const double x = here[subject.result(name)]; std::isfinite(x) && x > 0)
      figures.results.push_back(name);
  if (figures.results.empty()) return {};
  std::vector<NumberInterval> out;
  for (const auto& n : numbers_of(subject, figures, here)) {
    NumberInterval i{.result = n.result, .unit = n.unit, .exps = n.exps, .level = level, .value = n.value};
    // Where no figure has a range the samples are all equal to the value.
    i.input_lower = std::min(n.value, n.low);
    i.input_upper = std::max(n.value, n.high);
    double low = 1, high = 1;
    if (const auto kind = kind_of_number(n.result, of)) {
      ErrorSubject about = of.about;
      about.question = std::string(kind->question);
      i.model = book.band(about, level);
      if (i.model && kind->rate) i.model = i.model->of_rate();
      if (i.model) {
        low = i.model->low;
        high = i.model->high;
      }
    }
    i.lower = n.value * std::exp(-both(std::log(n.value / i.input_lower), std::log(low)));
    i.upper = n.value * std::exp(both(std::log(i.input_upper / n.value), std::log(high)));
    out.push_back(std::move(i));
  }
  return out;
}

}  // namespace mlsysim
