// All resolvers of the catalogue, from their tables: what they say about themselves, their examples, and bad
// arguments.

#include <support/catch.hpp>
#include <support/resolver_examples.hpp>

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/walls.hpp>
#include <mlsysim/units/standard_units.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

bool is_number(const FieldInfo& f) { return f.kind == ValueKind::number || f.kind == ValueKind::quantity; }

/// The value of `x` display units.
DynamicValue shown(const FieldInfo& f, double x) {
  if (f.kind == ValueKind::number) return DynamicValue(x);
  return DynamicValue(AnyQuantity::parse("1 " + std::string(f.unit)) * x);
}

/// What evaluating gives: nothing where it is an answer or a sentence, else what went wrong.
std::optional<std::string> trouble(const Resolver& r, const std::function<Record()>& in) {
  try {
    const auto answer = evaluate(r, in());
    if (!answer.outcome.feasible())
      return answer.outcome.why()->reason.empty() ? std::optional("no reason") : std::nullopt;
    for (const auto& f : r.outputs()) {
      if (!is_number(f)) continue;
      const Value v = f.read(answer.outcome->data());
      if (const auto* x = std::get_if<double>(&v); x != nullptr && !std::isfinite(*x))
        return f.name + " is not finite";
    }
    return std::nullopt;
  } catch (const SolverError& error) {
    return std::string("a solver error: ") + error.what();
  } catch (const Error& error) {
    // A refusal says what was found, what is expected, and about which key.
    const auto& facts = error.facts();
    if (facts.id.empty() || facts.message.empty())
      return std::string("an error without id or message: ") + error.what();
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::string("an exception of another kind: ") + error.what();
  }
}

/// The error of `f`, or null text where there is none.
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const SolverError&) {
    return "solver error";
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("every resolver describes itself", "[engine][catalogue]") {
  const auto all = resolvers();
  CHECK(all.size() >= 28);
  const auto& registry = ResolverRegistry::standard();
  for (const auto& r : all) {
    const auto& info = r->info();
    INFO(info.name);
    CHECK_FALSE(info.about.empty());
    CHECK_FALSE(info.law.empty());
    CHECK(standard_zoo().find_reference(info.source) != nullptr);
    CHECK_FALSE(info.fallacies.empty());
    for (const auto& f : info.fallacies) CHECK((f.misconception.size() > 10 && f.correction.size() > 10));
    for (const int w : info.walls) CHECK(wall(w).number == w);
    CHECK_FALSE(laws_of(info.name).empty());
    for (const auto law : laws_of(info.name)) CHECK(registry.share(law)->law() != nullptr);
    CHECK_FALSE(example_of(info.name).empty());
    for (const auto side : {r->inputs(), r->outputs()}) {
      std::set<std::string> names;
      for (const auto& f : side) {
        INFO(f.name);
        CHECK(names.insert(f.name).second);
        CHECK_FALSE(f.meaning.empty());
        CHECK((f.kind == ValueKind::quantity) == !f.unit.empty());
      }
    }
    for (const auto& f : r->inputs()) {
      INFO(f.name);
      // What may be left out says what is taken instead.
      CHECK((f.required || !f.default_source.empty()));
    }
  }
}

TEST_CASE("the example of every resolver is answered", "[engine][catalogue]") {
  for (const auto& r : resolvers()) {
    INFO(r->info().name);
    const auto answer = evaluate(*r, example(*r));
    REQUIRE(answer.outcome.feasible());
    CHECK_FALSE(answer.report.assumptions().empty());
    std::set<std::string> once;
    for (const auto& a : answer.report.notes.assumptions) {
      INFO(a.name << " = " << a.value << " (" << a.source << ")");
      CHECK_FALSE(a.source.empty());
      CHECK(once.insert(a.name + "|" + a.value + "|" + a.source).second);
    }
    if (r->info().tier == Tier::solver) CHECK(answer.report.verification.text() != "");
  }
}

TEST_CASE("every resolver refuses numbers outside of their domain, with the name of the input",
          "[engine][catalogue][bad]") {
  int refused = 0;
  for (const auto& r : resolvers())
    for (const auto& f : r->inputs()) {
      if (!is_number(f)) continue;
      std::vector<double> bad{std::numeric_limits<double>::quiet_NaN()};
      const bool below = f.low > -kUnbounded, above = f.high < kUnbounded;
      if (below) bad.push_back(f.open_low ? f.low : f.low - std::max(1.0, std::abs(f.low)) * 1e-3);
      if (below) bad.push_back(f.low - 1);
      if (above) bad.push_back(f.high + std::max(1.0, std::abs(f.high)) * 1e-3);
      for (const double x : bad) {
        INFO(r->info().name << " " << f.name << " = " << x);
        const auto text = refusal([&] { (void)evaluate(*r, example(*r, {{f.name, shown(f, x)}})); });
        CHECK_THAT(text, Catch::Contains(f.name));
        ++refused;
      }
    }
  CHECK(refused > 400);
}

TEST_CASE("every resolver refuses quantities in other units, and texts for what are choices",
          "[engine][catalogue][bad]") {
  FieldReader reader(standard_zoo());
  for (const auto& r : resolvers())
    for (const auto& f : r->inputs()) {
      INFO(r->info().name << " " << f.name);
      if (f.kind == ValueKind::quantity) {
        for (const char* wrong : {"3 kg", "3"}) {                      // no field is a mass
          if (f.name == "arrival_rate" && wrong[1] == '\0') continue;  // requests a second
          const auto text = refusal([&] { (void)reader.read(f, wrong); });
          CHECK_THAT(text, Catch::Contains(f.name));
        }
        CHECK_THROWS_AS(example(*r, {{f.name, DynamicValue(3.0)}}), DimensionError);
      }
      if (f.kind == ValueKind::choice || f.kind == ValueKind::object)
        CHECK_THAT(refusal([&] { (void)reader.read(f, "no-such-thing"); }), Catch::Contains("no-such-thing"));
      if (f.integral) CHECK_THAT(refusal([&] { (void)reader.read(f, "2.5"); }), Catch::Contains(f.name));
      if (f.required) {
        const auto text = refusal([&] { (void)evaluate(*r, example(*r, {}, f.name)); });
        CHECK_THAT(text, Catch::Contains(f.name));
      }
    }
}

TEST_CASE("far corners of the domain are answers or sentences, never other than finite numbers",
          "[engine][catalogue][bad]") {
  for (const auto& r : resolvers()) {
    if (r->info().tier == Tier::optimizer) continue;  // a search is many of the models below
    for (const auto& f : r->inputs()) {
      if (f.kind == ValueKind::object || f.kind == ValueKind::text) continue;
      std::vector<DynamicValue> corners;
      if (f.kind == ValueKind::flag) corners = {DynamicValue(true), DynamicValue(false)};
      for (const auto choice : f.choices) corners.emplace_back(std::string(choice));
      if (is_number(f)) {
        const bool below = f.low > -kUnbounded, above = f.high < kUnbounded;
        if (below && !f.open_low) corners.push_back(shown(f, f.low));
        if (below && f.open_low) corners.push_back(shown(f, f.low + 1e-9));
        if (above) corners.push_back(shown(f, f.high));
        if (!f.integral)
          corners.push_back(
              shown(f, above ? 0.5 * (f.high + std::max(f.low, -1e9)) : std::max(f.low, 0.0) + 0.37));
        if (!above) corners.push_back(shown(f, 1e6));
        // Degrees that divide nothing, counts that are odd.
        if (f.integral && (!above || f.high >= 7)) corners.push_back(shown(f, std::max(f.low, 7.0)));
      }
      for (const auto& value : corners)
        for (const char* fidelity : {"operator", "textbook"}) {
          const bool has = find_field(r->inputs(), "fidelity") != nullptr;
          if (!has && std::string_view(fidelity) == "textbook") continue;
          INFO(r->info().name << " " << f.name << " = " << value.text() << ", " << fidelity);
          std::map<std::string, DynamicValue> instead{{f.name, value}};
          if (has && f.name != "fidelity") instead.insert_or_assign("fidelity", DynamicValue(fidelity));
          const auto bad = trouble(*r, [&] { return example(*r, instead); });
          CHECK(bad.value_or("") == "");
        }
    }
  }
}

namespace {

/// Inputs that change nothing beside the example of their resolver, and why.
const std::map<std::string, std::string>& without_effect() {
  static const std::map<std::string, std::string> all{
      {"SingleNodeModel.seq_len", "images have no tokens"},
      {"SingleNodeModel.execution", "launches hide beside the kernels of so large a batch"},
      {"ServingModel.execution", "as above: a step reads all weights"},
      {"ServingModel.chunked_prefill", "the prompts fit into a pass"},
      {"DistributedModel.execution", "as above: products are long"},
      {"ContinuousBatchingModel.execution", "as above: a step reads all weights"},
      {"InFlightBatchingModel.execution", "as above: a step reads all weights"},
      {"ServingCapacityModel.execution", "as above: a step reads all weights"},
      {"SensitivitySolver.efficiency", "decoding is bound by memory at textbook fidelity"},
      {"DistributedModel.v_stages", "one pipeline stage"},
      {"DistributedModel.shard_size", "no ZeRO"},
      {"DistributedModel.recomputed_share", "selective recomputation of fused attention recomputes nothing"},
      {"DistributedModel.sequence_parallel", "no tensor parallelism"},
      {"DistributedModel.tp_overlap", "no tensor parallelism"},
      {"DistributedModel.backward_prefetch", "no ZeRO-3"},
      {"DistributedModel.offload_gradients", "no optimizer states in the memory of the host"},
      {"TrainingMemoryModel.offload_gradients", "no optimizer states in the memory of the host"},
      {"TrainingMemoryModel.host_memory_bandwidth", "memory alone: nothing is timed"},
      {"TrainingMemoryModel.recomputed_share", "as above"},
      {"TrainingMemoryModel.schedule", "one pipeline stage"},
      {"TrainingMemoryModel.v_stages", "one pipeline stage"},
      {"TrainingMemoryModel.zero_stage", "one replica"},
      {"TrainingMemoryModel.shard_size", "one replica"},
      {"TrainingMemoryModel.sequence_parallel", "no tensor parallelism"},
      {"TrainingMemoryModel.attention_kernel", "selective recomputation keeps no scores"},
      {"TrainingMemoryModel.kernel_fusion", "selective recomputation keeps no scores"},
      {"ServingCapacityModel.page_tokens", "all requests have the full length"},
      {"ServingCapacityModel.max_replicas", "two are enough"},
      {"ScalingModel.device_time", "the example gives the budget"},
      {"GraphBreakSolver.operators_per_kernel", "the device is what a compiled step waits for"},
      {"GraphBreakSolver.mode", "as above: launches are hidden"},
      {"WeightStreamingModel.precision", "the device has rates at one precision"},
  };
  return all;
}

}  // namespace

TEST_CASE("no input is silent: it moves a number or a note, or its example says why not",
          "[engine][catalogue]") {
  for (const auto& r : resolvers()) {
    if (r->info().tier == Tier::optimizer) continue;
    for (const char* fidelity : {"operator", "textbook"}) {
      const bool has = find_field(r->inputs(), "fidelity") != nullptr;
      if (!has && std::string_view(fidelity) == "textbook") continue;
      std::string warnings;  // of the last outcome, or its refusal
      const auto outcome = [&](std::map<std::string, DynamicValue> instead) -> std::string {
        warnings.clear();
        if (has) instead.insert_or_assign("fidelity", DynamicValue(fidelity));
        try {
          const auto answer = evaluate(*r, example(*r, instead));
          std::string out;
          if (!answer.outcome.feasible()) return answer.outcome.why()->reason;
          for (const auto& f : r->outputs()) out += read_dynamic(f, answer.outcome->data()).text() + ";";
          for (const auto& w : answer.report.notes.warnings) warnings += w + ";";
          return out + warnings;
        } catch (const Error& error) {
          warnings = error.what();
          return "refused";
        }
      };
      const auto base = outcome({});
      REQUIRE(base != "refused");
      const std::string said = warnings;
      for (const auto& f : r->inputs()) {
        if (f.kind == ValueKind::object || f.kind == ValueKind::text || f.name == "fidelity") continue;
        if (without_effect().contains(r->info().name + "." + f.name)) continue;
        std::vector<DynamicValue> values;
        if (f.kind == ValueKind::flag) values = {DynamicValue(true), DynamicValue(false)};
        for (const auto choice : f.choices) values.emplace_back(std::string(choice));
        if (is_number(f))
          for (const double x : {0.01, 0.3, 1.0, 2.0, 3.0, 4.0, 100.0, 1e4, 1e6}) {
            if (x < f.low || x > f.high || (f.open_low && x == f.low) || (f.integral && x != std::floor(x)))
              continue;
            values.push_back(shown(f, x));
          }
        bool moved = said.find(f.name) != std::string::npos;
        for (const auto& v : values) {
          if (moved) break;
          const auto now = outcome({{f.name, v}});
          // A refusal speaks of the input, or is about something else.
          moved = now == "refused" ? warnings.find(f.name) != std::string::npos : now != base;
        }
        INFO(r->info().name << "." << f.name << ", " << fidelity);
        CHECK(moved);
      }
    }
  }
}
