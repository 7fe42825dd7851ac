// Identities that every law of the physics room must obey, run from its field tables.

#include "identity/any_law.hpp"
#include "identity/law_claims.hpp"
#include "identity/law_samples.hpp"
#include "support/catch.hpp"

#include <mlsysim/physics/laws.hpp>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <map>
#include <set>
#include <string>

using namespace mlsysim;
using identity::all_laws;
using identity::Draw;

namespace {

/// Signs of the inputs that an output depends on, from the claim's text.
std::map<std::string, char, std::less<>> signs(std::string_view text) {
  std::map<std::string, char, std::less<>> found;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    found.emplace(text.substr(1, end - 1), text[0]);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

constexpr double kSame = 1e-9;  // room for the change of formula in exp(x) - 1 and for 1 - 1/(1 + x)

struct Base {
  std::string_view name;
  std::int8_t Exponents::*exponent;
};
constexpr Base kBases[] = {
    {"time", &Exponents::time},     {"data", &Exponents::data},     {"work", &Exponents::work},
    {"token", &Exponents::token},   {"sample", &Exponents::sample}, {"request", &Exponents::request},
    {"param", &Exponents::param},   {"money", &Exponents::money},   {"carbon", &Exponents::carbon},
    {"energy", &Exponents::energy}, {"water", &Exponents::water}};

}  // namespace

TEST_CASE("every law says what it is", "[identity]") {
  std::set<std::string_view> ids;
  for (const auto& law : all_laws()) {
    INFO(law.info.id);
    CHECK(ids.insert(law.info.id).second);
    CHECK_FALSE(law.info.equation.empty());
    CHECK_FALSE(law.info.source.empty());
    CHECK_FALSE(law.info.assumptions.empty());
    CHECK(std::ranges::any_of(law.results, [&](const FieldInfo& f) {
      return law.info.equation.find(f.name) != std::string_view::npos;
    }));
  }
  CHECK(ids.size() == AllLaws::size);
}

TEST_CASE("units of fields fit their types, inputs have ranges, defaults have sources", "[identity]") {
  for (const auto& law : all_laws()) {
    for (const auto* table : {&law.inputs, &law.results}) {
      std::set<std::string_view> names;
      for (const auto& f : *table) {
        INFO(law.info.id << "." << f.name << " [" << f.unit << "]");
        CHECK(names.insert(f.name).second);
        CHECK_FALSE(f.meaning.empty());
        CHECK(UnitRegistry::standard().parse_unit(f.unit).exps == f.exps);
        CHECK((f.kind == ValueKind::quantity || f.kind == ValueKind::number));
      }
    }
    for (const auto& f : law.inputs) {
      INFO(law.info.id << "." << f.name);
      CHECK(f.low >= 0);  // every input of these laws is an amount, a rate, a share or a count
      if (!f.required) CHECK_FALSE(f.default_source.empty());
      if (f.integral) CHECK(f.kind == ValueKind::number);
    }
  }
}

TEST_CASE("laws are finite and not negative on their domain", "[identity]") {
  for (const auto& law : all_laws()) {
    std::size_t may_be_negative = law.results.size();
    for (const auto& s : identity::kSigned)
      if (s.law == law.info.id) may_be_negative = law.result(s.output);
    Draw draw(1);
    bool fine = true;
    for (int n = 0; n < 400; ++n) {
      const auto in = identity::sample(law.inputs, draw);
      const auto out = law.solve(in);
      for (std::size_t r = 0; r < out.size(); ++r)
        fine = fine && std::isfinite(out[r]) && (out[r] >= 0 || r == may_be_negative);
    }
    INFO(law.info.id);
    CHECK(fine);
  }
}

TEST_CASE("every output has a declared trend, and every declaration a law", "[identity]") {
  std::set<std::pair<std::string_view, std::string_view>> declared, present;
  for (const auto& t : identity::kTrends) {
    INFO(t.law << "." << t.output);
    CHECK(declared.insert({t.law, t.output}).second);
  }
  for (const auto& law : all_laws())
    for (const auto& f : law.results) present.insert({law.info.id, f.name});
  CHECK(declared == present);
}

TEST_CASE("laws rise and fall as declared, and depend on nothing else", "[identity]") {
  for (const auto& law : all_laws()) {
    for (const auto& trend : identity::kTrends) {
      if (trend.law != law.info.id) continue;
      const std::size_t output = law.result(trend.output);
      const auto sign = signs(trend.inputs);
      for (const auto& [name, s] : sign) {
        INFO(trend.law << "." << trend.output << " names " << name);
        REQUIRE(law.input(name) < law.inputs.size());
      }
      for (std::size_t i = 0; i < law.inputs.size(); ++i) {
        const auto claim = sign.find(law.inputs[i].name);
        const char s = claim == sign.end() ? '0' : claim->second;
        Draw draw(17 + i);
        int rises = 0, falls = 0;
        for (int n = 0; n < 300; ++n) {
          auto in = identity::sample(law.inputs, draw);
          const double a = in[i], b = identity::sample(law.inputs[i], draw);
          in[i] = std::min(a, b);
          const double before = law.solve(in)[output];
          in[i] = std::max(a, b);
          const double after = law.solve(in)[output];
          const double room = kSame * std::max(std::fabs(before), std::fabs(after));
          rises += after > before + room ? 1 : 0;
          falls += after < before - room ? 1 : 0;
        }
        INFO(law.info.id << "." << trend.output << " against " << law.inputs[i].name << ", declared '" << s
                         << "'");
        if (s == '0') CHECK((rises == 0 && falls == 0));
        if (s == '+') CHECK((rises > 0 && falls == 0));
        if (s == '-') CHECK((rises == 0 && falls > 0));
        if (s == '~') CHECK((rises > 0 || falls > 0));
      }
    }
  }
}

TEST_CASE("laws do not care about the size of a base unit", "[identity]") {
  // Counting time in half seconds doubles every time and halves every rate. What is left over is a hidden
  // constant.
  std::set<std::pair<std::string_view, std::string_view>> with_constant;
  for (const auto& c : identity::kConstants) with_constant.insert({c.law, c.base});
  for (const auto& law : all_laws()) {
    for (const auto& base : kBases) {
      double worst = 0;
      Draw draw(5);
      for (int n = 0; n < 100; ++n) {
        const auto in = identity::sample(law.inputs, draw);
        auto scaled = in;
        for (std::size_t i = 0; i < in.size(); ++i)
          scaled[i] = std::ldexp(in[i], law.inputs[i].exps.*base.exponent);
        const auto before = law.solve(in), after = law.solve(scaled);
        for (std::size_t o = 0; o < before.size(); ++o) {
          const double due = std::ldexp(before[o], law.results[o].exps.*base.exponent);
          const double size = std::max(std::abs(due), std::abs(after[o]));
          if (size > 0) worst = std::max(worst, std::abs(after[o] - due) / size);
        }
      }
      INFO(law.info.id << ", base " << base.name << ", relative difference " << worst);
      if (with_constant.erase({law.info.id, base.name}) != 0)
        CHECK(worst > 0.1);  // else the exception is stale
      else
        CHECK(worst < 1e-12);
    }
  }
  CHECK(with_constant.empty());  // an exception for a law or a base that does not exist
}

TEST_CASE("doubling every rate halves every time, where only rates and amounts go in", "[identity]") {
  int laws = 0;
  for (const auto& law : all_laws()) {
    const bool has_times =
        std::ranges::any_of(law.inputs, [](const FieldInfo& f) { return f.exps.time > 0; });
    const bool gives_time =
        std::ranges::any_of(law.results, [](const FieldInfo& f) { return f.exps == dim::time::exps; });
    if (has_times || !gives_time) continue;
    ++laws;
    Draw draw(6);
    for (int n = 0; n < 50; ++n) {
      auto in = identity::sample(law.inputs, draw);
      const auto before = law.solve(in);
      for (std::size_t i = 0; i < in.size(); ++i)
        if (law.inputs[i].exps.time == -1) in[i] *= 2.0;
      const auto after = law.solve(in);
      for (std::size_t o = 0; o < before.size(); ++o) {
        if (law.results[o].exps != dim::time::exps) continue;
        INFO(law.info.id << "." << law.results[o].name);
        CHECK_THAT(2.0 * after[o], WithinRel(before[o], 1e-14));
      }
    }
  }
  CHECK(laws >= 3);  // Roofline, SoftRoofline, TrainingTime
}

TEST_CASE("a collective of one rank costs exactly nothing", "[identity]") {
  int laws = 0;
  for (const auto& law : all_laws()) {
    const bool timed = law.result("time") < law.results.size();
    if (!timed) continue;
    Draw draw(7);
    for (int n = 0; n < 50; ++n) {
      auto in = identity::sample(law.inputs, draw);
      bool collective = false;
      for (const std::string_view name : {"ranks", "ranks_per_node", "inner", "nodes"})
        if (const auto i = law.input(name); i < in.size()) {
          in[i] = 1;
          collective = true;
        }
      if (!collective) break;
      laws += n == 0 ? 1 : 0;
      INFO(law.info.id);
      CHECK(law.solve(in)[law.result("time")] == 0.0);
    }
  }
  CHECK(laws == 15);
}

TEST_CASE("unlimited bandwidth leaves the arithmetic, unlimited arithmetic the traffic", "[identity]") {
  for (const auto& law : all_laws()) {
    if (law.info.id != "Roofline" && law.info.id != "SoftRoofline" && law.info.id != "MatmulTime") continue;
    Draw draw(8);
    for (int n = 0; n < 100; ++n) {
      auto in = identity::sample(law.inputs, draw);
      for (const std::string_view fixed : {"launch", "wave", "split"})
        if (const auto i = law.input(fixed); i < in.size()) in[i] = 0;
      INFO(law.info.id);
      auto fast_memory = in, fast_compute = in;
      fast_memory[law.input("bandwidth")] = 1e60;
      const auto c = law.solve(fast_memory);
      if (c[law.result("compute")] > 0)
        CHECK_THAT(c[law.result("time")], WithinRel(c[law.result("compute")], 1e-14));
      fast_compute[law.input("peak")] = 1e60;
      const auto m = law.solve(fast_compute);
      if (m[law.result("memory")] > 0)
        CHECK_THAT(m[law.result("time")], WithinRel(m[law.result("memory")], 1e-14));
    }
  }
}
