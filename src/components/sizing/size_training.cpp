// Training runs that end in time.

#include "sizing/detail/size_plans.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

namespace mlsysim::detail {
namespace {

/// How copies of a model are trained, beside their degrees.
struct TrainingChoice {
  double zero_stage = 0;
  std::optional<double> microbatch_size{};
  std::optional<Recomputation> recomputation{};
  bool recomputes_more = false;  ///< than the one before it, which is the same in all else
};

std::vector<TrainingChoice> training_choices(const SizeQuestion& q) {
  const Scenario& s = q.scenario;
  std::vector<double> stages{s.zero_stage};
  if (s.zero_stage == 0 && !q.stated.contains("zero_stage")) stages = {0, 1, 2, 3};
  std::vector<std::optional<double>> sizes{s.microbatch_size};
  if (!s.microbatch_size && !s.microbatch_count) sizes.insert(sizes.end(), {1, 2, 4, 8, 16});
  std::vector<std::optional<Recomputation>> ways{s.recomputation};
  if (!s.recomputation) ways = {Recomputation::none, Recomputation::selective, Recomputation::full};
  std::vector<TrainingChoice> out;
  for (const double stage : stages)
    for (const auto& size : sizes)
      for (const auto& way : ways) out.push_back({stage, size, way, way != ways.front()});
  return out;
}

struct Trained {
  TrainingProblem<> problem;
  Scenario scenario;
  TrainingEstimate<> estimate;

  [[nodiscard]] bool fits() const { return estimate.memory.total <= estimate.memory.capacity; }
};

/// Copies of some degrees on any number of devices.
class Copies {
 public:
  Copies(const SizeQuestion& q, Machines& machines, const Degrees& d, double time_factor)
      : q_(&q),
        machines_(&machines),
        degrees_(d),
        node_(devices_of_a_node(machines)),
        factor_(time_factor),
        choices_(training_choices(q)) {}
  /// As many copies as the batch has sequences are the most that have work.
  [[nodiscard]] double most() const {
    return whole(std::min(q_->most_devices, q_->scenario.batch_size * degrees_.devices()));
  }
  /// The largest number up to `devices` of whole copies on whole nodes, or within one; 0 where there is none.
  [[nodiscard]] double whole(double devices) const {
    const double copy = degrees_.devices();
    const auto step =
        static_cast<double>(std::lcm(static_cast<std::uint64_t>(copy), static_cast<std::uint64_t>(node_)));
    const double many = std::floor(devices / step) * step;
    return many > 0 ? many : std::floor(std::min(devices, node_) / copy) * copy;
  }
  /// Whether a run on so many devices ends in time; what met the limits last is tried first.
  [[nodiscard]] bool meets(double devices) {
    const auto is_met = [&](const std::optional<Trained>& run) {
      return run && run->fits() && in_time(*run);
    };
    if (is_met(on(devices, choices_[last_]))) return true;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const auto run = on(devices, choices_[i]);
      if (is_met(run)) {
        last_ = i;
        return true;
      }
      // A run that recomputes more takes longer.
      if (run && !in_time(*run))
        while (i + 1 < choices_.size() && choices_[i + 1].recomputes_more) ++i;
    }
    return false;
  }
  /// The first refusal that was no matter of degrees; null where there was none.
  [[nodiscard]] std::exception_ptr refusal() const { return refusal_; }
  /// The run that ends first; where none fits, the one that misses the least memory.
  [[nodiscard]] std::optional<Trained> fastest(double devices) {
    std::optional<Trained> best;
    const auto rank = [](const Trained& t) {
      return std::pair{t.fits() ? 0.0 : t.estimate.memory.total.base(), t.estimate.training_time.base()};
    };
    for (const auto& choice : choices_)
      if (auto run = on(devices, choice); run && (!best || rank(*run) < rank(*best))) best = std::move(run);
    return best;
  }
  /// The fewest devices, up to `enough`, which do.
  [[nodiscard]] double fewest(double enough) {
    double few = 0;
    for (double middle = whole(enough / 2); middle > few; middle = whole((few + enough) / 2))
      (meets(middle) ? enough : few) = middle;
    return enough;
  }

 private:
  [[nodiscard]] bool in_time(const Trained& t) const {
    return t.estimate.training_time * factor_ <= *q_->within;
  }
  /// None where the choice or the number of devices is not possible.
  [[nodiscard]] std::optional<Trained> on(double devices, const TrainingChoice& choice) try {
    double bought = 0;
    Trained out{.problem = {}, .scenario = machines_->on(devices, &bought), .estimate = {}};
    if (bought != devices) return std::nullopt;
    Scenario& s = out.scenario;
    set_degrees(s, degrees_);
    s.zero_stage = choice.zero_stage;
    s.microbatch_size = choice.microbatch_size;
    s.recomputation = choice.recomputation;
    Notes quiet;
    out.problem = std::get<TrainingProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
    out.estimate = evaluate(out.problem);
    return out;
  } catch (const DomainError&) {
    return std::nullopt;
  } catch (const LookupError&) {
    if (!degrees_.precision) throw;  // a format that the device does not have
    if (!refusal_) refusal_ = std::current_exception();
    return std::nullopt;
  } catch (const InputError&) {
    if (!refusal_) refusal_ = std::current_exception();
    return std::nullopt;
  }

  const SizeQuestion* q_;
  Machines* machines_;
  Degrees degrees_;
  double node_;  ///< devices of a node: more of them are whole nodes
  double factor_;
  std::vector<TrainingChoice> choices_;
  std::size_t last_ = 0;
  std::exception_ptr refusal_;
};

void miss(NearestPlan& nearest, const SizeQuestion& q, const Trained& run, const Degrees& d, double devices) {
  const auto& e = run.estimate;
  const double by = std::max(e.training_time / *q.within, e.memory.total / e.memory.capacity);
  const double batch = q.scenario.batch_size;
  const auto what =
      run.fits()
          ? fmt::format("{} on {:g} devices", pretty(AnyQuantity(e.training_time), 3), devices)
          : fmt::format("needs {} of {} on each of {:g} devices", pretty(AnyQuantity(e.memory.total), 3),
                        pretty(AnyQuantity(e.memory.capacity), 3), devices);
  const auto assumed = batch > 1 ? std::string() : std::string(", which is 1 unless it is stated");
  nearest.take(
      by, fmt::format("{} with a batch of {:g}{}", what, batch, batch == 1 ? " sequence" : " sequences"), d,
      fmt::format("a time {:.3g} times as long, or a larger batch{}, such as --batch-size {:g}: each "
                  "copy of the model has at least one of its sequences",
                  by, assumed, std::exp2(std::ceil(std::log2(std::max(2.0, batch * by))))));
}

SizedPlan trained_plan(const Trained& run, const Degrees& d, double devices) {
  const auto& e = run.estimate;
  SizedPlan plan{.tp = d.tp, .pp = d.pp, .ep = d.ep, .precision = d.precision};
  plan.devices = devices;
  plan.replicas = e.dp_size;
  plan.training_time = e.training_time;
  plan.token_throughput = e.token_throughput;
  plan.mfu = e.mfu;
  plan.goodput_ratio = e.reliability.goodput_ratio;
  plan.limited_by = "the time";
  if (const auto& macro = run.problem.macro; macro.has_power && macro.has_price) {
    plan.cost = e.macro.tco / macro.period();
    plan.run_cost = e.macro.run_cost;
  }
  plan.scenario = run.scenario;
  return plan;
}

}  // namespace

std::string words_of_training(const Scenario& s) {
  std::string out;
  if (s.zero_stage > 0) out += fmt::format(", zero {:g}", s.zero_stage);
  if (s.microbatch_size) out += fmt::format(", micro-batch {:g}", *s.microbatch_size);
  if (s.recomputation && *s.recomputation != Recomputation::none)
    out += fmt::format(", {} recomputation", name_of(*s.recomputation));
  return out;
}

double training_devices(const SizeQuestion& q, Machines& machines, const Degrees& d, double time_factor,
                        double below) {
  Copies copies(q, machines, d, time_factor);
  const double most = std::min(copies.most(), copies.whole(below - 1));
  if (most < d.devices()) return below;
  return copies.meets(most) ? copies.fewest(most) : below;
}

Outcome<SizeAnswer> size_training(const SizeQuestion& q) {
  if (!q.within)
    throw InputError({.id = "mlsysim.explore.182",
                      .message = "a training run is sized for a time",
                      .key = "within",
                      .found = "no time",
                      .expected = "the time in which the run must end",
                      .hint = "e.g. --tokens 15T --within '90 d'"});
  const Scenario base = sized_scenario(q);
  if (!base.tokens_of_run())
    throw InputError(
        {.id = "mlsysim.explore.183",
         .message = fmt::format("nobody says on how many tokens '{}' is trained", base.workload->name),
         .key = "tokens",
         .found = "no tokens",
         .expected = "tokens of the run",
         .hint = "e.g. --tokens 15T"});
  Machines machines(base);
  SizeAnswer out;
  std::vector<SizedPlan> plans;
  NearestPlan nearest;
  std::exception_ptr refusal;
  for (const Degrees& d : degrees_of(q, machines, true)) {
    Copies copies(q, machines, d, 1);
    const double most = copies.most();
    if (most < d.devices()) continue;
    ++out.plans;
    if (copies.meets(most)) {
      ++out.fitting;
      const double enough = copies.fewest(most);
      plans.push_back(trained_plan(*copies.fastest(enough), d, enough));
    } else if (const auto run = copies.fastest(most)) {
      miss(nearest, q, *run, d, most);
    } else if (!refusal) {
      refusal = copies.refusal();
    }
  }
  if (plans.empty() && nearest.plan.empty() && refusal) std::rethrow_exception(refusal);
  if (plans.empty()) return nothing_fits(nearest, out.plans);
  finish(q, out, plans, machines);
  out.headroom = 1 - out.best.training_time / *q.within;
  return out;
}

}  // namespace mlsysim::detail
