#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <cmath>

using namespace mlsysim;

namespace {

Scenario scenario(const char* model, Mode mode, double devices = 8) {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>(model);
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = devices;
  s.mode = mode;
  s.batch_size = 16;
  return s;
}

bool calls(const Explanation& e, std::string_view law) {
  return std::any_of(e.derivation.records.begin(), e.derivation.records.end(),
                     [&](const auto& r) { return r.law->id == law; });
}
bool hands_in(const Explanation& e, std::string_view words) {
  return std::any_of(e.handed_in.begin(), e.handed_in.end(),
                     [&](const auto& line) { return line.find(words) != std::string::npos; });
}

/// The value of an operation again, from its operands.
double again(const Derivation& d, std::size_t n) {
  const auto& node = d.nodes[n];
  const auto v = [&](std::size_t i) { return d.nodes[node.operands[i]].value; };
  if (node.op == "add") return v(0) + v(1);
  if (node.op == "subtract") return v(0) - v(1);
  if (node.op == "multiply") return v(0) * v(1);
  if (node.op == "divide") return v(0) / v(1);
  if (node.op == "min") return std::min(v(0), v(1));
  if (node.op == "max") return std::max(v(0), v(1));
  if (node.op == "ceil") return std::ceil(v(0));
  if (node.op == "floor") return std::floor(v(0));
  return node.value;
}

/// Every number of the scorecard is derived, to the number of the scorecard, and every operation that is kept
/// is right.
void derives_the_scorecard(const Scenario& s) {
  const auto card = SystemEvaluator::evaluate(s);
  for (const auto* level : card.levels())
    for (const auto& m : level->metrics) {
      if (!std::holds_alternative<double>(m.value)) continue;
      INFO(level->level_name << "." << m.name);
      const auto e = explanation(s, level->level_name + "." + m.name);
      CHECK(e.value == Approx(std::get<double>(m.value)).epsilon(1e-9));
      REQUIRE(!e.derivation.records.empty());
      CHECK(e.derivation.records.front().results.front().value == Approx(e.value));
      for (std::size_t n = 0; n < e.derivation.nodes.size(); ++n)
        CHECK(again(e.derivation, n) == Approx(e.derivation.nodes[n].value));
    }
}

}  // namespace

TEST_CASE("the rate of textbook serving is derived, not handed in", "[explore][explain]") {
  auto s = scenario("Llama3_8B", Mode::serve);
  s.fidelity = Fidelity::textbook;
  s.tp_size = 1;
  s.batch_size = 9;  // does not divide into the eight replicas
  s.output_tokens = 64;
  CHECK_FALSE(hands_in(explanation(s, "token_throughput"), "token_throughput"));
}

TEST_CASE("every number of a scorecard is derived", "[explore][explain]") {
  derives_the_scorecard(scenario("Llama3_70B", Mode::serve));
  derives_the_scorecard(scenario("Llama3_8B", Mode::train));
  derives_the_scorecard(scenario("Llama3_8B", Mode::infer, 1));
  derives_the_scorecard(scenario("ResNet50", Mode::infer, 1));
  auto unknown_power = scenario("Llama3_8B", Mode::serve, 1);
  unknown_power.hardware = &standard_zoo().at<HardwareNode>("Graphcore_GC200");
  REQUIRE_FALSE(unknown_power.hardware->power.tdp);
  derives_the_scorecard(unknown_power);
  auto textbook = scenario("Llama3_70B", Mode::serve);
  textbook.fidelity = Fidelity::textbook;
  textbook.output_tokens = 100;
  derives_the_scorecard(textbook);
  textbook = scenario("Llama3_8B", Mode::train);
  textbook.fidelity = Fidelity::textbook;
  derives_the_scorecard(textbook);
}

TEST_CASE("a cost is derived through the laws of the books down to the operators", "[explore][explain]") {
  const auto e = explanation(scenario("Llama3_70B", Mode::serve), "cost_per_token");
  for (const char* law :
       {"CostPerToken", "TotalCost", "FacilityEnergy", "EnergyProportional", "MatmulTime", "AttentionTime"}) {
    INFO(law);
    CHECK(calls(e, law));
  }
  CHECK(hands_in(e, "hardware.*"));
  // What it does not hang on is not there.
  const auto& inputs = e.derivation.records.front().inputs;
  const auto named = [&](std::string_view name) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const auto& v) { return v.name == name; });
  };
  CHECK(named("batch_size"));
  CHECK(named("kwh_price"));
  CHECK_FALSE(named("facility.carbon_intensity"));
  CHECK_FALSE(calls(e, "CarbonFootprint"));
  CHECK(calls(explanation(scenario("Llama3_70B", Mode::serve), "carbon_footprint"), "CarbonFootprint"));
}

TEST_CASE("books at textbook fidelity are derived down to the rules of thumb", "[explore][explain]") {
  auto s = scenario("Llama3_70B", Mode::serve);
  s.fidelity = Fidelity::textbook;
  const auto e = explanation(s, "tco");
  CHECK(calls(e, "TotalCost"));
  CHECK(calls(e, "TextbookDecode"));
  CHECK_FALSE(hands_in(e, "utilization"));
  CHECK(calls(explanation(s, "itl"), "TextbookDecode"));
  CHECK_FALSE(hands_in(explanation(s, "memory_used"), "memory_used"));
}

TEST_CASE("a law is derived operation by operation, a resolver as far as it states itself",
          "[explore][explain]") {
  const auto explain_resolver = [](const char* name,
                                   std::initializer_list<std::pair<const char*, const char*>> given,
                                   const char* result) {
    auto resolver = ResolverRegistry::standard().share(name);
    Record in(*resolver, Side::inputs);
    for (const auto& [key, text] : given) in.set(key, DynamicValue(AnyQuantity::parse(text)));
    return explanation(subject_of(resolver, in.data()), result);
  };
  const auto law = explain_resolver(
      "RingAllReduce", {{"message", "1 GB"}, {"ranks", "8"}, {"bandwidth", "400 GB/s"}, {"alpha", "5 us"}},
      "time");
  REQUIRE(law.derivation.records.size() == 1);
  CHECK(law.derivation.nodes.size() > 5);
  CHECK(law.handed_in.empty());
  const auto code = explain_resolver(
      "TailLatencyModel", {{"arrival_rate", "10 request/s"}, {"service_latency", "50 ms"}}, "p99_latency");
  CHECK(code.derivation.nodes.empty());
  CHECK(code.value > 0);
  CHECK(hands_in(code, "no law"));
}

TEST_CASE("a resolver whose numbers are those of a law is derived through it", "[explore][explain]") {
  const Zoo& zoo = standard_zoo();
  const auto h100 = [&] { return DynamicValue(&zoo.at<HardwareNode>("H100")); };
  const auto llama = [&] { return DynamicValue(&zoo.at<Workload>("Llama3_70B")); };
  using Given = std::vector<std::pair<const char*, DynamicValue>>;
  struct Case {
    const char* resolver;
    Given given;
    std::size_t derived;  ///< results that the law gives, at least
  };
  const Value yes(true);
  const Case cases[] = {
      {"ServingModel", {{"workload", llama()}, {"hardware", h100()}, {"tp_size", Value(8.0)}}, 20},
      // Prompts on devices of their own, in parts, with a draft model: no scenario asks that.
      {"ServingModel",
       {{"workload", llama()},
        {"hardware", h100()},
        {"decode_hardware", DynamicValue(&zoo.at<HardwareNode>("A100"))},
        {"tp_size", Value(8.0)},
        {"output_tokens", Value(100.0)},
        {"prefill_chunk_tokens", Value(512.0)},
        {"draft_model", DynamicValue(&zoo.at<Workload>("Llama3_8B"))}},
       20},
      {"DistributedModel",
       {{"workload", llama()},
        {"fleet", DynamicValue(&zoo.at<Fleet>("Research_256"))},
        {"batch_size", Value(256.0)},
        {"tp_size", Value(8.0)},
        {"pp_size", Value(2.0)}},
       30},
      {"SingleNodeModel", {{"workload", llama()}, {"hardware", h100()}, {"batch_size", Value(4.0)}}, 18},
      // What does not fit is fetched over the host link.
      {"SingleNodeModel",
       {{"workload", llama()},
        {"hardware", h100()},
        {"is_training", yes},
        {"batch_size", Value(4.0)},
        {"dp_size", Value(2.0)}},
       15},
  };
  for (const auto& c : cases) {
    const auto resolver = ResolverRegistry::standard().share(c.resolver);
    Record in(*resolver, Side::inputs);
    for (const auto& [name, value] : c.given) in.set(name, value);
    const auto subject = subject_of(resolver, in.data());
    const auto numbers = subject.entry(subject.point);
    std::size_t derived = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto& name = subject.entry.results[i].name;
      INFO(c.resolver << "." << name);
      const auto e = explanation(resolver, in.data(), name);
      if (hands_in(e, "no law")) continue;
      ++derived;
      CHECK(hands_in(e, "code around a law"));
      CHECK(e.derivation.records.front().law->id == std::string_view(c.resolver));
      CHECK(e.derivation.records.front().results.front().value == numbers[i]);
    }
    CHECK(derived >= c.derived);
  }
  Record in(*ResolverRegistry::standard().share("ServingModel"), Side::inputs);
  for (const auto& [name, value] : cases[0].given) in.set(name, value);
  const auto e = explanation(ResolverRegistry::standard().share("ServingModel"), in.data(), "itl");
  CHECK(calls(e, "MatmulTime"));
  CHECK_FALSE(e.assumptions.empty());
  const std::string wrong[] = {"MatmulTme"};
  CHECK_THROWS_WITH(explanation(ResolverRegistry::standard().share("ServingModel"), in.data(), "itl", wrong),
                    Catch::Contains("did you mean 'MatmulTime'?"));
}

TEST_CASE("numbers of a request go by the names of the scenario's table", "[explore][explain]") {
  for (const auto fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
    auto s = scenario("Llama3_8B", Mode::serve);
    s.fidelity = fidelity;
    s.load = Load::burst;
    auto t = scenario("Llama3_8B", Mode::train);
    t.fidelity = fidelity;
    for (const auto& text :
         {to_text(explanation(s, "itl").derivation), explain(s, "itl"),
          to_text(explanation(t, "step_latency").derivation), explain(t, "step_latency")}) {
      CHECK_THAT(text, !Catch::Contains("run."));
      CHECK_THAT(text, !Catch::Contains("serving."));
      CHECK_THAT(text, !Catch::Contains("training."));
      CHECK_THAT(text, !Catch::Contains("plan.overlap"));
    }
    CHECK_THAT(to_text(explanation(s, "itl").derivation), Catch::Contains("batch_size"));
  }
}

TEST_CASE("the terms of a number can be read when its workload is gone", "[explore][explain]") {
  const Zoo& zoo = standard_zoo();
  std::string now;
  Explanation later;
  {
    const Workload own = zoo.at<Workload>("ResNet50");
    Scenario s = scenario("ResNet50", Mode::infer, 1);
    s.workload = &own;
    now = explain(s, "latency");
    later = explanation(s, "latency");
  }
  CHECK(later.terms() == now);
}

TEST_CASE("a number that is not there is refused with near misses", "[explore][explain]") {
  CHECK_THROWS_WITH(explanation(scenario("Llama3_70B", Mode::serve), "cost_per_tokn"),
                    Catch::Contains("did you mean 'cost_per_token'?"));
  const std::string wrong[] = {"MatmulTme"}, right[] = {"MatmulTime"};
  CHECK_THROWS_WITH(explanation(scenario("Llama3_70B", Mode::serve), "itl", wrong),
                    Catch::Contains("did you mean 'MatmulTime'?"));
  CHECK(explanation(scenario("Llama3_70B", Mode::serve), "itl", right).derivation.nodes.size() >
        explanation(scenario("Llama3_70B", Mode::serve), "itl").derivation.nodes.size());
}

TEST_CASE("what eval answers is explained, whatever range a table expects of derived figures",
          "[explore][explain]") {
  const Zoo& zoo = standard_zoo();
  auto s = scenario("GPT2", Mode::serve, 1);
  s.hardware = &zoo.at<HardwareNode>("B200");
  s.seq_len = 100;
  s.precision = Precision::fp32;
  s.weight_format = WeightFormat::fp8;
  // Attention in the format of the cache runs 28 times as fast as at fp32.
  CHECK(explanation(s, "itl").value > 0);
  CHECK_FALSE(sensitivity(subject_of(s), "itl").levers.empty());
  s = scenario("Llama3_8B", Mode::train, 1);
  s.hardware = &zoo.at<HardwareNode>("B300");
  s.precision = Precision::int8;
  CHECK(explanation(s, "step_latency").value > 0);
  // A diffusion model is a pipeline of its own: it is explained as eval answers it.
  s = scenario("StableDiffusion_v1_5", Mode::infer, 1);
  s.fidelity = Fidelity::operator_level;
  CHECK(explanation(s, "latency").value ==
        std::get<double>(SystemEvaluator::evaluate(s).performance.find("latency")->value));
  // Stating a figure moves it among the inputs; its range stays its own. A launch takes microseconds.
  for (const auto& e : estimates_behind(s))
    if (e.input == "hardware.kernels.launch") CHECK(e.high < 20e-6);
}
