// The operator list: how long a lowered, priced and sized step takes.

#include <benchmark/benchmark.h>

#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/tape/trace.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

const Zoo& zoo() { return standard_zoo(); }

ServingModel::Inputs request() {
  return {.workload = &zoo().at<Workload>("Llama3_70B"), .hardware = &zoo().at<HardwareNode>("H100"), .seq_len = 2048,
          .batch_size = 16, .output_tokens = 512, .precision = Precision::bf16, .tp_size = 8};
}

void textbook_pass(benchmark::State& state) {
  TextbookPass::Inputs<double> in{.work = 16.0 * unit::GFLOP, .weights = 16.0 * unit::GB, .batch_size = 1,
                                  .efficiency = 0.5, .activation_share = 0.1, .layers = 32, .passes = 1,
                                  .peak = 989.0 * unit::TFLOP / unit::s, .bandwidth = 3.35 * unit::TB / unit::s,
                                  .layer_overhead = 10.0 * unit::us, .dispatch = 10.0 * unit::us};
  for (auto _ : state) {
    benchmark::DoNotOptimize(in);
    benchmark::DoNotOptimize(TextbookPass::solve<double>(in));
  }
}
BENCHMARK(textbook_pass);

void lower_decode_70b(benchmark::State& state) {
  Notes quiet;
  const auto v = prepare_serving(request(), quiet);
  Plan<> plan = v.plan;
  plan.new_tokens = 1;
  plan.context = 2048;
  OpList<> ops;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    benchmark::DoNotOptimize(lower(v.decode.structure, v.decode.shape, v.decode.layers, plan, ops));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(lower_decode_70b);

template <class T>
void step_70b(benchmark::State& state) {
  Notes quiet;
  const auto v = lift_view<T>(prepare_serving(request(), quiet));
  Plan<T> plan = v.plan;
  plan.new_tokens = T{1.0};
  plan.context = T{2048.0};
  static OpList<T> ops;
  Trace trace;
  const TraceScope scope(trace);
  for (auto _ : state) {
    if constexpr (std::is_same_v<T, Traced>) trace.clear();
    benchmark::DoNotOptimize(plan);
    auto r = pass_time(v.decode, plan, v.decode_device, v.links, ops);
    benchmark::DoNotOptimize(r);
  }
}
BENCHMARK(step_70b<double>)->Name("decode_step_70b");
BENCHMARK(step_70b<Traced>)->Name("decode_step_70b_traced");

void serving_core_70b(benchmark::State& state) {
  Notes quiet;
  auto v = prepare_serving(request(), quiet);
  OpList<> ops;
  for (auto _ : state) {
    benchmark::DoNotOptimize(v);
    auto r = serving_core(v, ops);
    benchmark::DoNotOptimize(r);
  }
}
BENCHMARK(serving_core_70b);

void serving_model_70b(benchmark::State& state) {
  const auto in = request();
  for (auto _ : state) {
    auto r = ServingModel{}.solve(in);
    benchmark::DoNotOptimize(r);
  }
}
BENCHMARK(serving_model_70b);

void training_step_175b(benchmark::State& state) {
  Notes quiet;
  const auto v = prepare_distributed({.workload = &zoo().at<Workload>("GPT3"), .fleet = &zoo().at<Fleet>("Training_1K"),
                                      .batch_size = 1536, .precision = Precision::bf16, .tp_size = 8, .pp_size = 8,
                                      .recomputation = Recomputation::full},
                                     quiet);
  OpList<> ops;
  Plan<> plan = v.plan;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    auto r = step_time(v.model, plan, v.device, v.links, ops);
    benchmark::DoNotOptimize(r);
  }
}
BENCHMARK(training_step_175b);

void zoo_load(benchmark::State& state) {
  for (auto _ : state) {
    auto z = load_zoo({});
    benchmark::DoNotOptimize(z);
  }
}
BENCHMARK(zoo_load)->Unit(benchmark::kMillisecond);

}  // namespace
