// Rows of a launch list, by hand: what a kernel of a framework takes, and products that it does not join.

#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/launches.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "by_hand.hpp"

#include <memory>
#include <span>

using namespace by_hand;

namespace {

/// A framework of which elementwise kernels take 1,000 cycles of 1 ns and half of 1 GB/s, and softmax 3,000
/// and a quarter.
struct Eager {
  Bench b{Phase::prefill};
  Software software;
  Device<> device;

  Eager() {
    software.clock = Frequency<>::from_base(1e9);
    software.kernels[static_cast<std::size_t>(LaunchKernel::elementwise)] = {.floor = 1000, .share = 0.5};
    software.kernels[static_cast<std::size_t>(LaunchKernel::softmax)] = {.floor = 3000, .share = 0.25};
    software.register_row = 40;
    device.memory.bandwidth = 1 * u::GB / u::s;
    b.plan.kv_bytes = 2 * u::B;
  }
  [[nodiscard]] LaunchFrame<double> frame() const {
    return {software, b.structure, b.stack.hidden, b.plan, device, std::span<const Op<>>(b.ops.span())};
  }
};

}  // namespace

TEST_CASE("a kernel of a list starts and streams, and short rows of keys stay in registers, by hand",
          "[lowering]") {
  Eager e;
  Op<> op;
  op.m = 10, op.k = 5, op.copies = 2, op.count = 3;
  LaunchPart part{.kernel = LaunchKernel::softmax,
                  .over = LaunchArray::inputs,
                  .reads = 1,
                  .writes = 2,
                  .times = 2,
                  .operators = 5};
  // 100 values of 2 B are read once and written twice, six times.
  const auto any = e.frame().small(part, op);
  CHECK(any.total.in(u::us) == Approx(6 * (3 + 600 / 250.0)).epsilon(1e-12));
  CHECK(any.memory.in(u::us) == Approx(6 * 600 / 250.0).epsilon(1e-12));
  CHECK((any.traffic.base() == 6 * 600 && any.kernels == 6 && any.operators == 6 * 5));
  part.row = LaunchRow::keys;  // 40 keys, as many as registers hold
  CHECK(e.frame().small(part, op).total.in(u::us) == Approx(6 * (1 + 600 / 500.0)).epsilon(1e-12));
  e.b.plan.context = 41;
  CHECK(e.frame().small(part, op).total.in(u::us) == Approx(any.total.in(u::us)).epsilon(1e-12));
}

TEST_CASE("keys that are written for each head of a group count as often, by hand", "[lowering]") {
  Eager e;
  auto& op =
      detail::emit(e.b.ops, OpKind::elementwise, OpGroup::attention, "rotary_and_cache", 1.0, part::none);
  // Ten values of keys go to the cache and ten of values; 60 are rotated, ten of them keys.
  op.working_set = 2 * 2 * 60 * u::B;
  op.memory_bytes = op.working_set + 2 * 20 * u::B;
  const LaunchPart part{
      .kernel = LaunchKernel::elementwise, .over = LaunchArray::key, .writes = 1, .grouped = true};
  CHECK(e.frame().small(part, op).traffic.base() == 2 * 10 * 5);
}

TEST_CASE("products of one input that are not joined share it, by hand", "[lowering]") {
  Eager e;
  e.software.joined = false;
  Op<> op;
  op.kind = OpKind::matmul;
  op.m = 10, op.n = 12, op.k = 5, op.merged_matrices = 3, op.count = 2;
  op.work = 1200 * u::FLOP;
  // An input of 50 values of 2 B, an output of 120, and 180 B of weights.
  op.working_set = 340 * u::B, op.memory_bytes = 520 * u::B;
  const Op<> one = e.frame().one_of(op);
  CHECK((one.m == 10 && one.n == 4 && one.k == 5 && one.count == 6));
  CHECK(one.work.base() == 400);
  CHECK(one.working_set.base() == Approx(100 + 240 / 3.0).epsilon(1e-12));
  CHECK(one.memory_bytes.base() == Approx(100 + 420 / 3.0).epsilon(1e-12));
  e.software.joined = true;
  CHECK((e.frame().matrices(op) == 1 && e.frame().one_of(op).n == 12));
}

TEST_CASE("memory is asked for in pieces, and large arrays one by one, by hand", "[lowering]") {
  Eager e;
  e.software.allocation = 8 * u::us;
  Op<> op;
  op.m = 1024, op.k = 512, op.copies = 4, op.count = 3;
  const LaunchPart part{
      .kernel = LaunchKernel::allocation, .over = LaunchArray::inputs, .times = 2, .operators = 1};
  // 4 MiB of 20 MiB, six times, 8 us for each piece.
  CHECK(e.frame().small(part, op).host.in(u::us) == Approx(6 * 8 * 4 * 1.048576 / 20.97152).epsilon(1e-12));
  op.copies = 16;
  CHECK(e.frame().small(part, op).host.in(u::us) == Approx(6 * 8).epsilon(1e-12));
}

TEST_CASE("what a framework does before a pass is waited for where it launches the kernels", "[lowering]") {
  const auto& gpt = standard_zoo().at<Workload>("GPT2_Small");
  const auto model = model_view(gpt, Phase::prefill);
  Plan<> plan;
  plan.batch = 2, plan.new_tokens = plan.context = 64;
  plan.activation_bytes = 2 * u::B, plan.kv_bytes = 2 * u::B, plan.weight_bytes = 2 * u::B / u::param;
  Device<> device;
  device.compute.dense = device.compute.vector = 1e14 * u::FLOP / u::s;
  device.memory.bandwidth = 1 * u::TB / u::s;
  auto software = std::make_shared<Software>();
  software->clock = Frequency<>::from_base(1e9);
  const auto took = [&](Time<> step, Time<> launch) {
    software->step = step;
    device.software = software;
    return operator_estimator<double>().prefill({model, plan, launch}, device, {}, 64).total.in(u::ms);
  };
  // A graph is replayed by the device alone.
  CHECK(took(3 * u::ms, Time<>()) == took(Time<>(), Time<>()));
  CHECK_THAT(took(3 * u::ms, 1 * u::us), WithinRel(took(Time<>(), 1 * u::us) + 3, 1e-12));
}
