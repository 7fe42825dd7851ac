// What a plugin costs: a call in this process and in one of its own, over the same class built in, and
// discovery.

#include "bench_plugin_twice.hpp"

#include <mlsysim/plugin/host.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit.hpp>

#include <benchmark/benchmark.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace {

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

HostOptions closed(std::vector<fs::path> paths, Isolation isolation) {
  return {.paths = std::move(paths),
          .environment = Look::no,
          .user = Look::no,
          .install = Look::no,
          .allowed = "all",
          .isolation = isolation};
}

void call(benchmark::State& state, const Resolver& resolver) {
  Record in(resolver, Side::inputs), out(resolver, Side::outputs);
  in.set("x", DynamicValue(3 * unit::s));
  SolveContext context;
  for (auto _ : state) {
    if (resolver.solve(in.data(), out.data(), context) != Status::ok) state.SkipWithError("infeasible");
    benchmark::DoNotOptimize(out.data());
  }
}

void built_in(benchmark::State& state) { call(state, *make_resolver<bench::Twice>()); }
BENCHMARK(built_in);

void sdk_in_process(benchmark::State& state) {
  PluginHost host(closed({BENCH_PLUGIN}, Isolation::never));
  (void)host.load_all();
  call(state, ResolverRegistry::standard().at("bench/Twice"));
}
BENCHMARK(sdk_in_process);

void sdk_isolated(benchmark::State& state) {
  PluginHost host(closed({BENCH_PLUGIN}, Isolation::always));
  (void)host.load_all();
  call(state, ResolverRegistry::standard().at("bench/Twice"));
}
BENCHMARK(sdk_isolated)->Unit(benchmark::kMicrosecond)->UseRealTime();

void discovery_of_200_manifests(benchmark::State& state) {
  const auto folder = fs::temp_directory_path() / ("mlsysim-bench-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (int i = 0; i < 200; ++i)
    std::ofstream(folder / ("p" + std::to_string(i) + ".plugin.yaml"))
        << "schema: mlsysim/plugin@1\nname: p" << i
        << "\nversion: 1.0.0\nsummary: one of many\nlicense: Apache-2.0\nlibrary: mlsysim-plugin-none.so\n"
        << "registers: [model p/X, unit u]\nabi: {major: 1, min_minor: 0}\n";
  for (auto _ : state) {
    PluginHost host(closed({folder}, Isolation::never));
    host.discover();
    if (host.records().size() != 200) state.SkipWithError("not all were found");
  }
  fs::remove_all(folder);
}
BENCHMARK(discovery_of_200_manifests)->Unit(benchmark::kMillisecond);

}  // namespace
