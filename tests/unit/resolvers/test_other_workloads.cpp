// Architectures without an operator list, and the front of compressions.

#include "worked.hpp"

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/optimizers/compression.hpp>

using namespace worked;
using Catch::Matchers::WithinRel;

TEST_CASE("diffusion: the network runs for every step and reads its weights each time",
          "[catalogue][workloads]") {
  InferencePassModel::Inputs in{.workload = &model("StableDiffusion_v1_5"),
                                .hardware = &device("A100"),
                                .precision = Precision::fp16,
                                .efficiency = 0.5,
                                .denoising_steps = 50,
                                .fidelity = Fidelity::textbook};
  const auto r = InferencePassModel{}.solve(in);
  const double runs = r.evaluations;
  CHECK((runs == 50 || runs == 100));  // with guidance two runs per step
  CHECK_THAT(r.latency_compute.in(unit::s), WithinRel(runs * 803e9 / (312e12 * 0.5), 1e-9));
  CHECK_THAT(r.latency_memory.in(unit::s),
             WithinRel(runs * 2 * 859520964.0 / device("A100").memory.bandwidth->base(), 1e-9));
  CHECK(r.bottleneck == Bottleneck::compute);
  in.denoising_steps = 25;
  CHECK_THAT(InferencePassModel{}.solve(in).latency_compute / r.latency_compute, WithinRel(0.5, 1e-12));
}

TEST_CASE("diffusion: a U-Net is a list of operators that PyTorch launches one by one",
          "[catalogue][workloads]") {
  InferencePassModel::Inputs in{.workload = &model("StableDiffusion_v1_5"),
                                .hardware = &device("A100"),
                                .precision = Precision::fp16,
                                .denoising_steps = 50};
  const auto one = InferencePassModel{}.solve(in);
  CHECK(one.fidelity == Fidelity::operator_level);
  CHECK(one.evaluations == 100);
  // Published: 803 GFLOP an evaluation; heads of 40 and 80 values are padded to 64 and 96, and the decoder
  // has 2.5 TFLOP.
  const double work = one.peak_share * 312e12 * one.latency.in(unit::s);
  CHECK(work > 100 * 803e9);
  CHECK(work < 1.25 * 100 * 803e9);
  // One image waits for the host, 50 steps of 971 launches at 9.6 us and 2,230 operators at 4 us; ten do not.
  CHECK(one.latency.in(unit::s) > 50 * (971 * 9.6e-6 + 2230 * 4e-6));
  in.batch_size = 10;
  const auto ten = InferencePassModel{}.solve(in);
  CHECK(ten.latency.in(unit::s) > 5 * one.latency.in(unit::s));
  CHECK(ten.latency.in(unit::s) < 10 * one.latency.in(unit::s));
  CHECK(ten.bottleneck == Bottleneck::compute);
  in.denoising_steps = 25;
  CHECK_THAT(InferencePassModel{}.solve(in).latency / ten.latency, WithinRel(0.5, 0.05));
}

TEST_CASE("state space: the state has one size", "[catalogue][workloads]") {
  InferencePassModel::Inputs in{.workload = &model("Mamba_2_8B"),
                                .hardware = &device("A100"),
                                .precision = Precision::fp16,
                                .efficiency = 0.5};
  const auto one = InferencePassModel{}.solve(in);
  CHECK(one.bottleneck == Bottleneck::memory);
  in.batch_size = 64;
  const auto many = InferencePassModel{}.solve(in);
  CHECK_THAT(many.state / one.state, WithinRel(64.0, 1e-12));
  // 64 layers of 2 x 2560 channels with 16 states and 4 taps each, two bytes.
  CHECK_THAT(one.state.in(unit::B), WithinRel(64.0 * 5120 * (16 + 4) * 2, 1e-9));
  CHECK(many.latency < one.latency * 3.0);
}

TEST_CASE("recommendation: tables ask for room, rows for time", "[catalogue][workloads]") {
  InferencePassModel::Inputs in{.workload = &model("DLRM"),
                                .hardware = &device("H200"),
                                .batch_size = 2048,
                                .precision = Precision::fp16,
                                .efficiency = 0.5};
  const auto r = InferencePassModel{}.solve(in);
  CHECK(r.tables.in(unit::GB) > 50);
  CHECK(r.weights < 0.001 * r.tables);
  CHECK_THAT(r.rows_read.in(unit::B), WithinRel(2048 * 214.0 * 256, 1e-9));
  CHECK(r.latency_memory.in(unit::ms) < 1);  // the Python package reads all tables for every batch: 11 ms
  CHECK(r.feasible);
  in.precision = Precision::fp32;
  in.hardware = &device("A100");
  CHECK_FALSE(InferencePassModel{}.solve(in).feasible);
}

TEST_CASE("recommendation: a single device reads rows too", "[catalogue][workloads]") {
  // 214 rows of 128 values of 2 B, which are four whole pieces of 64 B; the dense layers are what of 26.15
  // Gparam is in no table, and activations are a share of these.
  const auto& dlrm = model("DLRM");
  const auto r = SingleNodeModel{}.solve({.workload = &dlrm,
                                          .hardware = &device("H200"),
                                          .batch_size = 1,
                                          .precision = Precision::fp16,
                                          .fidelity = Fidelity::textbook});
  double entries = 0;
  for (const double rows : dlrm.recommendation.table_rows) entries += rows;
  const double dense = 2 * (dlrm.parameters->base() - 128 * entries),
               share = 1 + conventions_of(standard_zoo()).textbook_activation_share;
  CHECK_THAT(r.latency_memory.in(unit::s),
             WithinRel((214 * 256 + dense * share) / device("H200").memory.bandwidth->base(), 1e-9));
  CHECK(r.latency_memory.in(unit::ms) < 0.1);  // the tables take 52 GB: 11 ms
  CHECK(r.memory_footprint.in(unit::GB) > 50);
}

TEST_CASE("tiny devices: weights in flash, activations in RAM", "[catalogue][workloads]") {
  const auto r = InferencePassModel{}.solve(
      {.workload = &model("DS_CNN"), .hardware = &device("STM32L4R5ZI"), .precision = Precision::int8});
  CHECK(r.feasible);
  CHECK(r.activations > Data<>());
  CHECK(r.weights.in(unit::kB) < 100);
  CHECK(r.latency.in(unit::ms) > 1);
  CHECK(r.latency.in(unit::ms) < 1000);
  HardwareNode small = device("STM32L4R5ZI");
  small.memory.sram_capacity = 1.0 * unit::kB;
  CHECK_FALSE(InferencePassModel{}
                  .solve({.workload = &model("DS_CNN"), .hardware = &small, .precision = Precision::int8})
                  .feasible);
}

TEST_CASE("compression: the front, and the best within guard rails", "[catalogue][compression]") {
  CompressionOptimizer::Inputs in{.workload = &model("Llama3_8B"), .hardware = &device("H100")};
  const auto r = evaluate(CompressionOptimizer{}, in);
  REQUIRE(r);
  CHECK(r->search.total_searched() == 9);
  // Nobody knows what structured pruning costs before the model is trained again, so it beats nothing.
  CHECK(r->unjudged == "structured pruning 50%, structured pruning 75%");
  CHECK_THAT(r->frontier, Catch::Contains("INT8 quantization") && Catch::Contains("INT4 quantization"));
  CHECK(r->best == "FP16 quantization");  // nothing is lost where nothing is asked for
  // The ends of the front: nothing lost, and the smallest. Scattered zeros at one half are larger than four
  // bits and no faster than before.
  CHECK_THAT(r->frontier, Catch::Contains("FP16 quantization") && Catch::Contains("INT2 quantization"));
  CHECK_THAT(r->dominated, Catch::Contains("unstructured pruning 50%"));
  in.size_limit = 9.0 * unit::GB;
  const auto half = evaluate(CompressionOptimizer{}, in);
  REQUIRE(half);
  CHECK(half->compressed_size <= *in.size_limit);
  CHECK(half->estimated_accuracy_delta <= 0);
  in.size_limit = 0.1 * unit::GB;
  const auto none = evaluate(CompressionOptimizer{}, in);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.why()->text(), Catch::Contains("model_size"));
}
