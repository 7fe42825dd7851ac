// Matrices, histories and observers: what a check of predictions costs, and what watching adds.

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/differences.hpp>
#include <mlsysim/ops/regression/history.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <benchmark/benchmark.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

using namespace mlsysim;

namespace {

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         ("mlsysim-bench-" + std::to_string(::getpid()) + "-" + name);
}

/// 200 cells, budgets included, on two threads.
void matrix_of_200(benchmark::State& state) {
  const auto file = temporary("matrix.yaml");
  std::string batches;
  for (int b = 1; b <= 25; ++b)
    batches += "  b" + std::to_string(b) + ": {batch_size: " + std::to_string(b) + ", accelerators: 8}\n";
  std::ofstream(file)
      << "version: \"1\"\nmodels: [Llama3_8B, Llama3_70B]\nhardware: [A100, H100, B200, MI300X]\n"
         "precision: [bf16]\npipelines:\n"
      << batches << "metrics: {itl: , ttft: }\nbudgets: [itl <= 1 s]\n";
  const auto matrix = read_matrix(file, standard_zoo());
  std::filesystem::remove(file);
  for (auto _ : state)
    benchmark::DoNotOptimize(run_matrix(matrix, standard_zoo(), {.threads = 2}).cells.size());
  state.counters["cells"] = static_cast<double>(matrix.cells.size());
}
BENCHMARK(matrix_of_200)->UseRealTime()->Unit(benchmark::kMillisecond);

/// A history of 10,000 commits x 200 cells, made once.
const std::filesystem::path& long_history() {
  static const struct Made {
    std::filesystem::path file = temporary("history.sqlite");
    Made() {
      std::vector<CellResult> cells(200);
      for (std::size_t i = 0; i < cells.size(); ++i)
        cells[i].cell = {"m" + std::to_string(i), "H100", "bf16", "serve"};
      CiHistory history(file, CiHistory::Open::write);
      for (int commit = 0; commit < 10000; ++commit) {
        for (auto& c : cells) c.numbers = {{"itl", 1e-3 * (commit + 1), dim::time::exps, "ms"}};
        history.put("c" + std::to_string(commit), commit, cells);
      }
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() { std::filesystem::remove(file); }
  } made;
  return made.file;
}
void trend_of_all_cells(benchmark::State& state) {
  const CiHistory history(long_history(), CiHistory::Open::read);
  for (auto _ : state) benchmark::DoNotOptimize(history.trend("itl").rows.size());
}
BENCHMARK(trend_of_all_cells)->Unit(benchmark::kMillisecond)->Iterations(3);
void points_of_one_cell(benchmark::State& state) {
  const CiHistory history(long_history(), CiHistory::Open::read);
  for (auto _ : state) benchmark::DoNotOptimize(history.points("itl", "m7/H100/bf16/serve").size());
}
BENCHMARK(points_of_one_cell)->Unit(benchmark::kMillisecond)->Iterations(3);

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

/// 64 stages of next to nothing: without a callback (0), and into a file of JSON lines (1).
void stage_watched(benchmark::State& state) {
  PipelineBuilder b("chain");
  b.given("S0.hfu");
  for (int i = 0; i < 64; ++i) {
    b.stage(StepModel{}, "S" + std::to_string(i));
    if (i > 0) b.link("S" + std::to_string(i - 1) + ".mfu", "S" + std::to_string(i) + ".hfu");
  }
  Run run(b.build());
  const auto file = temporary("events.jsonl");
  Observer observer("abc", EventTimes::clock);
  if (state.range(0) == 1) observer.add(sink_of({.form = ExportForm::jsonl, .file = file}));
  const auto first = run.index_of("S0.hfu");
  double x = 0;
  for (auto _ : state) {
    x = x == 1 ? 2 : 1;
    run.set_number(first, x);
    if (state.range(0) == 0)
      run.execute();
    else
      run.execute({.callbacks = {&observer}});
  }
  state.SetItemsProcessed(state.iterations() * 64);
  std::filesystem::remove(file);
}
BENCHMARK(stage_watched)->Arg(0)->Arg(1);

/// A log of TORCH_TRACE of some 64 MB: a real one, again and again. Items are megabytes.
void ingest_log(benchmark::State& state) {
  std::ifstream in(BENCH_COMPILE_DATA "/tlparse_artifacts.log", std::ios::binary);
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  const auto file = temporary("trace.log");
  double megabytes = 0;
  {
    std::ofstream out(file, std::ios::binary);
    for (; megabytes < 64; megabytes += static_cast<double>(log.size()) * 1e-6) out << log;
  }
  for (auto _ : state) benchmark::DoNotOptimize(ingest({file}, {}).records.size());
  std::filesystem::remove(file);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(megabytes));
}
BENCHMARK(ingest_log)->Unit(benchmark::kMillisecond);

/// A sweep of 100,000 points, unobserved (0) and with four exporters (1).
void sweep_observed(benchmark::State& state) {
  ScenarioBuilder builder(standard_zoo());
  builder.set("workload", "Llama3_8B").hardware("H100");
  const auto built = builder.build();
  std::vector<double> batches(100000);
  std::iota(batches.begin(), batches.end(), 1.0);
  const Space space(problem_of(built.scenario), {numbers_axis("batch_size", batches)});
  const Question question{.objectives = {{Goal::minimize, "itl"}}};
  std::vector<std::filesystem::path> made;
  for (auto _ : state) {
    ExploreOptions how{.strategy = Strategy::exhaustive, .threads = 1};
    Observer observer("abc", EventTimes::clock);
    if (state.range(0) == 1) {
      for (const auto& [form, name] : {std::pair{ExportForm::jsonl, "e.jsonl"},
                                       {ExportForm::csv, "e.csv"},
                                       {ExportForm::chrome, "e.json"},
                                       {ExportForm::prometheus, "e.prom"}}) {
        made.push_back(temporary(name));
        observer.add(sink_of({.form = form, .file = made.back()}));
      }
      how.progress = [&](const Progress& p) {
        observer.on_sweep(
            {.title = "space", .done = p.done, .total = p.total, .seconds_left = p.seconds_left});
      };
    }
    benchmark::DoNotOptimize(explore(space, question, how));
    observer.finish();
  }
  for (const auto& file : made) std::filesystem::remove(file);
}
BENCHMARK(sweep_observed)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
