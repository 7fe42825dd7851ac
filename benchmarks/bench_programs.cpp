// Reading programs: a megabyte of StableHLO text, and the memory that fifty take.

#include <mlsysim/model_graphs/program.hpp>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <sys/resource.h>

#include <string>

using namespace mlsysim;

namespace {

/// A text of about so many bytes: products and element-wise operators in a row.
std::string text_of(std::size_t bytes) {
  std::string text =
      "func.func @main(%arg0: tensor<8x128xf32>, %arg1: tensor<128x128xf32>) -> tensor<8x128xf32> {\n"
      "  %0 = stablehlo.add %arg0, %arg0 : tensor<8x128xf32>\n";
  std::size_t i = 1;
  for (; text.size() < bytes; ++i)
    text += i % 8 == 0
                ? fmt::format(
                      "  %{} = stablehlo.dot_general %{}, %arg1, contracting_dims = [1] x [0], precision = "
                      "[DEFAULT, DEFAULT] : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32>\n",
                      i, i - 1)
                : fmt::format("  %{} = stablehlo.multiply %{}, %arg0 : tensor<8x128xf32>\n", i, i - 1);
  return text + fmt::format("  return %{} : tensor<8x128xf32>\n}}\n", i - 1);
}

double resident() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return 1024.0 * static_cast<double>(use.ru_maxrss);
}

void read_mlir_megabyte(benchmark::State& state) {
  const auto text = text_of(1 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(read_mlir(text, "bench.mlir"));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(text.size()));
}

/// The text is handed over, as a reader of files does; the counter is memory in sizes of the text.
void read_mlir_50_megabytes(benchmark::State& state) {
  double times = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto text = text_of(50 << 20);
    const double size = static_cast<double>(text.size()), before = resident();
    state.ResumeTiming();
    benchmark::DoNotOptimize(read_mlir(std::move(text), "bench.mlir"));
    times = (resident() - before) / size;
  }
  state.counters["memory_in_texts"] = times;
}

}  // namespace

BENCHMARK(read_mlir_megabyte)->Unit(benchmark::kMillisecond);
BENCHMARK(read_mlir_50_megabytes)->Iterations(1)->Unit(benchmark::kMillisecond);
