// Every number that a scenario takes, at the ends of what a number can be: the answer is finite, or there is
// a reason.
#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace mlsysim;

namespace {

constexpr std::array kEnds{0.0, -1.0,  std::numeric_limits<double>::denorm_min(), 1e15, 4294967296.0, 1e308,
                           0.5, 1e-300};

/// The first number of an answer that is not finite, by name; empty where all are.
std::string infinite_in(const SystemEvaluation& e) {
  const auto in = [](const std::vector<Metric>& metrics) {
    for (const auto& m : metrics)
      if (const auto* x = std::get_if<double>(&m.value); x != nullptr && !std::isfinite(*x))
        return fmt::format("{} = {}", m.name.view(), *x);
    return std::string();
  };
  for (const auto* level : e.levels())
    if (auto found = in(level->metrics); !found.empty()) return found;
  return in(e.memory);
}

struct Base {
  const char* name;
  Scenario scenario;
};

std::vector<Base> bases() {
  const auto* llama = &standard_zoo().at<Workload>("Llama3_8B");
  const auto* h100 = &standard_zoo().at<HardwareNode>("H100");
  const Scenario plain{.workload = llama, .hardware = h100};
  std::vector<Base> out{{"serve", plain}, {"answers", plain}, {"drafted", plain},
                        {"train", plain}, {"totals", plain},  {"images", plain}};
  out[1].scenario.output_tokens = 128;
  out[1].scenario.accelerators = 8;
  out[1].scenario.prefill_chunk_tokens = 512;
  out[2].scenario.output_tokens = 128;
  out[2].scenario.draft_model = llama;
  out[3].scenario.mode = Mode::train;
  out[3].scenario.accelerators = 64;
  out[3].scenario.batch_size = 64;
  out[4].scenario.fidelity = Fidelity::textbook;
  out[5].scenario.workload = &standard_zoo().at<Workload>("ResNet50");
  return out;
}

}  // namespace

TEST_CASE("no number that a scenario takes makes an answer that is not finite", "[engine][trust]") {
  std::size_t answered = 0, refused = 0;
  for (const auto& base : bases())
    for (const auto& f : describe<Scenario>()) {
      if (f.kind != ValueKind::number && f.kind != ValueKind::quantity) continue;
      for (const double end : kEnds) {
        Scenario s = base.scenario;
        f.write(&s, end);
        INFO(base.name << ", " << f.name << " = " << end);
        try {
          const auto e = SystemEvaluator::evaluate(s);
          CHECK(infinite_in(e).empty());
          ++answered;
        } catch (const Error& error) {
          CHECK_FALSE(error.facts().message.empty());
          CHECK_FALSE(error.facts().found.empty());
          ++refused;
        }
      }
    }
  CHECK(answered > 400);
  CHECK(refused > 400);
}

TEST_CASE("pairs of extreme numbers have an answer or a reason, in the end", "[engine][trust]") {
  // A prime, which nothing divides, and the largest count.
  constexpr std::array ends{1e-300, 999999937.0, 1e12, 1e15};
  std::vector<FieldInfo> numbers;
  for (const auto& f : describe<Scenario>())
    if (f.kind == ValueKind::number || f.kind == ValueKind::quantity) numbers.push_back(f);
  std::size_t answered = 0, refused = 0;
  for (const auto& base : bases())
    for (std::size_t i = 0; i < numbers.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        for (const double first : ends)
          for (const double second : ends) {
            Scenario s = base.scenario;
            numbers[i].write(&s, first);
            numbers[k].write(&s, second);
            try {
              const auto e = SystemEvaluator::evaluate(s);
              if (const auto found = infinite_in(e); !found.empty())
                FAIL_CHECK(base.name << ", " << numbers[i].name << " = " << first << ", " << numbers[k].name
                                     << " = " << second << ": " << found);
              ++answered;
            } catch (const Error&) {
              ++refused;
            }
          }
  CHECK(answered > 400);
  CHECK(refused > 400);
}

TEST_CASE("a cost that is not finite is refused with the input that makes it so", "[engine][trust]") {
  Scenario s{.workload = &standard_zoo().at<Workload>("Llama3_8B"),
             .hardware = &standard_zoo().at<HardwareNode>("H100"),
             .duration_days = 1e308};
  try {
    (void)SystemEvaluator::evaluate(s);
    FAIL("an endless period was answered");
  } catch (const DomainError& error) {
    CHECK(error.facts().id == "mlsysim.engine.053");
    CHECK(error.facts().found.find("duration_days = 1e308") != std::string::npos);
  }
}
