#pragma once
// Many points of a sweep have their operators in common: remembers the priced parts of the last few hundred plans.

#include "scenario_core.hpp"

#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/tape/interval.hpp>

#include <bit>
#include <cstring>
#include <vector>

namespace mlsysim::detail {

using Lanes = Batch<>;

/// A plan without the members that enter after the parts: plans that differ in those have their parts in common.
template <class T>
[[nodiscard]] Plan<T> pass_plan(const Plan<T>& plan) {
  Plan<T> out = plan;
  out.microbatches = T{1.0};
  out.overlap = out.tp_overlap = out.steal = T{0.0};
  return out;
}
/// The same for a step and for totals, where the model chunks of a stage enter later as well, or not at all.
template <class T>
[[nodiscard]] Plan<T> step_plan(const Plan<T>& plan) {
  Plan<T> out = pass_plan(plan);
  out.virtual_stages = T{1.0};
  return out;
}

/// What depends on the structure and the plan alone. 2^bits places; a plan whose place is taken pushes the other out, so
/// the memory is bounded, and what is found is what would have been computed.
template <class T, class Value, int bits>
class PlanMap {
 public:
  struct Place {
    std::uint64_t state = 0;
    Plan<T> plan;
    bool used = false;
    Value value;
  };
  void clear() {
    for (auto& p : places_) p.used = false;
  }
  /// The place of a plan of this state; `used` tells whether its value is there.
  [[nodiscard]] Place& at(std::uint64_t state, const Plan<T>& plan) {
    if (places_.empty()) places_.resize(std::size_t{1} << bits);
    const auto* const numbers = reinterpret_cast<const double*>(&plan);
    std::uint64_t hash = state;
    for (std::size_t i = 0; i < kNumbers; ++i) hash = (hash ^ std::bit_cast<std::uint64_t>(numbers[i])) * 0x9e3779b97f4a7c15u;
    Place& p = places_[hash >> (64 - bits)];
    if (p.used && (p.state != state || std::memcmp(&p.plan, &plan, sizeof plan) != 0)) p.used = false;
    if (!p.used) {
      p.state = state;
      p.plan = plan;
    }
    return p;
  }

 private:
  static constexpr std::size_t kNumbers = sizeof(Plan<T>) / sizeof(double);
  std::vector<Place> places_;
};

/// Parts of plans over one scalar, by phase.
template <class T, int bits>
struct PlanMaps {
  PlanMap<T, PassParts<T>, bits> prefill, decode;
  PlanMap<T, StepParts<T>, bits> steps;
  PlanMap<T, ListTotals<T>, bits> forward_prefill, forward_decode;

  void clear() {
    prefill.clear();
    decode.clear();
    steps.clear();
    forward_prefill.clear();
    forward_decode.clear();
  }

  // What `make` gives for a plan, or gave earlier; holds until the next call.
  template <class Make>
  [[nodiscard]] const PassParts<T>& pass(std::uint64_t state, Phase phase, const Plan<T>& plan, Make&& make) {
    return remembered(phase == Phase::decode ? decode : prefill, state, plan, make);
  }
  template <class Make>
  [[nodiscard]] const StepParts<T>& step(std::uint64_t state, const Plan<T>& plan, Make&& make) {
    return remembered(steps, state, plan, make);
  }
  template <class Make>
  [[nodiscard]] const ListTotals<T>& forward(std::uint64_t state, Phase phase, const Plan<T>& plan, Make&& make) {
    return remembered(phase == Phase::decode ? forward_decode : forward_prefill, state, plan, make);
  }

 private:
  template <class Map, class Make>
  [[nodiscard]] static const auto& remembered(Map& map, std::uint64_t state, const Plan<T>& plan, Make& make) {
    auto& place = map.at(state, plan);
    if (!place.used) place.value = make();
    place.used = true;
    return place.value;
  }
};

/// Parts of the plans of scenarios with one model and one machine.
class PartsMemo {
 public:
  /// Makes everything outside the plan that of this scenario with these numbers; forgets what belongs to another model or
  /// machine. The state must live until the next call.
  void use(const ScenarioState& state, const ScenarioInputs<>& fixed);

  // What is returned holds until the next call.
  [[nodiscard]] const PassParts<>& pass(const Structure& structure, const Plan<>& plan);
  [[nodiscard]] const StepParts<>& step(const Structure& structure, const Plan<>& plan);
  [[nodiscard]] const ListTotals<>& forward(const Structure& structure, const Plan<>& plan);

  [[nodiscard]] std::uint64_t state() const { return state_->id; }
  /// For whoever remembers more of this model and machine: what was put there is forgotten with the rest.
  [[nodiscard]] PlanMaps<Interval, 6>& ranges() { return ranges_; }

 private:
  [[nodiscard]] ModelView<> model(const Structure& structure) const { return {structure, fixed_.shape, state_->layers}; }

  const ScenarioState* state_ = nullptr;
  ScenarioInputs<> fixed_;
  PlanMaps<double, 9> plans_;
  PlanMaps<Interval, 6> ranges_;
  OpList<> ops_;
};
/// The memo of this thread.
[[nodiscard]] PartsMemo& thread_parts();

/// The parts of the plans that some lanes had last. Neighbours mostly have the same.
template <class Parts>
struct LastLanes {
  bool used = false;
  Plan<Lanes> plans;
  Parts parts;

  [[nodiscard]] bool are_of(const Plan<Lanes>& wanted) const { return used && std::memcmp(&plans, &wanted, sizeof wanted) == 0; }
};

/// Buffers of a thread for parts in lanes.
struct LaneBuffers {
  OpList<Lanes> ops;
  LastLanes<PassParts<Lanes>> prefill, decode;
  /// A training plan that names no micro-batch asks for two others first: what one sequence needs, and a second.
  std::array<LastLanes<StepParts<Lanes>>, 3> steps;
  std::size_t next_step = 0;
  LastLanes<ListTotals<Lanes>> forward_prefill, forward_decode;

  /// What is remembered is of another scenario from now on.
  void forget() {
    prefill.used = decode.used = forward_prefill.used = forward_decode.used = false;
    for (auto& step : steps) step.used = false;
  }
};

/// Source of parts for lanes: lanes that share plans take them from the memo, others are lowered and priced in lanes.
/// What is returned holds until the next call.
struct LaneParts {
  PartsMemo* memo;  ///< null where the lanes differ in the model or the machine
  LaneBuffers* buffers;

  [[nodiscard]] const PassParts<Lanes>& pass(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                             const Links<Lanes>& links) const;
  [[nodiscard]] const StepParts<Lanes>& step(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                             const Links<Lanes>& links) const;
  [[nodiscard]] const ListTotals<Lanes>& forward(const ModelView<Lanes>& model, const Plan<Lanes>& plan) const;
};

}  // namespace mlsysim::detail
