// A backend with two memories: a plan with the bytes of each link where the weights do not fit into the fast
// one.

#include "plugin_support.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "support/catch.hpp"

#include <algorithm>

using namespace mlsysim;
using namespace mlsysim::plugin;

namespace {

const std::string kHybrid = kBuild + "/plugins/acme_hybrid/mlsysim-plugin-acme-hybrid.so";

Run streamed(const Workload& workload, const HardwareNode& device, double batch = 1) {
  PipelineBuilder b;
  b.registry(ResolverRegistry::standard())
      .stage("acme_hybrid/StreamedDecode")
      .given("workload")
      .given("hardware")
      .given("batch_size");
  return b.build().run({{"workload", &workload}, {"hardware", &device}, {"batch_size", batch}});
}

}  // namespace

TEST_CASE("what is larger than the fast memory gives a plan with bytes per link", "[plugin]") {
  PluginHost host(closed({kHybrid}));
  const auto report = host.load_all();
  if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
  CHECK(host.has_feature("acme-hybrid", "offload"));
  const auto& device = standard_zoo().at<HardwareNode>("Acme_Hybrid1");
  const double fast = 16.0 * (1ULL << 30), link = 100e9, memory = 1e12;

  // 16.06 GB of weights: they fit, nothing crosses.
  const auto& small = standard_zoo().at<Workload>("Llama3_8B");
  auto run = streamed(small, device);
  CHECK(number(run, "link_traffic") == 0);
  CHECK_THAT(number(run, "step_time"), WithinRel(8.03e9 * 2 / memory, 1e-12));

  // 141 GB: the rest streams, and the link sets the pace exactly.
  const auto& large = standard_zoo().at<Workload>("Llama3_70B");
  const double bytes = large.size(Precision::bf16).base();
  run = streamed(large, device);
  CHECK_THAT(number(run, "weights_resident"), WithinRel(fast, 1e-12));
  CHECK_THAT(number(run, "link_traffic"), WithinRel(bytes - fast, 1e-12));
  CHECK_THAT(number(run, "step_time"), WithinRel((bytes - fast) / link, 1e-12));
  // Never below what the link needs, whatever else is slow: here arithmetic.
  run = streamed(large, device, 4096);
  CHECK(number(run, "step_time") > number(run, "link_time"));
  CHECK_THAT(number(run, "link_time"), WithinRel((bytes - fast) / link, 1e-12));

  // Real figures: GH200 reads 96 GiB of HBM and fetches the rest over NVLink-C2C.
  run = streamed(large, standard_zoo().at<HardwareNode>("GH200"));
  CHECK_THAT(number(run, "link_traffic"), WithinRel(bytes - 96.0 * (1ULL << 30), 1e-12));
  CHECK_THAT(number(run, "step_time"),
             WithinRel(std::max((bytes - 96.0 * (1ULL << 30)) / 450e9, bytes / 4e12), 1e-12));
}

TEST_CASE("what is larger than both memories is infeasible, with the bytes", "[plugin]") {
  PluginHost host(closed({kHybrid}));
  REQUIRE(host.load_all().failed.empty());
  const auto& huge = standard_zoo().at<Workload>("Llama3_405B");
  PipelineBuilder b;
  b.registry(ResolverRegistry::standard())
      .stage("acme_hybrid/StreamedDecode", "s")
      .given("workload")
      .given("hardware");
  const auto run =
      b.build().run({{"workload", &huge}, {"hardware", &standard_zoo().at<HardwareNode>("Acme_Hybrid1")}});
  REQUIRE(run["s"].why() != nullptr);
  CHECK_THAT(run["s"].why()->reason, ContainsSubstring("both memories have"));
}

TEST_CASE("resolvers of plugins stand in the scorecard beside the three levels", "[plugin]") {
  PluginHost host(closed({kHybrid, kHello}));
  REQUIRE(host.load_all().failed.empty());
  Scenario s;
  s.workload = &standard_zoo().at<Workload>("Llama3_8B");
  s.hardware = &standard_zoo().at<HardwareNode>("Acme_Hybrid1");
  s.batch_size = 2;
  CHECK(SystemEvaluator::evaluate(s).further.empty());
  s.also = "StreamedDecode, hello/DecodeFloor";
  const auto card = SystemEvaluator::evaluate(s);
  REQUIRE(card.further.size() == 2);
  CHECK(card.further[0].level_name == "acme_hybrid/StreamedDecode");
  CHECK(card.further[0].status == EvaluationLevel::Status::pass);
  const auto* step = card.find("acme_hybrid/StreamedDecode.step_time");
  REQUIRE(step != nullptr);
  CHECK_THAT(step->number(), WithinRel(8.03e9 * 2 / 1e12 * 1e3, 1e-12));  // in ms
  // One that asks for more than a scenario says is left out with the reason, and costs the others nothing.
  CHECK(card.further[1].status == EvaluationLevel::Status::skipped);
  CHECK_THAT(card.further[1].summary, ContainsSubstring("weights"));
  // The three levels know the first memory alone, which is too small; the plugin's answer stands beside
  // theirs.
  CHECK(card.feasibility.status == EvaluationLevel::Status::fail);
  s.also = "StreamedDecod";
  CHECK_THROWS_AS(SystemEvaluator::evaluate(s), LookupError);
  s.also = "StreamedDecode";
  s.workload = &standard_zoo().at<Workload>("Llama3_405B");
  CHECK(SystemEvaluator::evaluate(s).further[0].status == EvaluationLevel::Status::fail);
}
