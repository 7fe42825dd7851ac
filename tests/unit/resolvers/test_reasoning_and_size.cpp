// Streaming, reasoning, compression, experts, privacy.

#include "worked.hpp"

#include <mlsysim/physics/routing.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/compression.hpp>
#include <mlsysim/resolvers/models/inference_scaling.hpp>
#include <mlsysim/resolvers/models/moe_routing.hpp>
#include <mlsysim/resolvers/models/responsible_engineering.hpp>
#include <mlsysim/resolvers/models/weight_streaming.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace worked;
using Catch::Matchers::WithinRel;

namespace {

/// The synthetic wafer of the worked example.
HardwareNode wafer() {
  HardwareNode w;
  w.name = "Wafer";
  w.compute.dense[Precision::fp16] = 62.5e15 * unit::FLOP / unit::s;
  w.memory.capacity = 44.0 * unit::GB;
  w.memory.bandwidth = 20e15 * unit::B / unit::s;
  w.host_link.bandwidth = 1.2 * unit::TB / unit::s;
  w.dispatch_overhead = 10.0 * unit::us;
  return w;
}

}  // namespace

TEST_CASE("weight streaming: the figures of the Python package", "[catalogue][streaming][golden]") {
  const auto w = wafer();
  WeightStreamingModel::Inputs in{.workload = &model("Llama3_8B"),
                                  .hardware = &w,
                                  .seq_len = 512,
                                  .batch_size = 64,
                                  .precision = Precision::fp16,
                                  .efficiency = 0.5,
                                  .fidelity = Fidelity::textbook};
  const auto decode = WeightStreamingModel{}.solve(in);
  CHECK_THAT(decode.layer_injection_time.in(unit::ms), is(0.418229));
  CHECK_THAT(decode.layer_compute_time.in(unit::ms), is(0.0110278));
  CHECK(decode.bottleneck == Bottleneck::network);
  CHECK_THAT(decode.token_throughput.base(), is(4782.07));
  CHECK_THAT(decode.memory_utilization, is(0.107374));
  CHECK(decode.optimal_batch_size == 26041);
  in.phase = StreamPhase::prefill;
  const auto prefill = WeightStreamingModel{}.solve(in);
  CHECK_THAT(prefill.layer_compute_time.in(unit::ms), is(0.537354));
  CHECK(prefill.bottleneck == Bottleneck::compute);
  CHECK_THAT(prefill.token_throughput.base(), is(1.90564e6));
  in.batch_size = 65536;
  CHECK_FALSE(WeightStreamingModel{}.solve(in).feasible);
  CHECK(WeightStreamingModel{}.solve(in).token_throughput.base() == 0);
}

TEST_CASE("weight streaming: attention counts every query head and both products", "[catalogue][streaming]") {
  // The Python package charges 2 kv_heads S^2 d for the attention of a prefill; a causal layer does 2 heads
  // S^2 d, four times as much in Llama-3-8B, which at 32768 tokens is a fifth of all arithmetic.
  auto w = wafer();
  w.memory.capacity = 1.0 * unit::TB;
  WeightStreamingModel::Inputs in{.workload = &model("Llama3_8B"),
                                  .hardware = &w,
                                  .seq_len = 32768,
                                  .phase = StreamPhase::prefill,
                                  .precision = Precision::fp16,
                                  .efficiency = 0.5};
  const auto ours = WeightStreamingModel{}.solve(in);
  in.fidelity = Fidelity::textbook;
  const auto theirs = WeightStreamingModel{}.solve(in);
  CHECK(ours.layer_compute_time.in(unit::ms) > theirs.layer_compute_time.in(unit::ms)*1.1);
  // One sequence of a mixture streams the experts that it touches, not all of them.
  WeightStreamingModel::Inputs moe{
      .workload = &model("Mixtral_8x7B"), .hardware = &w, .seq_len = 512, .precision = Precision::fp16};
  const auto one = WeightStreamingModel{}.solve(moe);
  moe.batch_size = 256;
  const auto many = WeightStreamingModel{}.solve(moe);
  CHECK_THAT(many.layer_injection_time / one.layer_injection_time, WithinRel(46.7 / 12.9, 0.05));
}

TEST_CASE("reasoning: the figures of the Python package", "[catalogue][reasoning][golden]") {
  InferenceScalingModel::Inputs in{.workload = &model("Llama3_8B"),
                                   .hardware = &device("H100"),
                                   .precision = Precision::fp16,
                                   .efficiency = 0.5,
                                   .fidelity = Fidelity::textbook};
  const auto r = InferenceScalingModel{}.solve(in);
  CHECK(r.tokens_generated == 400);
  CHECK_THAT(r.time_per_step.in(unit::ms), is(259.708));
  CHECK_THAT(r.total_reasoning_time.in(unit::ms), is(2148.63));
  CHECK_THAT(r.energy_per_query->in(unit::J), is(1504.04));
  CHECK_THAT(r.cost_per_query.in(unit::USD), is(2.5 / 3600 * 2.14863));  // the Python package gives no cost
}

TEST_CASE("reasoning: the cache grows, chains share their prompt, power follows the load",
          "[catalogue][reasoning]") {
  InferenceScalingModel::Inputs in{.workload = &model("Llama3_8B"),
                                   .hardware = &device("H100"),
                                   .tokens_per_step = 4000,
                                   .precision = Precision::bf16};
  const auto longer = InferenceScalingModel{}.solve(in);
  in.tokens_per_step = 50;
  const auto brief = InferenceScalingModel{}.solve(in);
  CHECK(longer.itl > brief.itl);  // held at its first value in the Python package
  CHECK(*longer.energy_per_query < 700.0 * unit::W * longer.total_reasoning_time * (1 + 1e-12));
  in.samples = 8;
  const auto eight = InferenceScalingModel{}.solve(in);
  CHECK(eight.tokens_generated == 8 * brief.tokens_generated);
  CHECK(eight.total_reasoning_time < brief.total_reasoning_time * 2.0);
  CHECK_THAT(eight.ttft.in(unit::ms), WithinRel(brief.ttft.in(unit::ms), 1e-9));
  CHECK_THROWS_AS(evaluate(InferenceScalingModel{},
                           {.workload = in.workload, .hardware = in.hardware, .reasoning_steps = 0}),
                  DomainError);
}

TEST_CASE("compression: the figures of the Python package", "[catalogue][compression][golden]") {
  CompressionModel::Inputs in{.workload = &model("Llama3_8B"),
                              .hardware = &device("H100"),
                              .target_bitwidth = 4,
                              .fidelity = Fidelity::textbook};
  const auto from32 = CompressionModel{}.solve(in);
  CHECK_THAT(from32.compression_ratio, is(8));
  CHECK_THAT(from32.inference_speedup, is(8));
  CHECK_THAT(*from32.estimated_accuracy_delta, is(-0.025));
  in.baseline_precision = Precision::fp16;
  CHECK_THAT(CompressionModel{}.solve(in).compression_ratio, is(4));
  for (const auto& [sparsity, ratio, change] :
       {std::array{0.5, 2.0, -0.001}, {0.6, 2.5, -0.0332012}, {0.9, 10.0, -0.0604965}}) {
    const auto r = CompressionModel{}.solve({.workload = in.workload,
                                             .hardware = in.hardware,
                                             .method = CompressionMethod::pruning,
                                             .sparsity = sparsity,
                                             .fidelity = Fidelity::textbook});
    CHECK_THAT(r.compression_ratio, is(ratio));
    CHECK_THAT(*r.estimated_accuracy_delta, is(change));
    CHECK(r.inference_speedup == 1.0);
  }
}

TEST_CASE("compression: what is stored and what is read", "[catalogue][compression]") {
  CompressionModel::Inputs in{
      .workload = &model("Llama3_8B"), .hardware = &device("H100"), .target_bitwidth = 4};
  const auto one = CompressionModel{}.solve(in);
  // 16 bits against 4 bits and a 16-bit scale for 128 weights: 16 / 4.125.
  CHECK_THAT(one.compression_ratio, WithinRel(16 / 4.125, 1e-9));
  CHECK(one.inference_speedup <
        one.compression_ratio);  // unpacking, and the cache stays; 8 in the Python package
  CHECK(one.inference_speedup > 2.5);
  in.batch_size = 256;
  CHECK(CompressionModel{}.solve(in).inference_speedup < 1.6);  // caches decide at large batches
  // Twelve bits lose less than eight; the Python package gives them the loss of four.
  const auto change = [&](double bits) {
    return *CompressionModel{}
                .solve({.workload = in.workload, .hardware = in.hardware, .target_bitwidth = bits})
                .estimated_accuracy_delta;
  };
  CHECK(change(16) == 0);
  for (double bits = 15; bits >= 3; --bits) CHECK(change(bits) < change(bits + 1));
  // Pruning nothing changes nothing, and there is no jump at one half.
  const auto pruned = [&](double s) {
    return *CompressionModel{}
                .solve({.workload = in.workload,
                        .hardware = in.hardware,
                        .method = CompressionMethod::pruning,
                        .sparsity = s})
                .estimated_accuracy_delta;
  };
  CHECK(pruned(0) == 0);
  CHECK_THAT(pruned(0.5 + 1e-9), WithinRel(pruned(0.5), 1e-4));
  const auto nm = CompressionModel{}.solve({.workload = in.workload,
                                            .hardware = in.hardware,
                                            .method = CompressionMethod::pruning,
                                            .sparsity = 0.5,
                                            .sparsity_type = SparsityType::n_m});
  CHECK_THAT(nm.compression_ratio,
             WithinRel(16.0 / 9, 1e-9));  // two of four values, and two bits each to say which
  CHECK_THROWS_AS(CompressionModel{}.solve({.workload = in.workload,
                                            .hardware = in.hardware,
                                            .method = CompressionMethod::pruning,
                                            .sparsity = 0.7,
                                            .sparsity_type = SparsityType::n_m}),
                  DomainError);
}

TEST_CASE("compression: no accuracy is claimed where training decides", "[catalogue][compression]") {
  CompressionModel::Inputs in{.workload = &model("Llama3_8B"),
                              .hardware = &device("H100"),
                              .method = CompressionMethod::pruning,
                              .sparsity = 0.5,
                              .sparsity_type = SparsityType::structured};
  CHECK_FALSE(CompressionModel{}.solve(in).estimated_accuracy_delta);
  in.max_accuracy_drop = 0.9;
  const auto limited = CompressionModel{}.solve(in);
  CHECK_FALSE(limited.feasible);
  CHECK(limited.violations == "quality");
  CompressionModel::Inputs student{.workload = in.workload,
                                   .hardware = in.hardware,
                                   .method = CompressionMethod::distillation,
                                   .student_share = 0.5};
  CHECK_FALSE(CompressionModel{}.solve(student).estimated_accuracy_delta);
  student.fidelity = Fidelity::textbook;
  CHECK(CompressionModel{}.solve(student).estimated_accuracy_delta == 0);  // as the Python package
}

TEST_CASE("compression: guard rails", "[catalogue][compression]") {
  CompressionModel::Inputs in{.workload = &model("Llama3_8B"),
                              .hardware = &device("H100"),
                              .target_bitwidth = 4,
                              .size_limit = 3.0 * unit::GB,
                              .max_accuracy_drop = 0.01,
                              .min_speedup = 2,
                              .require_hardware_support = true};
  const auto r = CompressionModel{}.solve(in);
  CHECK_FALSE(r.feasible);
  CHECK(r.binding_constraint == "model_size");
  CHECK(r.violations == "model_size, quality, hardware_support");
  in.size_limit.reset();
  in.max_accuracy_drop = 0.03;
  in.require_hardware_support = false;
  const auto fine = CompressionModel{}.solve(in);
  CHECK(fine.feasible);
  CHECK(fine.binding_constraint == "none");
  CHECK_THROWS_AS(
      evaluate(CompressionModel{}, {.workload = in.workload, .hardware = in.hardware, .sparsity = 1.5}),
      DomainError);
}

TEST_CASE("experts: the figures of the Python package", "[catalogue][moe][golden]") {
  Workload toy;
  toy.name = "Toy";
  toy.architecture = Architecture::decoder;
  toy.parameters = 64e9 * unit::param;
  toy.active_parameters = 8e9 * unit::param;
  Stack& stack = toy.stacks.emplace_back();
  stack.hidden = 4096;
  stack.feed_forward.experts = Experts{.count = 8, .top_k = 2, .gated = false};
  NetworkFabric slow;
  slow.bandwidth = 12.5 * unit::GB / unit::s;
  slow.latency = 50.0 * unit::us;
  Fleet f = fleet("Research_256");
  f.fabric = &slow;
  MoERoutingModel::Inputs in{.workload = &toy,
                             .batch_size = 4,
                             .seq_len = 1024,
                             .precision = Precision::fp16,
                             .ep_size = 8,
                             .routing_imbalance_factor = 1.25,
                             .fleet = &f,
                             .fidelity = Fidelity::textbook};
  const auto r = MoERoutingModel{}.solve(in);
  CHECK_THAT(r.effective_active_experts, is(2.5));
  CHECK_THAT(r.active_parameter_multiplier, is(1.25));
  CHECK_THAT(r.effective_active_parameters.base(), is(1e10));
  CHECK_THAT(r.token_dispatch_size.in(unit::MB), is(73.4003));
  CHECK_THAT(r.all_to_all_latency->in(unit::ms), is(6.22203));
}

TEST_CASE("experts: every layer, both ways, and only the experts", "[catalogue][moe]") {
  MoERoutingModel::Inputs in{.workload = &model("Mixtral_8x7B"),
                             .batch_size = 8,
                             .seq_len = 512,
                             .ep_size = 8,
                             .routing_imbalance_factor = 2,
                             .fleet = &fleet("Research_256")};
  const auto r = MoERoutingModel{}.solve(in);
  CHECK(r.layers_with_experts == 32);
  CHECK(r.active_parameter_multiplier > 1.5);
  CHECK(r.active_parameter_multiplier < 2.0);  // attention does not last longer
  CHECK(r.all_to_all_latency->in(unit::us) > 0);
  in.ep_size = 3;
  CHECK_THROWS_WITH(MoERoutingModel{}.solve(in), Catch::Contains("divisor of 8"));
  in.ep_size = 1;
  in.workload = &model("Llama3_8B");
  CHECK_THROWS_WITH(MoERoutingModel{}.solve(in), Catch::Contains("no experts"));
}

TEST_CASE("experts: chance alone, against thrown balls", "[catalogue][moe]") {
  std::mt19937_64 bits(3);
  for (const auto& [experts, top_k, tokens] : {std::array{64, 1, 6400}, {256, 8, 4096}, {8, 2, 4096}}) {
    INFO(experts << " experts, " << tokens << " tokens");
    double fullest = 0, touched = 0;
    constexpr int runs = 60;
    for (int run = 0; run < runs; ++run) {
      std::vector<int> load(static_cast<std::size_t>(experts));
      std::vector<std::size_t> order(load.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      for (int t = 0; t < tokens; ++t)
        for (int k = 0; k < top_k; ++k) {
          std::swap(
              order[static_cast<std::size_t>(k)],
              order[static_cast<std::size_t>(k) + bits() % (order.size() - static_cast<std::size_t>(k))]);
          ++load[order[static_cast<std::size_t>(k)]];
        }
      fullest += *std::max_element(load.begin(), load.end());
      touched += static_cast<double>(std::count_if(load.begin(), load.end(), [](int n) { return n > 0; }));
    }
    const auto law = ExpertLoad::solve<double>(
        {static_cast<double>(experts), static_cast<double>(top_k), static_cast<double>(tokens)});
    CHECK_THAT(law.imbalance,
               WithinRel(fullest / runs * experts / (static_cast<double>(tokens) * top_k), 0.08));
    CHECK_THAT(law.touched, WithinRel(touched / runs, 0.02));
  }
}

TEST_CASE("privacy: the teaching figures, and what clipping really costs", "[catalogue][privacy][golden]") {
  ResponsibleEngineeringModel::Inputs in{.base_training_time = 10.0 * unit::h,
                                         .fidelity = Fidelity::textbook};
  CHECK_THAT(ResponsibleEngineeringModel{}.solve(in).dp_slowdown_factor, is(3));
  CHECK_THAT(ResponsibleEngineeringModel{}.solve(in).additional_data_requirement, is(100));
  in.epsilon = 0.1;
  CHECK_THAT(ResponsibleEngineeringModel{}.solve(in).dp_slowdown_factor, is(21));
  CHECK_THAT(ResponsibleEngineeringModel{}.solve(in).samples_per_group, is(14112));
  in.fidelity.reset();
  const auto strict = ResponsibleEngineeringModel{}.solve(in);
  in.epsilon = 8;
  const auto loose = ResponsibleEngineeringModel{}.solve(in);
  CHECK(strict.dp_slowdown_factor ==
        loose.dp_slowdown_factor);  // epsilon does not change the cost of a step ...
  CHECK(*strict.noise_multiplier > *loose.noise_multiplier);  // ... but the noise
  CHECK_THAT(loose.dp_slowdown_factor, is(5.0 / 3));
  // One example at a time wastes the device; a whole batch at a time costs nothing more.
  in.method = ClippingMethod::microbatch;
  CHECK_THROWS_WITH(ResponsibleEngineeringModel{}.solve(in), Catch::Contains("workload"));
  in.workload = &model("BERT_Base");
  in.hardware = &device("A100");
  in.precision = Precision::bf16;
  const double alone = ResponsibleEngineeringModel{}.solve(in).dp_slowdown_factor;
  in.microbatch = in.device_batch;
  CHECK(alone > 1.2);
  CHECK(ResponsibleEngineeringModel{}.solve(in).dp_slowdown_factor == 1.0);
}

TEST_CASE("privacy: the noise of a published setting", "[catalogue][privacy]") {
  // Bu et al. (2020), MNIST: 60000 examples, batches of 256, 15 epochs, noise 1.3: mu 0.23, and epsilon 0.83
  // at delta 1e-5.
  ResponsibleEngineeringModel::Inputs in{.base_training_time = 1.0 * unit::h,
                                         .epsilon = 0.83,
                                         .delta = 1e-5,
                                         .sampling_rate = 256.0 / 60000,
                                         .steps = std::round(15 * 60000 / 256.0)};
  CHECK_THAT(*ResponsibleEngineeringModel{}.solve(in).noise_multiplier, WithinRel(1.3, 0.08));
  double last = 1e9;
  for (const double epsilon : {0.1, 0.3, 1.0, 3.0, 10.0}) {
    in.epsilon = epsilon;
    const double noise = *ResponsibleEngineeringModel{}.solve(in).noise_multiplier;
    CHECK(noise < last);
    last = noise;
  }
  CHECK_THROWS_AS(
      evaluate(ResponsibleEngineeringModel{}, {.base_training_time = 1.0 * unit::h, .epsilon = 0}),
      DomainError);
  CHECK_THROWS_AS(evaluate(ResponsibleEngineeringModel{}, {.base_training_time = 1.0 * unit::h, .delta = 1}),
                  DomainError);
}
