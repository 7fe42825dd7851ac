// The tools on a whole scenario, sweeps with reduction, and the exact search of a large space of plans.

#include <benchmark/benchmark.h>

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <chrono>

using namespace mlsysim;

namespace {

Scenario scenario(const char* model, const char* device, double devices, Mode mode, double batch) {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>(model);
  s.hardware = &zoo.at<HardwareNode>(device);
  s.accelerators = devices;
  s.accelerators_per_node = std::min(devices, 8.0);
  s.mode = mode;
  s.batch_size = batch;
  if (mode == Mode::serve) s.output_tokens = 512;
  return s;
}
Subject subject(int mode) {
  return subject_of(mode == 0 ? scenario("Llama3_70B", "H100", 8, Mode::serve, 16)
                              : scenario("GPT3", "A100", 64, Mode::train, 64));
}

void scenario_point(benchmark::State& state) {
  auto s = subject(static_cast<int>(state.range(0)));
  std::vector<double> out(s.entry.results.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(s.point.data());
    s.entry.evaluate(s.entry.self.get(), s.point.data(), out.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(scenario_point)->Arg(0)->Arg(1);

/// A structural sweep in which no two points share a plan: degrees, batch and lengths differ from point to
/// point, and from block to block.
void scenario_batch(benchmark::State& state) {
  const auto s = subject(static_cast<int>(state.range(0)));
  const std::size_t points = 64 * kBlock;
  std::vector<std::vector<double>> varied(3, std::vector<double>(points));
  std::vector<Column> in(s.point.begin(), s.point.end());
  const std::size_t length = s.input("seq_len");
  in[s.input("tp_size")] = varied[0];
  in[s.input("batch_size")] = varied[1];
  in[length] = varied[2];
  std::vector<std::vector<double>> out(s.entry.results.size(), std::vector<double>(points));
  const std::vector<std::span<double>> spans(out.begin(), out.end());
  BatchKernel kernel(s.entry);
  double tokens = 1024;
  for (auto _ : state) {
    for (std::size_t p = 0; p < points; ++p) {
      varied[0][p] = static_cast<double>(1u << p / 64 % 4);
      varied[1][p] = 64.0 * (1.0 + static_cast<double>(p / 8 % 8));
      varied[2][p] = tokens + 16.0 * static_cast<double>(p % 8);
    }
    tokens = tokens < 8192 ? tokens + 1 : 1024;
    kernel.run(in, spans, points);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<long>(points));
}
BENCHMARK(scenario_batch)->Arg(0)->Arg(1);

/// A sweep of what comes after the operators: points of a block share their plans.
void scenario_shared(benchmark::State& state) {
  const auto s = subject(static_cast<int>(state.range(0)));
  const std::size_t points = 64 * kBlock;
  std::vector<double> varied(points);
  for (std::size_t p = 0; p < points; ++p) varied[p] = static_cast<double>(p) / static_cast<double>(points);
  std::vector<Column> in(s.point.begin(), s.point.end());
  in[s.input(state.range(0) == 0 ? "engine.host_step" : "overlap_efficiency")] = varied;
  std::vector<std::vector<double>> out(s.entry.results.size(), std::vector<double>(points));
  const std::vector<std::span<double>> spans(out.begin(), out.end());
  BatchKernel kernel(s.entry);
  for (auto _ : state) kernel.run(in, spans, points);
  state.SetItemsProcessed(state.iterations() * static_cast<long>(points));
}
BENCHMARK(scenario_shared)->Arg(0)->Arg(1);

/// All slopes of one result, with the next steps of those that have some or without.
template <Steps steps> void gradient_24(benchmark::State& state) {
  const auto s = subject(static_cast<int>(state.range(0)));
  const std::size_t result = s.result(state.range(0) == 0 ? "ttft" : "step_latency");
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < s.point.size() && wanted.size() < 24; ++i)
    if (!s.entry.inputs[i].integral) wanted.push_back(i);
  for (auto _ : state) {
    auto g = gradient(s.entry, s.point, wanted, {&result, 1}, steps);
    benchmark::DoNotOptimize(g);
  }
}
BENCHMARK(gradient_24<Steps::followed>)->Name("gradient_24")->Arg(0)->Arg(1);
BENCHMARK(gradient_24<Steps::marked>)->Name("slopes_24")->Arg(0)->Arg(1);

/// A law of about 100 operations: twelve roofs with their launches, added up.
struct Hundred {
  static constexpr LawInfo info{
      .id = "Hundred", .equation = "time = sum of twelve roofs", .source = "benchmark"};
  template <class T> struct Inputs {
    T work, traffic, peak, bandwidth, launch;
    static constexpr auto fields() {
      using I = Inputs;
      return rows(field(&I::work, "work", "", ""), field(&I::traffic, "traffic", "", ""),
                  field(&I::peak, "peak", "", "").positive(),
                  field(&I::bandwidth, "bandwidth", "", "").positive(), field(&I::launch, "launch", "", ""));
    }
  };
  template <class T> struct Result {
    T time, energy;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "", ""), field(&Result::energy, "energy", "", ""));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const T per_peak = 1.0 / in.peak, per_byte = 1.0 / in.bandwidth;
    Result<T> sums{in.launch, in.launch * 0.5};
    add_roofs<1>(in, per_peak, per_byte, sums);
    return sums;
  }
  /// Roofs k to 12, written out: a law of this size has no loop.
  template <int k, class T>
  static void add_roofs(const Inputs<T>& in, const T& per_peak, const T& per_byte, Result<T>& sums) {
    const T roof = max(in.work * (0.9 * k) * per_peak, in.traffic * (1.0 / k) * per_byte);
    sums.time = sums.time + roof + in.launch;
    sums.energy = sums.energy + roof * 3.0;
    if constexpr (k < 12) add_roofs<k + 1>(in, per_peak, per_byte, sums);
  }
};

Space hundred(double per_axis) {
  const std::shared_ptr<const Resolver> law = make_resolver<Hundred>();
  Record in(*law, Side::inputs);
  in.set("work", 1.0).set("traffic", 1.0).set("peak", 1.0).set("bandwidth", 1.0).set("launch", 0.1);
  const auto n = static_cast<std::size_t>(per_axis);
  const auto axis = [n](const char* name) { return range_axis(name, AnyQuantity(1.0), AnyQuantity(9.0), n); };
  return {problem_of(law, in.data()), {axis("work"), axis("traffic"), axis("peak"), axis("bandwidth")}};
}

/// Wall time counts: the threads together are what is asked for.
void sweep_hundred(benchmark::State& state) {
  const Space space = hundred(100);
  Question q;
  q.objectives = {{Goal::minimize, "time"}};
  q.constraints = {"energy >= 4"};
  ExploreOptions o;
  o.strategy = Strategy::exhaustive;
  o.threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    auto a = explore(space, q, o);
    benchmark::DoNotOptimize(a);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<long>(space.size()));
}
BENCHMARK(sweep_hundred)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Training plans of GPT-3 175B on 64 A100: degrees, micro-batches, interleaving, recomputation, sharding,
/// sequence parallelism, overlap.
const Space& plans() {
  static const Space space = [] {
    const auto s = scenario("GPT3", "A100", 64, Mode::train, 64);
    const auto choices = [](const char* name, std::initializer_list<DynamicValue> values) {
      SpaceAxis a{{name}, {}, {}};
      for (const auto& v : values) a.rows.push_back({v});
      return a;
    };
    std::vector<double> counts;
    for (int m = 1; m <= 64; ++m) counts.push_back(m);
    return Space(problem_of(s),
                 {choices("recomputation", {"none", "selective", "full"}),
                  choices("zero_stage", {0.0, 1.0, 2.0, 3.0}), choices("sequence_parallel", {true, false}),
                  degrees_axis(64), numbers_axis("microbatch_count", counts), divisors_axis("v_stages", 96),
                  range_axis("overlap_efficiency", AnyQuantity(0.0), AnyQuantity(1.0), 6)});
  }();
  return space;
}

void search_plans(benchmark::State& state) {
  Question q;
  q.objectives = {{Goal::minimize, "step_latency"}};
  ExploreOptions o;
  o.strategy = state.range(0) == 0 ? Strategy::exhaustive : Strategy::branch_and_bound;
  double points = 0, best = 0, index = 0;
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    const auto a = explore(plans(), q, o);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    points = a.evaluated;
    best = a.best.at(0).objectives[0];
    index = static_cast<double>(a.best[0].index);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["points"] = points;
  state.counters["best_s"] = best;
  state.counters["index"] = index;
  state.counters["space"] = static_cast<double>(plans().size());
}
BENCHMARK(search_plans)->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
