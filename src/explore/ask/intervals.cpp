#include <mlsysim/explore/ask/intervals.hpp>

#include "explore/ask/nothing_uncertain.hpp"

#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/specs/serving_engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

void note_model(IntervalSubject& of, const Workload* workload) {
  if (workload == nullptr) return;
  of.about.family = workload->name;
  of.decodes = workload->generates_tokens();
}

struct NamedKind {
  std::string_view result;
  NumberKind kind;
};
constexpr NamedKind kServed[] = {{"ttft", {measured("ttft")}},
                                 {"itl", {measured("itl")}},
                                 {"token_throughput", {measured("token_throughput"), true}},
                                 {"throughput_per_accelerator", {measured("token_throughput"), true}},
                                 {"request_latency", {measured("ttft"), false, measured("itl")}},
                                 {"cost_per_token", {measured("token_throughput")}},
                                 {"energy_per_token", {measured("energy_per_token")}}};
constexpr NamedKind kTrained[] = {{"step_latency", {measured("step_latency")}},
                                  {"training_time", {measured("step_latency")}},
                                  {"effective_throughput", {measured("step_latency"), true}},
                                  {"token_throughput", {measured("step_latency"), true}},
                                  {"mfu", {measured("step_latency"), true}},
                                  {"cost_per_token", {measured("step_latency")}},
                                  {"memory_used", {measured("memory_used")}}};
constexpr NamedKind kPassed[] = {{"latency", {measured("latency")}},
                                 {"throughput", {measured("latency"), true}},
                                 {"mfu", {measured("latency"), true}}};
constexpr NamedKind kDecoded[] = {{"latency", {measured("itl")}}, {"throughput", {measured("itl"), true}}};

std::optional<NumberKind> kind_among(std::span<const NamedKind> kinds, std::string_view result) {
  for (const auto& k : kinds)
    if (k.result == result) return k.kind;
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

/// The band of a kind of number; its basis names the metric.
std::optional<ModelErrorBand> band_of(const IntervalSubject& of, const NumberKind& kind, int level,
                                      const ErrorBook* book) {
  ErrorSubject about = of.about;
  about.metric = kind.metric.key;
  auto out = (book != nullptr ? *book : ErrorBook::standard_of(about.metric)).band(about, level);
  if (!out) return out;
  out->basis = fmt::format("{}: {}", kind.metric.words, out->basis);
  return kind.rate ? out->of_rate() : out;
}

/// A request takes the time to its first token and that between the others: the bands of both, each with its
/// share of the time, as if both missed to the same side.
std::optional<ModelErrorBand> band_of_request(const Subject& subject, std::span<const double> here,
                                              const IntervalSubject& of, const NumberKind& kind, int level,
                                              const ErrorBook* book) {
  const auto first = band_of(of, {kind.metric}, level, book), rest = band_of(of, {*kind.rest}, level, book);
  if (!first || !rest) return std::nullopt;
  const double share =
      std::clamp(here[subject.result("ttft")] / here[subject.result("request_latency")], 0.0, 1.0);
  if (!(share < 1)) return *first;
  ModelErrorBand out = share < 0.5 ? *rest : *first;
  out.low = share * first->low + (1 - share) * rest->low;
  out.high = share * first->high + (1 - share) * rest->high;
  out.basis =
      fmt::format("{:.0f} % {}; {:.0f} % {}", 100 * share, first->basis, 100 * (1 - share), rest->basis);
  return out;
}

double both(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

IntervalSubject interval_subject(const Scenario& scenario) {
  IntervalSubject of;
  const Node* node = scenario.fleet != nullptr ? scenario.fleet->node : nullptr;
  const HardwareNode* device = node != nullptr ? node->accelerator : scenario.hardware;
  note_device(of.about, device);
  note_model(of, scenario.workload);
  if (scenario.engine != nullptr) note_engine(of.about, *scenario.engine);
  const bool pools = scenario.prefill_replicas.has_value();  // whose devices need not be counted
  const double each = pools ? scenario.tp_size.value_or(1) * scenario.pp_size * scenario.ep_size : 1;
  const double devices =
      scenario.fleet != nullptr ? scenario.fleet->total_accelerators() : scenario.accelerators.value_or(each);
  if (device != nullptr) of.about.link = link_kind(*device, node, devices);
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
    if (o->type == ObjectType<Fleet>::name && of.about.device.empty()) {
      const auto& fleet = *static_cast<const Fleet*>(o->object);
      if (fleet.node == nullptr) continue;
      note_device(of.about, fleet.node->accelerator);
      of.about.link = link_kind(*fleet.node->accelerator, fleet.node, fleet.total_accelerators());
    }
    if (o->type == ObjectType<Workload>::name && f.name == "workload")
      note_model(of, static_cast<const Workload*>(o->object));
    if (o->type == ObjectType<ServingEngine>::name)
      note_engine(of.about, *static_cast<const ServingEngine*>(o->object));
  }
  return of;
}

std::optional<NumberKind> kind_of_number(std::string_view result, const IntervalSubject& of) {
  if (const auto dot = result.find('.'); dot != std::string_view::npos) result.remove_prefix(dot + 1);
  if (of.mode == Mode::serve) return kind_among(kServed, result);
  if (of.mode == Mode::train) return kind_among(kTrained, result);
  if (of.mode) return kind_among(kPassed, result);
  // A resolver: its results say themselves whether it serves, trains or runs one pass.
  for (const auto kinds :
       {std::span<const NamedKind>(kTrained).first(2), std::span<const NamedKind>(kServed).first(2)})
    if (const auto k = kind_among(kinds, result)) return k;
  if (of.decodes)
    if (const auto k = kind_among(kDecoded, result)) return k;
  if (!of.about.family.empty()) return kind_among(kPassed, result);
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
                                      UncertaintyQuestion figures, const ErrorBook* book) {
  (void)interval_level(level);
  const auto here = subject.entry(subject.point);
  figures.coverage = level / 100.0;
  figures.attribution = false;
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
      i.model = kind->rest ? band_of_request(subject, here, of, *kind, level, book)
                           : band_of(of, *kind, level, book);
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

namespace {

constexpr std::uint64_t kNoChoice = std::numeric_limits<std::uint64_t>::max();

/// Puts in an object that an axis varies.
void note_value(IntervalSubject& of, const DynamicValue& value) {
  const auto* o = std::get_if<ObjectRef>(&value.value);
  if (o == nullptr || o->object == nullptr) return;
  if (o->type == ObjectType<HardwareNode>::name)
    note_device(of.about, static_cast<const HardwareNode*>(o->object));
  if (o->type == ObjectType<Fleet>::name)
    if (const Node* node = static_cast<const Fleet*>(o->object)->node; node != nullptr)
      note_device(of.about, node->accelerator);
  if (o->type == ObjectType<Workload>::name) note_model(of, static_cast<const Workload*>(o->object));
  if (o->type == ObjectType<ServingEngine>::name)
    note_engine(of.about, *static_cast<const ServingEngine*>(o->object));
}

/// The subject with what a choice of the structural axes puts in.
IntervalSubject with_choice(IntervalSubject of, const Space& space, std::uint64_t choice) {
  for (std::size_t i = space.structural_axes(); i-- > 0;) {
    const auto& axis = space.axes()[i];
    for (std::size_t k = 0; k < axis.names.size(); ++k)
      note_value(of, axis.value(static_cast<std::size_t>(choice % axis.size()), k));
    choice /= axis.size();
  }
  return of;
}

}  // namespace

SpaceIntervals::SpaceIntervals(const Space& space, IntervalSubject of, std::span<const std::string> results,
                               int level)
    : space_(&space), of_(std::move(of)), level_(level), choice_(kNoChoice) {
  (void)interval_level(level);
  const auto known = space.sample().entry.results;
  for (const auto& name : results)  // other texts are expressions, which no table measures
    if (std::ranges::any_of(known, [&](const FieldInfo& f) { return f.name == name; }) &&
        kind_of_number(name, of_))
      results_.push_back(name);
}

std::vector<NumberInterval> SpaceIntervals::numbers_at(std::uint64_t index) {
  const std::uint64_t choice = index / space_->inner();
  if (choice != choice_) {
    subject_ = space_->bind(choice);
    columns_ = space_->columns(subject_);
    of_choice_ = with_choice(of_, *space_, choice);
    choice_ = choice;
  }
  for (const auto& c : columns_)
    subject_.point[c.input] = c.values[(index % space_->inner()) / c.stride % c.values.size()];
  return intervals(subject_, of_choice_, results_, level_);
}

std::vector<SpaceIntervals::Ends> SpaceIntervals::at(std::uint64_t index) {
  std::vector<Ends> out(results_.size(), {std::nan(""), std::nan("")});
  for (const auto& n : numbers_at(index)) {
    const auto at = std::ranges::find(results_, n.result) - results_.begin();
    out[static_cast<std::size_t>(at)] = {n.lower, n.upper};
  }
  return out;
}

}  // namespace mlsysim
