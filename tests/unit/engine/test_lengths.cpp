// Percentiles of requests whose lengths differ.

#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <string>

using namespace mlsysim;

namespace {

Scenario chat() {
  return {.workload = &standard_zoo().at<Workload>("Llama3_8B"),
          .hardware = &standard_zoo().at<HardwareNode>("H100"),
          .batch_size = 16,
          .seq_len = 1000,
          .output_tokens = 200};
}

double number_of_card(const SystemEvaluation& e, const char* name) {
  const auto* m = e.performance.find(name);
  REQUIRE(m != nullptr);
  return std::get<double>(m->value);
}

}  // namespace

TEST_CASE("the percentile of a whole request has that of the answers", "[engine]") {
  Scenario s = chat();
  s.output_tokens_law = TrafficLaw::exponential;
  const auto e = SystemEvaluator::evaluate(s);
  const double itl = number_of_card(e, "itl"), ttft = number_of_card(e, "ttft");
  // 99 % of exponential answers are below ln(100) times the mean.
  const double longer = itl * 200 * (std::log(100.0) - 1), late = number_of_card(e, "p99_ttft") - ttft;
  CHECK(number_of_card(e, "request_latency") == Approx(ttft + 199 * itl));
  CHECK(number_of_card(e, "p99_request_latency") ==
        Approx(number_of_card(e, "request_latency") + std::hypot(late, longer)).epsilon(1e-9));
  CHECK(e.lengths == "1000 tokens in, 200 \u00b1 200 tokens out");
}

TEST_CASE("the percentiles of the first token have those of the prompts", "[engine]") {
  const auto plain = SystemEvaluator::evaluate(chat());
  CHECK(plain.lengths == "1000 tokens in, 200 tokens out, all alike");
  Scenario s = chat();
  s.seq_len_cv = 2;  // lognormal: half are below 0.447 of the mean, 99 % below 8.55 times the mean
  const auto e = SystemEvaluator::evaluate(s);
  CHECK(number_of_card(e, "ttft") == Approx(number_of_card(plain, "ttft")));
  CHECK(number_of_card(e, "p50_ttft") < number_of_card(plain, "p50_ttft"));
  // A prompt of 8.55 times the tokens takes at least 5 times as long in its pass: weights are read once.
  CHECK(number_of_card(e, "p99_ttft") - number_of_card(plain, "p99_ttft") >
        4 * number_of_card(plain, "ttft_prefill"));
}

TEST_CASE("prompts that differ make each other wait at a rate, by the square of their deviation",
          "[engine]") {
  const auto ttft = [](double cv) {
    Scenario s = chat();
    s.load = Load::rate;
    s.arrival_rate = RequestRate<>::from_base(18);
    s.seq_len_cv = cv;
    return number_of_card(SystemEvaluator::evaluate(s), "ttft");
  };
  const double alike = ttft(0), once = ttft(1), twice = ttft(2);
  CHECK(once > 1.01 * alike);
  CHECK((twice - alike) / (once - alike) == Approx(4).epsilon(1e-6));
}

TEST_CASE("equal lengths and a deviation of zero are the same", "[engine]") {
  Scenario s = chat();
  s.seq_len_cv = s.output_tokens_cv = 0;
  const auto e = SystemEvaluator::evaluate(s), plain = SystemEvaluator::evaluate(chat());
  for (const char* name : {"p99_ttft", "p99_request_latency", "itl"})
    CHECK(number_of_card(e, name) == number_of_card(plain, name));
}

TEST_CASE("laws that lengths cannot follow are refused", "[engine]") {
  const auto id = [](const Scenario& s) -> std::string {
    try {
      (void)SystemEvaluator::evaluate(s);
    } catch (const Error& error) {
      return error.facts().id;
    }
    return "";
  };
  Scenario s = chat();
  s.output_tokens_law = TrafficLaw::gamma;
  CHECK(id(s) == "mlsysim.engine.080");
  s.output_tokens_law = TrafficLaw::uniform;
  s.output_tokens_cv = 0.9;
  CHECK(id(s) == "mlsysim.engine.081");
  s.output_tokens_cv = 0.5;
  CHECK(id(s).empty());
}
