#include <mlsysim/tape/interval.hpp>

#include "detail/parts_memo.hpp"

namespace mlsysim::detail {
namespace {

/// Takes the one value of each range; false if there is one of several values.
template <class S, class R>
[[nodiscard]] bool single(const R& ranges, S& out) {
  static_assert(sizeof(R) == sizeof(S) * 2);
  const Interval* const from = flat<Interval>(ranges);
  double* const to = flat<double>(out);
  for (std::size_t i = 0; i < sizeof(S) / sizeof(double); ++i) {
    if (!(from[i].low == from[i].high)) return false;
    to[i] = from[i].low;
  }
  return true;
}
template <class R, class S>
[[nodiscard]] R as_ranges(const S& one) {
  static_assert(sizeof(R) == sizeof(S) * 2);
  R out;
  for (std::size_t i = 0; i < sizeof(S) / sizeof(double); ++i) flat<Interval>(out)[i] = Interval(flat<double>(one)[i]);
  return out;
}

/// Source of parts for ranges. Where the plans of a box agree on what the parts depend on, those of that one plan; else
/// those of the ranges, of which the boxes that a search tries one after the other have many in common.
struct RangeParts {
  PartsMemo* memo;  ///< null where the model or the machine is a range
  OpList<Interval>* ops;

  [[nodiscard]] PassParts<Interval> pass(const ModelView<Interval>& model, const Plan<Interval>& plan,
                                         const Device<Interval>& device, const Links<Interval>& links) const {
    const auto fresh = [&] { return pass_parts(model, plan, device, links, *ops); };
    if (memo == nullptr) return fresh();
    const auto ranges = pass_plan(plan);
    if (Plan<> one; single(ranges, one)) return as_ranges<PassParts<Interval>>(memo->pass(model.structure, one));
    return memo->ranges().pass(memo->state(), model.structure.phase, ranges, fresh);
  }
  [[nodiscard]] StepParts<Interval> step(const ModelView<Interval>& model, const Plan<Interval>& plan,
                                         const Device<Interval>& device, const Links<Interval>& links) const {
    const auto fresh = [&] { return step_parts(model, plan, device, links, *ops); };
    if (memo == nullptr) return fresh();
    const auto ranges = step_plan(plan);
    if (Plan<> one; single(ranges, one)) return as_ranges<StepParts<Interval>>(memo->step(model.structure, one));
    return memo->ranges().step(memo->state(), ranges, fresh);
  }
  [[nodiscard]] ListTotals<Interval> forward(const ModelView<Interval>& model, const Plan<Interval>& plan) const {
    const auto fresh = [&] { return FreshParts<Interval>{*ops}.forward(model, plan); };
    if (memo == nullptr) return fresh();
    const auto ranges = step_plan(plan);
    if (Plan<> one; single(ranges, one)) return as_ranges<ListTotals<Interval>>(memo->forward(model.structure, one));
    return memo->ranges().forward(memo->state(), model.structure.phase, ranges, fresh);
  }
};

}  // namespace

void scenario_interval(const void* self, const Interval* in, Interval* out) {
  const auto& s = *static_cast<const ScenarioState*>(self);
  OpList<Interval> ops;
  ScenarioInputs<> fixed;
  const auto source = [&](const ScenarioInputs<Interval>& numbers) {
    fixed = s.base;
    const bool one_machine = single(numbers.device, fixed.device) && single(numbers.links, fixed.links) && single(numbers.shape, fixed.shape);
    PartsMemo& memo = thread_parts();
    if (one_machine) memo.use(s, fixed);
    return RangeParts{one_machine ? &memo : nullptr, &ops};
  };
  scenario_call<Interval>(s, in, out, source);
}

}  // namespace mlsysim::detail
