#include "detail/parts_memo.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

namespace mlsysim::detail {
namespace {

/// Numbers of one lane.
template <class S, class L>
void take_lane(const L& lanes, int lane, S& out) {
  static_assert(sizeof(L) == sizeof(S) * Lanes::width);
  const Lanes* const from = flat<Lanes>(lanes);
  double* const to = flat<double>(out);
  for (std::size_t i = 0; i < sizeof(S) / sizeof(double); ++i) to[i] = from[i].lane[lane];
}

/// The numbers of `from[j]` in lane j.
template <class L, class S>
void put_lanes(const std::array<const S*, Lanes::width>& from, L& lanes) {
  static_assert(sizeof(L) == sizeof(S) * Lanes::width);
  Lanes* const to = flat<Lanes>(lanes);
  const bool one = std::all_of(from.begin(), from.end(), [&](const S* s) { return s == from[0]; });
  if (one) {
    for (std::size_t i = 0; i < sizeof(S) / sizeof(double); ++i) to[i] = Lanes(flat<double>(*from[0])[i]);
    return;
  }
  std::array<const double*, Lanes::width> numbers;
  for (std::size_t j = 0; j < Lanes::width; ++j) numbers[j] = flat<double>(*from[j]);
  for (std::size_t i = 0; i < sizeof(S) / sizeof(double); ++i)
    for (std::size_t j = 0; j < Lanes::width; ++j) to[i].lane[j] = numbers[j][i];
}

/// Bit j: lane j differs from the lane before it (lane 0 does).
template <class L>
[[nodiscard]] unsigned run_starts(const L& lanes) {
  const Lanes* const numbers = flat<Lanes>(lanes);
  std::array<std::uint64_t, Lanes::width> differs{};
  for (std::size_t i = 0; i < sizeof(L) / sizeof(Lanes); ++i)
    for (std::size_t j = 1; j < Lanes::width; ++j)
      differs[j] |= std::bit_cast<std::uint64_t>(numbers[i].lane[j]) ^ std::bit_cast<std::uint64_t>(numbers[i].lane[j - 1]);
  unsigned starts = 1;
  for (std::size_t j = 1; j < Lanes::width; ++j) starts |= (differs[j] != 0 ? 1u : 0u) << j;
  return starts;
}

// From so many plans in eight lanes on, lowering in lanes is cheaper than one plan after the other.
constexpr int kManyPlans = 5;

/// Calls `parts_of(plan)` once for each run of equal plans and spreads what it gives over the lanes; `in_lanes()` where
/// nearly every lane has a plan of its own.
template <class Out, class PartsOf, class InLanes>
void by_runs(const Plan<Lanes>& plans, PartsOf&& parts_of, InLanes&& in_lanes, Out& out) {
  using Parts = std::remove_cvref_t<decltype(parts_of(Plan<>()))>;
  const unsigned starts = run_starts(plans);
  const int runs = std::popcount(starts);
  if (runs >= kManyPlans) {
    out = in_lanes();
    return;
  }
  std::array<const Parts*, Lanes::width> found;
  // On the heap: a library that Python opens has room for a few hundred bytes of thread-local storage.
  static thread_local const auto copies = std::make_unique<std::array<Parts, kManyPlans>>();
  std::size_t run = 0;
  for (int lane = 0; lane < Lanes::width; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    if ((starts >> lane & 1u) == 0) {
      found[at] = found[at - 1];
      continue;
    }
    Plan<> plan;
    take_lane(plans, lane, plan);
    found[at] = &parts_of(plan);
    // A later plan may push the parts of an earlier one out.
    if (runs > 1) found[at] = &((*copies)[run++] = *found[at]);
  }
  put_lanes(found, out);
}

/// Parts of these plans: those that the lanes had last where they are the same, else by runs.
template <class Out, class PartsOf, class InLanes>
[[nodiscard]] const Out& lanes_of(LastLanes<Out>& last, const PartsMemo* memo, const Plan<Lanes>& plans, PartsOf&& parts_of, InLanes&& in_lanes) {
  if (memo != nullptr && last.are_of(plans)) return last.parts;
  last.used = false;
  if (memo == nullptr) {
    last.parts = in_lanes();
    return last.parts;
  }
  by_runs(plans, parts_of, in_lanes, last.parts);
  last.plans = plans;
  last.used = true;
  return last.parts;
}

}  // namespace

void PartsMemo::use(const ScenarioState& state, const ScenarioInputs<>& fixed) {
  state_ = &state;
  const bool same = std::memcmp(&fixed.device, &fixed_.device, sizeof fixed.device) == 0 &&
                    std::memcmp(&fixed.links, &fixed_.links, sizeof fixed.links) == 0 &&
                    std::memcmp(&fixed.shape, &fixed_.shape, sizeof fixed.shape) == 0;
  if (same) return;
  fixed_ = fixed;
  plans_.clear();
  ranges_.clear();
}

const PassParts<>& PartsMemo::pass(const Structure& structure, const Plan<>& plan) {
  return plans_.pass(state(), structure.phase, plan, [&] { return pass_parts(model(structure), plan, fixed_.device, fixed_.links, ops_); });
}
const StepParts<>& PartsMemo::step(const Structure& structure, const Plan<>& plan) {
  return plans_.step(state(), plan, [&] { return step_parts(model(structure), plan, fixed_.device, fixed_.links, ops_); });
}
const ListTotals<>& PartsMemo::forward(const Structure& structure, const Plan<>& plan) {
  return plans_.forward(state(), structure.phase, plan, [&] { return FreshParts<double>{ops_}.forward(model(structure), plan); });
}

PartsMemo& thread_parts() {
  static thread_local std::unique_ptr<PartsMemo> memo;
  if (!memo) memo = std::make_unique<PartsMemo>();
  return *memo;
}

const PassParts<Lanes>& LaneParts::pass(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                        const Links<Lanes>& links) const {
  return lanes_of(
      model.structure.phase == Phase::decode ? buffers->decode : buffers->prefill, memo, pass_plan(plan),
      [&](const Plan<>& p) -> const PassParts<>& { return memo->pass(model.structure, p); },
      [&] { return pass_parts<Lanes>(model, plan, device, links, buffers->ops); });
}
const StepParts<Lanes>& LaneParts::step(const ModelView<Lanes>& model, const Plan<Lanes>& plan, const Device<Lanes>& device,
                                        const Links<Lanes>& links) const {
  const Plan<Lanes> wanted = step_plan(plan);
  auto& steps = buffers->steps;
  auto last = std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.are_of(wanted); });
  if (last == steps.end()) last = steps.begin() + static_cast<std::ptrdiff_t>(buffers->next_step++ % steps.size());
  return lanes_of(
      *last, memo, wanted, [&](const Plan<>& p) -> const StepParts<>& { return memo->step(model.structure, p); },
      [&] { return step_parts<Lanes>(model, plan, device, links, buffers->ops); });
}
const ListTotals<Lanes>& LaneParts::forward(const ModelView<Lanes>& model, const Plan<Lanes>& plan) const {
  return lanes_of(
      model.structure.phase == Phase::decode ? buffers->forward_decode : buffers->forward_prefill, memo, step_plan(plan),
      [&](const Plan<>& p) -> const ListTotals<>& { return memo->forward(model.structure, p); },
      [&] { return FreshParts<Lanes>{buffers->ops}.forward(model, plan); });
}

}  // namespace mlsysim::detail
