#pragma once
/// Constraints on a plan: whole replicas, full nodes, degrees that the model can hold, and memory that fits.
///
///     replicas is whole                 devices / per_node is whole, or part of one node
///     ep <= experts                     tp <= heads
///     pp virtual_stages <= layers       + 2 where interleaved
///     memory_shortfall = max(memory_used - memory_capacity, 0)
///
/// Heads and layers bind only where the model states them. Degrees need not divide them here.
///
/// Example: with 8 devices per node and no part of a node, 16 devices pass and 12 do not.

#include <mlsysim/timing/pass.hpp>

namespace mlsysim {

/// Limits that a plan must keep.
template <class T = double> struct PlanLimits {
  T per_node{1.0};            ///< devices come in this many, or in the number of nodes that was given
  bool has_layers = false;    ///< the model states its layers
  bool has_heads = false;     ///< the model states its heads
  bool part_of_node = false;  ///< fewer devices than a node holds share one

  static constexpr auto fields() {
    return rows(field(&PlanLimits::per_node, "per_node", "", "devices of a full node").fixed());
  }
  static constexpr auto categories() {
    using L = PlanLimits;
    return rows(category(&L::has_layers, "has_layers", "the model states its layers"),
                category(&L::has_heads, "has_heads", "the model states its heads"),
                category(&L::part_of_node, "part_of_node", "fewer devices than a node holds share one"));
  }
};

/// Whether a plan is valid and fits in memory.
template <class T = double> struct FeasibilityEstimate {
  Data<T> memory_used, memory_capacity, memory_shortfall;
  T memory_utilization{0.0}, plan_fits{1.0};

  static constexpr auto fields() {
    using R = FeasibilityEstimate;
    return rows(field(&R::memory_used, "memory_used", "GB", "memory of the fullest device"),
                field(&R::memory_capacity, "memory_capacity", "GB", "memory of one device"),
                field(&R::memory_shortfall, "memory_shortfall", "GB", "bytes that do not fit"),
                field(&R::memory_utilization, "memory_utilization", "", "used over capacity"),
                field(&R::plan_fits, "plan_fits", "",
                      "1 where the plan is one: nodes are full, degrees divide devices and fit the model, "
                      "accumulation steps the batch, a part of the prompt is computed"));
  }
};

namespace detail {

/// Whether `x` is a whole number of at least 1.
template <class T> auto whole(const T& x) { return (floor(x) >= x) && (x >= T{1.0}); }

template <class T> auto full_nodes(const PlanLimits<T>& limits, const T& devices) {
  const auto full = whole(T(devices / limits.per_node));
  return limits.part_of_node ? full || (devices <= limits.per_node) : full;
}

/// Whether devices fill nodes and replicas, and every device has a part of the model.
template <class T>
auto divides(const PlanLimits<T>& limits, const ModelView<T>& model, const Plan<T>& plan, const T& devices,
             const T& replicas) {
  auto ok = whole(replicas) && full_nodes(limits, devices) &&
            (plan.ep <= (model.structure.moe && model.stack ? model.stack->experts : T{1.0}));
  const T layers = model.stack ? model.stack->layers : T{0.0};
  // An interleaved pipeline may run the two ends of the model as chunks of their own.
  if (limits.has_layers)
    ok = ok &&
         (plan.pp * plan.virtual_stages <= layers + select(plan.virtual_stages > T{1.0}, T{2.0}, T{0.0}));
  if (limits.has_heads) ok = ok && whole(T((model.stack ? model.stack->heads : T{1.0}) / plan.tp));
  return ok;
}

}  // namespace detail
}  // namespace mlsysim
