// What a number hangs on: elasticities, kinks, limits, words.

#include <support/catch.hpp>

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

using namespace mlsysim;

namespace {

Subject decode() {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>("Llama3_70B");
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = 8;
  return subject_of(s);
}

/// A resolver with a model and a device of the zoo, and more.
Subject resolver(const char* name, const std::vector<std::pair<std::string, DynamicValue>>& given) {
  const auto r = ResolverRegistry::standard().share(name);
  Record in(*r, Side::inputs);
  for (const auto& [key, value] : given) in.set(key, value);
  return subject_of(r, in.data());
}

/// Steps of 64, and no slope between them.
struct Staircase : Model<Staircase> {
  static constexpr std::string_view about = "a staircase";
  struct Inputs {
    double place = 2048;
    static constexpr auto fields() {
      return rows(field(&Inputs::place, "place", "", "where one stands").at_least(1).defaulted("an edge"));
    }
  };
  struct Result {
    double height = 0;
    static constexpr auto fields() { return rows(field(&Result::height, "height", "", "how high that is")); }
  };
  Result solve(const Inputs& in) const { return {1000 + 10 * std::ceil(in.place / 64)}; }
};

Subject roofline(double gflop, double gb) {
  const auto law = ResolverRegistry::standard().share("Roofline");
  Record in(*law, Side::inputs);
  in.set("work", gflop * unit::GFLOP).set("traffic", gb * unit::GB);
  in.set("peak", 100 * unit::GFLOP / unit::s).set("bandwidth", 10 * unit::GB / unit::s);
  return subject_of(law, in.data());
}

const Lever& lever(const SensitivityReport& r, std::string_view name) {
  for (const auto& l : r.levers)
    if (l.input == name) return l;
  throw std::runtime_error("no lever");
}

}  // namespace

TEST_CASE("the binding side of a roofline has elasticity one, the other none", "[explore][sensitivity]") {
  const auto r = sensitivity(roofline(100, 1), "time");  // 1 s of arithmetic, 0.1 s of traffic
  CHECK(r.method == Method::exact);
  CHECK(*lever(r, "work").elasticity == Approx(1));
  CHECK(*lever(r, "peak").elasticity == Approx(-1));
  CHECK(*lever(r, "traffic").elasticity == 0);
  CHECK(lever(r, "peak").at_upper == Approx(1 / 1.1 - 1));
  // Ten times the traffic and more makes memory the limit; one percent beyond is where the result has moved
  // by 1 %.
  REQUIRE(lever(r, "traffic").matters_at);
  CHECK(*lever(r, "traffic").matters_at == Approx(1e9 * 10.1).epsilon(2e-3));
  CHECK_THAT(lever(r, "bandwidth").words, ContainsSubstring("does not matter until it falls below"));
}

TEST_CASE("at a kink both sides are told", "[explore][sensitivity]") {
  const auto r = sensitivity(roofline(100, 10), "time");  // both sides take 1 s
  const auto& work = lever(r, "work");
  CHECK(work.slope == Slope::kink);
  CHECK_FALSE(work.elasticity);
  CHECK(work.elasticity_up == Approx(1));
  CHECK(work.elasticity_down == Approx(0));
  CHECK_THAT(work.words, ContainsSubstring("sits at a limit"));
}

TEST_CASE("decoding hangs on the memory bandwidth, with the right numbers", "[explore][sensitivity]") {
  const auto subject = decode();
  const auto r = sensitivity(subject, "itl");
  const auto& bandwidth = lever(r, "hardware.memory.bandwidth");
  auto at = subject.point;
  at[subject.input("hardware.memory.bandwidth")] *= 1.1;
  CHECK(bandwidth.at_upper == Approx(subject.entry(at)[subject.result("itl")] / r.value - 1));
  CHECK(*bandwidth.price * bandwidth.value / r.value == Approx(*bandwidth.elasticity));
  CHECK_THAT(r.binding, ContainsSubstring("memory bandwidth binds itl"));
  CHECK(*lever(r, "hardware.compute.dense.fp16").elasticity <= 0);
  // Counts move to the next one at which the degrees divide the devices.
  CHECK(lever(r, "tp_size").upper == 8);
  CHECK(lever(r, "tp_size").lower == 4);
  for (std::size_t i = 1; i < r.levers.size(); ++i) CHECK(r.levers[i - 1].reach() >= r.levers[i].reach());
}

TEST_CASE("a part of the inputs gives the same numbers", "[explore][sensitivity]") {
  const auto subject = decode();
  const auto all = sensitivity(subject, "cost_per_token");
  const auto some = sensitivity(subject, "performance.itl",
                                {.inputs = {"hardware.power.tdp", "hardware.kernels.launch"}, .step = 0.2});
  CHECK(some.levers.size() == 2);
  CHECK(*lever(sensitivity(subject, "cost_per_token", {.inputs = {"kwh_price"}}), "kwh_price").elasticity ==
        *lever(all, "kwh_price").elasticity);
}

TEST_CASE("questions that cannot be answered say why", "[explore][sensitivity]") {
  const auto subject = decode();
  CHECK_THROWS_WITH(sensitivity(subject, "tttf"), ContainsSubstring("ttft"));
  CHECK_THROWS_WITH(sensitivity(subject, "itl", {.inputs = {"device.memory_bandwith"}}),
                    ContainsSubstring("hardware.memory.bandwidth"));
  CHECK_THROWS_AS(sensitivity(subject, "itl", {.inputs = {}, .step = 0.0}), DomainError);
  CHECK_THROWS_AS(sensitivity(subject, "itl", {.inputs = {}, .step = std::nan("")}), DomainError);
}

TEST_CASE("counts move to the next value that has a result", "[explore][sensitivity]") {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>("Llama3_70B");
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = 8;
  s.fidelity = Fidelity::textbook;
  const auto r = sensitivity(subject_of(s), "itl");
  for (const auto& l : r.levers) {
    INFO(l.words);
    CHECK_THAT(l.words, !ContainsSubstring(" nan"));
    CHECK(std::isfinite(l.at_lower + l.at_upper));
  }
  CHECK(lever(r, "accelerators").reach() == 0);  // nine devices are no plan, and sixteen are two replicas
  CHECK_THAT(r.binding, ContainsSubstring("memory.bandwidth"));
  CHECK(lever(r, "accelerators").upper == 16);
}

TEST_CASE("an end without a result has no length", "[explore][sensitivity]") {
  Lever nothing, some;
  nothing.at_lower = nothing.at_upper = std::nan("");
  some.at_lower = std::nan("");
  some.at_upper = -0.1;
  CHECK(nothing.reach() == 0);
  CHECK(some.reach() == Approx(0.1));
}

TEST_CASE("a jump beside the point is no slope", "[explore][sensitivity]") {
  const Zoo& zoo = standard_zoo();
  const auto model = &zoo.at<Workload>("Llama3_8B");
  const auto device = &zoo.at<HardwareNode>("H100");
  const std::shared_ptr<const Resolver> stairs = make_resolver<Staircase>();
  const auto steps = sensitivity(subject_of(stairs, Record(*stairs, Side::inputs).data()), "height");
  const auto& place = lever(steps, "place");  // at the edge of a step
  CHECK(place.slope == Slope::step);
  CHECK(std::fabs(place.elasticity_up) < 2);
  CHECK_FALSE(place.elasticity);
  const auto r = sensitivity(
      resolver("SingleNodeModel", {{"workload", model}, {"hardware", device}, {"seq_len", 2048.0}}),
      "latency");
  CHECK(lever(r, "seq_len").counted);
  // A flag is the other way round, or as it is.
  const auto& training = lever(r, "is_training");
  CHECK(training.counted);
  CHECK_THAT(training.words, ContainsSubstring("is_training true instead of false raises latency"));
}

TEST_CASE("at the end of a range one side remains", "[explore][sensitivity]") {
  const Zoo& zoo = standard_zoo();
  const auto r = sensitivity(
      resolver("EconomicsModel", {{"fleet", &zoo.at<Fleet>("Research_256")}, {"duration_days", 30.0}}),
      "carbon_footprint");
  const auto& load = lever(r, "mfu");
  CHECK(load.slope == Slope::smooth);
  CHECK(load.upper == load.value);
  CHECK_THAT(load.words, ContainsSubstring("is at the end of its range: -10 % lowers carbon_footprint"));
}

TEST_CASE("of a result of nothing the change is absolute", "[explore][sensitivity]") {
  const auto r =
      sensitivity(resolver("MoERoutingModel", {{"workload", &standard_zoo().at<Workload>("Mixtral_8x7B")}}),
                  "token_dispatch_size");
  REQUIRE(r.value == 0);
  CHECK(r.change_text(2e6, 3) == "2 MB");
  CHECK_THAT(lever(r, "ep_size").words, ContainsSubstring("raises token_dispatch_size by 9.14 MB"));
}

TEST_CASE("no lever is a size of the model, a slope across a jump or what nobody stated",
          "[explore][sensitivity]") {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>("Mixtral_8x7B");
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = 8;
  s.tp_size = 2;
  s.ep_size = 4;
  s.batch_size = 64;
  const auto subject = subject_of(s);
  for (const char* result : {"itl", "ttft"}) {
    const auto r = sensitivity(subject, result);
    for (const auto& l : r.levers) {
      INFO(l.words);
      CHECK_FALSE(l.input.starts_with("workload."));
      CHECK(l.input != "plan.rank_imbalance");
      CHECK(std::fabs(l.elasticity.value_or(0)) < 100);
      CHECK(std::isfinite(l.price.value_or(0)));
    }
  }
  const std::string width = "workload.stacks[0].hidden";
  CHECK(sensitivity(subject, "itl", {.inputs = {width}}).levers.front().input == width);
}
