#include <support/catch.hpp>

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/report/explanation_report.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace mlsysim;

namespace {

Scenario scenario() {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>("Llama3_70B");
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = 8;
  s.mode = Mode::serve;
  return s;
}

/// Laws of a call and the calls inside it.
void laws_in(const nlohmann::json& call, std::vector<std::string>& out) {
  out.push_back(call["law"]);
  for (const auto& inner : call["calls"]) laws_in(inner, out);
}

}  // namespace

TEST_CASE("a derivation as JSON is a tree", "[report]") {
  const auto e = explanation(scenario(), "cost_per_token");
  const auto j = nlohmann::json::parse(render(e, {.format = OutputFormat::json}));
  CHECK(j["schema"] == "mlsysim/explanation@1");
  CHECK(j["value"].get<double>() == Approx(AnyQuantity::from_base(e.value, e.exps).in(e.unit)));
  std::vector<std::string> laws;
  laws_in(j["derivation"], laws);
  CHECK(laws.size() == e.derivation.records.size());
  CHECK(std::count(laws.begin(), laws.end(), "CostPerToken") == 1);
  CHECK(j["derivation"]["operations"].back()["tree"].contains("op"));
  CHECK(j["figures"].size() > 5);
  CHECK_FALSE(j["handed_in"].empty());
}

TEST_CASE("the forms of a derivation hold the same calls", "[report]") {
  const auto e = explanation(scenario(), "itl");
  const auto text = render(e, {}), page = render(e, {.format = OutputFormat::markdown});
  // The terms are still there, and the derivation after them.
  CHECK_THAT(text, Catch::Contains("limited by") && Catch::Contains("the largest operator") &&
                       Catch::Contains("law by law"));
  for (const char* law : {"MatmulTime", "AttentionTime", "SoftRoofline"}) {
    INFO(law);
    CHECK_THAT(text, Catch::Contains(law));
    CHECK_THAT(page, Catch::Contains(std::string("] ") + law));
  }
  CHECK_THAT(text, Catch::Contains("MatmulTime again, as above:"));
  CHECK(to_text(e.derivation, Repeats::shown).size() > to_text(e.derivation, Repeats::counted).size());
  CHECK_THAT(page, Catch::Contains("| input | `hardware.memory.bandwidth` |"));
}

TEST_CASE("an uncertainty report has every column in every form", "[report]") {
  UncertaintyQuestion q;
  q.figures = {UncertainFigure::parse("hardware.efficiency.memory = +-5 %"),
               UncertainFigure::parse("hardware.kernels.launch = triangular 1 us..4 us")};
  q.estimates = false;
  q.results = {"itl", "cost_per_token"};
  q.samples = 256;
  const auto r = uncertainty(subject_of(scenario()), q);
  const auto csv = render(r, {.format = OutputFormat::csv});
  CHECK_THAT(csv,
             Catch::StartsWith("result,unit,value,low,median,high,mean,sd,linear_sd,bound_low,bound_high,"
                               "first_order hardware.efficiency.memory,"
                               "total hardware.efficiency.memory,first_order hardware.kernels.launch,total "
                               "hardware.kernels.launch\n"));
  // Numbers, to the last bit.
  const auto line = csv.substr(csv.find("itl,ms,") + 7);
  CHECK(std::stod(line) == AnyQuantity::from_base(r.results[0].value, r.results[0].exps).in("ms"));
  CHECK(csv.find(" ms") == std::string::npos);
  for (const auto format : {OutputFormat::text, OutputFormat::markdown}) {
    const auto text = render(r, {.format = format, .verbosity = Verbosity::verbose});
    CHECK_THAT(text,
               Catch::Contains("outer bounds") && Catch::Contains("first order") && Catch::Contains(" .. "));
  }
}
