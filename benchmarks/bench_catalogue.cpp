// The resolvers of the catalogue: how long one answer takes, from specs to result.

#include <benchmark/benchmark.h>

#include <mlsysim/resolvers/models/compression.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/resolvers/models/serving_capacity.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

const Workload& llama() { return standard_zoo().at<Workload>("Llama3_8B"); }
const HardwareNode& h100() { return standard_zoo().at<HardwareNode>("H100"); }

template <class R> void answer(benchmark::State& state, const typename R::Inputs& in) {
  for (auto _ : state) benchmark::DoNotOptimize(R{}.solve(in));
}

void tail_latency(benchmark::State& state) {
  answer<TailLatencyModel>(state, {.arrival_rate = 300.0 * unit::request / unit::s,
                                   .service_latency = 10.0 * unit::ms,
                                   .num_replicas = 4});
}
BENCHMARK(tail_latency);

void reliability(benchmark::State& state) {
  answer<ReliabilityModel>(
      state,
      {.fleet = &standard_zoo().at<Fleet>("Frontier_8K"), .job_duration = 100.0 * unit::h, .spare_nodes = 8});
}
BENCHMARK(reliability);

void compression(benchmark::State& state) {
  answer<CompressionModel>(
      state, {.workload = &llama(), .hardware = &h100(), .target_bitwidth = 4, .batch_size = 8});
}
BENCHMARK(compression);

void continuous_batching(benchmark::State& state) {
  answer<ContinuousBatchingModel>(state, {.workload = &llama(),
                                          .hardware = &h100(),
                                          .max_seq_len = 8192,
                                          .mean_request_tokens = 2048,
                                          .max_batch_size = 256});
}
BENCHMARK(continuous_batching);

void serving_capacity(benchmark::State& state) {
  answer<ServingCapacityModel>(state, {.workload = &llama(),
                                       .hardware = &h100(),
                                       .arrival_rate = 20.0 * unit::request / unit::s,
                                       .target_p99_latency = 20.0 * unit::s,
                                       .max_seq_len = 1024});
}
BENCHMARK(serving_capacity);

/// Micro-batches are not given: the fewest that fit are looked for.
void distributed(benchmark::State& state) {
  answer<DistributedModel>(state, {.workload = &standard_zoo().at<Workload>("GPT3"),
                                   .fleet = &standard_zoo().at<Fleet>("Training_1K"),
                                   .batch_size = 1536,
                                   .tp_size = 8,
                                   .pp_size = state.range(0) != 0 ? 8.0 : 1.0});
}
BENCHMARK(distributed)->ArgName("pipelined")->Arg(0)->Arg(1);

/// Arrivals at a rate: how many requests are in flight is solved for.
void in_flight_open_loop(benchmark::State& state) {
  answer<InFlightBatchingModel>(state, {.workload = &llama(),
                                        .hardware = &h100(),
                                        .seq_len = 1024,
                                        .output_tokens = 256,
                                        .arrival_rate = 10.0 * unit::request / unit::s});
}
BENCHMARK(in_flight_open_loop);

}  // namespace
