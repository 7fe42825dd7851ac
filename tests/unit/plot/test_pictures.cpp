// Pictures against the numbers that they draw.
#include "support/catch.hpp"

#include <mlsysim/plot/answer_pictures.hpp>
#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>
#include <mlsysim/plot/thing_pictures.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/validation/validate.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace mlsysim;

namespace {

Scenario serving() {
  return {.workload = &standard_zoo().at<Workload>("Llama3_70B"),
          .hardware = &standard_zoo().at<HardwareNode>("H100"),
          .batch_size = 16,
          .load = Load::burst,
          .accelerators = 8};
}
Scenario training(Schedule schedule = Schedule::one_forward_one_backward) {
  Scenario s{.workload = &standard_zoo().at<Workload>("Llama3_8B"),
             .hardware = &standard_zoo().at<HardwareNode>("H100")};
  s.mode = Mode::train;
  s.batch_size = 32;
  s.accelerators = 16;
  s.pp_size = 4;
  s.schedule = schedule;
  return s;
}

double number(const Metric* m) { return std::get<double>(m->value); }
double cell(const Table& t, std::size_t row, std::string_view column) {
  return std::get<double>(t.rows[row][column_of(t, column)].value);
}

}  // namespace

TEST_CASE("the bars of a waterfall end where the time does", "[picture]") {
  for (const auto* metric : {"itl", "ttft"}) {
    const auto p = waterfall_picture(serving(), metric);
    const auto card = SystemEvaluator::evaluate(serving());
    const auto& t = p.marks.front().data;
    const double whole = number(card.performance.find(metric));
    CHECK(cell(t, t.rows.size() - 1, "to") == whole);
    CHECK(cell(t, t.rows.size() - 2, "to") == Approx(whole).epsilon(1e-6));
  }
}

TEST_CASE("no operator is above its roof", "[picture]") {
  const auto p = roofline_picture(serving(), "itl");
  double peak = 0;
  const auto& roofs = p.marks[1].data;
  for (std::size_t i = 0; i < roofs.rows.size(); ++i) peak = std::max(peak, cell(roofs, i, "rate"));
  CHECK(peak == 989e12);
  const auto& points = p.marks[0].data;
  REQUIRE(points.rows.size() > 5);
  for (std::size_t i = 0; i < points.rows.size(); ++i) {
    CHECK(cell(points, i, "rate") <= peak);
    // 50 MB of cache may feed an operator faster than memory, but no weight fits there: the largest are
    // below.
    if (words_of(points.rows[i][0]) == "ffn_up")
      CHECK(cell(points, i, "rate") <= 3.35e12 * cell(points, i, "intensity"));
  }
}

TEST_CASE("the parts of the memory add up to what is used", "[picture]") {
  const auto p = memory_picture(serving());
  const auto card = SystemEvaluator::evaluate(serving());
  const auto& t = p.marks.front().data;
  double sum = 0;
  for (std::size_t i = 0; i < t.rows.size(); ++i)
    if (words_of(t.rows[i][1]) == "part") sum += cell(t, i, "size");
  CHECK(sum == Approx(number(card.feasibility.find("memory_used"))).epsilon(1e-9));
}

TEST_CASE("a schedule ends when the laws of the pipeline say", "[picture]") {
  for (const auto schedule : {Schedule::one_forward_one_backward, Schedule::gpipe}) {
    const auto s = training(schedule);
    const auto p = schedule_picture(s);
    const auto& t = p.marks.front().data;
    double end = 0;
    std::map<std::string, double> busy;
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      end = std::max(end, cell(t, i, "end"));
      busy[words_of(t.rows[i][0])] += cell(t, i, "end") - cell(t, i, "start");
    }
    double slowest = 0;
    for (const auto& [stage, time] : busy) slowest = std::max(slowest, time);
    const auto card = SystemEvaluator::evaluate(s);
    CHECK(end == Approx(slowest + number(card.performance.find("pipeline_bubble_latency"))).epsilon(1e-9));
    CHECK(busy.size() == 4);
    CHECK(t.rows.size() ==
          2 * 4 * static_cast<std::size_t>(number(card.performance.find("microbatch_count"))));
  }
}

TEST_CASE("pieces of one stage do not run at the same time, and every piece waits for what it needs",
          "[picture]") {
  const auto p = schedule_picture(training(Schedule::zero_bubble));
  const auto& t = p.marks.front().data;
  std::map<std::string, std::vector<std::pair<double, double>>> by_stage;
  std::map<std::pair<std::string, std::string>, std::map<int, double>> ends;
  for (std::size_t i = 0; i < t.rows.size(); ++i)
    by_stage[words_of(t.rows[i][0])].emplace_back(cell(t, i, "start"), cell(t, i, "end"));
  for (auto& [stage, pieces] : by_stage) {
    std::sort(pieces.begin(), pieces.end());
    for (std::size_t i = 1; i < pieces.size(); ++i)
      CHECK(pieces[i].first >= pieces[i - 1].second * (1 - 1e-12));
  }
  CHECK_THROWS_WITH(schedule_picture(serving()), Catch::Contains("no pipeline schedule"));
}

TEST_CASE("the memory of a schedule is at most that of the account, and reaches it", "[picture]") {
  const auto s = training();
  const auto p = memory_schedule_picture(s);
  const auto& t = p.marks.front().data;
  double most = 0;
  for (std::size_t i = 0; i < t.rows.size(); ++i) most = std::max(most, cell(t, i, "memory"));
  const auto card = SystemEvaluator::evaluate(s);
  CHECK(most == Approx(number(card.feasibility.find("memory_used"))).epsilon(1e-9));
}

TEST_CASE("a trace is as long as its pass", "[picture]") {
  const auto trace = nlohmann::json::parse(chrome_trace(serving(), "itl"));
  double end = 0;
  std::size_t pieces = 0;
  for (const auto& e : trace.at("traceEvents"))
    if (e.at("ph") == "X") {
      end = std::max(end, e.at("ts").get<double>() + e.at("dur").get<double>());
      ++pieces;
    }
  const auto p = timeline_picture(serving(), "itl");
  const auto& t = p.marks.front().data;
  CHECK(end == Approx(1e6 * cell(t, t.rows.size() - 1, "end")).epsilon(1e-9));
  CHECK(pieces > 80 * 5);  // 80 layers, one by one
}

TEST_CASE("a heat map and a curve draw what the scorecard says, and count what does not fit", "[picture]") {
  const auto problem = problem_of(serving());
  const Space space(problem,
                    {numbers_axis("batch_size", {1, 16, 4096}), numbers_axis("seq_len", {1024, 2048})});
  const auto heat = heat_map_picture(space, "itl");
  const auto card = SystemEvaluator::evaluate(serving());
  bool found = false;
  const auto& t = heat.marks.front().data;
  for (std::size_t i = 0; i < t.rows.size(); ++i)
    if (words_of(t.rows[i][0]) == "16" && words_of(t.rows[i][1]) == "2048") {
      CHECK(cell(t, i, "itl") == number(card.performance.find("itl")));
      found = true;
    }
  CHECK(found);
  REQUIRE_FALSE(heat.notes.empty());
  CHECK(heat.notes.back().find("2 of 6 points") != std::string::npos);
  CHECK_FALSE(heat.sources.empty());
  CHECK_THROWS_WITH(curve_picture(Space(problem, {numbers_axis("batch_size", {4096})}), "itl"),
                    Catch::Contains(std::string(kNothingFits)));
}

TEST_CASE("every picture has all its forms", "[picture]") {
  const auto& zoo = standard_zoo();
  const std::vector<Picture> all{waterfall_picture(serving()),
                                 roofline_picture(serving()),
                                 timeline_picture(serving()),
                                 memory_picture(serving()),
                                 costs_picture(serving()),
                                 carbon_picture(serving()),
                                 schedule_picture(training()),
                                 topology_picture(zoo.at<Fleet>("Research_256")),
                                 layers_picture(zoo.at<Workload>("Qwen3_30B_A3B"), zoo)};
  for (const auto& p : all) {
    INFO(p.kind);
    for (const auto form : {PictureForm::svg, PictureForm::text, PictureForm::vega, PictureForm::html,
                            PictureForm::json, PictureForm::csv})
      CHECK(render(p, form).size() > 200);
    for (const auto* odd : {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf", ",nan", ",-nan", "Mnan"})
      CHECK(to_svg(p).find(odd) == std::string::npos);
    CHECK_FALSE(p.sources.empty());
  }
}

TEST_CASE("a report holds the answer, pictures, derivations, measurements, and shows names as they are",
          "[picture]") {
  Workload odd = *serving().workload;
  odd.name = "<script>alert(1)</script>";
  auto s = serving();
  s.workload = &odd;
  const auto base = serving();
  const auto html = to_html(report_page(s, &base));
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(html.find("&amp;lt;") == std::string::npos);
  const auto page = report_page(base);
  const auto text = to_html(page);
  for (const auto* part : {"What limits it", "What would change it", "The nearest measurements", "<svg",
                           "<details><summary>itl = ", "Assumptions and their sources", "<math>", "<mfrac>"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("hardware.*: the device") != std::string::npos);
  CHECK(text.find(" *: ;") == std::string::npos);  // a group of inputs without words
  CHECK(to_markdown(page).starts_with("# Llama3"));
  const auto near = nearest_rows(base, standard_zoo());
  for (std::size_t i = 1; i < near.size(); ++i) CHECK(near[i - 1].distance <= near[i].distance);
}

TEST_CASE("the front of each machine is a line of its own, and points say their plan", "[picture]") {
  ExploreAnswer a;
  a.title = "a model";
  a.axes = {"hardware", "tp_size, pp_size"};
  for (const auto* text : {"itl", "ttft"}) {
    a.objectives.push_back({.goal = Goal::minimize, .text = text});
    a.exps.push_back(AnyQuantity::parse("1 s").exponents());
  }
  const auto point = [&](const std::string& machine, double itl, double ttft) {
    FoundPoint f;
    f.labels = {machine, "8 x 1"};
    f.objectives = {itl, ttft};
    a.front.push_back(std::move(f));
  };
  for (const double i : {1.0, 2.0, 3.0}) {
    point("H100", i, 4 - i);
    point("B200", i + 0.5, 9 - i);
  }
  const auto machines = front_picture(a, {});
  const auto& line = machines.marks.front();
  REQUIRE(line.shape == MarkShape::line);
  REQUIRE_FALSE(line.series.empty());
  std::map<std::string, std::vector<double>> lines;
  for (std::size_t row = 0; row < line.data.rows.size(); ++row)
    lines[std::get<std::string>(line.data.rows[row][column_of(line.data, line.series)].value)].push_back(
        cell(line.data, row, line.x));
  CHECK(lines == std::map<std::string, std::vector<double>>{{"B200", {1.5, 2.5, 3.5}}, {"H100", {1, 2, 3}}});
  const auto& points = machines.marks.back();
  CHECK(words_of(points.data.rows[0][column_of(points.data, points.label)]) ==
        label_of("tp_size") + " 8, " + label_of("pp_size") + " 1");
  // Where there is one machine, one line joins the whole front.
  a.axes[0] = "batch_size";
  CHECK(front_picture(a, {}).marks.front().series.empty());
}

TEST_CASE("predictions over measurements take a picture for each dimension", "[picture]") {
  std::vector<MeasuredTable> tables;
  for (const auto& name : table_names(""))
    if (name.starts_with("collectives/")) tables.push_back(load_table(name, ""));
  std::vector<TableResult> results;
  std::size_t rows = 0;
  for (const auto& t : tables) {
    results.push_back(validate(t, standard_zoo(), Depth::ours));
    for (const auto& row : results.back().rows) rows += row.predicted > 0 && row.measured > 0 ? 1 : 0;
  }
  const auto pictures = accuracy_pictures(results);
  CHECK(pictures.size() > 1);
  std::set<std::string> names;
  for (const auto& [name, picture] : pictures) {
    names.insert(name);
    rows -= picture.marks.back().data.rows.size();
    CHECK_NOTHROW(check(picture));
  }
  CHECK(names.size() == pictures.size());
  CHECK(rows == 0);
  CHECK(accuracy_pictures(std::span(results).first(1)).size() == 1);
}
