// What is trained beside frozen weights, updates that are made orthogonal, and a loss in chunks: each amount
// worked by hand.

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/memory_model.hpp>

#include "by_hand.hpp"

using namespace by_hand;

namespace {

/// One product of two joined matrices beside a scores product, in a block: 10 x (11 -> 14), three copies.
void add_product(Bench& b, OpGroup group = OpGroup::feed_forward, Parts parts = part::none) {
  Op<>& op = detail::matmul(b.frame(), "product", group, 4.0, 10.0, 14.0, 11.0, 3.0, parts);
  op.merged_matrices = 2;
}

}  // namespace

TEST_CASE("adapters of a product, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.structure.adapters = Adapters::lora;
  b.plan.lora_rank = 5;
  b.plan.adapter_bytes = 13 * u::B / u::param;
  add_product(b);
  detail::adapt(b.structure, b.plan, b.ops);
  // x A: 10 x (11 -> 5) for each of the two matrices, side by side, three copies.
  const double down = 11 * 10 * 3, up = 5 * 7 * 6;
  check(b["adapter_down"],
        {2 * 10 * down, down, 2 * 10 * (11 + 10) * 3, 2 * 10 * (11 + 10) * 3 + 13 * down, 0, 0});
  // (x A) B: 10 x (5 -> 7), six times; x A is kept.
  check(b["adapter_up"],
        {2 * 10 * up, up, 2 * 10 * (5 + 7) * 6, 2 * 10 * (5 + 7) * 6 + 13 * up, 2 * 10 * 5 * 6, 0});
  // 420 sums: two arrays in, one out.
  check(b["adapter_sum"], {2 * 420, 0, 2 * 3 * 420, 2 * 3 * 420, 0, 0});
  CHECK(b["product"].saved_bytes.base() == 2 * 10 * 11 * 3);  // the input is kept for the gradient of A
  CHECK(b["adapter_up"].count == 4);
  const auto totals = totals_of(b.ops, b.ops.size());
  CHECK(totals.adapter_params.base() == 4 * (down + up));
  CHECK(totals.dense_params.base() == 4 * 14 * 11 * 3);
  CHECK(totals.weight_work.base() == 4 * 2 * 10 * 14 * 11 * 3);  // of what is frozen
  // Gradients of adapters alone.
  b.plan.trainable = 0;
  detail::backward(b.structure, b.plan, b.ops, b.ops.size());
  double gradients = 0;
  for (const auto& op : b.ops)
    if (op.pass == Pass::weight_gradient) gradients += op.work.base() * op.count;
  CHECK(gradients == 4 * 2 * 10 * (down + up));
}

TEST_CASE("what no adapter stands beside keeps no input, and routed experts have none", "[lowering]") {
  for (const bool routed : {true, false}) {
    Bench b(Phase::training);
    b.structure.adapters = Adapters::lora;
    b.structure.adapted = routed ? LoraModules::all : LoraModules::attention;
    b.plan.lora_rank = 5;
    add_product(b, OpGroup::feed_forward, routed ? part::routed : part::none);
    detail::adapt(b.structure, b.plan, b.ops);
    CHECK_FALSE(b.has("adapter_down"));
    CHECK(b["product"].saved_bytes.base() == 0);
  }
}

TEST_CASE("frozen weights of few bits are widened before each product, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.structure.adapters = Adapters::qlora;
  b.structure.adapted = LoraModules::attention;
  b.plan.lora_rank = 5;
  b.plan.weight_bytes = 0.5 * u::B / u::param;
  b.plan.adapter_bytes = 2 * u::B / u::param;
  b.plan.trainable = 0;
  add_product(b);
  const double values = 14 * 11 * 3, narrow = b["product"].memory_bytes.base();
  detail::adapt(b.structure, b.plan, b.ops);
  CHECK(b["product"].memory_bytes.base() == Approx(narrow + 1.5 * values));  // it reads the buffer
  check(b["widen"], {2 * values, 0, 2 * values, 2.5 * values, 0, 0});
  detail::backward(b.structure, b.plan, b.ops, b.ops.size());
  int times = 0;
  for (const auto& op : b.ops)
    if (op.name == "widen" && op.pass == Pass::backward) {
      ++times;
      CHECK(op.memory_bytes.base() == 2.5 * values);  // once more, as it was
    }
  CHECK(times == 1);
}

TEST_CASE("an update that is made orthogonal costs 4 a a b + 2 a a a FLOP an iteration", "[lowering]") {
  Bench b(Phase::training);
  b.structure.update = WeightUpdate::orthogonal;
  b.plan.dp = 4;
  add_product(b);  // two matrices of 11 x 7, three copies, in four blocks
  const double a = 7, wide = 11, matrices = 2 * 3 * 4;
  const auto work = [&](int stage) {
    b.structure.zero_stage = stage;
    const std::size_t before = b.ops.size();
    detail::orthogonalize(b.structure, b.plan, b.ops, 1);
    double sum = 0;
    for (std::size_t i = before; i < b.ops.size(); ++i) {
      CHECK(b.ops[i].pass == Pass::update);
      sum += b.ops[i].work.base() * b.ops[i].count;
    }
    return sum;
  };
  const double all = 5 * matrices * (4 * a * a * wide + 2 * a * a * a);
  CHECK(work(0) == Approx(all));      // every replica makes all
  CHECK(work(1) == Approx(all / 4));  // or its share
  // Two operands and a result of 2 B a value, six matrices at once: X X^T, A A, and (.) X.
  const auto traffic = [&](std::size_t i) { return b.ops[b.ops.size() - 3 + i].memory_bytes.base(); };
  CHECK(traffic(0) == 2 * (2 * a * wide + a * a) * 6);
  CHECK(traffic(1) == 2 * 3 * a * a * 6);
  CHECK(traffic(2) == 2 * (2 * a * wide + a * a) * 6);
}
