// Serving over pipeline stages, worked out on paper: what a token costs in time, work and energy, and what
// steady states make of several micro-batches in flight.

#include "hand_machine.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving.hpp>

using namespace worked;

namespace {

/// Textbook serving of four sequences of 1000 tokens by so many stages.
///
/// A token of cache has 2 x 8 layers x 8 heads x 128 values of 2 B: 32,768 B. Four sequences are one
/// micro-batch a stage, so each of pp micro-batches has 4 / pp of them.
ServingModel::Result four_sequences(const HandMachine& m, const Workload& w, double pp) {
  return ServingModel{}.solve({.workload = &w,
                               .hardware = &m.device,
                               .seq_len = 1000,
                               .batch_size = 4,
                               .precision = Precision::fp16,
                               .pp_size = pp,
                               .fidelity = Fidelity::textbook,
                               .conventions = &m.conventions});
}

}  // namespace

TEST_CASE("a token passes every stage of a pipeline", "[catalogue][serving][by_hand]") {
  const HandMachine m;
  const Workload w = hand_decoder();
  // Weights 2 GB and 1000 x 32,768 B = 32.768 MB of cache a sequence, at 1 TB/s:
  //   one stage:   2 ms + 4 x 0.032768 ms = 2.131072 ms for the four sequences
  //   two stages:  2 ms + 2 x 0.032768 ms = 2.065536 ms for two of them; the others are a stage behind
  //   four stages: 2 ms + 1 x 0.032768 ms = 2.032768 ms
  CHECK_THAT(four_sequences(m, w, 1).itl.in(unit::ms), is(2.131072));
  CHECK_THAT(four_sequences(m, w, 2).itl.in(unit::ms), is(2.065536));
  CHECK_THAT(four_sequences(m, w, 4).itl.in(unit::ms), is(2.032768));
  // A prompt: 2 x 1e9 x 1000 FLOP + 4 x 8 layers x 1024 x 1000 x 1000 FLOP = 2.032768 TFLOP, 20.32768 ms at
  // 100 TFLOP/s.
  //   one stage:   four prompts one after the other, 81.31072 ms
  // four stages: a stage takes 20.32768 / 4 = 5.08192 ms; the last prompt leaves it after 4 + 3 of
  // these: 35.57344 ms
  CHECK_THAT(four_sequences(m, w, 1).ttft.in(unit::ms), is(81.31072));
  CHECK_THAT(four_sequences(m, w, 4).ttft.in(unit::ms), is(35.57344));
}

TEST_CASE("work, power and energy of a pipeline are those of all of its devices",
          "[catalogue][serving][by_hand]") {
  const HandMachine m;
  const Workload w = hand_decoder();
  // Decoding four tokens is 4 x 2 x 1e9 FLOP = 8 GFLOP.
  //   one device:   8e9 / (1e14 x 2.131072e-3) = 0.0375398
  //   four devices: 8e9 / (4 x 1e14 x 2.032768e-3) = 0.00983880
  CHECK_THAT(four_sequences(m, w, 1).mfu, is(0.0375398));
  CHECK_THAT(four_sequences(m, w, 4).mfu, is(0.00983880));
  // Prefill: 4 x 2.032768 TFLOP in 35.57344 ms by 4 x 100 TFLOP/s: 4 / 7.
  CHECK_THAT(four_sequences(m, w, 4).prefill_mfu, is(4.0 / 7));
  CHECK_THAT(four_sequences(m, w, 1).prefill_mfu, is(1.0));
  // At half of 1 kW when idle a device draws 500 W (1 + utilization); the textbook's kernels are its
  // arithmetic.
  //   one device:   500 x 1.0375398 = 518.770 W, 4 / 2.131072 ms = 1876.99 token/s: 0.276384 J/token
  //   four devices: 4 x 500 x 1.0098388 = 2019.68 W, 4 / 2.032768 ms = 1967.76 token/s: 1.026384 J/token
  const auto joules = [&](double pp) {
    Scenario s{.workload = &w,
               .hardware = &m.device,
               .mode = Mode::serve,
               .batch_size = 4,
               .seq_len = 1000,
               .precision = Precision::fp16,
               .accelerators = pp,
               .tp_size = 1,
               .pp_size = pp,
               .fidelity = Fidelity::textbook};
    s.conventions = &m.conventions;
    return SystemEvaluator::evaluate(s).find("macro.energy_per_token")->number();
  };
  CHECK_THAT(joules(1), is(0.276384));
  CHECK_THAT(joules(4), is(1.026384));
}

TEST_CASE("a pipeline in steady state has a micro-batch in every stage", "[catalogue][in_flight][by_hand]") {
  const HandMachine m;
  const Workload w = hand_decoder();
  // Prompts of 1000 tokens run elsewhere; of 199 generated tokens one sees 1000 + (199 + 1) / 2 = 1100 in the
  // mean. A request is 1100 x 32,768 B = 36.0448 MB of cache: a micro-batch of n takes 2 ms + n 0.0360448 ms
  // for all stages. Of the requests in flight those that have their prompt decode: a few less than all.
  //   pp 1,  4 requests: n tokens in that time
  //   pp 4, 16 requests: as many of each stage, which has a micro-batch of a fourth of them
  //   pp 4,  4 requests: micro-batches of one, 2.0360448 ms
  const auto steady = [&](double pp, double requests) {
    return InFlightBatchingModel{}.solve({.workload = &w,
                                          .hardware = &m.device,
                                          .seq_len = 1000,
                                          .output_tokens = 199,
                                          .concurrency = requests,
                                          .precision = Precision::fp16,
                                          .pp_size = pp,
                                          .prefill_replicas = 8,
                                          .fidelity = Fidelity::textbook,
                                          .conventions = &m.conventions});
  };
  const auto one = steady(1, 4), four = steady(4, 16), thin = steady(4, 4);
  const auto step_of = [](double requests) { return 2 + 0.0360448 * requests; };
  CHECK(one.running_requests > 3.8);
  CHECK(one.running_requests < 4);
  CHECK(four.running_requests > 15);
  CHECK(four.running_requests < 16);
  CHECK_THAT(one.decode_step_time.in(unit::ms), is(step_of(one.running_requests)));
  CHECK_THAT(four.decode_step_time.in(unit::ms), is(step_of(four.running_requests / 4)));
  CHECK_THAT(thin.decode_step_time.in(unit::ms), is(2.0360448));
  CHECK_THAT(one.itl.in(unit::ms), is(step_of(one.running_requests)));
  CHECK_THAT(four.itl.in(unit::ms), is(step_of(four.running_requests / 4)));
  // What a device computes: 2 GFLOP for each of the 198 tokens after the first, by 100 TFLOP/s a device.
  const auto used = [](const auto& r) { return 198 * 2e9 * r.request_throughput.base() / 1e14; };
  CHECK_THAT(one.utilization, is(used(one)));
  CHECK_THAT(four.utilization, is(used(four) / 4));
}

TEST_CASE("the mean context of n generated tokens is (n + 1) / 2 beyond the prompt",
          "[catalogue][serving][by_hand]") {
  const HandMachine m;
  const Workload w = hand_decoder();
  // Of three tokens after a prompt of 100 the first sees 101, the last 103: 102 in the mean.
  // 2 GB + 102 x 32,768 B = 2.003342336 GB at 1 TB/s.
  const auto r = ServingModel{}.solve({.workload = &w,
                                       .hardware = &m.device,
                                       .seq_len = 100,
                                       .output_tokens = 3,
                                       .precision = Precision::fp16,
                                       .fidelity = Fidelity::textbook,
                                       .conventions = &m.conventions});
  CHECK_THAT(r.itl.in(unit::ms), Catch::Matchers::WithinRel(2.003342336, 1e-12));
  const auto steady = InFlightBatchingModel{}.solve({.workload = &w,
                                                     .hardware = &m.device,
                                                     .seq_len = 100,
                                                     .output_tokens = 3,
                                                     .concurrency = 1.0,
                                                     .precision = Precision::fp16,
                                                     .prefill_replicas = 8,
                                                     .fidelity = Fidelity::textbook,
                                                     .conventions = &m.conventions});
  CHECK_THAT(steady.decode_step_time.in(unit::ms), Catch::Matchers::WithinRel(2.003342336, 1e-12));
}
