#pragma once
// One device's share of a small model, and what its operators are by hand. Sizes and bytes have no factor in
// common that could hide a wrong one: 2 B an activation, 13 B one on its way to an expert, 3 B a weight, 5 B
// a cached value, 7 B a gradient, 11 B of optimizer states.

#include <mlsysim/lowering/emit.hpp>

#include "support/catch.hpp"

#include <string_view>
#include <vector>

namespace by_hand {
using namespace mlsysim;
namespace u = mlsysim::unit;

/// Six sequences of ten new tokens after thirty; tensor-parallel over two devices.
struct Bench {
  Structure structure;
  StackView<> stack;
  Plan<> plan;
  OpList<> ops;

  explicit Bench(Phase phase) {
    structure.phase = phase;
    stack.layers = 1;
    stack.hidden = 96;
    plan.tp = 2;
    plan.batch = 6;
    plan.new_tokens = phase == Phase::decode ? 1 : 10;
    plan.context = phase == Phase::training ? 10 : 40;
    plan.activation_bytes = 2 * u::B;
    plan.dispatch_bytes = 13 * u::B;
    plan.rank_imbalance = 1;  // equal ranks; what chance makes of them is tested apart
    plan.kv_bytes = 5 * u::B;
    plan.weight_bytes = 3 * u::B / u::param;
    plan.gradient_bytes = 7 * u::B / u::param;
    plan.state_bytes = 11 * u::B / u::param;
  }
  [[nodiscard]] detail::Frame<double> frame() { return {structure, stack, plan, ops}; }
  /// The only operator of this name.
  [[nodiscard]] const Op<>& operator[](std::string_view name) const {
    const Op<>* found = nullptr;
    for (const auto& op : ops)
      if (op.name == name) {
        REQUIRE(found == nullptr);
        found = &op;
      }
    INFO(name);
    REQUIRE(found != nullptr);
    return *found;
  }
  [[nodiscard]] bool has(std::string_view name) const {
    for (const auto& op : ops)
      if (op.name == name) return true;
    return false;
  }
};

/// Amounts of one execution, in FLOP, parameters and bytes.
struct Amounts {
  double work = 0, params = 0, working_set = 0, memory_bytes = 0, saved_bytes = 0, state = 0;
};
inline void check(const Op<>& op, const Amounts& a) {
  INFO(op.name);
  CHECK(op.work.base() == Approx(a.work).epsilon(1e-12));
  CHECK(op.params.base() == Approx(a.params).epsilon(1e-12));
  CHECK(op.working_set.base() == Approx(a.working_set).epsilon(1e-12));
  CHECK(op.memory_bytes.base() == Approx(a.memory_bytes).epsilon(1e-12));
  CHECK(op.saved_bytes.base() == Approx(a.saved_bytes).epsilon(1e-12));
  CHECK(op.state.base() == Approx(a.state).epsilon(1e-12));
}

/// A product with weights and `more` weights beside them, which are too few to count as traffic.
inline Amounts product(double m, double n, double k, double copies = 1, double more = 0) {
  const double weights = n * k * copies, in = 2 * m * k * copies, out = 2 * m * n * copies;
  return {2 * m * weights, weights + more, in + out, in + out + 3 * weights, in, 0};
}
inline void check_collective(const Op<>& op, Collective pattern, double bytes, double ranks, double stride) {
  INFO(op.name);
  CHECK(op.collective == pattern);
  CHECK(op.message.base() == Approx(bytes).epsilon(1e-12));
  CHECK(op.ranks == ranks);
  CHECK(op.stride == stride);
}

}  // namespace by_hand
