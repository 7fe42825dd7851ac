// Two rules over every resolver of the catalogue: a default that moves a result is told, and a figure that
// nobody knows makes no total smaller.

#include <support/bare_machine.hpp>
#include <support/catch.hpp>
#include <support/resolver_examples.hpp>

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/units/standard_units.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// What a resolver answers and says, as text; nothing where it refuses.
struct Said {
  std::string results, assumptions;
};
std::optional<Said> said(const Resolver& r, const Record& in) {
  try {
    const auto answer = evaluate(r, in);
    Said out;
    for (const auto& a : answer.report.notes.assumptions)
      out.assumptions += a.name + std::string("=") + a.value.str() + "; ";
    if (!answer.outcome.feasible()) return out;
    for (const auto& f : answer.outcome->fields())
      out.results += f.name + "=" + read_dynamic(f, answer.outcome->data()).text() + "; ";
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The machines of an example, without what is optional.
std::map<std::string, DynamicValue> on_bare_machines(const Resolver& r, BareMachine& bare) {
  std::map<std::string, DynamicValue> out;
  for (const auto& f : r.inputs()) {
    if (f.object_type == ObjectType<HardwareNode>::name && f.name == "hardware")
      out.emplace(f.name, DynamicValue(&bare.hardware));
    if (f.object_type == ObjectType<Fleet>::name) out.emplace(f.name, DynamicValue(&bare.fleet));
    if (f.object_type == ObjectType<NetworkFabric>::name) out.emplace(f.name, DynamicValue(&bare.fabric));
  }
  return out;
}

}  // namespace

TEST_CASE("a default that moves a result is listed with its value", "[engine][catalogue]") {
  const Conventions& usual = conventions_or_standard(nullptr);
  int moved = 0;
  for (const auto& r : resolvers()) {
    if (find_field(r->inputs(), "conventions") == nullptr) continue;
    for (const char* fidelity : {"operator", "textbook"}) {
      const bool has = find_field(r->inputs(), "fidelity") != nullptr;
      if (!has && std::string_view(fidelity) == "textbook") continue;
      for (const bool training : {false, true}) {
        if (training && find_field(r->inputs(), "is_training") == nullptr) continue;
        BareMachine bare;
        auto instead = on_bare_machines(*r, bare);
        if (has) instead.insert_or_assign("fidelity", DynamicValue(fidelity));
        if (training) instead.insert_or_assign("is_training", DynamicValue(true));
        Conventions other = usual;
        instead.insert_or_assign("conventions", DynamicValue(&other));
        const auto before = said(*r, example(*r, instead));
        INFO(r->info().name << ", " << fidelity << (training ? ", training" : ""));
        REQUIRE(before);
        for (const auto& f : describe<Conventions>()) {
          if (f.kind == ValueKind::object) continue;
          other = usual;
          const double value = std::get<double>(f.read(&other));
          f.write(&other, Value(value > 0.8 && f.high <= 1 ? 0.7 * value : 1.25 * value));
          const auto after = said(*r, example(*r, instead));
          INFO(f.name);
          if (!after || after->results == before->results) continue;
          ++moved;
          CHECK(after->assumptions != before->assumptions);
        }
      }
    }
  }
  CHECK(moved > 80);
}

TEST_CASE("a figure that nobody knows makes no total smaller without a word", "[engine][catalogue]") {
  struct Figure {
    const char* name;
    void (*forget)(HardwareNode&);
  };
  const Figure figures[] = {{"power.tdp", [](HardwareNode& h) { h.power.tdp.reset(); }},
                            {"unit_cost", [](HardwareNode& h) { h.unit_cost.reset(); }},
                            {"embodied_carbon", [](HardwareNode& h) { h.embodied_carbon.reset(); }}};
  int less = 0;
  for (const auto& r : resolvers()) {
    for (const char* fidelity : {"operator", "textbook"}) {
      const bool has = find_field(r->inputs(), "fidelity") != nullptr;
      if (!has && std::string_view(fidelity) == "textbook") continue;
      BareMachine known, unknown;
      const auto on = [&](BareMachine& machine) {
        auto instead = on_bare_machines(*r, machine);
        if (has) instead.insert_or_assign("fidelity", DynamicValue(fidelity));
        return instead;
      };
      if (on(known).empty()) continue;
      for (const auto& figure : figures) {
        unknown.hardware = known.hardware;
        figure.forget(unknown.hardware);
        INFO(r->info().name << ", " << fidelity << ", without " << figure.name);
        const auto with = evaluate(*r, example(*r, on(known)));
        std::optional<ErasedAnswer> without;
        try {
          without = evaluate(*r, example(*r, on(unknown)));
        } catch (const Error&) {
          continue;  // a refusal is no total
        }
        if (!with.outcome.feasible() || !without->outcome.feasible()) continue;
        const auto& warnings = without->report.notes.warnings;
        const bool told = std::any_of(warnings.begin(), warnings.end(),
                                      [](const std::string& w) { return w.find("at least") != w.npos; });
        for (const auto& f : r->outputs()) {
          const Value a = f.read(with.outcome->data()), b = f.read(without->outcome->data());
          if (!std::holds_alternative<double>(a) || !std::holds_alternative<double>(b)) continue;
          INFO(f.name << ": " << std::get<double>(a) << " -> " << std::get<double>(b));
          if (std::get<double>(b) == std::get<double>(a)) continue;
          ++less;
          CHECK((std::get<double>(b) < std::get<double>(a) && told));
        }
      }
    }
  }
  CHECK(less > 0);  // emissions without those of manufacture
}
