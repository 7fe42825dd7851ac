// The three-level scorecard, remedies and derivations.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using Catch::Matchers::WithinRel;

namespace {

Scenario serving_70b() {
  return {.workload = &model("Llama3_70B"),
          .hardware = &device("H100"),
          .batch_size = 16,
          .load = Load::burst,
          .output_tokens = 512,
          .precision = Precision::bf16,
          .accelerators = 8};
}

double number(const SystemEvaluation& e, const char* path) {
  const Metric* m = e.find(path);
  REQUIRE(m != nullptr);
  return m->number();
}

}  // namespace

TEST_CASE("Llama-3.1-70B on eight H100: fits, and is bound by memory while decoding", "[engine]") {
  const auto e = SystemEvaluator::evaluate(serving_70b());
  CHECK(e.passed_all());
  CHECK(e.mode == "serve");
  CHECK(e.fidelity == "operator");
  // A decode step reads 141 GB / 8 of weights at 0.887 * 3.35 TB/s: nothing is faster than that.
  const double floor_ms = 141.1e9 / 8 / (0.887 * 3.35e12) * 1e3;
  CHECK(number(e, "performance.itl") > floor_ms);
  CHECK(number(e, "performance.itl") < 2 * floor_ms);
  CHECK(e.find("performance.bottleneck")->text() == "memory");
  CHECK(e.find("performance.prefill_bottleneck")->text() == "compute");
  double parts = 0;
  for (const auto& m : e.memory) parts += m.number();
  CHECK_THAT(parts, WithinRel(number(e, "feasibility.memory_used"), 1e-12));
}

TEST_CASE("halving the bytes of a weight nearly halves the decode step", "[engine]") {
  auto s = serving_70b();
  const double bf16 = number(SystemEvaluator::evaluate(s), "performance.itl");
  s.precision = Precision::fp8;
  const double fp8 = number(SystemEvaluator::evaluate(s), "performance.itl");
  CHECK(fp8 < 0.75 * bf16);
  CHECK(fp8 > 0.5 * bf16);
}

TEST_CASE("a model that does not fit comes with changes that do", "[engine]") {
  Scenario s{.workload = &model("Llama3_70B"), .hardware = &device("H100"), .batch_size = 4};
  const auto e = SystemEvaluator::evaluate(s);
  CHECK_FALSE(e.passed_all());
  CHECK(e.feasibility.status == EvaluationLevel::Status::fail);
  CHECK(number(e, "feasibility.memory_shortfall") > 55);
  REQUIRE(e.remedies.size() >= 2);
  CHECK_THAT(e.remedies[0].change, Catch::Contains("fp8"));
  CHECK_THAT(e.remedies[1].change, Catch::Contains("2 accelerators"));
  // Each remedy is true.
  s.precision = Precision::fp8;
  CHECK(SystemEvaluator::evaluate(s).passed_all());
  s.precision.reset();
  s.accelerators = 2;
  CHECK(SystemEvaluator::evaluate(s).passed_all());
}

TEST_CASE("the largest batch that fits is offered, and one more does not fit", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"),
             .hardware = &device("H100"),
             .batch_size = 100000,
             .load = Load::burst,
             .seq_len = 8192};
  const auto e = SystemEvaluator::evaluate(s);
  REQUIRE_FALSE(e.remedies.empty());
  CHECK_THAT(e.remedies[0].change, Catch::StartsWith("batch_size "));
  const double batch = std::stod(e.remedies[0].change.substr(11));
  s.batch_size = batch;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
  s.batch_size = batch + 1;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::fail);
}

TEST_CASE("a larger share of the memory is offered where it is enough", "[engine]") {
  Scenario s{.workload = &model("Llama3_70B"), .hardware = &device("H100"), .mode = Mode::serve};
  s.accelerators = 2;
  s.engine = &standard_zoo().at<ServingEngine>("vllm");
  s.memory_fraction = 0.83;
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(e.feasibility.status == EvaluationLevel::Status::fail);
  const auto larger = std::find_if(e.remedies.begin(), e.remedies.end(),
                                   [](const Remedy& r) { return r.change.starts_with("memory_fraction "); });
  REQUIRE(larger != e.remedies.end());
  s.memory_fraction = std::stod(larger->change.substr(16));
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
  s.memory_fraction = *s.memory_fraction - 0.01;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::fail);
}

TEST_CASE("training that fits on no share of its devices is offered adapters and the host", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"), .hardware = &device("H100"), .mode = Mode::train};
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(e.feasibility.status == EvaluationLevel::Status::fail);
  for (const auto* change : {"offload_states 1", "lora_rank 16"})
    CHECK(std::any_of(e.remedies.begin(), e.remedies.end(),
                      [&](const Remedy& r) { return r.change == change; }));
  s.lora_rank = 16;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
}

TEST_CASE("a prompt in chunks is offered where one as a whole does not fit", "[engine]") {
  Scenario s{.workload = &model("Llama3_70B"),
             .hardware = &device("H100"),
             .batch_size = 1,
             .load = Load::burst,
             .seq_len = 400000};
  s.accelerators = 8;
  s.precision = Precision::bf16;
  s.mode = Mode::serve;
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(e.feasibility.status == EvaluationLevel::Status::fail);
  CHECK(std::any_of(e.remedies.begin(), e.remedies.end(),
                    [](const Remedy& r) { return r.change == "prefill_chunk_tokens 8192"; }));
  s.prefill_chunk_tokens = 8192;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
  s.prefill_chunk_tokens.reset();
  s.chunked_prefill = false;
  const auto whole = SystemEvaluator::evaluate(s);
  CHECK(std::any_of(whole.remedies.begin(), whole.remedies.end(),
                    [](const Remedy& r) { return r.change == "chunked_prefill true"; }));
}

TEST_CASE("training Llama-3.1-8B on 32 DGX H100 nodes", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"),
             .fleet = &standard_zoo().at<Fleet>("Research_256"),
             .mode = Mode::train,
             .batch_size = 1024,
             .seq_len = 4096,
             .zero_stage = 1};
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(e.passed_all());
  const double mfu = number(e, "performance.mfu");
  CHECK(mfu > 0.3);
  CHECK(mfu < 0.65);
  // MFU, step time and tokens are one equation: 3 times the forward work over peak, devices and time.
  CHECK_THAT(number(e, "performance.token_throughput") * number(e, "performance.step_latency") / 1e3,
             WithinRel(1024.0 * 4096, 1e-9));
  s.zero_stage = 0;
  CHECK_FALSE(SystemEvaluator::evaluate(s).passed_all());
}

TEST_CASE("the region changes the carbon and nothing else", "[engine]") {
  auto s = serving_70b();
  const auto us = SystemEvaluator::evaluate(s);
  s.grid = &standard_zoo().at<GridProfile>("Quebec");
  const auto quebec = SystemEvaluator::evaluate(s);
  CHECK(number(quebec, "macro.carbon_footprint") < 0.3 * number(us, "macro.carbon_footprint"));
  CHECK(number(quebec, "macro.tco") == number(us, "macro.tco"));
  CHECK(quebec.find("macro.region")->text() == "Quebec");
}

TEST_CASE("contradictions are refused with what to do", "[engine]") {
  auto s = serving_70b();
  s.accelerators = 12;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("contradict"));
  s = serving_70b();
  s.batch_size = 0;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("batch_size") && Catch::Contains("from 1"));
  s = serving_70b();
  s.workload = &model("ResNet50");
  s.mode = Mode::serve;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("does not generate tokens"));
  s = serving_70b();
  s.tp_size = 3;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("divides"));
}

TEST_CASE("every default that was used is listed once", "[engine]") {
  const auto e = SystemEvaluator::evaluate(serving_70b());
  const auto has = [&](const char* name) {
    int n = 0;
    for (const auto& a : e.assumptions) n += a.name == name ? 1 : 0;
    return n;
  };
  for (const char* name :
       {"mode", "tp_size", "seq_len", "memory_fragmentation", "memory_reserve", "grid", "pue", "kwh_price"}) {
    INFO(name);
    CHECK(has(name) == 1);
  }
  CHECK(has("batch_size") == 0);  // was given
}

TEST_CASE("a derivation names the largest term, its law and its figures", "[engine]") {
  const std::string text = explain(serving_70b(), "itl");
  for (const char* part : {"ffn_up", "MatmulTime", "osama2023streamk", "H100.memory.bandwidth", "3.35 TB/s",
                           "assumptions", "zoo/defaults.yaml"}) {
    INFO(part);
    CHECK_THAT(text, Catch::Contains(part));
  }
  CHECK_THROWS_WITH(explain(serving_70b(), "itll"), Catch::Contains("did you mean 'itl'?"));
  const auto rows = operator_table(serving_70b(), "itl");
  REQUIRE_FALSE(rows.empty());
  double share = 0;
  for (const auto& row : rows) share += row.share;
  CHECK_THAT(share, WithinRel(1.0, 1e-9));
}

TEST_CASE("a resolver that is asked for besides is a level of its own", "[engine]") {
  auto s = serving_70b();
  s.also = "SustainabilityModel, SingleNodeModel";
  const auto e = SystemEvaluator::evaluate(s);
  REQUIRE(e.further.size() == 2);
  CHECK(e.further[0].level_name == "SustainabilityModel");
  CHECK(e.further[0].status == EvaluationLevel::Status::pass);
  CHECK(number(e, "SustainabilityModel.carbon_footprint") > 0);
  CHECK(e.levels().size() == 5);
  // The three levels are what they are without it.
  s.also.reset();
  const auto plain = SystemEvaluator::evaluate(s);
  CHECK(plain.further.empty());
  CHECK(number(e, "performance.itl") == number(plain, "performance.itl"));
  CHECK(number(e, "macro.tco") == number(plain, "macro.tco"));
  s.also = "SustainabilityModl";
  CHECK_THROWS_AS(SystemEvaluator::evaluate(s), LookupError);
}

TEST_CASE("failures are a line of the training scorecard", "[engine]") {
  Scenario s{.workload = &model("Llama3_8B"),
             .fleet = &standard_zoo().at<Fleet>("Research_256"),
             .mode = Mode::train,
             .batch_size = 1024};
  const auto e = SystemEvaluator::evaluate(s);
  // Any of 256 devices stops the job, each once in 50,700 h from any cause: once in 198.05 h. A checkpoint of
  // 60 s every 2 M r (1 - r (2/3 - r/9)) with r = sqrt(60 / 2 M) = 0.006487, M = 712,969 s: 9,210 s. Of the
  // time stays T / (M e^(300/M) (e^((T+60)/M) - 1)) = 0.986667.
  CHECK_THAT(number(e, "performance.fleet_mtbf"), WithinRel(50700.0 / 256, 1e-6));
  CHECK_THAT(number(e, "performance.goodput_ratio"), WithinRel(0.986667, 1e-6));
  // More devices fail more often, and the resolver of failures says the same.
  s.fleet = &standard_zoo().at<Fleet>("Meta_Llama3_16K");
  s.batch_size = 16384;
  const auto large = SystemEvaluator::evaluate(s);
  CHECK(number(large, "performance.fleet_mtbf") < 4);
  const auto asked = ReliabilityModel{}.solve({.fleet = s.fleet, .job_duration = 1.0 * unit::h});
  CHECK_THAT(number(large, "performance.fleet_mtbf"), WithinRel(asked.fleet_mtbf.in(unit::h), 1e-12));
  CHECK_THAT(number(large, "performance.goodput_ratio"), WithinRel(asked.goodput_ratio, 1e-12));
  CHECK(SystemEvaluator::evaluate(serving_70b()).find("performance.goodput_ratio") == nullptr);
}

TEST_CASE("an encoder that is served is one pass", "[engine]") {
  Scenario s{.workload = &model("BERT_Base"), .hardware = &device("H100"), .batch_size = 8, .seq_len = 128};
  const auto pass = SystemEvaluator::evaluate(s);
  s.mode = Mode::serve;
  const auto served = SystemEvaluator::evaluate(s);
  CHECK(served.mode == "infer");
  CHECK(number(served, "performance.latency") == number(pass, "performance.latency"));
  CHECK(served.warnings.size() == pass.warnings.size() + 1);
}

TEST_CASE("gradients follow the states that the host updates", "[engine]") {
  Scenario s{.workload = &model("Llama2_13B"),
             .hardware = &device("V100"),
             .mode = Mode::train,
             .batch_size = 1,
             .seq_len = 1024,
             .precision = Precision::fp16,
             .recomputation = Recomputation::full,
             .offload_states = 1};
  CHECK_FALSE(SystemEvaluator::evaluate(s).passed_all());
  s.offload_gradients = 1;
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(e.feasibility.status == EvaluationLevel::Status::pass);
  CHECK(
      std::none_of(e.memory.begin(), e.memory.end(), [](const Metric& m) { return m.name == "gradients"; }));
  // Two moments, a master copy and a gradient, all in fp32.
  const double weights = parameter_count(*s.workload).base();
  CHECK_THAT(number(e, "feasibility.host_memory_used"), WithinRel(16 * weights / 1e9, 1e-3));
  s.host_memory = 128.0 * unit::GB;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::fail);
  s.host_memory = 256.0 * unit::GB;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
  s.offload_states = 0.5;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("mlsysim.catalogue.160"));
}

TEST_CASE("what a served model leaves in host memory is computed there, or crosses the link", "[engine]") {
  Scenario s{
      .workload = &model("Llama3_8B"), .hardware = &device("A100"), .seq_len = 512, .output_tokens = 64};
  const double whole = number(SystemEvaluator::evaluate(s), "performance.itl");
  s.offload_weights = 0.25;
  s.engine = &standard_zoo().at<ServingEngine>("vllm");
  const auto link = SystemEvaluator::evaluate(s);
  // A quarter of 16 GB comes over a link of 32 GB/s for each token.
  const double fetched = 0.25 * parameter_count(*s.workload).base() * 2 / 32e9 * 1e3;
  CHECK(number(link, "performance.itl") > fetched);
  CHECK(number(link, "performance.itl") < fetched + 1.1 * whole);
  s.engine = &standard_zoo().at<ServingEngine>("llama_cpp");
  const auto of = [&](double bandwidth) {
    s.host_memory_bandwidth = bandwidth * (unit::GB / unit::s);
    return number(SystemEvaluator::evaluate(s), "performance.itl");
  };
  // What the host takes is its share of the layers over its bandwidth: halving it doubles that part alone.
  const double slow = of(100), fast = of(200), faster = of(400);
  CHECK_THAT(slow - fast, WithinRel(2 * (fast - faster), 1e-6));
  CHECK(faster < number(link, "performance.itl"));
  // Stages work one after another: the host reads its layers as fast for each of two as for one.
  Scenario stages = s;
  stages.pp_size = 2;
  stages.accelerators = 2;
  CHECK_THAT(number(SystemEvaluator::evaluate(stages), "performance.itl"), WithinRel(faster, 0.05));
  const auto held = [&](double share) {
    s.offload_weights = share;
    const auto e = SystemEvaluator::evaluate(s);
    return number(e, "feasibility.memory_used");
  };
  CHECK(held(0.5) < held(0.25));
}

TEST_CASE("a machine has one answer whatever its words", "[engine]") {
  const auto itl = [](const std::vector<std::pair<const char*, const char*>>& words) {
    ScenarioBuilder builder(standard_zoo());
    builder.set("workload", "Llama3_70B").set("batch_size", "512").set("tp_size", "32");
    for (const auto& [field, text] : words) builder.set(field, text);
    const auto built = builder.build();
    return number(SystemEvaluator::evaluate(built.scenario), "performance.itl");
  };
  const double pod = itl({{"hardware", "TPUv5e_256"}});
  CHECK(itl({{"hardware", "TPUv5e_host"}, {"accelerators", "256"}}) == pod);
  CHECK(itl({{"hardware", "TPUv5e_host"}, {"node_count", "32"}}) == pod);
  CHECK(itl({{"hardware", "TPUv5e"}, {"accelerators", "256"}}) == pod);
  // A part of it has the torus's links as well, and what is larger several of them.
  const double part = itl({{"hardware", "TPUv5e_256"}, {"accelerators", "64"}});
  CHECK(itl({{"hardware", "TPUv5e_host"}, {"accelerators", "64"}}) == part);
  CHECK(itl({{"hardware", "TPUv5e"}, {"accelerators", "64"}}) == part);
  const double two = itl({{"hardware", "TPUv5e_256"}, {"node_count", "2"}});
  CHECK(itl({{"hardware", "TPUv5e_host"}, {"accelerators", "512"}}) == two);
  CHECK(itl({{"hardware", "TPUv5e"}, {"accelerators", "512"}}) == two);
}

TEST_CASE("a node without peer access is slower the more of its switches and sockets are crossed",
          "[engine]") {
  const auto itl = [](const char* machine, const char* ranks) {
    ScenarioBuilder builder(standard_zoo());
    builder.set("workload", "Llama3_8B")
        .set("hardware", machine)
        .set("tp_size", ranks)
        .set("batch_size", "64");
    return number(SystemEvaluator::evaluate(builder.build().scenario), "performance.itl");
  };
  CHECK(itl("L40S_8GPU_no_peer_access", "8") > itl("L40S_8GPU", "8"));
  CHECK(itl("L40S_8GPU_no_peer_access", "8") > itl("L40S_8GPU_no_peer_access", "4"));
}
