#include "support/catch.hpp"

#include <mlsysim/catalogue/models/in_flight_batching.hpp>
#include <mlsysim/validation/record.hpp>
#include <mlsysim/validation/report.hpp>

#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

using namespace mlsysim;

TEST_CASE("statistics of errors", "[validation]") {
  const double errors[] = {0.1, -0.2, 0.3, -0.4, 1.0};
  const auto s = statistics_of(errors);
  CHECK(s.rows == 5);
  CHECK(s.median == Approx(0.3));
  CHECK(s.mean == Approx(0.4));
  CHECK(s.p90 == Approx(0.4 + 0.6 * (1.0 - 0.4)));
  CHECK(s.max == Approx(1.0));
  CHECK(s.bias == Approx(0.16));
  CHECK(statistics_of({}).rows == 0);
}

TEST_CASE("validation: the worst rows come first, with terms that add up", "[validation]") {
  const auto table = load_table("training/megatron_recompute_table5_a100");
  const auto result = validate(table, standard_zoo());
  REQUIRE(result.rows.size() == 8);
  REQUIRE(result.worst.size() == 5);
  for (std::size_t i = 1; i < result.worst.size(); ++i)
    CHECK(std::abs(result.worst[i - 1].error()) >= std::abs(result.worst[i].error()));
  CHECK(std::abs(result.worst.front().error()) == Approx(result.errors.max));
  CHECK_FALSE(result.worst.front().terms.empty());
  CHECK(result.textbook.rows == 8);
  CHECK(result.roofline.rows == 8);
  // No step is faster than its arithmetic at the peak rate.
  CHECK(result.roofline.bias < 0);
}

TEST_CASE("validation: a constant that changes moves the predictions, and only where it should",
          "[validation]") {
  const auto& zoo = standard_zoo();
  const auto table = load_table("kernels/azure_hbm_a100_h100");
  const auto before = validate(table, zoo, Depth::ours);
  const Constants halved(conventions_of(zoo), {{"A100", "memory.bandwidth",
                                                zoo.at<HardwareNode>("A100").memory.bandwidth->base() / 2}});
  const auto after = validate(table, zoo, Depth::ours, &halved);
  REQUIRE(before.rows.size() == after.rows.size());
  for (std::size_t i = 0; i < before.rows.size(); ++i) {
    const double ratio = after.rows[i].predicted / before.rows[i].predicted;
    if (before.rows[i].group == "A100")
      CHECK(ratio < 0.6);
    else
      CHECK(ratio == Approx(1));
  }
  CHECK_THROWS_WITH(Constants(conventions_of(zoo), {{"A100", "memory.bandwith", 1.0}}),
                    Catch::Contains("memory.bandwidth"));
}

TEST_CASE("validation: deployments are what the resolver answers", "[validation]") {
  const auto& zoo = standard_zoo();
  const std::string head = R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: aiconfigurator-measurements, recorded: 2026-11-21}
measurand: MEASURAND
measured: {value: time, unit: UNIT}
inputs: {workload: Llama3_8B, hardware: H100, precision: bf16, prompt: 1000, output_tokens: 200, engine: sglang, INPUT})";
  const auto predicted = [&](std::string measurand, std::string input) {
    auto text = head;
    text.replace(text.find("MEASURAND"), 9, measurand);
    text.replace(text.find("UNIT"), 4, measurand == "queued_rate" ? "1/s" : "ms");
    text.replace(text.find("INPUT"), 5, input);
    const auto table = parse_table(text, "t.yaml", CsvTable::parse("time\n1\n", "t.csv"));
    const auto result = validate(table, zoo, Depth::ours);
    REQUIRE(result.rows.size() == 1);
    return result.rows.front().predicted;
  };
  InFlightBatchingModel::Inputs in{.workload = &zoo.at<Workload>("Llama3_8B"),
                                   .hardware = &zoo.at<HardwareNode>("H100"),
                                   .seq_len = 1000,
                                   .output_tokens = 200,
                                   .engine = &zoo.at<ServingEngine>("sglang"),
                                   .precision = Precision::bf16};
  in.page_tokens = 1;
  in.concurrency = 16;
  const auto loop = InFlightBatchingModel{}.solve(in);
  CHECK(predicted("closed_loop_token_time", "batch_size: 16") == loop.itl.base());
  CHECK(predicted("closed_loop_first_token", "batch_size: 16") == loop.ttft->base());
  in.concurrency.reset();
  CHECK(predicted("queued_rate", "batch_size: 1") ==
        InFlightBatchingModel{}.solve(in).token_throughput.base());
  in.arrival_rate = 5.0 * (unit::request / unit::s);
  const auto arrivals = InFlightBatchingModel{}.solve(in);
  CHECK(predicted("open_loop_token_time", "request_rate: 5") == arrivals.itl.base());
  CHECK(predicted("open_loop_first_token", "request_rate: 5") == arrivals.ttft->base());
}

TEST_CASE("validation: yardsticks and ablations are computed over the rows that the operators answer",
          "[validation]") {
  // The last rates are more than the replica serves, and less than the roofline does.
  const auto table =
      parse_table(R"(schema: mlsysim/validation@1
title: arrivals
data: t.csv
source: {kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: open_loop_token_time
measured: {value: time, unit: ms}
inputs: {workload: Llama3_8B, hardware: H100, engine: sglang, request_rate: rate, prompt: 1000, output_tokens: 200}
)",
                  "t", CsvTable::parse("rate,time\n4,9\n8,10\n16,19\n24,40\n26,60\n", "t.csv"));
  auto result = validate(table, standard_zoo());
  REQUIRE(result.rows.size() == 3);
  CHECK(result.roofline.rows == 3);
  CHECK(result.textbook.rows <= 3);
  for (const auto& a : result.ablations) CHECK(a.errors.rows <= 3);
  // A count stands beside a figure over fewer rows, and only there.
  result.textbook.rows = 2;
  const std::vector<TableResult> results{result};
  CHECK(render(results, RenderOptions{}).find(" % (2 rows)") != std::string::npos);
  CHECK(render(results, RenderOptions{}).find("(3 rows)") == std::string::npos);
  CHECK(render(results, {.format = OutputFormat::csv}).find("textbook rows,roofline rows") !=
        std::string::npos);
  CHECK(render_html(results).find(" % (2 rows)") != std::string::npos);
}

TEST_CASE("validation: one device stands in for another, and ablations act on it", "[validation]") {
  const auto& zoo = standard_zoo();
  const auto table = load_table("kernels/azure_hbm_a100_h100");
  Constants swapped(conventions_of(zoo));
  swapped.stand_in(zoo.at<HardwareNode>("A100"), zoo.at<HardwareNode>("H100"));
  swapped.stand_in(zoo.at<HardwareNode>("V100"), zoo.at<HardwareNode>("H100"));
  const auto before = validate(table, zoo), after = validate(table, zoo, Depth::everything, &swapped);
  REQUIRE(before.rows.size() == after.rows.size());
  for (std::size_t i = 0; i < before.rows.size(); ++i) {
    if (before.rows[i].group == "A100")
      CHECK(after.rows[i].predicted > 1.5 * before.rows[i].predicted);
    else
      CHECK(after.rows[i].predicted == before.rows[i].predicted);
  }
  CHECK(after.roofline.bias > before.roofline.bias);
  REQUIRE(after.ablations.size() == before.ablations.size());
  CHECK(after.ablations.front().errors.bias > before.ablations.front().errors.bias);
  CHECK(swapped.never_asked_for() == std::vector<std::string>{"V100"});
}

TEST_CASE("record: a table that is gone is worse, when all tables were run", "[validation]") {
  const auto table = load_table("kernels/azure_hbm_a100_h100");
  const std::vector<TableResult> results{validate(table, standard_zoo(), Depth::ours)};
  auto record = record_of(results);
  CHECK(regressions(record, results, RecordScope::all_tables).empty());
  record["kernels/gone"] = {.rows = 7};
  CHECK(regressions(record, results, RecordScope::some_tables).empty());
  const auto found = regressions(record, results, RecordScope::all_tables);
  REQUIRE(found.size() == 1);
  CHECK(found.front().table == "kernels/gone");
  CHECK(found.front().recorded == 7);
}

TEST_CASE("validation: the same table gives the same bytes in every format", "[validation]") {
  const auto table = load_table("kernels/azure_hbm_a100_h100");
  const std::vector<TableResult> results{validate(table, standard_zoo())};
  for (const auto format :
       {OutputFormat::text, OutputFormat::json, OutputFormat::markdown, OutputFormat::csv}) {
    const auto text = render(results, {.format = format});
    CHECK(text == render(std::vector<TableResult>{validate(table, standard_zoo())}, {.format = format}));
    CHECK(text.find("kernels/azure_hbm_a100_h100") != std::string::npos);
  }
  const auto page = render_html(results);
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
}
