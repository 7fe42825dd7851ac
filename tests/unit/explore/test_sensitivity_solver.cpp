// The solver of wall 21 against the tools that it is made of, and against the Python package's worked
// examples.

#include "sample_problems.hpp"

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/sensitivity_solver.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/walls.hpp>

#include <cmath>

using namespace mlsysim;
using namespace mlsysim::test;

TEST_CASE("the solver of wall 21 is registered and owns its wall", "[explore][sensitivity]") {
  CHECK(resolvers_of_wall(21).front() == "SensitivitySolver");
  CHECK(ResolverRegistry::standard().at("SensitivitySolver").info().tier == Tier::solver);
}

TEST_CASE("elasticities are those of the scenario's sensitivity", "[explore][sensitivity]") {
  const SensitivitySolver::Inputs in{
      .workload = &model("Llama3_70B"), .hardware = &device("H100"), .batch_size = 16, .accelerators = 8};
  const auto answer = evaluate(SensitivitySolver{}, in);
  REQUIRE(answer);
  CHECK(answer->metric == "itl");
  CHECK(answer->binding_constraint == "memory_bandwidth");
  CHECK_THAT(answer->shadow_price, ContainsSubstring("memory bandwidth binds itl"));
  const auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 16);
  const auto report = sensitivity(subject_of(s), "itl");
  const auto lever = [&](std::string_view name) {
    for (const auto& l : report.levers)
      if (l.input == name) return l.elasticity_up;
    return std::nan("");
  };
  CHECK(answer->memory_bandwidth == Approx(lever("hardware.memory.bandwidth")));
  CHECK(answer->peak_flops ==
        Approx(lever("hardware.compute.dense.fp16") + lever("hardware.compute.vector")));
  CHECK(answer->baseline_latency.base() == Approx(report.value));
  // A tenth more bandwidth, in figures of its own.
  HardwareNode faster = device("H100");
  faster.memory.bandwidth = *faster.memory.bandwidth * 1.1;
  auto changed = s;
  changed.hardware = &faster;
  const auto there = subject_of(changed);
  CHECK(answer->memory_bandwidth_change ==
        Approx(there.entry(there.point)[there.result("itl")] / report.value - 1).epsilon(1e-9));
  CHECK(SensitivitySolver{}.verify(in, *answer).passed());
}

TEST_CASE("textbook sensitivities are those done by hand", "[explore][sensitivity]") {
  // ResNet-50 on A100, batch 1, half of the peak: overheads hide the roofline; the Python package gives
  // -0.00841941.
  const SensitivitySolver::Inputs in{.workload = &model("ResNet50"),
                                     .hardware = &device("A100"),
                                     .mode = Mode::infer,
                                     .precision = Precision::fp16,
                                     .fidelity = Fidelity::textbook};
  const auto answer = evaluate(SensitivitySolver{}, in);
  REQUIRE(answer);
  CHECK(answer->metric == "latency");
  CHECK(answer->fidelity == Fidelity::textbook);
  CHECK(answer->peak_flops_change == Approx(-0.00841941).epsilon(0.02));
  CHECK(answer->binding_constraint ==
        (std::fabs(answer->overhead) > std::fabs(answer->peak_flops) ? "overhead" : "peak_flops"));
  CHECK(answer->memory_bandwidth_change == Approx(0).margin(1e-12));
  CHECK(SensitivitySolver{}.verify(in, *answer).passed());
}

TEST_CASE("a baseline that does not fit has no sensitivity", "[explore][sensitivity]") {
  const auto answer =
      evaluate(SensitivitySolver{}, {.workload = &model("Llama3_70B"), .hardware = &device("H100")});
  REQUIRE_FALSE(answer);
  CHECK_THAT(answer.why()->text(), ContainsSubstring("does not fit") && ContainsSubstring("memory_capacity"));
}
