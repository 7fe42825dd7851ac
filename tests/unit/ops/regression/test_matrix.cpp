// Matrices, what they predict, and how that differs from what was accepted.

#include "support/catch.hpp"

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/ops/regression/report.hpp>
#include <mlsysim/ops/regression/state.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

using namespace mlsysim;

namespace {

/// A file that goes with the test.
class Written {
 public:
  Written(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("mlsysim-ci-" + std::to_string(::getpid()) + "-" + name)) {
    std::ofstream(path_) << text;
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

constexpr const char* kMatrix = R"(version: "1"
models: [Llama3_8B, Llama3_70B]
hardware: [H100, H200]
precision: [bf16]
pipelines:
  serve: {batch_size: 4, accelerators: 8}
  compile: {resolver: CompilationModel, breaks: 3}
metrics: {itl: {relative: 1 %}, ttft: , compiled: , token_throughput: }
budgets:
- itl <= 1 s
- 'itl <= 4 ms for model=~"Llama3_7.*"'
fleet: {accelerators: 100, device_hour: 2 USD}
)";

CiMatrix matrix(const std::string& text = kMatrix) {
  const Written file("matrix.yaml", text);
  return read_matrix(file.path(), standard_zoo());
}
/// Every message of a matrix that is refused, joined.
std::string faults(const std::string& text) {
  try {
    const auto m = matrix(text);
    (void)run_matrix(m, standard_zoo());
  } catch (const ErrorList& error) {
    std::string out;
    for (const auto& p : error.problems()) out += render(p) + "\n";
    return out;
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a matrix is the product of its lists, and each cell gives the numbers that it has", "[ci]") {
  const auto m = matrix();
  REQUIRE(m.cells.size() == 8);
  CHECK(m.cells[0].name() == "Llama3_8B/H100/bf16/serve");
  CHECK(m.cells[7].name() == "Llama3_70B/H200/bf16/compile");
  const auto run = run_matrix(m, standard_zoo(), {.threads = 2});
  const auto again = run_matrix(m, standard_zoo());
  CHECK(baseline_text(run) == baseline_text(again));
  CHECK(run.cells[0].numbers.size() == 3);
  CHECK(run.cells[1].numbers.size() == 1);
  // 70 B parameters in bf16 do not fit into one H100: no numbers, and the others are not kept from being
  // predicted.
  CHECK(run.cells[0].status == CellStatus::ok);
  REQUIRE(run.broken.size() == 2);
  CHECK(run.broken[0].cell == "Llama3_70B/H100/bf16/serve");
  CHECK(run.broken[0].limit == Approx(0.004));
}

TEST_CASE("models can be chosen from the zoo or from the list of a hub", "[ci]") {
  const auto chosen = [](const std::string& models) {
    std::string out;
    for (const auto& c : matrix(replaced(kMatrix, "[Llama3_8B, Llama3_70B]", models)).cells)
      if (c.pipeline == "serve" && c.hardware == "H100") out += c.model + " ";
    return out;
  };
  CHECK(chosen("{top: 1, by: parameters, family: [language]}") == chosen("{top: 1, family: [language]}"));
  const Written list("hub.json",
                     R"([{"id": "Llama3_8B", "downloads": 3}, {"modelId": "Llama3_70B", "downloads": 5},
                                     {"id": "nobody/knows-this", "downloads": 9}])");
  const auto of_list = [&](const Written& file, const std::string& rest) {
    return chosen("{list: \"" + file.path().filename().string() + "\", " + rest + "}");
  };
  CHECK(of_list(list, "top: 2") == "Llama3_70B Llama3_8B ");
  // Ids alone keep their order, and each counts once; names of a hub are resolved as everywhere.
  const Written ids("ids.json",
                    R"(["Qwen/Qwen3-8B", "nobody/knows-this", "openai-community/gpt2", "Qwen/Qwen3-8B",
                                    {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ"}])");
  CHECK(of_list(ids, "top: 9") == "Qwen/Qwen3-8B openai-community/gpt2 Qwen/Qwen2.5-7B-Instruct-AWQ ");
  CHECK(of_list(ids, "top: 1, by: parameters") == "Qwen/Qwen3-8B ");
  const auto m = matrix(
      "version: \"1\"\nmodels: {top: 3, list: \"" + ids.path().filename().string() +
      "\"}\nhardware: [H100]\nmetrics: [itl]\npipelines:\n"
      "  serve: {batch_size: 4}\n  compile: {resolver: CompilationModel, records: 'x/{model}.json'}\n");
  REQUIRE(m.cells.size() == 6);
  CHECK(m.cells[1].records.filename() == "Qwen--Qwen3-8B.json");
  CHECK(m.notes.size() == 5);  // a model that is not known, three that are taken for entries, and a format
  CHECK(run_matrix(m, standard_zoo()).cells[4].status == CellStatus::ok);
}

TEST_CASE("faults of a matrix are told together, before anything is predicted", "[ci]") {
  const auto text =
      faults(replaced(replaced(kMatrix, "fleet:", "fleets:"), "relative: 1 %", "relative: 1 ms"));
  CHECK(text.find("fleets") != std::string::npos);
  CHECK(text.find("fleet'?") != std::string::npos);
  CHECK(text.find("dimension") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "- itl <= 1 s", "- itl <= 1 GB")).find("data") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "ttft: ,", "ttfd: ,")).find("ttft") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "Llama3_7.*", "Lama.*")).find("for no cell") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "Llama3_7.*", "Llama(")).find("no regular expression") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "for model", "for modell")).find("which cells") != std::string::npos);
  CHECK(faults(replaced(kMatrix, "CompilationModel", "CompilationModal")).find("CompilationModel") !=
        std::string::npos);
  CHECK(faults(replaced(kMatrix, "batch_size: 4", "precision: fp8")).find("what the matrix varies") !=
        std::string::npos);
}

TEST_CASE("a cell that fails says why, and the others are predicted", "[ci]") {
  const auto run = run_matrix(matrix(replaced(kMatrix, "Llama3_70B]", "Llama3_71B]")), standard_zoo());
  CHECK(run.cells[0].status == CellStatus::ok);
  CHECK(run.cells[4].status == CellStatus::failed);
  CHECK(run.cells[4].reason.find("Llama3_70B") != std::string::npos);
  CHECK(CiReport{.run = run}.exit_code() == 4);
}

TEST_CASE("a plugin that fails and a record that is refused end a run with 3, whatever is missing for it",
          "[ci]") {
  const auto m = matrix();
  auto run = run_matrix(m, standard_zoo());
  run.broken.clear();  // which would end it with 1 in any case
  const auto accepted = parse_baseline(baseline_text(run), "baseline");
  auto& broken = run.cells[1];
  broken.status = CellStatus::failed;
  broken.reason = "the process of the plugin is gone";
  broken.why = BreakReason::plugin_error;
  broken.numbers.clear();
  const auto report = [&] {
    return CiReport{.run = run, .compared = true, .differences = differences(m, run, accepted)};
  };
  REQUIRE(report().count(Verdict::worse) + report().count(Verdict::gone) > 0);
  CHECK(report().exit_code() == 3);
  broken.why = BreakReason::invalid_input;
  CHECK(report().exit_code() == 1);  // a failure of one's own is a regression
  broken.refused = true;
  CHECK(report().exit_code() == 3);
  // What got worse elsewhere is told before it.
  run.cells[0].numbers.front().value *= 2;
  CHECK(report().exit_code() == 1);
}

TEST_CASE("a baseline is read as it was written", "[ci]") {
  const auto m = matrix();
  const auto run = run_matrix(m, standard_zoo());
  const auto text = baseline_text(run);
  const auto accepted = parse_baseline(text, "baseline");
  REQUIRE(accepted.size() == run.cells.size());
  for (const auto& cell : run.cells) {
    const auto& a = accepted.at(cell.cell.name());
    CHECK(a.status == cell.status);
    REQUIRE(a.numbers.size() == cell.numbers.size());
    const auto& s = *cell.subject;
    for (std::size_t i = 0; i < s.entry.inputs.size(); ++i) {
      INFO(s.entry.inputs[i].name);
      CHECK(a.figures.at(s.entry.inputs[i].name) == s.point[i]);
    }
  }
  CHECK(differences(m, run, accepted).empty());
  CHECK_THROWS_AS(parse_baseline("version: \"1\"\ncells: {a: {statu: ok}}\n", "x"), ErrorList);
}

TEST_CASE("a changed figure is named with its exact part, and the rest is due to the equations", "[ci]") {
  const auto m = matrix();
  const auto run = run_matrix(m, standard_zoo());
  auto accepted = parse_baseline(baseline_text(run), "baseline");
  const auto& cell = run.cells[0];
  auto& before = accepted.at(cell.cell.name());
  // As if the bandwidth had been a tenth higher: what the cell gave then is the law at that figure.
  before.figures["hardware.memory.bandwidth"] *= 1.1;
  auto point = cell.subject->point;
  point[cell.subject->input("hardware.memory.bandwidth")] *= 1.1;
  const auto results = cell.subject->entry(point);
  for (auto& n : before.numbers) n.value = results[cell.subject->result(n.name)];
  const auto found = differences(m, run, accepted);
  REQUIRE(!found.empty());
  const auto& itl =
      *std::find_if(found.begin(), found.end(), [](const Difference& d) { return d.metric == "itl"; });
  CHECK(itl.cell == cell.cell.name());
  CHECK(itl.verdict == Verdict::worse);
  REQUIRE(itl.causes.size() == 1);
  CHECK(itl.causes[0].input == "hardware.memory.bandwidth");
  CHECK(itl.causes[0].part == Approx(*itl.after - *itl.before));
  REQUIRE(itl.per_year);
  CHECK(*itl.per_year / unit::USD == Approx(100 * 2 * 8766 * (*itl.after / *itl.before - 1)));
  CHECK(in_words(itl).find("of it from hardware.memory.bandwidth 3685 GB/s -> 3350 GB/s") !=
        std::string::npos);
  // The same with another number than the law gives at that figure: equations are named beside the figure.
  for (auto& n : before.numbers) n.value *= 0.9;
  const auto both = differences(m, run, accepted);
  double sum = 0;
  bool equations = false;
  for (const auto& c : both[0].causes) {
    sum += c.part;
    equations = equations || c.input == "equations";
  }
  CHECK(equations);
  CHECK(sum == Approx(*both[0].after - *both[0].before));
}

TEST_CASE("new, gone and broken cells, and numbers that got better", "[ci]") {
  const auto m = matrix();
  const auto run = run_matrix(m, standard_zoo());
  auto accepted = parse_baseline(baseline_text(run), "baseline");
  accepted["other/H100/bf16/serve"] = {};
  accepted.erase("Llama3_8B/H100/bf16/serve");
  accepted.at("Llama3_8B/H200/bf16/compile").status = CellStatus::infeasible;
  auto& number = accepted.at("Llama3_8B/H200/bf16/serve").numbers;
  for (auto& n : number) n.value *= n.name == "token_throughput" ? 0.5 : 2;
  CiReport r{.commit = "abc",
             .matrix = "m.yaml",
             .run = run,
             .compared = true,
             .differences = differences(m, run, accepted)};
  CHECK(r.count(Verdict::gone) == 1);
  CHECK(r.count(Verdict::fresh) == 1);
  CHECK(r.count(Verdict::worse) == 0);
  CHECK(r.count(Verdict::better) == 4);
  CHECK(r.exit_code() == 1);
  // A change within its tolerance is none.
  accepted = parse_baseline(baseline_text(run), "baseline");
  for (auto& n : accepted.at("Llama3_8B/H200/bf16/serve").numbers)
    if (n.name == "itl") n.value *= 1.009;
  CHECK(differences(m, run, accepted).empty());
}

TEST_CASE("a run that was stopped is incomplete, and says nothing of cells that it has not reached", "[ci]") {
  const auto m = matrix();
  CancelToken stop;
  stop.cancel();
  const auto run = run_matrix(m, standard_zoo(), {.threads = 2, .cancel = &stop});
  CHECK_FALSE(run.complete);
  CHECK(run.cells.empty());
  const auto accepted = parse_baseline(baseline_text(run_matrix(m, standard_zoo())), "baseline");
  CHECK(differences(m, run, accepted).empty());
  CHECK(CiReport{.run = run}.exit_code() == 4);
}

TEST_CASE("reports escape what they are given once", "[ci]") {
  CiReport r{.commit = "<b>", .matrix = "m\"&.yaml", .compared = true};
  r.run.cells.push_back(
      {.cell = {"<script>", "H100", "bf16", "a&#x27;b"}, .status = CellStatus::failed, .reason = "<i>\n&"});
  r.run.broken.push_back({"<script>/H100/bf16/a&#x27;b", "itl <= 1 ms", 0.002, 0.001, dim::time::exps});
  const auto html = render(r, CiForm::html);
  CHECK(html.find("<script>") == std::string::npos);
  CHECK(html.find("&lt;script&gt;") != std::string::npos);
  CHECK(html.find("a&amp;#x27;b") != std::string::npos);
  CHECK(html.find("&amp;amp;") == std::string::npos);
  const auto junit = render(r, CiForm::junit);
  CHECK(junit.find("tests=\"1\" failures=\"1\"") != std::string::npos);
  CHECK(junit.find("itl &lt;= 1 ms") != std::string::npos);
  CHECK(annotations(r, Annotations::github)
            .find("::error file=m\"&.yaml,title=<script>/H100/bf16/a&#x27;b::budget 'itl <= 1 ms' is "
                  "broken: 2 ms against 1 ms\n") != std::string::npos);
  CHECK(annotations(r, Annotations::github).find("<i>%0A&") != std::string::npos);
  CHECK(render(r, CiForm::gitlab).find("\"fingerprint\"") != std::string::npos);
}

TEST_CASE("a run that is stopped keeps what it has, and the next one goes on to the same bytes", "[ci]") {
  const Written file("stopped.yaml", kMatrix);
  const auto m = read_matrix(file.path(), standard_zoo());
  const auto json = [](CiRun run) {
    return render(CiReport{.commit = "c", .run = std::move(run)}, CiForm::json);
  };
  const auto whole = run_matrix(m, standard_zoo());
  const auto key = state_key(m, standard_zoo(), "c");
  // Known cells are asked about when they are reached: the stop comes at the fourth.
  CancelToken stop;
  CiHow first{.cancel = &stop, .again = [&](const CellResult&) {
                stop.cancel();
                return false;
              }};
  first.known[whole.cells[3].cell.name()] = whole.cells[3];
  auto free = m;  // a cell with a budget is predicted again, known or not
  free.budgets.clear();
  const auto part = run_matrix(free, standard_zoo(), first);
  CHECK_FALSE(part.complete);
  REQUIRE(part.cells.size() == 4);
  CHECK(CiReport{.run = part}.exit_code() == 4);
  const auto text = state_text(part, key);
  CiHow second{.known = read_state(text, "state", key)};
  CHECK(second.known.size() == 4);
  std::size_t asked = 0;
  second.again = [&](const CellResult& c) {
    CHECK(c.subject == nullptr);
    ++asked;
    return false;
  };
  const auto rest = run_matrix(m, standard_zoo(), second);
  CHECK(rest.complete);
  CHECK(asked == 0);  // a budget is asked of every cell here, so that all are predicted again
  CHECK(json(rest) == json(whole));
  // Without budgets what is known is not predicted again.
  CHECK(json(run_matrix(free, standard_zoo(), second)) == json(run_matrix(free, standard_zoo())));
  CHECK(asked == 4);
  // A state of a stopped run that went on from a state is a state, too.
  CHECK(read_state(state_text(run_matrix(free, standard_zoo(), second), key), "state", key).size() == 8);
  CHECK_THROWS_AS(read_state(text, "state", state_key(m, standard_zoo(), "d")), InputError);
  // Another digit anywhere, or an end that is missing, is noticed.
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    auto changed = text;
    changed[i] = changed[i] == '9' ? '1' : '9';
    CHECK_THROWS_AS(read_state(changed, "state", key), InputError);
    CHECK_THROWS_AS(read_state(text.substr(0, i), "state", key), InputError);
  }
}
