// The solver and the optimizers of the catalogue.

#include "worked.hpp"

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/optimizers/batching.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>
#include <mlsysim/resolvers/solvers/synthesis.hpp>

using namespace worked;
using Catch::Matchers::WithinRel;

TEST_CASE("synthesis: the figures of the Python package", "[catalogue][synthesis][golden]") {
  const auto answer = evaluate(SynthesisSolver{}, {.workload = &model("Llama3_8B"),
                                                   .target_latency = 10.0 * unit::ms,
                                                   .precision = Precision::fp16,
                                                   .efficiency = 0.5,
                                                   .fidelity = Fidelity::textbook});
  REQUIRE(answer);
  CHECK_THAT(answer->required_bw.in(unit::GB / unit::s), is(1606));
  CHECK_THAT(answer->required_flops.in(unit::TFLOP / unit::s), is(3.212));
  CHECK_THAT(answer->compute_memory_ratio.base(), is(2));
  CHECK_THAT(answer->required_memory.in(unit::GB), is(16.06));
  CHECK(answer.report().verification.passed());
}

TEST_CASE("synthesis: the machine that is found takes exactly the target", "[catalogue][synthesis]") {
  for (const double ms : {0.8, 3.0, 10.0, 200.0}) {
    INFO(ms << " ms");
    const auto answer = evaluate(SynthesisSolver{}, {.workload = &model("Llama3_8B"),
                                                     .target_latency = ms * unit::ms,
                                                     .batch_size = 8,
                                                     .precision = Precision::bf16});
    REQUIRE(answer);
    REQUIRE(answer.report().verification.checked());
    CHECK(answer.report().verification.passed());
    CHECK(answer->required_memory > answer->model_size);
  }
  // One token is bound by memory: bandwidth is what the traffic needs, up to what joining both sides adds
  // (sqrt 2), and arithmetic that is not short of it either. A padded product of one row does not make the
  // memory faster.
  const auto one = evaluate(
      SynthesisSolver{},
      {.workload = &model("Llama3_8B"), .target_latency = 10.0 * unit::ms, .precision = Precision::bf16});
  const Bandwidth<> needed = one->total_traffic / (10.0 * unit::ms);
  CHECK(one->required_bw > needed);
  CHECK(one->required_bw < 2.0 * needed);
  CHECK(one->required_flops > one->total_ops / (10.0 * unit::ms));
  CHECK(one->required_flops < 100.0 * (unit::TFLOP / unit::s));
  // The Python package knows no launches: any latency is met by enough bandwidth. No machine removes them.
  const auto none = evaluate(
      SynthesisSolver{},
      {.workload = &model("Llama3_8B"), .target_latency = 10.0 * unit::us, .precision = Precision::bf16});
  REQUIRE_FALSE(none);
  CHECK_THAT(none.why()->reason, Catch::Contains("launches"));
  CHECK_THAT(none.why()->smallest_change, Catch::Contains("target above"));
  CHECK_THROWS_AS(evaluate(SynthesisSolver{}, {.workload = &model("Llama3_8B")}), DomainError);
}

namespace {
BatchingOptimizer::Inputs batching(double replicas, Fidelity fidelity) {
  return {.workload = &model("Llama3_8B"),
          .hardware = &device("H100"),
          .arrival_rate = 50.0 * per_s,
          .target_latency = 5000.0 * unit::ms,
          .seq_len = 256,
          .num_replicas = replicas,
          .precision = Precision::fp16,
          .efficiency = 0.5,
          .fidelity = fidelity};
}
}  // namespace

TEST_CASE("batching: the figures of the Python package", "[catalogue][batching][golden]") {
  const auto r = evaluate(BatchingOptimizer{}, batching(8, Fidelity::textbook));
  REQUIRE(r);
  CHECK(r->best_batch_size == 256);
  CHECK_THAT(r->p99_latency.in(unit::ms), is(4111.84));
  CHECK_THAT(r->queue_utilization, is(0.100387));
  CHECK(r->slo_headroom_ratio == 0);
  CHECK_THAT(r->max_throughput.base(), is(12800));
  CHECK(r->search.total_searched() == 256);
  const auto none = evaluate(BatchingOptimizer{}, batching(1, Fidelity::textbook));
  CHECK_FALSE(none);
}

TEST_CASE("batching: an exhaustive twin agrees, and filling counts", "[catalogue][batching]") {
  auto in = batching(4, Fidelity::operator_level);
  in.service_time_cv = 0.1;  // requests of one length
  const auto best = evaluate(BatchingOptimizer{}, in);
  REQUIRE(best);
  CHECK(best->p99_latency <= in.target_latency);
  // Allowing one batch size only, nothing else has more capacity.
  for (const double most : {1.0, 8.0, 64.0}) {
    in.max_search_batch = most;
    const auto few = evaluate(BatchingOptimizer{}, in);
    if (few) CHECK(few->capacity <= best->capacity);
  }
  in = batching(4, Fidelity::operator_level);
  in.service_time_cv = 0.1;
  in.arrival_rate = 0.5 * per_s;  // filling a large batch takes longer than the target
  const auto slow = evaluate(BatchingOptimizer{}, in);
  REQUIRE(slow);
  CHECK(slow->best_batch_size <= 3);
  in.target_latency = 1.0 * unit::ms;
  const auto never = evaluate(BatchingOptimizer{}, in);
  REQUIRE_FALSE(never);
  CHECK_THAT(never.why()->text(), Catch::Contains("p99_latency"));
}

TEST_CASE("placement: the figures of the Python package at one PUE", "[catalogue][placement][golden]") {
  const PlacementOptimizer::Inputs in{
      .fleet = &fleet("Research_256"), .duration_days = 30, .fidelity = Fidelity::textbook};
  const auto r = evaluate(PlacementOptimizer{}, in);
  REQUIRE(r);
  CHECK(r->best_region == "Quebec");
  // PUE belongs to a facility, and the fleet has none: 1.12 everywhere. 210,411 USD + 31,561.6 USD + 129,024
  // kWh * 1.12 * (0.12 USD + 0.02 kg * 0.1 USD / kg). The Python package gives the grid of Quebec a PUE of
  // 1.06: 258,658 USD.
  REQUIRE(r->total_cost);
  CHECK_THAT(r->total_cost->in(unit::USD), is(259602));
  CHECK(r->pue == 1.12);
  CHECK(r->search.total_searched() == 3);
  for (const auto& [region, cost] : {std::pair{"US_Avg", 265513.0}, {"Iowa", 269140.0}}) {
    auto one = in;
    one.regions = region;
    CHECK_THAT(evaluate(PlacementOptimizer{}, one)->total_cost->in(unit::USD), is(cost));
  }
}

TEST_CASE("placement: every grid, regional prices, names that are none", "[catalogue][placement]") {
  PlacementOptimizer::Inputs in{.fleet = &fleet("Research_256"), .duration_days = 30, .mfu = 0.4};
  const auto all = evaluate(PlacementOptimizer{}, in);
  REQUIRE(all);
  CHECK(all->search.total_searched() > 30);
  in.regions = "Texas, Iowa";
  const auto two = evaluate(PlacementOptimizer{}, in);
  REQUIRE(two);
  CHECK_THAT(two->kwh_price.in(unit::USD / unit::kWh),
             WithinRel(two->best_region == "Texas" ? 0.066 : 0.069, 1e-9));
  CHECK(*two->total_cost >= *all->total_cost);
  in.regions = " Iowa ,,\tTexas,";
  CHECK_THAT(evaluate(PlacementOptimizer{}, in)->total_cost->base(),
             WithinRel(two->total_cost->base(), 1e-12));
  in.regions = " , ";
  CHECK_THROWS_WITH(evaluate(PlacementOptimizer{}, in), Catch::Contains("names none"));
  in.regions = "Quebeck";
  CHECK_THROWS_WITH(evaluate(PlacementOptimizer{}, in), Catch::Contains("Quebec"));
  in.regions = "";
  in.duration_days = 0;
  CHECK_THROWS_AS(evaluate(PlacementOptimizer{}, in), DomainError);
}

TEST_CASE("parallelism: plans are as many as divisors, however large the counts",
          "[catalogue][parallelism]") {
  ParallelismOptimizer::Inputs in{.workload = &model("Llama3_8B"),
                                  .fleet = &fleet("Research_256"),
                                  .batch_size = 0x1p49,
                                  .seq_len = 2048,
                                  .max_tp = 2,
                                  .max_pp = 1e15,
                                  .max_cp = 1,
                                  .recomputation = Recomputation::full};
  in.max_v_stages = 1e15;
  in.max_zero_stage = 0;
  if (const auto r = evaluate(ParallelismOptimizer{}, in)) CHECK(r->search.total_searched() < 20'000);
}

TEST_CASE("parallelism: the best plan of all plans", "[catalogue][parallelism]") {
  ParallelismOptimizer::Inputs in{.workload = &model("Llama3_8B"),
                                  .fleet = &fleet("Research_256"),
                                  .batch_size = 512,
                                  .seq_len = 2048,
                                  .precision = Precision::bf16};
  const auto r = evaluate(ParallelismOptimizer{}, in);
  REQUIRE(r);
  CHECK(r->tp_size * r->pp_size * r->dp_size * r->ep_size * r->cp_size == 256);
  CHECK(r->memory_utilization <= 1);
  CHECK(r->search.total_searched() == r->search.feasible() + r->search.infeasible() + r->search.skipped());
  // The slow twin: a loop over the model for some plans by hand; none is faster and fits.
  for (const double tp : {1.0, 2.0, 4.0, 8.0})
    for (const double pp : {1.0, 2.0, 4.0})
      for (const double zero : {0.0, 1.0, 3.0}) {
        const auto step = DistributedModel{}.solve({.workload = in.workload,
                                                    .fleet = in.fleet,
                                                    .batch_size = 512,
                                                    .precision = Precision::bf16,
                                                    .tp_size = tp,
                                                    .pp_size = pp,
                                                    .microbatch_count = 512 * tp * pp / 256,
                                                    .zero_stage = zero,
                                                    .seq_len = 2048});
        if (step.feasible) CHECK(step.step_latency >= r->best_step_time * (1 - 1e-12));
      }
  // The plan that was found, put into the model by hand.
  const auto again = DistributedModel{}.solve({.workload = in.workload,
                                               .fleet = in.fleet,
                                               .batch_size = 512,
                                               .precision = Precision::bf16,
                                               .tp_size = r->tp_size,
                                               .pp_size = r->pp_size,
                                               .ep_size = r->ep_size,
                                               .cp_size = r->cp_size,
                                               .v_stages = r->v_stages,
                                               .microbatch_count = r->microbatch_count,
                                               .zero_stage = r->zero_stage,
                                               .recomputation = r->recomputation,
                                               .seq_len = 2048,
                                               .overlap_efficiency = r->overlap_efficiency,
                                               .tp_overlap = r->tp_overlap});
  CHECK(again.step_latency.base() == Approx(r->best_step_time.base()).epsilon(1e-12));
  // Each freedom can only help, and is searched: pinning any of them gives a step that is no shorter.
  const auto pinned = [&](auto change) {
    auto fewer = in;
    change(fewer);
    const auto p = evaluate(ParallelismOptimizer{}, fewer);
    REQUIRE(p);
    CHECK(p->best_step_time >= r->best_step_time * (1 - 1e-12));
    CHECK(p->search.total_searched() < r->search.total_searched());
  };
  // How much traffic hides is an assumption: it is stated, and never searched.
  const auto stated = [&](auto change) {
    auto other = in;
    change(other);
    const auto p = evaluate(ParallelismOptimizer{}, other);
    REQUIRE(p);
    CHECK(p->search.total_searched() == r->search.total_searched());
  };
  pinned([](auto& i) { i.max_cp = 1; });
  pinned([](auto& i) { i.max_v_stages = 1; });
  pinned([](auto& i) { i.recomputation = Recomputation::full; });
  stated([](auto& i) { i.overlap_efficiency = 0; });
  stated([](auto& i) { i.tp_overlap = 0; });
  pinned([](auto& i) { i.max_zero_stage = 0; });
  // A step with few sequences on many stages gains from interleaving; experts are spread where there are
  // some.
  auto deep = in;
  deep.max_tp = 1;
  deep.max_zero_stage = 0;
  deep.batch_size = 256;
  const auto staged = evaluate(ParallelismOptimizer{}, deep);
  REQUIRE(staged);
  CHECK(staged->pp_size > 1);
  CHECK(staged->v_stages > 1);
  auto experts = in;
  experts.workload = &model("Mixtral_8x7B");
  experts.max_cp = 1;
  experts.tp_overlap = 0;
  const auto spread = evaluate(ParallelismOptimizer{}, experts);
  REQUIRE(spread);
  CHECK(spread->search.total_searched() > 0);
  experts.ep_size = 1;
  const auto together = evaluate(ParallelismOptimizer{}, experts);
  if (together) CHECK(together->best_step_time >= spread->best_step_time * (1 - 1e-12));
  in.max_tp = 1;
  in.max_pp = 1;
  in.max_zero_stage = 0;
  in.workload = &model("Llama3_70B");
  const auto none = evaluate(ParallelismOptimizer{}, in);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.why()->text(), Catch::Contains("memory_utilization"));
  in.batch_size = 7;
  CHECK_THROWS_WITH(evaluate(ParallelismOptimizer{}, in), Catch::Contains("divides the fleet"));
}
