#include "support/catch.hpp"

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/report/detail/verdict.hpp>
#include <mlsysim/report/scorecard_report.hpp>

#include <algorithm>
#include <sstream>

using namespace mlsysim;

namespace {

Metric bytes(std::string name, double base) {
  return {std::move(name), base, dim::data::exps, "GB", "meaning of " + name};
}

SystemEvaluation sample() {
  SystemEvaluation e;
  e.scenario_name = "scenario";
  e.workload = "Model";
  e.hardware = "Device";
  e.mode = "serve";
  e.fidelity = "operator";
  e.feasibility = {"feasibility",
                   EvaluationLevel::Status::pass,
                   "fits",
                   {bytes("memory_used", 30e9),
                    bytes("memory_capacity", 80e9),
                    {"memory_utilization", 0.375, {}, "", "share"}}};
  e.performance = {"performance",
                   EvaluationLevel::Status::pass,
                   "fast",
                   {{"itl", 0.0123456789012345, dim::time::exps, "ms", "inter-token latency"},
                    {"bottleneck", std::string("memory"), {}, "", "what limits it"}}};
  e.macro = {"macro", EvaluationLevel::Status::skipped, "no TDP is known", {}};
  e.memory = {bytes("weights", 29.9e9), bytes("reserve", 0.1e9)};
  e.assumptions = {{"efficiency", "0.5", "a source"}};
  e.warnings = {"something is outside of its range"};
  return e;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t shown = 0;
    for (const char c : line) shown += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    width = std::max(width, shown);
  }
  return width;
}

}  // namespace

TEST_CASE("the box keeps its width and holds every level", "[report]") {
  for (const std::size_t width : {60, 80, 96, 120}) {
    const auto text = render(sample(), {.verbosity = Verbosity::verbose, .width = width});
    CHECK(widest(text) == width);
    for (const auto* part :
         {"Model on Device", "PASS", "SKIPPED", "no TDP is known", "12.35 ms", "█", "37.5 %", "warning: "})
      CHECK_THAT(text, Catch::Contains(part));
  }
}

TEST_CASE("the brief card has the verdict first, at most twenty lines and no key", "[report]") {
  auto many = sample();
  for (int k = 0; k < 9; ++k)
    many.warnings.push_back("a further note of the scenario that is long enough to fill most of a line");
  many.memory.push_back(bytes("kv_cache", 1e6));
  for (const std::size_t width : {60, 80, 96, 120}) {
    const auto text = render(many, {.width = width});
    CHECK(text.starts_with("FITS"));
    CHECK(widest(text) <= width);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 20);
    CHECK_THAT(text, Catch::Contains("12.3 ms") && Catch::Contains("no TDP is known") &&
                         Catch::Contains("other 101 MB") && !Catch::Contains("kv_cache") &&
                         !Catch::Contains("a source"));
  }
  const auto verbose = render(sample(), {.verbosity = Verbosity::verbose});
  CHECK_THAT(verbose, Catch::Contains("reserve 100 MB") && Catch::Contains("a source"));
}

TEST_CASE("the verdict on a burst without answers has no price of a token", "[report]") {
  auto e = sample();
  for (const auto* time : {"ttft", "request_latency"})
    e.performance.metrics.push_back({time, 0.7, dim::time::exps, "ms", time});
  e.macro = {"macro",
             EvaluationLevel::Status::pass,
             "cheap",
             {{"cost_per_token", 1e-6, Exponents{.token = -1, .money = 1}, "USD/Mtoken", "cost of a token"}}};
  CHECK_THAT(verdict_of(e), Catch::Contains("700 ms") && Catch::Contains("12.3 ms") && !Catch::Contains("$"));
  e.performance.metrics.back().value = 0.9;  // with answers
  CHECK_THAT(verdict_of(e), Catch::Contains("700 ms") && Catch::Contains("$1"));
}

TEST_CASE("ranges stand beside their numbers", "[report]") {
  const NumberInterval itl{
      .result = "itl", .exps = dim::time::exps, .value = 0.0123, .lower = 0.010, .upper = 0.020};
  CHECK_THAT(brief_card(sample(), {}, {}, std::span(&itl, 1)), Catch::Contains("10 to 20 ms"));
}

TEST_CASE("JSON has flat keys in documented units and levels in base units", "[report]") {
  const auto text = render(sample(), {.format = OutputFormat::json});
  for (const auto* part : {"\"f_memory_used_gb\": 30.0", "\"p_itl\": 12.3456789012345",
                           "\"p_bottleneck\": \"memory\"", "\"m_status\": \"SKIPPED\"",
                           "\"value\": 0.0123456789012345", "\"unit\": \"s\"", "\"status\": \"ok\""})
    CHECK_THAT(text, Catch::Contains(part));
  CHECK(flat_key("macro", "tco") == "m_tco_usd");
  CHECK(flat_key("performance", "ttft") == "p_ttft");
}

TEST_CASE("what does not fit shows the remedies", "[report]") {
  auto e = sample();
  e.feasibility.status = EvaluationLevel::Status::fail;
  CHECK(render(e, {}).starts_with("DOES NOT FIT"));
  e.remedies = {{"precision fp8", "needs 15 GB of 80 GB"},
                {"2 accelerators (now 1) with tp_size 2", "less"},
                {"batch_size 4 instead of 16", "less"},
                {"recomputation full and zero_stage 3", "less"}};
  CHECK_THAT(render(e, {}), Catch::Contains("--precision fp8  (needs 15 GB of 80 GB)") &&
                                Catch::Contains("--accelerators 2 --tp-size 2  (") &&
                                Catch::Contains("--batch-size 4  (") &&
                                Catch::Contains("--recomputation full --zero-stage 3  ("));
  CHECK_THAT(render(e, {.format = OutputFormat::json}),
             Catch::Contains("\"status\": \"infeasible\"") && Catch::Contains("precision fp8"));
  CHECK_THAT(render(e, {.format = OutputFormat::markdown}), Catch::Contains("- precision fp8"));
}

TEST_CASE("assertions are shown with bound and finding", "[report]") {
  const AssertionResult failed{.metric = "performance.itl",
                               .bound = AssertionResult::Bound::max,
                               .limit = "10 ms",
                               .found = "12.35 ms"};
  const std::vector all{failed};
  CHECK_THAT(render(sample(), {}, all),
             Catch::Contains("MISSED") && Catch::Contains("performance.itl <= 10 ms, found 12.35 ms"));
  CHECK_THAT(render(sample(), {.format = OutputFormat::json}, all),
             Catch::Contains("\"status\": \"sla_failed\""));
  CHECK_THAT(render(sample(), {.format = OutputFormat::csv}, all),
             Catch::Contains("assertion,performance.itl <= 10 ms,FAIL"));
}
