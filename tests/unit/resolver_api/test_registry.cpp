#include "samples.hpp"

#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::literals;
using namespace sample;

TEST_CASE("a registry knows its resolvers by name and tier", "[resolve]") {
  ResolverRegistry registry;
  registry.add<RequiredBandwidthSolver>();
  registry.add<CheapestHardwareOptimizer>();
  registry.add<OffloadModel>();
  registry.add<FitModel>();
  CHECK(registry.names() == std::vector<std::string>{"RequiredBandwidthSolver", "CheapestHardwareOptimizer",
                                                     "OffloadModel", "FitModel"});
  CHECK(registry.names(Tier::model) == std::vector<std::string>{"OffloadModel", "FitModel"});
  CHECK(registry.at("FitModel").info().tier == Tier::model);
  CHECK(registry.find("Nobody") == nullptr);
  CHECK_THROWS_WITH(registry.at("RequiredBandwithSolver"),
                    ContainsSubstring("did you mean 'RequiredBandwidthSolver'?"));
  CHECK_THROWS_WITH(registry.add<FitModel>(), ContainsSubstring("there is already a resolver 'FitModel'"));
  CHECK(registry.size() == 4);
  CHECK(registry.producers_of("memory_utilization") == std::vector<std::string>{"FitModel"});
  CHECK(registry.producers_of("required_bw").empty());  // private to its struct
  REQUIRE(registry.key_field("target_latency") != nullptr);
  CHECK(registry.key_field("target_latency")->unit == "ms");
}

TEST_CASE("info comes from the static members", "[resolve]") {
  const auto info = info_of<RequiredBandwidthSolver>();
  CHECK(info.tier == Tier::solver);
  CHECK(info.walls == std::vector<int>{3});
  CHECK_FALSE(info.about.empty());
  REQUIRE(info.fallacies.size() == 1);
  CHECK(info.fallacies[0].correction == "a decoder waits for memory");
  CHECK_FALSE(info.thread_safe);               // never assumed ...
  CHECK(info_of<OffloadModel>().thread_safe);  // ... but a law is pure
}

TEST_CASE("a law brings its tools at registration", "[resolve]") {
  ResolverRegistry registry;
  const auto* law = registry.add<OffloadModel>().law();
  REQUIRE(law != nullptr);
  REQUIRE(law->is_law());
  CHECK(law->tape().results() == law->results.size());
  const auto out = (*law)(std::vector<double>{100e9, 80e9, 1e12, 50e9});
  CHECK_THAT(out[1], WithinRel(0.4, 1e-12));
  CHECK(registry.add<FitModel>().law() == nullptr);
}

TEST_CASE("an erased resolver runs on records", "[resolve]") {
  const auto erased = make_resolver(RequiredBandwidthSolver{});
  Workload llama;
  llama.name = "llama8b";
  llama.parameters = 8.03_Gparam;
  Record in(*erased, Side::inputs);
  in.set("workload", &llama);
  CHECK_THROWS_WITH(evaluate(*erased, in),
                    ContainsSubstring("input 'target_latency' of RequiredBandwidthSolver is missing"));
  in.set("target_latency", AnyQuantity::parse("10 ms"));
  const auto answer = evaluate(*erased, in);
  REQUIRE(answer.outcome.feasible());
  const auto bw = answer.outcome->get("required_bw");
  CHECK_THAT(std::get<double>(bw.value), WithinRel(1.606e12, 1e-12));
  CHECK(bw.exps == dim::bandwidth::exps);
  CHECK(answer.report.verification.passed());
  CHECK_THROWS_WITH(in.set("target_latncy", 1), ContainsSubstring("did you mean 'target_latency'?"));
  CHECK_THROWS_WITH(in.set("target_latency", 10),
                    ContainsSubstring("the bare number 10") && ContainsSubstring("time [s]"));
  CHECK_THROWS_AS(in.set("target_latency", -1 * unit::ms), DomainError);
  CHECK_THROWS_AS(in.set("workload", 3), InputError);
  HardwareNode hardware;
  CHECK_THROWS_WITH(in.set("workload", &hardware),
                    ContainsSubstring("a hardware") && ContainsSubstring("a workload"));
}

TEST_CASE("defaults and infeasible answers of erased resolvers", "[resolve]") {
  const auto erased = make_resolver(FitModel{});
  Record in(*erased, Side::inputs);
  in.set("weights", 90_GB).set("capacity", 80_GB);
  const auto answer = evaluate(*erased, in);
  CHECK_FALSE(answer.outcome.feasible());
  CHECK(answer.outcome.why()->reason == "weights do not fit");
  REQUIRE_FALSE(answer.report.assumptions().empty());
  CHECK(answer.report.assumptions()[0].name == "batch_size");
  // A value equal to the default still counts as supplied.
  in.set("batch_size", 1).set("weights", 8_GB);
  const auto fits = evaluate(*erased, in);
  CHECK(fits.report.assumptions().size() == 1);
  CHECK_THAT(std::get<double>(fits.outcome->get("memory_utilization").value), WithinRel(0.1, 1e-12));
}
