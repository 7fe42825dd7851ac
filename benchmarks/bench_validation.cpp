// Predictions of all measured tables, from files to errors, and one calibration.

#include <mlsysim/validation/calibrate.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <benchmark/benchmark.h>

using namespace mlsysim;

namespace {

/// Reads every table and predicts every row at operator fidelity; the counter is the time of one row [s].
void validate_all(benchmark::State& state) {
  const auto& zoo = standard_zoo();
  std::size_t rows = 0;
  for (auto _ : state)
    for (const auto& name : table_names()) {
      const auto table = load_table(name);
      rows += validate(table, zoo, Depth::ours).rows.size();
    }
  state.counters["row"] = benchmark::Counter(static_cast<double>(rows),
                                             benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(validate_all)->Unit(benchmark::kMillisecond);

/// All constants of a device that matter, with eight groups left out in turn.
void calibrate_h100(benchmark::State& state) {
  const auto& zoo = standard_zoo();
  std::vector<MeasuredTable> tables;
  tables.push_back(load_table("kernels/aiconfigurator_gemm_bf16_h100"));
  for (auto _ : state) benchmark::DoNotOptimize(calibrate(zoo.at<HardwareNode>("H100"), tables, zoo));
}
BENCHMARK(calibrate_h100)->Unit(benchmark::kMillisecond);

}  // namespace
