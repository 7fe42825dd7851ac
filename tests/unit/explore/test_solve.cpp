// Questions asked backwards, and the language of conditions.

#include <support/catch.hpp>

#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <random>

using namespace mlsysim;

namespace {

Subject scenario(const char* model, double devices, Mode mode, double batch) {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>(model);
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = devices;
  s.mode = mode;
  s.batch_size = batch;
  if (mode == Mode::serve) s.load = Load::burst;
  return subject_of(s);
}

double at(const Subject& s, std::string_view input, double x, std::string_view result) {
  auto point = s.point;
  point[s.input(input)] = x;
  return s.entry(point)[s.result(result)];
}

ExpressionScope scope_of(const Subject& s) { return {s.entry.inputs, s.entry.results}; }

}  // namespace

TEST_CASE("the largest batch under a latency meets it, one more does not", "[explore][solve]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 1);
  const auto a = solve(s, "itl <= 15 ms", "batch_size").value();
  CHECK(at(s, "batch_size", a.value, "itl") <= 0.015);
  CHECK(at(s, "batch_size", a.value + 1, "itl") > 0.015);
  CHECK(a.inversion.exhaustive);
  CHECK(a.memory.empty());
  // Seven times as long admits more than there is memory for.
  const auto full = solve(s, "itl <= 100 ms", "batch_size").value();
  CHECK(at(s, "batch_size", full.value, "memory_shortfall") == 0);
  CHECK(at(s, "batch_size", full.value + 1, "memory_shortfall") > 0);
  CHECK(full.beside == full.value + 1);
  CHECK_THAT(full.memory, ContainsSubstring("meets the condition as well, but does not fit"));
}

TEST_CASE("a required bandwidth, put back, gives the target", "[explore][solve]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 16);
  const auto a = solve(s, "itl == 8 ms", "hardware.memory.bandwidth").value();
  CHECK(at(s, "hardware.memory.bandwidth", a.value, "itl") == Approx(0.008).epsilon(1e-12));
  CHECK(a.verification.passed());
}

TEST_CASE("the smallest fleet under a deadline divides into replicas", "[explore][solve]") {
  auto s = scenario("Llama3_8B", 64, Mode::train, 1024);
  s.point[s.input("tp_size")] = 8;
  const auto a = solve(s, "training_time <= 60 d", "accelerators").value();
  CHECK(std::fmod(a.value, 8) == 0);
  CHECK(at(s, "accelerators", a.value, "training_time") <= 60 * 86400.0);
  CHECK(at(s, "accelerators", a.value - 8, "training_time") > 60 * 86400.0);
}

TEST_CASE("an answer is a plan that eval takes", "[explore][solve]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 16);
  const auto cached = solve(s, "ttft <= 1 s", "cached_prefix_len").value();
  CHECK(cached.inversion.high == 2047);
  CHECK(solve(s, "ttft >= 1 us", "cached_prefix_len").value().value <= 2047);
  const auto experts = solve(s, "itl <= 1 s", "ep_size").value();
  CHECK(experts.value == 1);  // a dense model has none to spread
}

TEST_CASE("what meets a condition and does not fit is no answer", "[explore][solve]") {
  // Weights, gradients and optimizer state of a rank take 16 B of 8e9 parameters: 128 GB of 85.9 GB, whatever
  // the number of replicas.
  const auto fleet =
      solve(scenario("Llama3_8B", 64, Mode::train, 1024), "training_time <= 60 d", "accelerators");
  REQUIRE_FALSE(fleet);
  CHECK_THAT(fleet.why()->reason, ContainsSubstring("fits in memory") && ContainsSubstring("of 85.9 GB"));
  // The 141 GB of weights need two devices, or four where as many ranks have a plan. One device is fast
  // enough.
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 1);
  const auto degree = solve(s, "itl <= 1 s", "tp_size").value();
  CHECK(at(s, "tp_size", degree.value, "memory_shortfall") == 0);
  CHECK(at(s, "tp_size", degree.value / 2, "memory_shortfall") > 0);
  CHECK_THAT(degree.memory, ContainsSubstring("1 meets the condition as well, but does not fit"));
  // More bandwidth is no memory.
  const auto one =
      solve(scenario("Llama3_70B", 1, Mode::serve, 1), "itl <= 1 s", "hardware.memory.bandwidth");
  REQUIRE_FALSE(one);
  CHECK_THAT(one.why()->reason, ContainsSubstring("of 85.9 GB"));
}

TEST_CASE("fleets that fill their nodes are one range", "[explore][solve]") {
  auto s = scenario("Llama3_8B", 64, Mode::train, 1024);
  s.point[s.input("tp_size")] = 8;
  const auto a = solve(s, "training_time <= 60 d", "accelerators").value();
  CHECK(std::fmod(a.value, 8) == 0);
  REQUIRE(a.beside);
  CHECK(*a.beside == a.value - 8);
  CHECK(at(s, "accelerators", *a.beside, "training_time") > 60 * 86400.0);
  CHECK(a.inversion.solutions.size() < 10);
  CHECK(a.inversion.solutions[0].high > 1000);
}

TEST_CASE("an answer is put back, and says how it was found", "[explore][solve]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 16);
  const auto hit = solve(s, "itl <= 8 ms", "hardware.memory.bandwidth").value();
  CHECK(hit.verification.passed());
  CHECK_THAT(hit.text(), ContainsSubstring("8 ms asked, 8 ms found"));
  const auto margin = solve(s, "itl <= 30 ms", "hardware.memory.bandwidth",
                            {.low = AnyQuantity::parse("3 TB/s"), .high = AnyQuantity::parse("4 TB/s")})
                          .value();
  CHECK_THAT(margin.text(), ContainsSubstring("checked: put back, itl is"));
  const auto none = solve(s, "itl <= 1 us", "tp_size");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.why()->text(), ContainsSubstring("itl of Llama3_70B on 8 x H100"));
  CHECK_THAT(none.why()->text(), !ContainsSubstring("central differences"));
}

TEST_CASE("no solution says what can be reached", "[explore][solve]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 1);
  const auto a = solve(s, "itl <= 1 us", "hardware.memory.bandwidth");
  REQUIRE_FALSE(a);
  CHECK_THAT(a.why()->text(), ContainsSubstring("reachable"));
  CHECK_THROWS_WITH(solve(s, "itl <= 30", "batch_size"), ContainsSubstring("give the number its unit"));
  CHECK_THROWS_WITH(solve(s, "itl", "batch_size"), ContainsSubstring("a constraint compares two values"));
  CHECK_THROWS_AS(solve(s, "batch_size <= 4", "batch_size"), InputError);
  CHECK_THROWS_AS(solve(s, "itl <= 30 ms", "batches"), LookupError);
  CHECK_THROWS_AS(solve(s, "itl <= 30 ms", "batch_size", {.low = AnyQuantity::parse("1 ms")}),
                  DimensionError);
}

TEST_CASE("expressions read units, names and precedence", "[explore][expression]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  std::vector<double> slots(s.point);
  const auto results = s.entry(s.point);
  slots.insert(slots.end(), results.begin(), results.end());
  const auto value = [&](std::string_view text) { return Expression::parse(text, scope_of(s))(slots); };
  CHECK(value("1 + 2 * 3 - 4 / 2") == 5);
  CHECK(value("-(2 - 5)") == 3);
  CHECK(value("500 ms + 1 s") == 1.5);
  CHECK(value("3.35 TB/s / 2") == 3.35e12 / 2);
  CHECK(value("2 GB / hardware.memory.bandwidth") ==
        Approx(2e9 / s.point[s.input("hardware.memory.bandwidth")]));
  CHECK(value("max(itl, ttft)") == results[s.result("ttft")]);
  CHECK(value("token_throughput / accelerators") == Approx(results[s.result("throughput_per_accelerator")]));
  CHECK(value("5 USD / Mtoken / cost_per_token") == Approx(5e-6 / results[s.result("cost_per_token")]));
  CHECK(value("1 + 1 == 2 and 3 != 3 or 2 < 1") == 0);
  CHECK(value("1 or 0 and 0") == 1);
  CHECK(value("(1 s <= 1000 ms) + (2 = 2)") == 2);
  CHECK(value("round(2.5) - round(-2.5) + round(0.49999999999999994) + log2(8) + given(itl)") == 6 + 3 + 1);
  CHECK(value("floor(2.7) + ceil(2.1) + abs(-1) + sqrt(16) + min(3, 2)") == 2 + 3 + 1 + 4 + 2);
}

TEST_CASE("a constraint is one comparison, or the truth of several", "[explore][expression]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  std::vector<double> slots(s.point);
  const auto results = s.entry(s.point);
  slots.insert(slots.end(), results.begin(), results.end());
  const auto met = [&](std::string_view text) {
    const auto c = ConstraintExpression::parse(text, scope_of(s));
    const std::span<const double> at(slots);
    return c.holds(c.left()(at), c.right()(at));
  };
  CHECK(met("batch_size == 4"));
  CHECK(met("batch_size = 4"));
  CHECK_FALSE(met("batch_size != 4"));
  CHECK(met("batch_size < 1 or pp_size + 3 >= 4"));
  CHECK_FALSE(met("batch_size > 1 and (itl <= 0 s or ttft <= 0 s)"));
  CHECK(met("(batch_size > 1)"));
  const auto one = ConstraintExpression::parse("2 * itl <= 30 ms", scope_of(s));
  CHECK(one.left().text() == "2 * itl");
  CHECK(one.right().text() == "30 ms");
}

TEST_CASE("a fault in a file has its place", "[explore][expression]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  try {
    (void)Expression::parse("itl + itll", scope_of(s), {"rows.yaml", 7, 20});
    FAIL("read");
  } catch (const LookupError& e) {
    CHECK(e.facts().where.text() == "rows.yaml:7:26");
    CHECK(e.facts().excerpt == "    itl + itll\n          ^");
    CHECK(e.facts().found == "'itll' at column 7");
  }
}

TEST_CASE("expressions that make no sense are refused", "[explore][expression]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  const auto refused = [&](std::string_view text, const std::string& words) {
    INFO(text);
    CHECK_THROWS_WITH(ConstraintExpression::parse(text, scope_of(s)), ContainsSubstring(words));
  };
  refused("itl <= 30 W", "different units");
  refused("ttft + 3 GB <= 1 s", "different units");
  refused("itll <= 30 ms", "did you mean 'itl'");
  refused("itl <= ", "ends too early");
  refused("(itl <= 30 ms", "parenthesis");
  refused("itl <= 30 ms <= 40 ms", "does not end here");
  refused("itl ? 30 ms", "compares two values");
  refused("sqrt(itl) <= 1", "without a unit");
  refused("itl or ttft", "without a unit");
  refused("itl + 1 ms", "compares two values");
  refused("round(itl, 2) <= 1 s", "is not closed");
  refused("tan(1) <= 1", "there is no function 'tan'");
  refused("given(itll) == 1", "did you mean 'itl'");
  refused("batch_size == 1 or itl <= 30", "at column 24");
  refused("min(itl) <= 1 s", "compares two values");
  refused(std::string(400, '('), "nested too deeply");
}

TEST_CASE("points, columns and bounds of an expression agree", "[explore][expression]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  const auto e = Expression::parse(
      "max(ttft, 3 * itl) / 1 ms + sqrt(batch_size * 2) - floor(seq_len / 7) + abs(1 - pp_size) + "
      "round(seq_len / 3) + log2(seq_len)"
      " + (ttft < itl or seq_len >= 40 and seq_len != 50) * 7 + (batch_size <= 30) - (pp_size > 8) - "
      "(seq_len == 3)",
      scope_of(s));
  const std::size_t n = s.entry.inputs.size() + s.entry.results.size();
  std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(0.5, 90);
  std::vector<std::vector<double>> columns(n, std::vector<double>(33));
  for (auto& c : columns)
    for (auto& x : c) x = draw(random);
  std::vector<const double*> pointers;
  for (const auto& c : columns) pointers.push_back(c.data());
  std::vector<double> out(33);
  // While recording an expression becomes part of a tape, which columns and ranges then run.
  const ColumnProgram program(
      record_tape(n, [&](std::span<const Recorded> in) { return std::vector<Recorded>{e(in)}; }));
  ColumnProgram::Workspace workspace(program);
  double* const column = out.data();
  program.run(pointers.data(), &column, 33, workspace);
  std::vector<Interval> box(n);
  for (std::size_t i = 0; i < n; ++i)
    box[i] = Interval(*std::min_element(columns[i].begin(), columns[i].end()),
                      *std::max_element(columns[i].begin(), columns[i].end()));
  const Interval bounds = Ranges(program.tape()).tight(0, box);
  for (std::size_t p = 0; p < 33; ++p) {
    std::vector<double> slots;
    for (const auto& c : columns) slots.push_back(c[p]);
    CHECK(e(std::span<const double>(slots)) == out[p]);
    CHECK(bounds.low <= out[p]);
    CHECK(bounds.high >= out[p]);
  }
}

TEST_CASE("any text is read or refused, never worse", "[explore][expression][fuzz]") {
  const auto s = scenario("Llama3_70B", 8, Mode::serve, 4);
  const std::string_view pieces[] = {
      "itl", "ttft", "30",  "ms", " ", "<=",  ">=",   "<",  "==",         "+",  "-", "*", "/",
      "(",   ")",    "max", ",",  ".", "1e9", "GB/s", "^2", "batch_size", "\t", "%", "é", "nan"};
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto k = random() % 9; k > 0; --k) text += pieces[random() % std::size(pieces)];
    try {
      (void)ConstraintExpression::parse(text, scope_of(s));
      ++read;
    } catch (const Error&) {
    }
  }
  CHECK(read > 0);
}
