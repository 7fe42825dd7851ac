// Overhead of a warm pipeline per stage: chains of stages that do next to nothing.

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>

#include <benchmark/benchmark.h>

#include <string>

using namespace mlsysim;

namespace {

struct StepModel : Model<StepModel> {
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const { return {in.hfu + 1}; }
};

Pipeline chain(int stages) {
  PipelineBuilder b("chain");
  b.given("S0.hfu");
  for (int i = 0; i < stages; ++i) {
    b.stage(StepModel{}, "S" + std::to_string(i));
    if (i > 0) b.link("S" + std::to_string(i - 1) + ".mfu", "S" + std::to_string(i) + ".hfu");
  }
  return b.build();
}

/// One changed input runs the whole chain again; the counter is the time of one stage [s].
void pipeline_stage(benchmark::State& state) {
  const int stages = static_cast<int>(state.range(0));
  Run run(chain(stages));
  const auto first = run.index_of("S0.hfu");
  double x = 0;
  for (auto _ : state) {
    x = x == 1 ? 2 : 1;
    run.set_number(first, x).execute();
  }
  benchmark::DoNotOptimize(run.get<StepModel>("S0").mfu);
  state.counters["per_stage"] = benchmark::Counter(static_cast<double>(state.iterations()) * stages,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(pipeline_stage)->Arg(8)->Arg(64);

/// The same work without a pipeline.
void direct_stage(benchmark::State& state) {
  const StepModel step;
  double x = 0;
  for (auto _ : state) {
    for (int i = 0; i < 64; ++i) x = step.solve({x}).mfu;
    benchmark::DoNotOptimize(x);
  }
  state.counters["per_stage"] = benchmark::Counter(static_cast<double>(state.iterations()) * 64,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(direct_stage);

/// Nothing changed: what a run costs that has nothing to do.
void pipeline_unchanged(benchmark::State& state) {
  Run run(chain(8));
  run.set("S0.hfu", 1).execute();
  for (auto _ : state) run.execute();
}
BENCHMARK(pipeline_unchanged);

/// The checked entry, with its report.
void evaluate_checked_model(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(StepModel{}, {.hfu = 1}));
}
BENCHMARK(evaluate_checked_model);

/// Parsing nothing, building a graph of eight stages.
void pipeline_build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(chain(8));
}
BENCHMARK(pipeline_build);

}  // namespace
