#include "samples.hpp"

#include <mlsysim/resolver_api/dynamic_resolver.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::literals;

namespace {

/// Stands for an array of the host language.
struct HostArray : HostObject {
  [[nodiscard]] std::string type() const override { return "numpy.ndarray"; }
  [[nodiscard]] std::string text() const override { return "array([1, 2])"; }
};

DynamicResolver halver() {
  ResolverInfo info;
  info.name = "Halver";
  info.origin = "Python";
  return DynamicResolver(
      info,
      {{.name = "time", .kind = ValueKind::quantity, .unit = "ms", .meaning = "what is halved", .low = 0},
       {.name = "mode",
        .kind = ValueKind::choice,
        .choices = {"fast", "exact"},
        .required = false,
        .default_value = "fast",
        .default_source = "habit"},
       {.name = "extra", .required = false}},
      {{.name = "half", .kind = ValueKind::quantity, .unit = "ms"}, {.name = "note"}},
      [](std::span<const DynamicValue> in, SolveContext&) -> DynamicAnswer {
        if (std::get<std::string>(in[1].value) == "exact")
          return Infeasible{"nobody is exact", "mode = fast", {}};
        return std::vector<DynamicValue>{{std::get<double>(in[0].value) / 2, in[0].exps}, in[2]};
      });
}

}  // namespace

TEST_CASE("a resolver made at run time has a table like any other", "[resolve]") {
  const auto r = halver();
  REQUIRE(r.inputs().size() == 3);
  CHECK(r.inputs()[0].exps == dim::time::exps);
  CHECK(r.inputs()[0].required);
  CHECK_FALSE(r.inputs()[1].required);
  CHECK(is_dynamic(r.inputs()[0]));
  Record in(r, Side::inputs);
  in.set("time", 10 * unit::ms).set("extra", HostRef(std::make_shared<HostArray>()));
  const auto answer = evaluate(r, in);
  REQUIRE(answer.outcome.feasible());
  CHECK(answer.outcome->get("half") == DynamicValue(5 * unit::ms));
  CHECK(answer.outcome->get("note").text() == "array([1, 2])");
  REQUIRE(answer.report.assumptions().size() == 1);
  CHECK(answer.report.assumptions()[0].value == "fast");
  CHECK_THAT(answer.report.verification.text(), ContainsSubstring("made at run time (Python)"));
  in.set("mode", "exact");
  CHECK(evaluate(r, in).outcome.why()->smallest_change == "mode = fast");
}

TEST_CASE("values are checked on their way in and out", "[resolve]") {
  const auto r = halver();
  Record in(r, Side::inputs);
  CHECK_THROWS_AS(in.set("time", 3), DimensionError);
  CHECK_THROWS_AS(in.set("time", -3 * unit::ms), DomainError);
  CHECK_THROWS_AS(in.set("time", "soon"), InputError);
  CHECK_THROWS_WITH(in.set("mode", "fats"), ContainsSubstring("did you mean 'fast'?"));
  ResolverInfo info;
  info.name = "Broken";
  const auto answering = [&](std::vector<DynamicValue> values) {
    DynamicResolver b(info, {}, {{.name = "x", .kind = ValueKind::quantity, .unit = "GB"}},
                      [=](std::span<const DynamicValue>, SolveContext&) -> DynamicAnswer { return values; });
    const Record none(b, Side::inputs);
    return evaluate(b, none).outcome.value().get("x");
  };
  CHECK(answering({DynamicValue(3_GB)}) == DynamicValue(3_GB));
  CHECK_THROWS_AS(answering({DynamicValue(3_ms)}), DimensionError);
  CHECK_THROWS_AS(answering({}), SolverError);
  CHECK_THROWS_AS(answering({DynamicValue("three")}), InputError);
}

TEST_CASE("fields that cannot be are refused", "[resolve]") {
  const auto make = [](std::vector<DynamicField> in) {
    return DynamicResolver({.name = "R"}, std::move(in), {}, {}).inputs().size();
  };
  CHECK(make({{.name = "a"}, {.name = "b"}}) == 2);
  CHECK_THROWS_WITH(make({{.name = "a"}, {.name = "a"}}), ContainsSubstring("the name twice"));
  CHECK_THROWS_AS(make({{.name = ""}}), InputError);
  CHECK_THROWS_AS(make({{.name = "a", .kind = ValueKind::quantity, .unit = "furlong"}}), UnitError);
  const auto like = DynamicField::like(describe<sample::FitModel::Inputs>()[2]);
  CHECK(like.name == "batch_size");
  CHECK(like.low == 1);
}
