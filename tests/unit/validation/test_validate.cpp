#include "support/catch.hpp"

#include <mlsysim/resolvers/models/in_flight_batching.hpp>
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
inputs: {workload: Llama3_8B, hardware: H100, precision: bf16, seq_len: 1000, output_tokens: 200, engine: sglang, INPUT})";
  const auto predicted = [&](std::string measurand, std::string input) {
    auto text = head;
    text.replace(text.find("MEASURAND"), 9, measurand);
    text.replace(text.find("UNIT"), 4, measurand.find("rate") != std::string::npos ? "1/s" : "ms");
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
  in.concurrency = 16;
  const auto loop = InFlightBatchingModel{}.solve(in);
  CHECK(predicted("closed_loop_token_time", "concurrency: 16") == loop.itl.base());
  CHECK(predicted("closed_loop_first_token", "concurrency: 16") == loop.ttft->base());
  in.concurrency.reset();
  CHECK(predicted("queued_rate", "page_tokens: 16") ==
        InFlightBatchingModel{}.solve(in).token_throughput.base());
  in.arrival_rate = 5.0 * (unit::request / unit::s);
  const auto arrivals = InFlightBatchingModel{}.solve(in);
  CHECK(predicted("open_loop_token_time", "arrival_rate: 5") == arrivals.itl.base());
  CHECK(predicted("open_loop_first_token", "arrival_rate: 5") == arrivals.ttft->base());
  in.arrival_rate.reset();
  in.concurrency = 16;
  in.prefill_replicas = 2;
  in.prefill_tp_size = 4;
  const auto apart = InFlightBatchingModel{}.solve(in);
  CHECK(predicted("closed_loop_token_time", "concurrency: 16, prefill_replicas: 2, prefill_tp_size: 4") ==
        apart.itl.base());
  CHECK(apart.itl < loop.itl);  // no prompt comes between
  // Half of a worker is one that two share; prompts wait for it, tokens do not come faster.
  CHECK(predicted("closed_loop_token_time", "concurrency: 16, prefill_replicas: 0.5") <= apart.itl.base());
}

TEST_CASE("validation: what is served within limits is the most arrivals that meet them", "[validation]") {
  const auto& zoo = standard_zoo();
  const auto predicted = [&](const std::string& limits) {
    const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: aiconfigurator-measurements, recorded: 2026-11-21}
measurand: served_rate_each
measured: {value: rate, unit: 1/s}
inputs: {workload: Llama3_8B, hardware: H100, precision: bf16, seq_len: 1000, output_tokens: 200, engine: sglang, tp_size: 2, )" +
                                       limits + "}\n",
                                   "t.yaml", CsvTable::parse("rate\n1\n", "t.csv"));
    const auto result = validate(table, zoo, Depth::ours);
    return result.rows.empty() ? 0.0 : result.rows.front().predicted;
  };
  InFlightBatchingModel::Inputs in{.workload = &zoo.at<Workload>("Llama3_8B"),
                                   .hardware = &zoo.at<HardwareNode>("H100"),
                                   .seq_len = 1000,
                                   .output_tokens = 200,
                                   .engine = &zoo.at<ServingEngine>("sglang"),
                                   .precision = Precision::bf16,
                                   .tp_size = 2};
  in.target_itl = 12.0 * unit::ms;
  in.target_ttft = 500.0 * unit::ms;
  const double rate = predicted("target_itl: 12, target_ttft: 500, attainment: 0.9");
  REQUIRE(rate > 0);
  const auto attained = [&](double share) {
    in.arrival_rate =
        share * rate * 2 / 200 * (unit::request / unit::s);  // two devices, 200 tokens a request
    const auto r = InFlightBatchingModel{}.solve(in);
    return r.is_stable ? r.slo_attainment.value() : 0.0;
  };
  CHECK(attained(0.999) >= 0.9);
  CHECK(attained(1.001) < 0.9);
  CHECK(predicted("target_itl: 12, target_ttft: 500, attainment: 0.99") <= rate);
  CHECK(predicted("target_itl: 20, target_ttft: 500, attainment: 0.9") > rate);
  CHECK(predicted("target_itl: 0.1") == 0);  // a token takes longer than that
}

TEST_CASE("validation: a layer of experts reads the experts that are chosen", "[validation]") {
  // An expert of 3 x 8192 x 28672 weights of 2 bytes is 1.41 GB, 0.42 ms at 3.35 TB/s: all else is small.
  const auto predicted = [](const std::string& inputs) {
    const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: aiconfigurator-measurements, recorded: 2026-11-21}
measurand: expert_layer
measured: {value: time, unit: ms}
inputs: {hardware: H100, hidden: 8192, width: 28672, experts: 8, top_k: 2, )" +
                                       inputs + "}\n",
                                   "t.yaml", CsvTable::parse("time\n1\n", "t.csv"));
    return validate(table, standard_zoo(), Depth::ours).rows.front().predicted;
  };
  const double one = predicted("tokens: 1");  // two experts
  const double bytes = 2 * 3 * 8192.0 * 28672 * 2;
  CHECK(one > bytes / 3.35e12);
  CHECK(one < 1.4 * bytes / 3.35e12);
  CHECK(predicted("tokens: 4") == Approx(4 * one).epsilon(0.05));  // dealt evenly: all eight
  CHECK(predicted("tokens: 16") == Approx(4 * one).epsilon(0.05));
  // By Zipf's law eight choices fall on 1 + ... experts: 1 - (1 - p)^8 each, fewer than eight and more than
  // two.
  const double uneven = predicted("tokens: 4, popularity: 1.2");
  CHECK(uneven < 0.9 * predicted("tokens: 4"));
  CHECK(uneven > 1.5 * one);
  CHECK(predicted("tokens: 16, ep_size: 2") == Approx(2 * one).epsilon(0.05));
  CHECK(predicted("tokens: 16, tp_size: 4") == Approx(one).epsilon(0.05));
  CHECK(predicted("tokens: 4, matrices: 2") == Approx(4 * one * 2 / 3).epsilon(0.05));
  CHECK(predicted("tokens: 4, weight_format: mxfp4") < 0.5 * predicted("tokens: 4"));
}

TEST_CASE("validation: a step of linear attention reads and writes its state", "[validation]") {
  // 64 states of 128 x 128 values for each of 256 sequences, in fp32 1.07 GB, read and written: 0.64 ms
  // at 3.35 TB/s. The convolution keeps 3 tokens of 2 x 16 x 128 + 64 x 128 values: 38 MB both ways, 11 us.
  const auto predicted = [](const std::string& inputs) {
    const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: aiconfigurator-measurements, recorded: 2026-11-21}
measurand: linear_attention
measured: {value: time, unit: us}
inputs: {hardware: H100, batch: 256, key_heads: 16, value_heads: 64, key_dim: 128, value_dim: 128, decoding: true, )" +
                                       inputs + "}\n",
                                   "t.yaml", CsvTable::parse("time\n1\n", "t.csv"));
    return validate(table, standard_zoo(), Depth::ours).rows.front().predicted;
  };
  const double state = predicted("state_precision: fp32"), bytes = 2 * 256 * 64 * 128.0 * 128 * 4;
  CHECK(state > bytes / 3.35e12);
  CHECK(state < 1.3 * bytes / 3.35e12);
  CHECK(predicted("state_precision: bf16") == Approx(state / 2).epsilon(0.05));
  const double convolution = predicted("convolution: true");
  CHECK(convolution > 2 * 256 * 3 * 12288 * 2.0 / 3.35e12);
  CHECK(convolution < state / 5);
  // The same work in three kernels starts twice more.
  const auto& hopper = standard_zoo().at<KernelFamily>("usual_recurrences").recurrences[1];
  const double starts = 2 * hopper.rates.front().launch / 1.98e9;
  CHECK(predicted("convolution: true, calls: \"3\"") - convolution == Approx(starts).epsilon(0.01));
}

TEST_CASE("validation: an attention block is its projections and what it sees of the cache", "[validation]") {
  const auto predicted = [](const std::string& inputs) {
    const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: aiconfigurator-measurements, recorded: 2026-11-21}
measurand: attention_block
measured: {value: time, unit: us}
inputs: {hardware: H100, )" + inputs + "}\n",
                                   "t.yaml", CsvTable::parse("time\n1\n", "t.csv"));
    return validate(table, standard_zoo(), Depth::ours).rows.front().predicted;
  };
  // Llama-3-8B: 42e6 weights of 2 bytes and, of 16 sequences, 65,536 tokens x 2 x 8 heads x 128 x 2
  // bytes: 4.38 GB, 1.31 ms at 3.35 TB/s.
  const double whole = predicted("workload: Llama3_8B, compression: 1, batch: 16, past: 65535, heads: 32");
  const double bytes = 4096.0 * (6144 + 4096) * 2 + 16 * 65536.0 * 2 * 8 * 128 * 2;
  CHECK(whole > bytes / 3.35e12);
  CHECK(whole < 1.3 * bytes / 3.35e12);
  // On four devices each has a quarter of it.
  CHECK(predicted("workload: Llama3_8B, compression: 1, batch: 16, past: 65535, heads: 8") < whole / 3);
  // DeepSeek-V3.2 attends to 2048 tokens of any context; its index alone grows with it, 132 bytes a token
  // where a latent has 1152.
  const std::string sparse = "workload: DeepSeek_V3_2, batch: 64, heads: 128, past: ";
  const double near = predicted(sparse + "4095"), far = predicted(sparse + "65535");
  CHECK(far > near);
  CHECK(far - near < 0.5 * 64 * 61440.0 * 1152 / 3.35e12);
}

TEST_CASE("validation: a training step needs a machine", "[validation]") {
  const auto predicted = [](const std::string& machine) {
    const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: torchtune-readme, recorded: 2026-11-21}
measurand: training_memory
measured: {value: memory, unit: GiB}
inputs: {workload: Llama3_8B, accelerators: 1, batch_size: 1, seq_len: 2048, lora_rank: 8, )" +
                                       machine + "}\n",
                                   "t.yaml", CsvTable::parse("memory\n1\n", "t.csv"));
    const auto result = validate(table, standard_zoo(), Depth::ours);
    return result.rows.empty() ? 0.0 : result.rows.front().predicted;
  };
  CHECK(predicted("hardware: A100") == predicted("node: DGX_A100"));
  // 7.0e9 weights of the layers in 4.25 bits instead of 16 are 10.2 GB less.
  const double less = predicted("hardware: A100") - predicted("hardware: A100, weight_format: nf4");
  CHECK(less == Approx(10.2e9).epsilon(0.1));
  CHECK(predicted("precision: bf16") == 0);  // left out: neither a node nor a device
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
inputs: {workload: Llama3_8B, hardware: H100, engine: sglang, arrival_rate: rate, seq_len: 1000, output_tokens: 200}
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
