// What a device holds: bytes of weights as they are stored, and gradients and optimizer states, by hand.

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/lowering/stored.hpp>
#include <mlsysim/lowering/totals.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>

#include "by_hand.hpp"

#include <array>
#include <optional>

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

TEST_CASE("values are stored in the format of a pass, and gradients and states beside them", "[lowering]") {
  const auto bytes = [](const Storage& s) {
    Plan<> plan;
    set_storage(plan, s);
    CHECK(plan.dispatch_bytes == plan.activation_bytes);
    return std::array{plan.weight_bytes.base(), plan.activation_bytes.base(),
                      plan.kv_bytes.base(),     plan.gradient_bytes.base(),
                      plan.state_bytes.base(),  plan.matrix_state_bytes.base()};
  };
  using Bytes = std::array<double, 6>;
  // Activations take 16 bits at least, and a cache 16 bits where weights take fewer than 8.
  CHECK(bytes(inference_storage(Precision::bf16, std::nullopt)) == Bytes{2, 2, 2, 0, 0, 0});
  CHECK(bytes(inference_storage(Precision::fp8, std::nullopt)) == Bytes{1, 2, 1, 0, 0, 0});
  CHECK(bytes(inference_storage(Precision::int4, std::nullopt)) == Bytes{0.5, 2, 2, 0, 0, 0});
  CHECK(bytes(inference_storage(Precision::int4, Precision::fp8)) == Bytes{0.5, 2, 1, 0, 0, 0});
  // Two moments of 4 B, and weights of 4 B beside those of 16 bits; orthogonal updates spare a moment.
  CHECK(bytes(training_storage(Precision::fp32, OptimizerKind::adam)) == Bytes{4, 4, 4, 4, 8, 8});
  CHECK(bytes(training_storage(Precision::fp8, OptimizerKind::adamw)) == Bytes{2, 2, 2, 2, 12, 12});
  CHECK(bytes(training_storage(Precision::bf16, OptimizerKind::muon)) == Bytes{2, 2, 2, 2, 12, 8});
  CHECK(bytes(training_storage(Precision::fp32, OptimizerKind::muon)) == Bytes{4, 4, 4, 4, 8, 4});
  CHECK(bytes(training_storage(Precision::bf16, OptimizerKind::none)) == Bytes{2, 2, 2, 2, 0, 0});
}

TEST_CASE("a weight of a format has its bits and its part of a scale", "[lowering]") {
  CHECK(bytes_of(WeightFormat::fp32) == 4);
  CHECK(bytes_of(WeightFormat::mxfp4) == Approx(4.25 / 8).epsilon(1e-12));  // a byte for 32 of 4 bits
  CHECK(bytes_of(WeightFormat::iq4_nl) == Approx(4.554 / 8).epsilon(1e-12));
}

TEST_CASE("a sequence without a length is as long as the model takes with its answer", "[lowering]") {
  Workload w;
  w.architecture = Architecture::decoder;
  Notes quiet;
  const auto tokens = [&](std::optional<double> most, double answer) {
    w.max_positions = most;
    return seq_len_or_default(std::nullopt, w, answer, quiet);
  };
  CHECK(tokens(std::nullopt, 100) == 2048);
  CHECK(tokens(8192, 100) == 2048);
  CHECK(tokens(1024, 100) == 924);
  CHECK(tokens(100, 100) == 1);  // one token at least
  CHECK(seq_len_or_default(7.0, w, 100, quiet) == 7);
}
