// The operator list: how long a lowered, priced and sized step takes.

#include <benchmark/benchmark.h>

#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/scalars/recorder.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

const Zoo& zoo() { return standard_zoo(); }

ServingModel::Inputs request() {
  return {.workload = &zoo().at<Workload>("Llama3_70B"),
          .hardware = &zoo().at<HardwareNode>("H100"),
          .seq_len = 2048,
          .batch_size = 16,
          .output_tokens = 512,
          .precision = Precision::bf16,
          .tp_size = 8};
}

void textbook_pass(benchmark::State& state) {
  TextbookPass::Inputs<double> in{.work = 16.0 * unit::GFLOP,
                                  .weights = 16.0 * unit::GB,
                                  .batch_size = 1,
                                  .efficiency = 0.5,
                                  .activation_share = 0.1,
                                  .layers = 32,
                                  .passes = 1,
                                  .peak = 989.0 * unit::TFLOP / unit::s,
                                  .bandwidth = 3.35 * unit::TB / unit::s,
                                  .layer_overhead = 10.0 * unit::us,
                                  .dispatch = 10.0 * unit::us};
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
    benchmark::DoNotOptimize(lower(v.decode.structure, v.decode.shape(), v.decode.layers, plan, ops));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(lower_decode_70b);

void decode_step_70b(benchmark::State& state) {
  Notes quiet;
  const auto v = prepare_serving(request(), quiet);
  const auto& pricer = v.pricing->pricer<double>();
  Plan<> plan = v.plan;
  plan.new_tokens = 1;
  plan.context = 2048;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    const PassRequest<> ask{v.decode, plan, v.decode_device, v.links};
    auto r = pricer.decode(ask);
    auto m = pricer.pass_memory(ask);
    benchmark::DoNotOptimize(r);
    benchmark::DoNotOptimize(m);
  }
}
BENCHMARK(decode_step_70b);

/// The same step recorded, with every number of device, links, model and plan an input.
void decode_step_70b_recorded(benchmark::State& state) {
  Notes quiet;
  const auto v = prepare_serving(request(), quiet);
  const auto& pricer = v.pricing->pricer<Recorded>();
  for (auto _ : state) {
    Recorder recorder;
    const auto open = [&](auto& view) { write_leaves(view, [&](std::size_t) { return recorder.input(); }); };
    ModelView<Recorded> model;
    model.structure = v.decode.structure;
    model.layers = v.decode.layers;
    Device<Recorded> device;
    Links<Recorded> links;
    Plan<Recorded> plan;
    const StatedNumbers numbers(*v.decode.stack->stated);
    std::vector<Recorded> sizes;
    for (std::size_t i = 0; i < numbers.size(); ++i) sizes.push_back(recorder.input());
    model.stack = stack_view<Recorded>(*v.decode.stack->stated, v.decode.stack->place, numbers, sizes);
    open(device);
    open(links);
    open(plan);
    const PassRequest<Recorded> ask{model, plan, device, links};
    const Recorded out[] = {pricer.decode(ask).total.base(), pricer.pass_memory(ask).total.base()};
    auto tape = recorder.finish(out);
    benchmark::DoNotOptimize(tape);
  }
}
BENCHMARK(decode_step_70b_recorded);

void serving_core_70b(benchmark::State& state) {
  Notes quiet;
  auto v = prepare_serving(request(), quiet);
  for (auto _ : state) {
    benchmark::DoNotOptimize(v);
    auto r = serving_numbers(v);
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
  const auto v = prepare_training({.workload = &zoo().at<Workload>("GPT3"),
                                   .fleet = &zoo().at<Fleet>("Training_1K"),
                                   .batch_size = 1536,
                                   .precision = Precision::bf16,
                                   .tp_size = 8,
                                   .pp_size = 8,
                                   .recomputation = Recomputation::full},
                                  quiet);
  auto views = v;
  for (auto _ : state) {
    benchmark::DoNotOptimize(views);
    auto r = training_numbers(views);
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
