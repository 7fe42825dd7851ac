#include "support/catch.hpp"

#include <mlsysim/validation/calibrate.hpp>
#include <mlsysim/validation/calibration_report.hpp>
#include <mlsysim/validation/residuals.hpp>

#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

using namespace mlsysim;

namespace {

/// Streams over `device` with the given share of its bandwidth and 5 % of noise: measurements whose truth is
/// known.
MeasuredTable synthetic(const std::string& device, double share, int rows) {
  const auto& zoo = standard_zoo();
  const Constants truth(conventions_of(zoo), {{device, "efficiency.memory", share}});
  const auto& m = measurand("memory_stream");
  std::string csv = "hardware,values,reads,writes,measured,batch\n";
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.05);
  for (int i = 0; i < rows; ++i) {
    auto inputs = m.blank();
    find_field(m.inputs(), "hardware")
        ->write(inputs.get(), ObjectRef{&zoo.at<HardwareNode>(device), "hardware"});
    const double values = std::pow(2.0, 22 + i % 8), reads = 1 + i % 3;
    find_field(m.inputs(), "values")->write(inputs.get(), values);
    find_field(m.inputs(), "reads")->write(inputs.get(), reads);
    find_field(m.inputs(), "writes")->write(inputs.get(), 1.0);
    const auto p = m.predict(inputs.get(), {&zoo, &truth});
    csv += fmt::format("{},{},{},1,{},g{}\n", device, values, reads, p.base * std::exp(noise(random)) / 1e9,
                       i % 4);
  }
  const std::string definition = R"(schema: mlsysim/validation@1
title: synthetic
data: s.csv
source: {kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: memory_stream
measured: {value: measured, unit: GB/s}
inputs: {hardware: {column: hardware}, values: values, reads: reads, writes: writes}
groups: [batch]
)";
  return parse_table(definition, "synthetic", CsvTable::parse(csv, "s.csv"));
}

/// Times between tokens of an engine whose host times are known, with 2 % of noise: devices and models take
/// turns.
MeasuredTable served(const std::string& engine, double host_step, double host_request) {
  const auto& zoo = standard_zoo();
  const auto& original = zoo.at<ServingEngine>(engine);
  const Constants truth(conventions_of(zoo), {{owner_of(original), "host_step", host_step},
                                              {owner_of(original), "host_request", host_request}});
  const auto& m = measurand("closed_loop_token_time");
  std::string csv = "hardware,batch,measured\n";
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.02);
  for (int i = 0; i < 32; ++i) {
    const auto* device = i % 2 == 0 ? "H100" : "H200";
    const double batch = std::pow(2.0, i % 8);
    auto inputs = m.blank();
    const auto set = [&](std::string_view name, Value v) {
      find_field(m.inputs(), name)->write(inputs.get(), v);
    };
    set("workload", ObjectRef{&zoo.at<Workload>("Llama3_8B"), "workload"});
    set("hardware", ObjectRef{&zoo.at<HardwareNode>(device), "hardware"});
    set("engine", ObjectRef{&original, "engine"});
    set("concurrency", batch);
    set("seq_len", 1000.0);
    set("output_tokens", 500.0);
    const auto p = m.predict(inputs.get(), {&zoo, &truth});
    REQUIRE(p.answered());
    csv += fmt::format("{},{},{}\n", device, batch, p.base * std::exp(noise(random)) * 1e3);
  }
  return parse_table(fmt::format(R"(schema: mlsysim/validation@1
title: served
data: s.csv
source: {{kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}}
measurand: closed_loop_token_time
measured: {{value: measured, unit: ms}}
inputs: {{workload: Llama3_8B, hardware: {{column: hardware}}, engine: {}, concurrency: batch, seq_len: 1000, output_tokens: 500}}
groups: [hardware]
)",
                                 engine),
                     "served", CsvTable::parse(csv, "s.csv"));
}

std::vector<MeasuredTable> one(MeasuredTable table) {
  std::vector<MeasuredTable> out;
  out.push_back(std::move(table));
  return out;
}

}  // namespace

TEST_CASE("calibration: twenty rows recover a constant within its stated uncertainty",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(synthetic("A100", 0.71, 24));
  const auto fit = calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.fields = {"efficiency.memory"}});
  REQUIRE(fit.constants.size() == 1);
  const auto& c = fit.constants.front();
  CHECK(c.identified);
  CHECK(c.value == Approx(0.71).epsilon(0.03));
  CHECK(std::abs(std::log(c.value / 0.71)) < 3 * c.spread);
  CHECK(fit.after.median < 0.06);
  CHECK(fit.after.median < fit.before.median);
  CHECK(fit.groups.size() == 4);
  CHECK(fit.left_out.rows == 24);
  CHECK(fit.coverage > 0.6);
  CHECK(fit.coverage_left_out() > 0.55);
}

TEST_CASE("calibration: the host times of an engine come back, and its overlay serves",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto& engine = zoo.at<ServingEngine>("sglang");
  const auto tables = one(served("sglang", 3e-3, 60e-6));
  const auto fit = calibrate(engine, tables, zoo);
  CHECK(fit.what == "engine");
  CHECK(fit.name == "sglang");
  CHECK(fit.after.median < fit.before.median);
  CHECK(fit.groups.size() == 2);
  std::map<std::string, double> found;
  for (const auto& c : fit.constants)
    if (c.identified) found[c.constant.field] = c.value;
  CHECK(found.at("host_step") == Approx(3e-3).epsilon(0.1));
  CHECK(found.at("host_request") == Approx(60e-6).epsilon(0.15));
  CHECK(found.count("request_time") == 0);  // the time between tokens does not know it
  CHECK(fit.changes().front().owner == "engine:sglang");

  const Zoo overlay = load_text(overlay_of(fit, zoo, "2026-11-22"), "overlay.yaml", zoo);
  const auto& fitted = overlay.only<ServingEngine>();
  CHECK(fitted.name == "sglang_calibrated");
  CHECK(fitted.host_step.base() == Approx(found.at("host_step")).epsilon(1e-12));
  CHECK_FALSE(fitted.mixed);
  CHECK(Zoo::entry_of(fitted).source_of("host_step").note.find("32 rows") != std::string::npos);
}

TEST_CASE("calibration: a constant that starts at its prior, in the middle of its bounds, moves",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(served("generic", 3e-3, 60e-6));
  const auto fit =
      calibrate(zoo.at<ServingEngine>("generic"), tables, zoo, {.fields = {"host_step", "host_request"}});
  REQUIRE(fit.constants.size() == 2);
  for (const auto& c : fit.constants) CHECK(c.constant.start == c.constant.prior);
  CHECK(fit.constants[0].value == Approx(3e-3).epsilon(0.1));
  CHECK(fit.constants[1].value == Approx(60e-6).epsilon(0.15));
}

TEST_CASE("calibration: an engine's constants are its times, and what it does not have stays so",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  std::vector<std::string> names;
  for (const auto& c : free_constants(zoo.at<ServingEngine>("vllm"), zoo)) names.push_back(c.field);
  CHECK(names == std::vector<std::string>{"host_step", "host_request", "request_time", "prompt_layer"});
  const std::vector<std::string> wrong{"host_steps"};
  CHECK_THROWS_WITH(free_constants(zoo.at<ServingEngine>("vllm"), zoo, wrong), Catch::Contains("host_step"));
  CHECK_THROWS_WITH(Constants(conventions_of(zoo), {{"engine:vllm", "host_stepp", 1.0}}),
                    Catch::Contains("host_step"));
  const auto tables = one(synthetic("A100", 0.71, 24));
  CHECK_THROWS_WITH(calibrate(zoo.at<ServingEngine>("vllm"), tables, zoo),
                    Catch::Contains("no row of these tables is measured on the engine 'vllm'"));
}

TEST_CASE("calibration: what the data do not speak about keeps its value", "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(synthetic("A100", 0.71, 24));
  const auto fit = calibrate(zoo.at<HardwareNode>("A100"), tables, zoo);
  bool memory = false;
  for (const auto& c : fit.constants) {
    INFO(c.constant.field);
    CHECK(c.value >= c.constant.low * 0.999);
    CHECK(c.value <= c.constant.high * 1.001);
    if (!c.identified) CHECK(c.value == c.constant.start);
    memory = memory || c.constant.field == "efficiency.memory";
    // A stream moves bytes: no constant of products, attention or links matters to it.
    CHECK(c.constant.field.find("matrix") == std::string::npos);
    CHECK(c.constant.field.find("link") == std::string::npos);
  }
  CHECK(memory);
  for (const auto& change : fit.changes()) CHECK(change.owner == "A100");
}

TEST_CASE("calibration: the overlay is a zoo file with provenance, and predicts as the fit does",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(synthetic("A100", 0.71, 24));
  const auto fit = calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.fields = {"efficiency.memory"}});
  const auto text = overlay_of(fit, zoo, "2026-11-21");
  const Zoo overlay = load_text(text, "overlay.yaml", zoo);
  const auto& device = overlay.only<HardwareNode>();
  CHECK(device.name == "A100_calibrated");
  CHECK(*device.efficiency.memory == Approx(fit.constants.front().value).epsilon(1e-12));
  const auto* figure = Zoo::entry_of(device).figure("efficiency.memory");
  REQUIRE(figure != nullptr);
  REQUIRE(figure->own.has_value());
  CHECK(figure->own->recorded == "2026-11-21");
  CHECK(figure->own->note.find("24 rows") != std::string::npos);
  CHECK(*figure->low < device.efficiency.memory.value());
  CHECK(*figure->high > device.efficiency.memory.value());
}

TEST_CASE("calibration: an interval says when it lies beyond the data", "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(synthetic("A100", 0.71, 24));
  const auto fit = calibrate(zoo.at<HardwareNode>("A100"), tables, zoo);
  const auto& m = measurand("memory_stream");
  auto inputs = m.blank();
  find_field(m.inputs(), "hardware")
      ->write(inputs.get(), ObjectRef{&zoo.at<HardwareNode>("A100"), "hardware"});
  find_field(m.inputs(), "reads")->write(inputs.get(), 1.0);
  find_field(m.inputs(), "writes")->write(inputs.get(), 1.0);
  const auto inside = predict_interval(fit, m, inputs.get(), zoo);
  CHECK(inside.p10 < inside.p50);
  CHECK(inside.p50 < inside.p90);
  CHECK(inside.extrapolated.empty());
  find_field(m.inputs(), "values")->write(inputs.get(), 1024.0);
  const auto outside = predict_interval(fit, m, inputs.get(), zoo);
  REQUIRE(outside.extrapolated.size() == 1);
  CHECK(outside.extrapolated.front().starts_with("values 1024 <"));
}

TEST_CASE("calibration: rows without an answer take no part, and are counted", "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  // Every second row asks for a model that does not fit on the device.
  std::string csv = "model,batch,measured\n";
  for (int i = 0; i < 8; ++i) csv += fmt::format("Llama3_8B,{0},{1}\nLlama3_405B,{0},{1}\n", 1 << i, 9.0 + i);
  const auto table = [&](const std::string& text) {
    return one(parse_table(R"(schema: mlsysim/validation@1
title: half of it fits
data: s.csv
source: {kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: closed_loop_token_time
measured: {value: measured, unit: ms}
inputs: {workload: {column: model}, hardware: H100, engine: sglang, concurrency: batch, seq_len: 1000, output_tokens: 500}
groups: [model]
)",
                           "s", CsvTable::parse(text, "s.csv")));
  };
  const auto fit = calibrate(zoo.at<ServingEngine>("sglang"), table(csv), zoo);
  CHECK(fit.rows == 8);
  CHECK(fit.before.rows == 8);
  CHECK(fit.after.rows == 8);
  REQUIRE(fit.unanswered.size() == 1);
  CHECK(fit.unanswered.front().rows == 8);
  CHECK(fit.unanswered.front().reason.find("do not fit in memory") != std::string::npos);
  CHECK(render(fit, RenderOptions{}).find("8 rows take no part") != std::string::npos);
  CHECK(render(fit, {.format = OutputFormat::json}).find("\"unanswered\": [\n    {") != std::string::npos);
  CHECK_THROWS_WITH(
      calibrate(zoo.at<ServingEngine>("sglang"), table("model,batch,measured\nLlama3_405B,1,9\n"), zoo),
      Catch::Contains("no row of the engine 'sglang' has a prediction") &&
          Catch::Contains("do not fit in memory"));
}

TEST_CASE("calibration: a fit does not flee to where nothing is predicted", "[validation][calibrate]") {
  // Slow steps and many arrivals: a slower host would explain the steps, and could not serve the last row's
  // arrivals.
  const auto& zoo = standard_zoo();
  std::string csv = "rate,measured\n";
  for (const int rate : {12, 14, 16, 17, 18, 19, 20, 21, 22}) csv += fmt::format("{},45\n", rate);
  const auto tables = one(parse_table(R"(schema: mlsysim/validation@1
title: near the limit
data: s.csv
source: {kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: open_loop_token_time
measured: {value: measured, unit: ms}
inputs: {workload: Llama3_8B, hardware: H100, engine: sglang, arrival_rate: rate, seq_len: 1000, output_tokens: 200}
)",
                                      "s", CsvTable::parse(csv, "s.csv")));
  const auto fit = calibrate(zoo.at<ServingEngine>("sglang"), tables, zoo);
  REQUIRE(fit.rows == 9);
  CHECK(fit.after.rows == 9);
  const Constants fitted(conventions_of(zoo), fit.changes());
  for (const auto& row : rows_of(tables.front(), zoo).rows)
    CHECK(predict(*tables.front().measurand, row.inputs.get(), {&zoo, &fitted}).answered());
}

TEST_CASE("calibration: the spread of a prior is the range that zoo/defaults.yaml states",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  std::map<std::string, double> spread;
  // A device of no generation that has figures of its own.
  for (const auto& c : free_constants(zoo.at<HardwareNode>("V100"), zoo)) spread[c.field] = c.prior_spread;
  // A range holds two standard deviations to each side.
  CHECK(spread.at("efficiency.memory") == Approx(std::log(0.95 / 0.75) / 4));
  CHECK(spread.at("efficiency.matrix") == Approx(std::log(0.97 / 0.5) / 4));
  CHECK(spread.at("collectives.launch") == Approx(std::log(40.0 / 5.0) / 4));
  // From 0: the upper half of the range.
  CHECK(spread.at("efficiency.burst") == Approx(std::log(0.25 / 0.05) / 2));
}

TEST_CASE("calibration: p10 and p90 stay inside the bounds of the field, in the overlay too",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  FittedConstant c{
      .constant = {.field = "efficiency.memory", .low = 0.1, .high = 1}, .value = 0.95, .spread = 0.3};
  CHECK(c.p10() == Approx(0.95 * std::exp(-0.3 * kIntervalQuantile)));
  CHECK(c.p90() == 1);
  Calibration fit{.what = "device", .name = "A100", .owner = "A100"};
  c.identified = true;
  fit.constants = {c};
  CHECK_THROWS_WITH(overlay_of(fit, zoo, "hello"), Catch::Contains("no date") && Catch::Contains("'hello'"));
  const Zoo overlay = load_text(overlay_of(fit, zoo, "2026-11-22"), "overlay.yaml", zoo);
  const auto* figure = Zoo::entry_of(overlay.only<HardwareNode>()).figure("efficiency.memory");
  REQUIRE(figure != nullptr);
  CHECK(*figure->high == 1);
}

TEST_CASE("calibration: refusals", "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto tables = one(synthetic("A100", 0.71, 4));
  CHECK_THROWS_WITH(calibrate(zoo.at<HardwareNode>("V100"), tables, zoo),
                    Catch::Contains("no row of these tables is measured on the device 'V100'"));
  CHECK_THROWS_WITH(calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.fields = {"efficiency.memry"}}),
                    Catch::Contains("efficiency.memory"));
  CHECK_THROWS_WITH(calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.most_rows = 0}),
                    Catch::Contains("'most_rows'") && Catch::Contains("at least 1 row"));
  CHECK_THROWS_WITH(calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.most_folds = 0}),
                    Catch::Contains("'most_folds'"));
  CHECK_THROWS_WITH(calibrate(zoo.at<HardwareNode>("A100"), tables, zoo, {.robust_scale = 0}),
                    Catch::Contains("'robust_scale'"));
  CHECK_THROWS_AS(calibrate("devcie", "A100", tables, zoo), InputError);
  CHECK_THROWS_WITH(calibrate("devcie", "A100", tables, zoo), Catch::Contains("did you mean 'device'?"));
}

TEST_CASE("calibration: constants belong to devices, never to models, tables or rows",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    const auto constants = free_constants(*device, zoo);
    CHECK(constants.size() <= 48);
    for (const auto& c : constants) {
      INFO(device->name << " " << c.field);
      const auto group = c.field.substr(0, c.field.find('.'));
      CHECK((group == "efficiency" || group == "kernels" || group == "collectives" || group == "draw" ||
             c.field == "tiles.softmax_work"));
      CHECK(c.low < c.start);
      CHECK(c.start <= c.high);
      CHECK(c.prior_spread > 0);
    }
  }
}

TEST_CASE("residuals: the term that is wrong explains them", "[validation][residuals]") {
  // Kernels that start 3 us later than predicted, over products of many sizes.
  const auto& zoo = standard_zoo();
  const auto& m = measurand("matrix_product");
  const Constants standard(conventions_of(zoo));
  std::string csv = "hardware,rows,columns,depth,measured [us],who\n";
  for (int i = 0; i < 40; ++i) {
    const double n = 64 << (i % 8), k = 64 << (i / 8);
    auto inputs = m.blank();
    find_field(m.inputs(), "hardware")
        ->write(inputs.get(), ObjectRef{&zoo.at<HardwareNode>("A100"), "hardware"});
    for (const auto& [name, value] : {std::pair{"rows", n}, std::pair{"columns", n}, std::pair{"depth", k}})
      find_field(m.inputs(), name)->write(inputs.get(), value);
    csv += fmt::format("A100,{},{},{},{},me\n", n, n, k,
                       m.predict(inputs.get(), {&zoo, &standard}).base * 1e6 + 3);
  }
  const auto file = std::filesystem::temp_directory_path() / "mlsysim_residuals.csv";
  std::ofstream(file) << csv;
  const auto table = table_of_measurements(file, "matrix_product");
  const auto analysis = analyse_residuals(table, zoo);
  std::filesystem::remove(file);
  REQUIRE(analysis.rows.size() == 40);
  REQUIRE_FALSE(analysis.explanations.empty());
  const auto& best = analysis.explanations.front();
  CHECK((best.term == "fixed time" || best.term == "launch"));
  CHECK(best.explained > 0.9);
  CHECK(best.after.median < 0.5 * analysis.before.median);
  for (const auto& e : analysis.explanations) {
    CHECK(e.explained <= 1 + 1e-12);
    if (e.term == "fixed time") CHECK(e.factor == Approx(3e-6).epsilon(0.01));
  }
  CHECK_THROWS_WITH(table_of_measurements(file, "matrix_product"), Catch::Contains("cannot be read"));
}

TEST_CASE("residuals: only times and rates are explained by times", "[validation][residuals]") {
  const auto& zoo = standard_zoo();
  const auto terms_of = [&](const char* name) {
    std::map<std::string, std::string> out;
    for (const auto& e : analyse_residuals(load_table(name), zoo).explanations) out[e.term] = e.advice;
    return out;
  };
  const auto joules = terms_of("energy/ml_energy_llm_h100");
  CHECK(joules.size() == 1);  // a batch and a share that is busy are facts, no parts
  CHECK(joules.at("everything") == "all values are off by one factor");
  const auto bytes = terms_of("memory/megatron_recompute_fig1_states");
  CHECK(bytes.count("fixed time") == 0);
  CHECK(bytes.count("weights") == 1);
  CHECK(bytes.count("buffers") == 0);  // the table measures the states
  CHECK(terms_of("reliability/llama3_405b_total_54d").size() == 1);
  const auto times = terms_of("collectives/azure_allreduce_a100_h100");
  CHECK(times.count("fixed time") == 1);
  CHECK(times.count("wire") == 1);
  // Facts alone say nothing about the time behind a rate.
  const auto queued = terms_of("inference/tensorrt_llm_v017_throughput");
  CHECK(queued.size() == 1);
  CHECK(queued.at("everything").find("all times") == 0);
}

TEST_CASE("residuals: the parts of a prediction add up to it", "[validation][residuals]") {
  const auto& zoo = standard_zoo();
  for (const auto* name : {"inference/hopper_dense_ttft", "memory/megatron_recompute_fig1_states"}) {
    INFO(name);
    const auto table = load_table(name);
    for (const auto& row : analyse_residuals(table, zoo).rows) {
      double sum = 0;
      for (const auto& t : row.terms)
        if (t.role == TermRole::part) sum += t.base;
      CHECK(sum == Approx(row.predicted).epsilon(1e-9));
    }
  }
}

TEST_CASE("residuals: a table that is not compared is refused with its reason", "[validation][residuals]") {
  CHECK_THROWS_AS(analyse_residuals(load_table("collectives/allreduce_4node_pytorch_sweep"), standard_zoo()),
                  InputError);
  CHECK_THROWS_WITH(
      analyse_residuals(load_table("collectives/allreduce_4node_pytorch_sweep"), standard_zoo()),
      Catch::Contains("without being compared") && Catch::Contains("which devices"));
}

TEST_CASE("residuals: columns that are close to an input, and two measured columns, are refused",
          "[validation][residuals]") {
  const auto file = std::filesystem::temp_directory_path() / "mlsysim_columns.csv";
  const auto read = [&](const char* header) {
    std::ofstream(file) << header << "\nA100,512,512,512,20,bf16\n";
    return table_of_measurements(file, "matrix_product");
  };
  const auto whole = read("hardware,rows,columns,depth,measured,who");
  CHECK(whole.labels.size() == 5);
  const auto analysis = analyse_residuals(whole, standard_zoo());
  CHECK(std::ranges::find(analysis.defaulted, "precision (bf16)") != analysis.defaulted.end());
  CHECK(std::ranges::find(analysis.defaulted, "rows") == analysis.defaulted.end());
  CHECK_THROWS_WITH(
      read("hardware,rows,columns,depth,measured,precison"),
      Catch::Contains("'precison' is no input") && Catch::Contains("did you mean 'precision'?"));
  CHECK(read("hardware,rows,columns,depth,measured,label precison").inputs.size() == 4);
  CHECK_THROWS_WITH(read("hardware,rows,columns,depth,measured,measured [us]"),
                    Catch::Contains("two measured columns"));
  std::filesystem::remove(file);
}

TEST_CASE("calibration: intervals come from what groups left out missed", "[validation]") {
  // Ten groups of 200 rows, each with a shift of its own: a row's scatter is 1, that of the groups 2.
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<LeftOutScore> misses;
  for (std::size_t group = 0; group < 40; ++group) {
    const double shift = 2 * normal(random);
    // A large group counts as much as a small one.
    for (std::size_t row = 0; row < (group == 0 ? 2000u : 50u); ++row)
      misses.push_back({group, shift + normal(random)});
  }
  const auto bands = conformal_bands(misses, 40);
  REQUIRE(bands.size() == 3);
  CHECK(bands[1].level == 0.8);
  // sqrt(1 + 4) deviations times 1.28 to each side, and not 1.28.
  CHECK(bands[1].high - bands[1].low == Approx(2 * 1.28 * std::sqrt(5.0)).epsilon(0.25));
  std::vector<LeftOutScore> even;
  for (const auto& m : misses)
    if (m.fold > 0) even.push_back({m.fold - 1, m.score});
  for (const auto& band : conformal_bands(even, 39)) CHECK(band.coverage == Approx(band.level).margin(0.07));
  // A row without an answer lies in no band.
  even.push_back({0, HUGE_VAL});
  CHECK(conformal_bands(even, 39)[2].coverage < 1);
}
