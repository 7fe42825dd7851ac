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

/// First lane after `first` whose numbers differ from its.
template <class L>
[[nodiscard]] int run_end(const L& lanes, int first) {
  const Lanes* const numbers = flat<Lanes>(lanes);
  std::array<std::uint64_t, Lanes::width> differs{};
  for (std::size_t i = 0; i < sizeof(L) / sizeof(Lanes); ++i) {
    const auto here = std::bit_cast<std::uint64_t>(numbers[i].lane[first]);
    for (std::size_t j = 0; j < Lanes::width; ++j) differs[j] |= std::bit_cast<std::uint64_t>(numbers[i].lane[j]) ^ here;
  }
  int end = first + 1;
  while (end < Lanes::width && differs[static_cast<std::size_t>(end)] == 0) ++end;
  return end;
}

/// Calls `parts_of(plan)` once for each run of equal plans and spreads what it gives over the lanes.
template <class Out, class PartsOf>
[[nodiscard]] Out by_runs(const Plan<Lanes>& plans, PartsOf&& parts_of) {
  using Parts = std::remove_cvref_t<decltype(parts_of(Plan<>()))>;
  std::array<const Parts*, Lanes::width> found;
  std::array<Parts, Lanes::width> copies;
  for (int lane = 0; lane < Lanes::width;) {
    const int end = run_end(plans, lane);
    Plan<> plan;
    take_lane(plans, lane, plan);
    const Parts* parts = &parts_of(plan);
    // A later plan may push the parts of an earlier one out.
    if (end - lane < Lanes::width) parts = &(copies[static_cast<std::size_t>(lane)] = *parts);
    for (; lane < end; ++lane) found[static_cast<std::size_t>(lane)] = parts;
  }
  Out out;
  put_lanes(found, out);
  return out;
}

/// Calls `parts_of(model, plan, device, links)` for each lane.
template <class Out, class PartsOf>
[[nodiscard]] Out by_lanes(const ModelView<Lanes>& models, const Plan<Lanes>& plans, const Device<Lanes>* devices,
                           const Links<Lanes>* all_links, PartsOf&& parts_of) {
  using Parts = std::remove_cvref_t<decltype(parts_of(ModelView<>(), Plan<>(), Device<>(), Links<>()))>;
  std::array<Parts, Lanes::width> parts;
  std::array<const Parts*, Lanes::width> found;
  for (int lane = 0; lane < Lanes::width; ++lane) {
    ModelView<> model{models.structure, {}, models.layers};
    Plan<> plan;
    Device<> device;
    Links<> links;
    take_lane(models.shape, lane, model.shape);
    take_lane(plans, lane, plan);
    if (devices != nullptr) take_lane(*devices, lane, device);
    if (all_links != nullptr) take_lane(*all_links, lane, links);
    const auto at = static_cast<std::size_t>(lane);
    parts[at] = parts_of(model, plan, device, links);
    found[at] = &parts[at];
  }
  Out out;
  put_lanes(found, out);
  return out;
}

}  // namespace

void PartsMemo::use(const ScenarioState& state, const ScenarioInputs<>& fixed) {
  state_ = &state;
  const bool same = std::memcmp(&fixed.device, &fixed_.device, sizeof fixed.device) == 0 &&
                    std::memcmp(&fixed.links, &fixed_.links, sizeof fixed.links) == 0 &&
                    std::memcmp(&fixed.shape, &fixed_.shape, sizeof fixed.shape) == 0;
  if (same) return;
  fixed_ = fixed;
  prefill_.clear();
  decode_.clear();
  steps_.clear();
  forward_prefill_.clear();
  forward_decode_.clear();
}

const PassParts<>& PartsMemo::pass(const Structure& structure, const Plan<>& plan) {
  auto& place = (structure.phase == Phase::decode ? decode_ : prefill_).at(state_->id, plan);
  if (!place.used) place.value = pass_parts(model(structure), plan, fixed_.device, fixed_.links, ops_);
  place.used = true;
  return place.value;
}
const StepParts<>& PartsMemo::step(const Structure& structure, const Plan<>& plan) {
  auto& place = steps_.at(state_->id, plan);
  if (!place.used) place.value = step_parts(model(structure), plan, fixed_.device, fixed_.links, ops_);
  place.used = true;
  return place.value;
}
const ListTotals<>& PartsMemo::forward(const Structure& structure, const Plan<>& plan) {
  auto& place = (structure.phase == Phase::decode ? forward_decode_ : forward_prefill_).at(state_->id, plan);
  if (!place.used) place.value = FreshParts<double>{ops_}.forward(model(structure), plan);
  place.used = true;
  return place.value;
}

PartsMemo& thread_parts() {
  static thread_local std::unique_ptr<PartsMemo> memo;
  if (!memo) memo = std::make_unique<PartsMemo>();
  return *memo;
}

PassParts<Lanes> LaneParts::pass(const ModelView<Lanes>& model, const Plan<Lanes>& plan,
                                  const Device<Lanes>& device, const Links<Lanes>& links) const {
  if (memo != nullptr)
    return by_runs<PassParts<Lanes>>(bare(plan), [&](const Plan<>& p) -> const PassParts<>& { return memo->pass(model.structure, p); });
  return by_lanes<PassParts<Lanes>>(model, plan, &device, &links, [&](const auto& m, const auto& p, const auto& d, const auto& l) {
    return pass_parts(m, p, d, l, *ops);
  });
}
StepParts<Lanes> LaneParts::step(const ModelView<Lanes>& model, const Plan<Lanes>& plan,
                                  const Device<Lanes>& device, const Links<Lanes>& links) const {
  if (memo != nullptr)
    return by_runs<StepParts<Lanes>>(bare(plan), [&](const Plan<>& p) -> const StepParts<>& { return memo->step(model.structure, p); });
  return by_lanes<StepParts<Lanes>>(model, plan, &device, &links, [&](const auto& m, const auto& p, const auto& d, const auto& l) {
    return step_parts(m, p, d, l, *ops);
  });
}
ListTotals<Lanes> LaneParts::forward(const ModelView<Lanes>& model, const Plan<Lanes>& plan) const {
  if (memo != nullptr)
    return by_runs<ListTotals<Lanes>>(bare(plan), [&](const Plan<>& p) -> const ListTotals<>& { return memo->forward(model.structure, p); });
  return by_lanes<ListTotals<Lanes>>(model, plan, nullptr, nullptr, [&](const auto& m, const auto& p, const auto&, const auto&) {
    return FreshParts<double>{*ops}.forward(m, p);
  });
}

}  // namespace mlsysim::detail
