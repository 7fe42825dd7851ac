// Breaks as inputs of a law, and the price of what changed about them.

#include "support/catch.hpp"

#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/ops/regression/report.hpp>
#include <mlsysim/resolvers/models/compilation.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace mlsysim;

namespace {

CompileBreak one(const std::string& type, const std::string& file, int line, const std::string& function) {
  CompileBreak b;
  b.type = type;
  b.category = BreakCategory::data_dependent_control_flow;
  b.stack = {{.file = "outer.py", .line = 1, .function = "main"},
             {.file = file, .line = line, .function = function}};
  return b;
}
/// `kept` breaks at a.py, `moved` of them one line further down, and `fresh` at modeling_x.py.
CompileRecords records(int kept, int fresh, int line = 10) {
  CompileRecord r;
  r.model = "m";
  for (int i = 0; i < kept; ++i) r.breaks.push_back(one("Tensor.item", "pkg/a.py", line, "f"));
  for (int i = 0; i < fresh; ++i)
    r.breaks.push_back(one("branch on a value", "pkg/modeling_x.py", 177, "forward"));
  r.graph_breaks = static_cast<double>(r.breaks.size());
  r.compile_time = 2.0 * unit::s;
  return {.records = {r}, .duplicates = {}, .notes = {}};
}
const std::map<std::string, std::string> kInputs{
    {"workload", "Llama3_8B"}, {"hardware", "H100"}, {"precision", "bf16"}};

/// The compiled step with a number of breaks, asked of the resolver itself.
Time<> step(double breaks) {
  return CompilationModel{}
      .solve({.workload = &standard_zoo().at<Workload>("Llama3_8B"),
              .hardware = &standard_zoo().at<HardwareNode>("H100"),
              .precision = Precision::bf16,
              .breaks = breaks})
      .compiled;
}

}  // namespace

TEST_CASE("breaks are the same where type, file and function are", "[ci]") {
  const auto diff = diff_of(records(2, 0), records(2, 4, 11));
  REQUIRE(diff.places.size() == 2);
  CHECK(diff.places[0].before == 0);
  CHECK(diff.places[0].after == 4);
  CHECK(diff.places[0].shown() == "modeling_x.py:177 (data_dependent_control_flow)");
  CHECK(diff.places[1].before == 2);
  CHECK(diff.places[1].after == 2);  // a line that moved is no change
  CHECK(diff.places[1].place.line == 11);
  const auto back = diff_of(records(2, 4), records(3, 0));
  CHECK(back.places[0].before == 4);
  CHECK(back.places[0].after == 0);
  CHECK(back.places[1].after == 3);
  auto other = records(1, 0);
  other.records[0].model = "n";
  other.records[0].graph_breaks = 3;
  const auto apart = diff_of(records(1, 0), other);
  CHECK(apart.only_before == std::vector<std::string>{"m"});
  CHECK(apart.only_after == std::vector<std::string>{"n"});
  // Two that the source counts without a reason are a place of their own.
  CHECK(std::any_of(apart.places.begin(), apart.places.end(),
                    [](const BreakPlace& p) { return p.after == 2; }));
}

TEST_CASE("each place has its exact part of the price", "[ci]") {
  const auto one_place =
      priced_diff(diff_of(records(2, 0), records(2, 4)), {.inputs = kInputs}, standard_zoo());
  CHECK(one_place.metric == "compiled");
  CHECK(*one_place.before == Approx(step(2).base()).epsilon(1e-12));
  CHECK(*one_place.after == Approx(step(6).base()).epsilon(1e-12));
  CHECK(one_place.verdict == Verdict::worse);
  REQUIRE(one_place.causes.size() == 1);
  CHECK(one_place.causes[0].part == Approx(step(6).base() - step(2).base()));
  CHECK(in_words(one_place).find(
            "of it from breaks at modeling_x.py:177 (data_dependent_control_flow) 0 -> 4") !=
        std::string::npos);
  // Two places: the mean over both orders, by hand.
  const auto both = priced_diff(diff_of(records(5, 0), records(2, 4)), {.inputs = kInputs}, standard_zoo());
  REQUIRE(both.causes.size() == 2);
  const double gained = (step(9).base() - step(5).base() + step(6).base() - step(2).base()) / 2;
  const double saved = (step(2).base() - step(5).base() + step(6).base() - step(9).base()) / 2;
  CHECK(both.causes[0].part == Approx(gained));
  CHECK(both.causes[1].part == Approx(saved));
  CHECK(both.exact);
}

TEST_CASE("where requests arrive their tail is priced, and a year of the fleet", "[ci]") {
  auto inputs = kInputs;
  inputs["arrival_rate"] = "100 request/s";
  inputs["accelerators"] = "512";
  inputs["device_hour"] = "2 USD";
  const auto priced = priced_diff(diff_of(records(0, 0), records(0, 4)), {.inputs = inputs}, standard_zoo());
  CHECK(priced.metric == "p99_latency");
  const auto tail = [](Time<> service) {
    return TailLatencyModel{}
        .solve({.arrival_rate = 100.0 * unit::request / unit::s, .service_latency = service})
        .p99_latency;
  };
  CHECK(*priced.before == Approx(tail(step(0))->base()));
  CHECK(*priced.after == Approx(tail(step(4))->base()));
  REQUIRE(priced.per_year);
  CHECK(*priced.per_year / unit::USD == Approx(512 * 2 * 8766 * (*priced.after / *priced.before - 1)));
  for (const auto& [name, text] :
       {std::pair{"breaks", "3"}, {"nonsense", "3"}, {"service_latency", "1 ms"}}) {
    auto wrong = kInputs;
    wrong[name] = text;
    CHECK_THROWS_AS(priced_diff(diff_of(records(0, 0), records(0, 1)), {.inputs = wrong}, standard_zoo()),
                    InputError);
  }
}

TEST_CASE("a matrix attributes what breaks cost to the places that are new and gone", "[ci]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("mlsysim-breaks-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto put = [&](const CompileRecords& r) {
    std::ofstream(folder / "m.json") << explain_document(r.records[0]);
  };
  std::ofstream(folder / "matrix.yaml") << R"(version: "1"
models: [Llama3_8B]
hardware: [H100]
precision: [bf16]
pipelines: {compiled: {records: m.json, arrival_rate: 100 request/s}}
metrics: {p99_latency: , breaks: {better: lower}, compile_time: }
)";
  const auto matrix = read_matrix(folder / "matrix.yaml", standard_zoo());
  put(records(3, 0));
  const auto accepted = parse_baseline(baseline_text(run_matrix(matrix, standard_zoo())), "baseline");
  put(records(0, 6));
  const auto run = run_matrix(matrix, standard_zoo());
  const auto found = differences(matrix, run, accepted);
  std::filesystem::remove_all(folder);
  REQUIRE(run.cells[0].status == CellStatus::ok);
  CHECK(run.cells[0].numbers.size() == 3);
  REQUIRE(found.size() == 2);
  CHECK(found[0].metric == "p99_latency");
  CHECK(found[0].verdict == Verdict::worse);
  REQUIRE(found[0].causes.size() == 2);  // and no equations
  CHECK(found[0].causes[0].input == "break branch on a value at modeling_x.py forward");
  CHECK(found[0].causes[0].part > 0);
  CHECK(found[0].causes[1].input == "break Tensor.item at a.py f");
  CHECK(found[0].causes[1].part < 0);
  CHECK(found[0].causes[0].part + found[0].causes[1].part == Approx(*found[0].after - *found[0].before));
  CHECK(found[1].metric == "breaks");
  CHECK(*found[1].after == 6);
}
