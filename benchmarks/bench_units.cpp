// Benchmarks of the room `units`.
//
// Budgets: reading "3.35 TB/s" <= 200 ns; a product of run-time quantities <= 20 ns; the kernel over typed
// quantities against the same over raw doubles <= 1.02 (compare kernel_quantity with kernel_double of one
// run).

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <benchmark/benchmark.h>

#include <string_view>
#include <vector>

using namespace mlsysim;

namespace {

void parse(benchmark::State& state, std::string_view text) {
  const auto& units = UnitRegistry::standard();
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(units.parse(text).base());
  }
}
BENCHMARK_CAPTURE(parse, bandwidth, "3.35 TB/s");
BENCHMARK_CAPTURE(parse, capacity, "80 GiB");
BENCHMARK_CAPTURE(parse, efficiency, "1 TFLOPs/s / W");
BENCHMARK_CAPTURE(parse, price_per_hour, "2.5 USD/h");
BENCHMARK_CAPTURE(parse, seventeen_digits, "1.2345678901234567 GB");
BENCHMARK_CAPTURE(parse, seventeen_digits_hours, "1.2345678901234567 h");

void any_multiply(benchmark::State& state) {
  const auto a = AnyQuantity::parse("3.35 TB/s"), b = AnyQuantity::parse("16.2 ms");
  for (auto _ : state) {
    auto c = a * b;
    benchmark::DoNotOptimize(c);
  }
}
BENCHMARK(any_multiply);

void any_as(benchmark::State& state) {
  auto a = AnyQuantity::parse("3.35 TB/s");
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(a.as<dim::bandwidth>());
  }
}
BENCHMARK(any_as);

void any_in(benchmark::State& state) {
  const auto a = AnyQuantity::parse("3.35 TB/s");
  for (auto _ : state) benchmark::DoNotOptimize(a.in("GB/s"));
}
BENCHMARK(any_in);

void write_exact(benchmark::State& state) {
  const AnyQuantity a = 3.35 * unit::TB / unit::s;
  for (auto _ : state) benchmark::DoNotOptimize(format_exact(a, "GB/s"));
}
BENCHMARK(write_exact);

void write_pretty(benchmark::State& state) {
  const AnyQuantity a = 3.35 * unit::TB / unit::s;
  for (auto _ : state) benchmark::DoNotOptimize(pretty(a));
}
BENCHMARK(write_pretty);

void build_registry(benchmark::State& state) {
  const auto& shipped = UnitRegistry::standard();
  for (auto _ : state) {
    UnitRegistry units;
    for (const auto& unit : shipped.units()) units.add(unit);
    for (const auto& alias : shipped.aliases()) units.add_alias(alias);
    for (const auto& refusal : shipped.refusals()) units.add_refusal(refusal);
    benchmark::DoNotOptimize(units);
  }
}
BENCHMARK(build_registry);

constexpr std::size_t kPoints = 1024;

void kernel_double(benchmark::State& state) {
  std::vector<double> work(kPoints, 1e12), data(kPoints, 1e9), out(kPoints);
  const double peak = 1e15, bandwidth = 3.35e12;
  for (auto _ : state) {
    benchmark::DoNotOptimize(work.data());
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double a = work[i] / peak, b = data[i] / bandwidth;
      out[i] = (a < b ? b : a) + 5e-6;
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPoints));
}
BENCHMARK(kernel_double);

void kernel_quantity(benchmark::State& state) {
  std::vector<Work<>> work(kPoints, 1.0 * unit::TFLOP);
  std::vector<Data<>> data(kPoints, 1.0 * unit::GB);
  std::vector<Time<>> out(kPoints);
  const auto peak = 1.0 * unit::PFLOP / unit::s;
  const auto bandwidth = 3.35 * unit::TB / unit::s;
  for (auto _ : state) {
    benchmark::DoNotOptimize(work.data());
    for (std::size_t i = 0; i < kPoints; ++i)
      out[i] = max(work[i] / peak, data[i] / bandwidth) + 5.0 * unit::us;
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPoints));
}
BENCHMARK(kernel_quantity);

}  // namespace
