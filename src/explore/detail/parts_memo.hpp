#pragma once
// Many points of a sweep have their operators in common: remembers the priced parts of the last few hundred plans.

#include "scenario_core.hpp"

#include <mlsysim/scalars/batch.hpp>

#include <bit>
#include <cstring>
#include <vector>

namespace mlsysim::detail {

using Lanes = Batch<>;

/// Members of the plan that enter after the parts: plans that differ in them have their parts in common.
template <class T>
[[nodiscard]] Plan<T> bare(const Plan<T>& plan) {
  Plan<T> out = plan;
  out.microbatches = T{1.0};
  out.overlap = out.tp_overlap = out.steal = T{0.0};
  return out;
}

/// What depends on the structure and the plan alone. A few hundred places; a plan whose place is taken pushes the other
/// out, so the memory is bounded, and what is found is what would have been computed.
template <class Value>
class PlanMap {
 public:
  struct Place {
    std::uint64_t state = 0;
    Plan<> plan;
    bool used = false;
    Value value;
  };
  void clear() {
    for (auto& p : places_) p.used = false;
  }
  /// The place of a plan of this state; `used` tells whether its value is there.
  [[nodiscard]] Place& at(std::uint64_t state, const Plan<>& plan) {
    if (places_.empty()) places_.resize(kPlaces);
    const auto* const numbers = flat<double>(plan);
    std::uint64_t hash = state;
    for (std::size_t i = 0; i < kNumbers; ++i) hash = (hash ^ std::bit_cast<std::uint64_t>(numbers[i])) * 0x9e3779b97f4a7c15u;
    Place& p = places_[hash >> kShift];
    if (p.used && (p.state != state || std::memcmp(&p.plan, &plan, sizeof plan) != 0)) p.used = false;
    if (!p.used) {
      p.state = state;
      p.plan = plan;
    }
    return p;
  }

 private:
  static constexpr std::size_t kNumbers = sizeof(Plan<>) / sizeof(double);
  static constexpr int kBits = 9, kShift = 64 - kBits;
  static constexpr std::size_t kPlaces = std::size_t{1} << kBits;
  std::vector<Place> places_;
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
 private:
  [[nodiscard]] ModelView<> model(const Structure& structure) const { return {structure, fixed_.shape, state_->layers}; }

  const ScenarioState* state_ = nullptr;
  ScenarioInputs<> fixed_;
  PlanMap<PassParts<>> prefill_, decode_;
  PlanMap<StepParts<>> steps_;
  PlanMap<ListTotals<>> forward_prefill_, forward_decode_;
  OpList<> ops_;
};
/// The memo of this thread.
[[nodiscard]] PartsMemo& thread_parts();

/// Source of parts for lanes: lanes that share plans take them from the memo, others are lowered and priced in lanes.
struct LaneParts {
  PartsMemo* memo;  ///< null where the lanes differ in the model or the machine
  OpList<Lanes>* ops;

  [[nodiscard]] PassParts<Lanes> pass(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                      const Links<Lanes>& links) const;
  [[nodiscard]] StepParts<Lanes> step(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                      const Links<Lanes>& links) const;
  [[nodiscard]] ListTotals<Lanes> forward(const ModelView<Lanes>& model, const Plan<Lanes>& plan) const;
};

}  // namespace mlsysim::detail
