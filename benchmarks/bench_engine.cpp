// Scorecards and the resolver behind them: what one answer costs, with every assumption noted and nothing
// read.

#include <benchmark/benchmark.h>

#include <mlsysim/engine/engine.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

/// The scenario of the README: Llama-3-70B in BF16 on eight H100, sixteen requests at a time.
Scenario serving() {
  const Zoo& zoo = standard_zoo();
  return {.workload = &zoo.at<Workload>("Llama3_70B"),
          .hardware = &zoo.at<HardwareNode>("H100"),
          .batch_size = 16,
          .precision = Precision::bf16,
          .accelerators = 8};
}

Scenario training() {
  const Zoo& zoo = standard_zoo();
  return {.workload = &zoo.at<Workload>("GPT3"),
          .fleet = &zoo.at<Fleet>("Frontier_8K"),
          .mode = Mode::train,
          .batch_size = 1024,
          .precision = Precision::bf16,
          .tp_size = 8,
          .pp_size = 8};
}

ServingModel::Inputs request() {
  ServingModel::Inputs in;
  in.workload = &standard_zoo().at<Workload>("Llama3_70B");
  in.hardware = &standard_zoo().at<HardwareNode>("H100");
  in.batch_size = 16;
  in.seq_len = 2048;
  in.precision = Precision::bf16;
  in.tp_size = 8;
  return in;
}

void evaluate_serving(benchmark::State& state) {
  const Scenario s = serving();
  for (auto _ : state) benchmark::DoNotOptimize(SystemEvaluator::evaluate(s));
}
BENCHMARK(evaluate_serving);

void evaluate_training(benchmark::State& state) {
  const Scenario s = training();
  for (auto _ : state) benchmark::DoNotOptimize(SystemEvaluator::evaluate(s));
}
BENCHMARK(evaluate_training);

/// The same scorecard, and somebody who reads all of its texts.
void evaluate_and_read(benchmark::State& state) {
  const Scenario s = serving();
  for (auto _ : state) {
    const auto card = SystemEvaluator::evaluate(s);
    for (const auto* level : card.levels()) {
      benchmark::DoNotOptimize(level->summary.str());
      for (const auto& m : level->metrics) benchmark::DoNotOptimize(m.text());
    }
    for (const auto& a : card.assumptions) benchmark::DoNotOptimize(a.value.str());
  }
}
BENCHMARK(evaluate_and_read);

/// @param state range(0): whether somebody listens, with a book that was used before
void resolver_serving(benchmark::State& state) {
  const auto in = request();
  NoteBook book;
  for (auto _ : state) {
    book.clear();
    Notes notes = state.range(0) != 0 ? Notes(book) : Notes();
    benchmark::DoNotOptimize(ServingModel{}.solve(in, notes));
  }
}
BENCHMARK(resolver_serving)->ArgName("noted")->Arg(0)->Arg(1);

/// The question that benchmarks/peers.py asks ridgepoint, below the Python package.
void resolver_textbook(benchmark::State& state) {
  auto in = request();
  in.batch_size = 1;
  in.fidelity = Fidelity::textbook;
  for (auto _ : state) {
    Notes notes;
    benchmark::DoNotOptimize(ServingModel{}.solve(in, notes));
  }
}
BENCHMARK(resolver_textbook);

/// One device, one batch: the entry that keeps no report.
void engine_solve(benchmark::State& state) {
  const Workload& model = standard_zoo().at<Workload>("Llama3_8B");
  const HardwareNode& device = standard_zoo().at<HardwareNode>("H100");
  for (auto _ : state) benchmark::DoNotOptimize(Engine::solve(model, device, 8, Precision::bf16));
}
BENCHMARK(engine_solve);

/// @param state range(0): serving or training; the tape of their structure is kept from the first round on
Scenario chosen(const benchmark::State& state) { return state.range(0) == 0 ? serving() : training(); }
const char* number(const benchmark::State& state) { return state.range(0) == 0 ? "itl" : "step_latency"; }

/// A scenario as a law, when the law of its structure was recorded before.
void subject_known(benchmark::State& state) {
  const Scenario s = chosen(state);
  for (auto _ : state) benchmark::DoNotOptimize(subject_of(s));
}
BENCHMARK(subject_known)->Arg(0)->Arg(1);

/// The derivation of one number, as data.
void explain_number(benchmark::State& state) {
  const Scenario s = chosen(state);
  for (auto _ : state) benchmark::DoNotOptimize(explanation(s, number(state)));
}
BENCHMARK(explain_number)->Arg(0)->Arg(1);

/// Of a resolver, at the same inputs.
void explain_resolver(benchmark::State& state) {
  const auto in = request();
  const auto resolver = ResolverRegistry::standard().share(ServingModel::id);
  for (auto _ : state) benchmark::DoNotOptimize(explanation(resolver, &in, "itl"));
}
BENCHMARK(explain_resolver);

}  // namespace
