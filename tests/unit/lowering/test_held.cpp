// What a device holds: bytes of weights as they are stored, and gradients and optimizer states, by hand.

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/lowering/stored.hpp>
#include <mlsysim/lowering/totals.hpp>

#include "by_hand.hpp"

using namespace by_hand;

TEST_CASE("weights of three formats are stored at their own bytes", "[lowering]") {
  Bench b(Phase::decode);
  b.plan.edge_bytes = 5 * u::B / u::param;
  b.plan.expert_bytes = 1 * u::B / u::param;
  const auto stored = [&] {
    return stored_weights(b.structure, b.plan, 100 * u::param, 200 * u::param, 10 * u::param).in(u::B);
  };
  CHECK(stored() == 3 * 300);  // one format
  b.structure.mixed_storage = true;
  CHECK(stored() == 3 * 90 + 5 * 10 + 1 * 200);
}

TEST_CASE("weight matrices of orthogonal updates spare a moment, each rank of what it holds", "[lowering]") {
  Bench b(Phase::training);
  b.plan.matrix_state_bytes = 4 * u::B / u::param;
  b.plan.trainable = 0.5;
  b.plan.dp = 4;
  MemoryDemand<> demand;
  demand.block_params = 640 * u::param;
  demand.expert_params = 160 * u::param;
  CHECK(saved_states(b.structure, b.plan, demand).in(u::B) == (11 - 4) * (640 + 160) * 0.5);
  b.structure.zero_stage = 1;
  CHECK(saved_states(b.structure, b.plan, demand).in(u::B) == (11 - 4) * (640 + 160) / 4 * 0.5);
}

TEST_CASE("adapters are divided by the stages of ZeRO as other weights are", "[lowering]") {
  Bench b(Phase::training);
  b.plan.adapter_bytes = 13 * u::B / u::param;
  b.plan.dp = 4;
  for (const int stage : {0, 1, 2, 3}) {
    b.structure.zero_stage = stage;
    MemoryBreakdown<double> m;
    add_adapters<double>(b.structure, b.plan, 40 * u::param, m);
    CHECK(m.optimizer_states.in(u::B) == 11 * 40 / (stage >= 1 ? 4 : 1));
    CHECK(m.gradients.in(u::B) == 7 * 40 / (stage >= 2 ? 4 : 1));
    CHECK(m.weights.in(u::B) == 13 * 40 / (stage >= 3 ? 4 : 1));
  }
}

TEST_CASE("a device with three blocks of a kind has three times their adapters", "[lowering]") {
  ListTotals<double> one, all;
  one.adapter_params = 5 * u::param;
  all.add(one, 3.0);
  CHECK(all.adapter_params.in(u::param) == 15);
}

TEST_CASE("gradients that are freed count instead of activations, unless micro-batches add them up",
          "[lowering]") {
  Bench b(Phase::training);
  b.structure.frees_gradients = true;
  MemoryDemand<> demand;
  demand.dense_params = 100 * u::param;
  const auto held = [&](double activations) {
    demand.activations = activations * u::B;
    return memory_of(b.structure, b.plan, Device<>(), demand);
  };
  CHECK(held(1000).gradients.in(u::B) == 700);
  CHECK(held(1000).activations.in(u::B) == 300);
  CHECK(held(500).activations.in(u::B) == 0);
  b.plan.microbatches = 2;
  CHECK(held(1000).activations.in(u::B) == 1000);
}
