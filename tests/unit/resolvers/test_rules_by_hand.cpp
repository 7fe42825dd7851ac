// Rules that several resolvers share, worked out on paper: one format of the cache, rows instead of tables,
// lengths that a model takes, what redundancy saves, what is not known.

#include "hand_machine.hpp"

#include <mlsysim/engine/engine.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/resolvers/models/inference_scaling.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/serving_capacity.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>

#include <algorithm>
#include <string>

using namespace worked;

namespace {

std::string assumed(const NoteBook& book, std::string_view name) {
  for (const auto& a : book.assumptions)
    if (a.name == name) return a.value.str();
  return "";
}

}  // namespace

TEST_CASE("caches have 16 bits where weights have fewer than 8", "[catalogue][by_hand]") {
  const HandMachine m;
  const Workload w = hand_decoder();
  // 2048 tokens x 2 x 8 layers x 1024 values x 2 B = 67.108864 MB; 4 bits would be a quarter of that.
  const double cache = 67.108864;
  for (const Fidelity fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
    INFO(name_of(fidelity));
    NoteBook book;
    Notes notes(book);
    const auto serving = ServingModel{}.solve({.workload = &w,
                                               .hardware = &m.device,
                                               .seq_len = 2048,
                                               .precision = Precision::int4,
                                               .fidelity = fidelity,
                                               .conventions = &m.conventions},
                                              notes);
    CHECK_THAT(serving.kv_cache_size.in(unit::MB), is(cache));
    CHECK(assumed(book, "kv_precision") == "16 bits");
    const auto alone = SingleNodeModel{}.solve({.workload = &w,
                                                .hardware = &m.device,
                                                .precision = Precision::int4,
                                                .seq_len = 2048,
                                                .fidelity = fidelity,
                                                .conventions = &m.conventions});
    CHECK_THAT(alone.memory.kv_cache.in(unit::MB), is(cache));
    // A request of 2047 tokens and one that it makes, alone on the device.
    const auto flight = InFlightBatchingModel{}.solve({.workload = &w,
                                                       .hardware = &m.device,
                                                       .seq_len = 2047,
                                                       .output_tokens = 1,
                                                       .concurrency = 1.0,
                                                       .page_tokens = 1,
                                                       .precision = Precision::int4,
                                                       .fidelity = fidelity,
                                                       .conventions = &m.conventions});
    CHECK_THAT(flight.kv_cache_size.in(unit::MB), is(cache));
  }
  // At 8 bits as the weights: half.
  const auto eight = ServingModel{}.solve({.workload = &w,
                                           .hardware = &m.device,
                                           .seq_len = 2048,
                                           .precision = Precision::int8,
                                           .fidelity = Fidelity::textbook,
                                           .conventions = &m.conventions});
  CHECK_THAT(eight.kv_cache_size.in(unit::MB), is(cache / 2));
}

TEST_CASE("a lookup reads its rows, in every entry", "[catalogue][by_hand]") {
  const HandMachine m;
  Workload w;
  w.name = "HandRecommender";
  w.architecture = Architecture::recommendation;
  w.parameters = 1.0 * unit::Gparam;
  w.inference = {.work = 10.0 * unit::MFLOP, .per = WorkUnit::sample};
  w.recommendation.embedding_entries = 0.9e9;
  w.recommendation.embedding_dim = 128;
  w.recommendation.rows_per_sample = 50;
  // Beside the tables 0.1 Gparam x 2 B = 0.2 GB are read once; a sample reads 50 rows x 128 values x 2 B =
  // 12.8 kB. For 1000 samples 0.2 GB + 12.8 MB at 1 TB/s = 0.2128 ms; their 10 GFLOP take 0.1 ms. All of 2 GB
  // would be 2 ms.
  const auto pass = InferencePassModel{}.solve({.workload = &w,
                                                .hardware = &m.device,
                                                .batch_size = 1000,
                                                .precision = Precision::fp16,
                                                .conventions = &m.conventions});
  CHECK_THAT(pass.latency.in(unit::ms), is(0.2128));
  const auto solved = Engine::solve({.workload = &w,
                                     .hardware = &m.device,
                                     .batch_size = 1000,
                                     .precision = Precision::fp16,
                                     .conventions = &m.conventions});
  CHECK_THAT(solved.latency.in(unit::ms), is(0.2128));
  CHECK_THAT(solved.memory.weights.in(unit::GB), is(2.0));  // they take their room all the same
}

TEST_CASE("where nobody says, a sequence is as long as the model takes", "[catalogue][by_hand]") {
  const HandMachine m;
  Workload w = hand_decoder();
  w.max_positions = 1024;
  // TTFT of 1024 tokens: 2 x 1e9 x 1024 + 4 x 8 x 1024 x 1024^2 FLOP = 2.08235973... TFLOP at 100 TFLOP/s;
  // 2048 would take more than twice as long.
  const double ttft = (2e9 * 1024 + 4.0 * 8 * 1024 * 1024 * 1024) / 1e14;
  const auto serving = ServingModel{}.solve({.workload = &w,
                                             .hardware = &m.device,
                                             .precision = Precision::fp16,
                                             .fidelity = Fidelity::textbook,
                                             .conventions = &m.conventions});
  CHECK_THAT(serving.ttft.base(), is(ttft));
  NoteBook book;
  Notes notes(book);
  const auto query = InferenceScalingModel{}.solve({.workload = &w,
                                                    .hardware = &m.device,
                                                    .precision = Precision::fp16,
                                                    .fidelity = Fidelity::textbook,
                                                    .conventions = &m.conventions},
                                                   notes);
  CHECK_THAT(query.ttft.base(), is(ttft));
  CHECK(assumed(book, "seq_len") == "1024");
  CHECK_FALSE(says(book, "takes at most"));
  NoteBook capacity;
  Notes more(capacity);
  (void)ServingCapacityModel{}.solve({.workload = &w,
                                      .hardware = &m.device,
                                      .arrival_rate = 1.0 * per_s,
                                      .target_p99_latency = 60.0 * unit::s,
                                      .precision = Precision::fp16,
                                      .fidelity = Fidelity::textbook,
                                      .conventions = &m.conventions},
                                     more);
  CHECK(assumed(capacity, "seq_len") == "1024");
  CHECK_FALSE(says(capacity, "takes at most"));
}

TEST_CASE("textbook passes of an encoder count its tokens", "[catalogue][by_hand]") {
  const HandMachine m;
  const Workload w = hand_encoder();
  SingleNodeModel::Inputs in{.workload = &w,
                             .hardware = &m.device,
                             .batch_size = 10,
                             .precision = Precision::fp16,
                             .seq_len = 128,
                             .fidelity = Fidelity::textbook,
                             .conventions = &m.conventions};
  // 10 sequences x 25.6 GFLOP at 100 TFLOP/s = 2.56 ms; a step is three such passes. Their weights take 0.2
  // ms.
  CHECK_THAT(SingleNodeModel{}.solve(in).latency.in(unit::ms), is(2.56));
  in.is_training = true;
  CHECK_THAT(SingleNodeModel{}.solve(in).latency.in(unit::ms), is(7.68));
  // Four times the tokens, four times the work: 10.24 and 30.72 ms. So it is where nobody says how long, as
  // the model takes 512.
  in.seq_len = 512;
  CHECK_THAT(SingleNodeModel{}.solve(in).latency.in(unit::ms), is(30.72));
  in.seq_len.reset();
  CHECK_THAT(SingleNodeModel{}.solve(in).latency.in(unit::ms), is(30.72));
  in.is_training = false;
  CHECK_THAT(SingleNodeModel{}.solve(in).latency.in(unit::ms), is(10.24));
}

TEST_CASE("what does not fit has no latency", "[catalogue][by_hand]") {
  HandMachine m;
  // Textbook weights take 2 GB. Those of the shape: 8 layers x (4 x 1024^2 + 2 x 1024 x 4096) and two times
  // 32,000 x 1024, 0.166 Gparam in all, 0.33 GB.
  m.device.memory.capacity = 0.2 * unit::GB;
  const Workload w = hand_decoder();
  for (const Fidelity fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
    const auto r = ContinuousBatchingModel{}.solve({.workload = &w,
                                                    .hardware = &m.device,
                                                    .max_seq_len = 2048,
                                                    .max_batch_size = 8,
                                                    .precision = Precision::fp16,
                                                    .fidelity = fidelity,
                                                    .conventions = &m.conventions});
    CHECK_FALSE(r.feasible);
    CHECK_FALSE(r.itl);
    CHECK_FALSE(r.ttft);
  }
}

TEST_CASE("of redundant power supplies one may fail", "[catalogue][by_hand]") {
  const HandMachine m;
  Node node;
  node.name = "HandNode";
  node.accelerator = &m.device;
  node.accelerators_per_node = 8;
  node.nics_per_node = 8;
  Fleet fleet;
  fleet.name = "HandFleet";
  fleet.node = &node;
  fleet.count = 10;
  const auto mtbf = [&](double supplies) {
    node.psus_per_node = supplies;
    return ReliabilityModel{}
        .solve({.fleet = &fleet,
                .job_duration = 100.0 * unit::h,
                .accelerator_mtbf = 40000.0 * unit::h,
                .nic_mtbf = 80000.0 * unit::h,
                .psu_mtbf = 10000.0 * unit::h,
                .fidelity = Fidelity::textbook})
        .node_mtbf.in(unit::h);
  };
  // 8 / 40,000 h + 8 / 80,000 h = 3e-4 / h: 3333.33 h. One supply alone adds 1 / 10,000 h: 2500 h. Of two or
  // four the others carry the load; counted in series four would give 1 / 7e-4 = 1429 h.
  CHECK_THAT(mtbf(1), is(2500));
  CHECK_THAT(mtbf(2), is(10000.0 / 3));
  CHECK_THAT(mtbf(4), is(10000.0 / 3));
}

TEST_CASE("a grid brings no facility, in whatever resolver", "[catalogue][by_hand]") {
  const HandMachine m;
  Node node;
  node.name = "HandNode";
  node.accelerator = &m.device;
  Fleet fleet;
  fleet.name = "HandFleet";
  fleet.node = &node;
  auto conventions = m.conventions;
  conventions.pue = 1.25;
  const auto& grid = standard_zoo().at<GridProfile>("Quebec");
  // 1 kW for a day at a PUE of 1.25: 24 kWh and 30 kWh, wherever it is asked.
  const EconomicsModel::Inputs asked{.fleet = &fleet,
                                     .duration_days = 1,
                                     .grid = &grid,
                                     .unit_cost = Money<>(),
                                     .conventions = &conventions};
  CHECK_THAT(EconomicsModel{}.solve(asked).total_energy.in(unit::kWh), is(30));
  CHECK_THAT(SustainabilityModel{}
                 .solve({.fleet = &fleet, .duration_days = 1, .grid = &grid, .conventions = &conventions})
                 .total_energy.in(unit::kWh),
             is(30));
  for (const Fidelity fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
    const auto place =
        evaluate(PlacementOptimizer{}, PlacementOptimizer::Inputs{.fleet = &fleet,
                                                                  .duration_days = 1,
                                                                  .regions = "Quebec",
                                                                  .fidelity = fidelity,
                                                                  .conventions = &conventions});
    REQUIRE(place);
    CHECK(place->pue == 1.25);
  }
}

TEST_CASE("an energy whose power is not known is not known", "[catalogue][by_hand]") {
  HandMachine m;
  const Workload w = hand_decoder();
  const auto energy = [&](Fidelity fidelity) {
    return SingleNodeModel{}
        .solve({.workload = &w,
                .hardware = &m.device,
                .precision = Precision::fp16,
                .seq_len = 1000,
                .fidelity = fidelity,
                .conventions = &m.conventions})
        .energy;
  };
  // 2 GB at 1 TB/s: 2 ms, in which the arithmetic of 2 GFLOP takes 20 us: 1 % of the time at 1 kW, else 500
  // W: 1.01 J.
  const auto known = energy(Fidelity::textbook);
  REQUIRE(known);
  CHECK_THAT(known->in(unit::J), is(1.01));
  m.device.power.tdp.reset();
  for (const Fidelity fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
    CHECK_FALSE(energy(fidelity));
    NoteBook book;
    Notes notes(book);
    const auto query = InferenceScalingModel{}.solve({.workload = &w,
                                                      .hardware = &m.device,
                                                      .precision = Precision::fp16,
                                                      .fidelity = fidelity,
                                                      .conventions = &m.conventions},
                                                     notes);
    CHECK_FALSE(query.energy_per_query);
    CHECK(says(book, "the energy is not known"));
  }
  CHECK_FALSE(InferencePassModel{}
                  .solve({.workload = &w, .hardware = &m.device, .conventions = &m.conventions})
                  .energy);
}

TEST_CASE("what is spilled crosses a host link, and the link that was assumed is told",
          "[catalogue][by_hand]") {
  HandMachine m;
  m.device.memory.capacity = 1.5 * unit::GB;
  m.device.host_link.bandwidth.reset();
  DeviceClass silent;
  silent.host_link.bandwidth = 50.0 * unit::GB / unit::s;
  m.conventions.devices = &silent;
  Workload w = hand_encoder();
  w.parameters = 1.0 * unit::Gparam;
  NoteBook book;
  Notes notes(book);
  const auto r = SingleNodeModel{}.solve({.workload = &w,
                                          .hardware = &m.device,
                                          .precision = Precision::fp16,
                                          .seq_len = 128,
                                          .fidelity = Fidelity::textbook,
                                          .conventions = &m.conventions},
                                         notes);
  // Of 2 GB half a GB does not fit: 1.5 GB at 1 TB/s and 0.5 GB at 50 GB/s, 1.5 + 10 ms; the arithmetic takes
  // 0.256 ms.
  CHECK_THAT(r.latency.in(unit::ms), is(11.5));
  CHECK(assumed(book, "host_link.bandwidth") == "50 GB/s");
}

TEST_CASE("the textbook's planner finds the plan that its model rates best",
          "[catalogue][parallelism][by_hand]") {
  HandMachine m;
  m.device.device_link.bandwidth = 100.0 * unit::GB / unit::s;
  Node node;
  node.name = "HandNode";
  node.accelerator = &m.device;
  node.accelerators_per_node = 2;
  Fleet fleet;
  fleet.name = "HandFleet";
  fleet.node = &node;
  const Workload w = hand_decoder();
  // Two devices, 8 sequences of 1000 tokens: 3 x 2 x 1e9 x 8000 = 48 TFLOP, 240 ms on both. ZeRO or not, two
  // replicas exchange 2 GB of gradients, of which the convention hides a share; a pipeline with 4 chunks of 2
  // layers, micro-batches of one sequence waits for (2 - 1) / (4 x 8) of 240 ms: 7.5 ms.
  m.conventions.overlap = 0.5;
  // Replicas: 2 (2 - 1) / 2 x 2 GB / 100 GB/s = 20 ms, half of it hidden: 250 ms and start-ups. The pipeline:
  // 247.5 ms.
  const auto best =
      evaluate(ParallelismOptimizer{}, ParallelismOptimizer::Inputs{.workload = &w,
                                                                    .fleet = &fleet,
                                                                    .batch_size = 8,
                                                                    .seq_len = 1000,
                                                                    .precision = Precision::fp16,
                                                                    .max_tp = 1.0,
                                                                    .max_v_stages = 4,
                                                                    .fidelity = Fidelity::textbook,
                                                                    .conventions = &m.conventions});
  REQUIRE(best);
  CHECK(best->pp_size == 2);
  CHECK(best->v_stages == 4);
  CHECK(best->microbatch_count == 8);
  CHECK_THAT(best->best_step_time.in(unit::ms), is(247.5));
  CHECK_THAT(best->best_mfu, is(240 / 247.5));
}
