#include "detail/pass_pieces.hpp"

#include <mlsysim/engine/detail/pass_order.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>
#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {

std::string main_time(const Scenario& scenario) {
  Notes quiet;
  switch (ResolvedScenario(scenario, quiet).mode()) {
    case Mode::serve:
      return "itl";
    case Mode::train:
      return "step_latency";
    case Mode::infer:
      break;
  }
  return "latency";
}

namespace detail {

std::string subject_words(const Scenario& scenario) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  return fmt::format("{} on {}, {}", scenario.workload->name, r.fleet().name, name_of(r.mode()));
}

std::vector<std::string> assumed_sources(std::span<const Assumption> assumptions) {
  std::vector<std::string> out;
  for (const auto& a : assumptions) {
    std::string source(a.source.view());
    if (!source.empty() && source.find(' ') == std::string::npos &&
        std::find(out.begin(), out.end(), source) == out.end())
      out.push_back(std::move(source));
  }
  out.emplace_back("figures of the zoo, each with its own source: mlsysim zoo show");
  return out;
}

std::vector<std::string> device_sources(const Scenario& scenario) {
  std::vector<std::string> out;
  const auto add = [&](std::string text) {
    if (!text.empty() && std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  };
  for (const auto& f : device_figures(scenario)) add(f.source.substr(0, f.source.find(',')));
  if (scenario.workload->entry != nullptr) add(scenario.workload->entry->source.ref);
  return out;
}

std::string metric_or_main(const Scenario& scenario, std::string_view metric) {
  return metric.empty() ? main_time(scenario) : std::string(metric);
}

Numbers::Numbers(const Scenario& scenario)
    : subject_(subject_of(scenario)), values_(subject_.entry(subject_.point)) {}

std::optional<double> Numbers::find(std::string_view name) const {
  const auto* f = field(name);
  if (f == nullptr) return std::nullopt;
  return values_[static_cast<std::size_t>(f - subject_.entry.results.data())];
}
const FieldInfo* Numbers::field(std::string_view name) const {
  return find_field(subject_.entry.results, name);
}

namespace {

using Order = std::vector<std::pair<char, std::size_t>>;  // F or B, micro-batch

/// The order of passes on a stage. 1F1B: as many forward passes as there are stages behind it, then one of
/// each (Narayanan et al. 2021, figure 4); GPipe: all forward passes first (Huang et al. 2019, figure 2).
Order order_of(Schedule schedule, std::size_t stage, std::size_t stages, std::size_t batches) {
  Order out;
  const std::size_t ahead = schedule == Schedule::gpipe ? batches : std::min(batches, stages - stage - 1);
  for (std::size_t m = 0; m < ahead; ++m) out.emplace_back('F', m);
  for (std::size_t m = 0; m < batches; ++m) {
    if (ahead + m < batches) out.emplace_back('F', ahead + m);
    out.emplace_back('B', m);
  }
  return out;
}

/// The state of a schedule while it is laid out.
class Layout {
 public:
  Layout(Schedule schedule, std::size_t batches, const std::vector<StageTimes>& stages)
      : times_(stages),
        apart_(schedule == Schedule::zero_bubble),
        forward_(stages.size(), std::vector<double>(batches, kNever)),
        backward_(forward_),
        free_(stages.size(), 0.0),
        waiting_(stages.size()) {
    for (std::size_t s = 0; s < stages.size(); ++s)
      orders_.push_back(order_of(schedule, s, stages.size(), batches));
  }

  std::vector<SchedulePiece> pieces() {
    std::vector<std::size_t> next(times_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < times_.size(); ++s)
        while (next[s] < orders_[s].size() && run(s, orders_[s][next[s]])) {
          ++next[s];
          moved = true;
        }
    }
    for (std::size_t s = 0; s < times_.size(); ++s) fill(s, kNever);
    return std::move(out_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Whether the piece could run: what it needs is known.
  bool run(std::size_t s, std::pair<char, std::size_t> piece) {
    const auto [kind, m] = piece;
    const bool last = s + 1 == times_.size();
    const double ready = kind == 'F' ? (s == 0 ? 0 : forward_[s - 1][m])
                         : last      ? forward_[s][m]
                                     : backward_[s + 1][m];
    if (ready == kNever) return false;
    fill(s, ready);
    const double start = std::max(free_[s], ready);
    const double length =
        kind == 'F' ? times_[s].forward : times_[s].backward + (apart_ ? 0 : times_[s].weights);
    put(s, m, kind, start, length);
    (kind == 'F' ? forward_ : backward_)[s][m] = start + length;
    if (kind == 'B' && apart_ && times_[s].weights > 0) waiting_[s].push_back(m);
    return true;
  }

  /// Gradients of weights that are over before `until`.
  void fill(std::size_t s, double until) {
    auto& waiting = waiting_[s];
    while (!waiting.empty() && free_[s] + times_[s].weights <= until * (1 + 1e-12)) {
      put(s, waiting.front(), 'W', free_[s], times_[s].weights);
      waiting.erase(waiting.begin());
    }
  }

  void put(std::size_t s, std::size_t m, char kind, double start, double length) {
    out_.push_back({s, m, kind, start, start + length});
    free_[s] = start + length;
  }

  const std::vector<StageTimes>& times_;
  bool apart_;
  std::vector<Order> orders_;
  std::vector<std::vector<double>> forward_, backward_;  // ends, by stage and micro-batch
  std::vector<double> free_;
  std::vector<std::vector<std::size_t>> waiting_;
  std::vector<SchedulePiece> out_;
};

[[noreturn]] void no_schedule(std::string found, std::string expected, std::string hint) {
  throw InputError({.id = "mlsysim.picture.004",
                    .message = "there is no pipeline schedule to draw",
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

}  // namespace

std::vector<SchedulePiece> schedule_of(Schedule schedule, std::size_t batches,
                                       const std::vector<StageTimes>& stages) {
  return Layout(schedule, batches, stages).pieces();
}

ScenarioSchedule schedule_of(const Scenario& scenario) {
  constexpr double kMostPieces = 4000;
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  if (r.mode() != Mode::train || scenario.pp_size <= 1)
    no_schedule(fmt::format("mode {} and pp_size {:g}", name_of(r.mode()), scenario.pp_size),
                "training with a pipeline", "add --mode train --pp-size 4");
  if (scenario.v_stages > 1)
    no_schedule(fmt::format("{:g} model chunks a stage", scenario.v_stages), "one",
                "leave out --virtual-stages; the law has their bubble all the same");
  const Numbers numbers(scenario);
  const double batches = numbers.find("microbatch_count").value_or(1);
  if (2 * batches * scenario.pp_size > kMostPieces)
    no_schedule(fmt::format("{:g} micro-batches on {:g} stages", batches, scenario.pp_size),
                fmt::format("at most {:g} pieces", kMostPieces), "draw a smaller batch");
  StageTimes slow;
  bool head = false;
  for (const auto& row : operators_in_order(scenario, "step_latency")) {
    head = head || row.group == "head";
    (row.pass == "forward"           ? slow.forward
     : row.pass == "weight_gradient" ? slow.weights
                                     : slow.backward) += row.time;
  }
  ScenarioSchedule out;
  out.stages = static_cast<std::size_t>(scenario.pp_size);
  out.batches = static_cast<std::size_t>(std::llround(batches));
  out.schedule = scenario.schedule;
  // The other stages are shorter than the slowest one by the share that gives the bubble of the law.
  const double others = scenario.pp_size - 1, bubble = numbers.find("pipeline_bubble_latency").value_or(0);
  double equal = others * (slow.forward + slow.backward + slow.weights);  // where all stages are alike
  if (scenario.schedule == Schedule::zero_bubble)
    equal = std::max(others * (slow.forward + slow.backward) -
                         (std::min(batches, scenario.pp_size) - 1) * std::min(slow.forward, slow.weights),
                     others * slow.forward);
  const double share = std::min(1.0, bubble / equal);
  out.times.assign(out.stages, {slow.forward * share, slow.backward * share, slow.weights * share});
  out.times[head ? out.stages - 1 : 0] = slow;
  out.pieces = schedule_of(out.schedule, out.batches, out.times);
  return out;
}

}  // namespace detail
}  // namespace mlsysim
