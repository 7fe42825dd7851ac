// The operator list: how long a lowered, priced and sized step takes.

#include <benchmark/benchmark.h>

#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/scalars/recorder.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/timing/step.hpp>
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
  const auto problem = settle(request(), quiet);
  const ModelView<> decode = detail::ServingPasses<double>(problem).decode;
  Plan<> plan = problem.plan;
  plan.new_tokens = 1;
  plan.context = 2048;
  OpList<> ops;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    benchmark::DoNotOptimize(lower(decode.structure, decode.shape(), decode.layers, plan, ops));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(lower_decode_70b);

void decode_step_70b(benchmark::State& state) {
  Notes quiet;
  const auto problem = settle(request(), quiet);
  const detail::ServingPasses<double> common(problem);
  const auto& estimator = problem.fidelity_model->estimator<double>();
  Plan<> plan = problem.plan;
  plan.new_tokens = 1;
  plan.context = 2048;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    auto r = detail::priced_step(problem, common, common.decode, plan);
    auto m = estimator.pass_memory(common.decode, plan, problem.step_device());
    benchmark::DoNotOptimize(r);
    benchmark::DoNotOptimize(m);
  }
}
BENCHMARK(decode_step_70b);

/// The same step recorded, with every number of device, links, model and plan an input.
void decode_step_70b_recorded(benchmark::State& state) {
  Notes quiet;
  const auto problem = settle(request(), quiet);
  const ModelView<> decode = detail::ServingPasses<double>(problem).decode;
  const auto& estimator = problem.fidelity_model->estimator<Recorded>();
  for (auto _ : state) {
    Recorder recorder;
    const auto open = [&](auto& view) { write_leaves(view, [&](std::size_t) { return recorder.input(); }); };
    ModelView<Recorded> model;
    model.structure = decode.structure;
    model.layers = decode.layers;
    Device<Recorded> device;
    Links<Recorded> links;
    Plan<Recorded> plan;
    const StatedNumbers numbers(*decode.stack->stated);
    std::vector<Recorded> sizes;
    for (std::size_t i = 0; i < numbers.size(); ++i) sizes.push_back(recorder.input());
    model.stack = stack_view<Recorded>(*decode.stack->stated, decode.stack->place, numbers, sizes);
    open(device);
    open(links);
    open(plan);
    const Recorded out[] = {estimator.decode({model, plan, device.kernels.issue}, device, links).total.base(),
                            estimator.pass_memory(model, plan, device).total.base()};
    auto tape = recorder.finish(out);
    benchmark::DoNotOptimize(tape);
  }
}
BENCHMARK(decode_step_70b_recorded);

void serving_core_70b(benchmark::State& state) {
  Notes quiet;
  auto problem = settle(request(), quiet);
  for (auto _ : state) {
    benchmark::DoNotOptimize(problem);
    auto r = evaluate(problem);
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
  auto problem = settle(DistributedModel::Inputs{.workload = &zoo().at<Workload>("GPT3"),
                                                 .fleet = &zoo().at<Fleet>("Training_1K"),
                                                 .batch_size = 1536,
                                                 .precision = Precision::bf16,
                                                 .tp_size = 8,
                                                 .pp_size = 8,
                                                 .recomputation = Recomputation::full},
                        quiet);
  for (auto _ : state) {
    benchmark::DoNotOptimize(problem);
    auto r = evaluate(problem);
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
