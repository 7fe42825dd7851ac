// What is conserved where a service is divided: replicas, stages of a pipeline, pools, and the tokens of a
// run.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>

using namespace mlsysim;

namespace {

double metric(const SystemEvaluation& card, const char* path) {
  const Metric* m = card.find(path);
  INFO(path);
  REQUIRE(m != nullptr);
  return std::get<double>(m->value);  // in its base unit
}

Scenario serving(double devices, double tp, double requests_per_second) {
  Scenario s{.workload = &model("Llama3_70B"), .hardware = &device("H100")};
  s.arrival_rate = requests_per_second * (unit::request / unit::s);
  s.seq_len = 2048;
  s.output_tokens = 256;
  s.accelerators = devices;
  s.tp_size = tp;
  return s;
}

}  // namespace

TEST_CASE("three replicas at three times the rate answer as one does", "[engine]") {
  const auto one = SystemEvaluator::evaluate(serving(8, 8, 1)),
             three = SystemEvaluator::evaluate(serving(24, 8, 3));
  for (const char* same : {"performance.itl", "performance.ttft", "performance.p99_ttft",
                           "performance.request_latency", "performance.mfu", "performance.prefill_mfu"})
    CHECK(metric(three, same) == Approx(metric(one, same)).epsilon(1e-9));
  for (const char* more : {"performance.request_throughput", "performance.token_throughput"})
    CHECK(metric(three, more) == Approx(3 * metric(one, more)).epsilon(1e-9));
  CHECK(metric(three, "performance.replicas") == 3);
}

TEST_CASE("devices do the same work at a rate, however they are divided", "[engine]") {
  // 2 x 70.6e9 x 2,304 FLOP a request and some attention, on 24 devices of 989.5 TFLOP/s.
  const auto together = SystemEvaluator::evaluate(serving(24, 8, 6));
  auto pools = serving(24, 8, 6);
  pools.prefill_replicas = 1;
  const auto apart = SystemEvaluator::evaluate(pools);
  const double work = 6 * 2 * 70.6e9 * 2304 / (24 * 989.5e12);
  CHECK(metric(together, "performance.mfu") == Approx(work).epsilon(0.05));
  CHECK(metric(apart, "performance.mfu") == Approx(metric(together, "performance.mfu")).epsilon(0.02));
  CHECK(metric(apart, "performance.replicas") == 2);
}

TEST_CASE("a replica and its worker need their devices", "[engine]") {
  auto pools = serving(24, 8, 6);
  pools.prefill_replicas = 1;
  Notes quiet;
  auto problem = std::get<ServingProblem<>>(settle(ResolvedScenario(pools, quiet), quiet));
  // Two replicas of eight devices and a worker of eight.
  CHECK(evaluate(problem).feasibility.plan_fits == 1);
  problem.accelerators = 23;
  CHECK(evaluate(problem).feasibility.plan_fits == 0);
}

TEST_CASE("a loop that its worker cannot feed waits for it", "[engine]") {
  // Prompts of 2,048 tokens take some 88 ms of eight devices: one worker brings at most 11.4 a second.
  auto loop = serving(16, 8, 1);
  loop.arrival_rate.reset();
  loop.output_tokens = 16;
  loop.batch_size = 64;
  loop.prefill_replicas = 1;
  const auto card = SystemEvaluator::evaluate(loop);
  const double rate = metric(card, "performance.request_throughput");
  CHECK(rate < 12);
  CHECK(rate > 9);
  // Little's law: most of the loop waits for the worker.
  CHECK(rate * metric(card, "performance.request_latency") == Approx(64).epsilon(0.02));
  // Its worker is busy nearly all the time, half of the devices; each is drawn for what it does.
  CHECK(metric(card, "performance.mfu") == Approx(rate * 2 * 70.6e9 * 2064 / (16 * 989.5e12)).epsilon(0.06));
}

TEST_CASE("one prompt uses one stage of a pipeline at a time", "[engine]") {
  const auto flat = SystemEvaluator::evaluate(serving(4, 4, 0.1));
  auto piped = serving(8, 4, 0.1);
  piped.pp_size = 2;
  CHECK(metric(SystemEvaluator::evaluate(piped), "performance.prefill_mfu") ==
        Approx(0.5 * metric(flat, "performance.prefill_mfu")).epsilon(0.05));
}

TEST_CASE("a run takes its tokens over the tokens of a second", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"), .hardware = &device("H100")};
  s.mode = Mode::train;
  s.accelerators = 8;
  s.batch_size = 64;
  s.seq_len = 4096;
  s.zero_stage = 1;
  s.training_tokens = 1e9 * unit::token;
  const auto card = SystemEvaluator::evaluate(s);
  CHECK(metric(card, "performance.training_time") * metric(card, "performance.token_throughput") ==
        Approx(1e9 / metric(card, "performance.goodput_ratio")).epsilon(1e-9));
}

TEST_CASE("the fullest device is that with the largest share of its own memory", "[engine]") {
  ServingEstimate<> e;
  e.memory.total = 60 * unit::GB, e.memory.capacity = 80 * unit::GB;
  e.prefill_memory_use.total = 90 * unit::GB, e.prefill_memory_use.capacity = 180 * unit::GB;
  CHECK(&fullest_device(e) == &e.memory);
  e.prefill_memory_use.total = 140 * unit::GB;
  CHECK(&fullest_device(e) == &e.prefill_memory_use);
}

TEST_CASE("a roofline has the work and the traffic of the operators, and nothing else", "[engine]") {
  for (const char* name : {"BERT_Large", "Llama3_8B"}) {
    Scenario s{.workload = &model(name), .hardware = &device("H100"), .batch_size = 8, .seq_len = 512};
    s.mode = Mode::infer;
    Notes quiet;
    auto problem = std::get<InferenceProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
    const auto priced = evaluate(problem);
    problem.fidelity_model = &roofline_model();
    const auto roof = evaluate(problem);
    CHECK(roof.arithmetic_intensity.base() == Approx(priced.arithmetic_intensity.base()).epsilon(1e-12));
    // Whichever takes longer: the work at the peak, or the traffic at the bandwidth of the data sheet.
    const auto work = roof.latency * problem.device.compute.dense * roof.mfu;
    const auto memory = work / roof.arithmetic_intensity / problem.device.memory.bandwidth;
    CHECK(roof.latency.base() ==
          Approx(std::max((work / problem.device.compute.dense).base(), memory.base())).epsilon(1e-12));
  }
}

TEST_CASE("the towers of a model are divided as its weights are", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"), .hardware = &device("H100"), .batch_size = 8};
  s.mode = Mode::train;
  s.fidelity = Fidelity::textbook;
  s.accelerators = 8;
  s.tp_size = 2;
  s.pp_size = 4;
  Notes quiet;
  auto problem = std::get<TrainingProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
  const auto without = evaluate(problem).memory.weights;
  problem.plan.tower_bytes = 8 * unit::GB;
  CHECK((evaluate(problem).memory.weights - without) / unit::GB == Approx(1.0).epsilon(1e-9));
}
