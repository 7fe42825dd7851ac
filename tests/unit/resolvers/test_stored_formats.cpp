// Weights stored apart from the arithmetic, worked by hand.

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

using namespace mlsysim;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinRel;
namespace u = mlsysim::unit;

namespace {

ServedFormat format_of(std::string_view workload, std::string_view hardware, FormatRequest asked = {}) {
  Notes quiet;
  return served_format(model(workload), asked, device(hardware), nullptr, quiet);
}
double bits(DataPerParam<> each) { return each * u::param / u::B * 8; }

}  // namespace

TEST_CASE("files of gpt-oss have the size that its card prints", "[catalogue][measured]") {
  // Table 1 of the model card (openai2025gptoss): 114.71e9 of 116.83e9 and 19.12e9 of 20.91e9 weights are in
  // the experts; files of 60.8 and 12.8 GiB. By hand: 114.71e9 x 4.25 / 8 + 2.12e9 x 2 = 65.18 GB = 60.7 GiB.
  for (const auto& [name, size] : {std::pair("GPT_OSS_120B", 60.8), {"GPT_OSS_20B", 12.8}}) {
    const auto f = format_of(name, "H100");
    CHECK_THAT(f.whole * parameter_count(model(name)) / u::GiB, WithinRel(size, 0.003));
    CHECK_THAT(bits(f.edge), WithinRel(16.0, 1e-12));
    CHECK_THAT(bits(f.expert), WithinRel(4.25, 1e-12));
  }
}

TEST_CASE("bits of a weight by format", "[catalogue]") {
  // Of the matrices of the blocks; the norms of Llama 3 8B, 266,240 of 6.98e9 weights, stay at 16 bits.
  constexpr std::pair<WeightFormat, double> expected[] = {
      {WeightFormat::fp8, 8},        {WeightFormat::fp8_block, 8.001953}, {WeightFormat::mxfp4, 4.25},
      {WeightFormat::nvfp4, 4.5},    {WeightFormat::int4, 4.15625},       {WeightFormat::nf4, 4.126953},
      {WeightFormat::w8a16, 8.1875}, {WeightFormat::q8_0, 8.5},           {WeightFormat::q6_k, 6.5625},
      {WeightFormat::q4_0, 4.5},     {WeightFormat::q4_k_m, 4.85},        {WeightFormat::bf16, 16},
      {WeightFormat::fp32, 32},
  };
  for (const auto& [format, each] : expected) {
    INFO(name_of(format));
    const auto f = format_of("Llama3_8B", "H100", {.weight_format = format});
    CHECK_THAT(bits(f.block), WithinRel(each, 2e-4));
    const bool everywhere = format >= WeightFormat::q8_0 || bytes_per_element(Precision::bf16) * 8 <= each;
    CHECK_THAT(bits(f.edge), WithinRel(everywhere ? each : 16.0, 2e-4));
  }
  const auto named = format_of("Llama3_8B", "H100", {.weight_bits = 3.5});
  CHECK(bits(named.block) == 3.5);
  CHECK(bits(named.edge) == 3.5);
}

TEST_CASE("files of llama.cpp mix layouts", "[catalogue][measured]") {
  // Bits of a weight of whole files of Llama 3.1 8B (llama.cpp, tools/quantize/README.md); the sizes of files
  // of Llama 3.3 70B follow from its larger blocks and equal vocabulary.
  constexpr std::tuple<WeightFormat, double, double> expected[] = {
      {WeightFormat::iq1_m, 2.1460, 16.75},  {WeightFormat::iq2_xs, 2.5882, 21.14},
      {WeightFormat::q2_k, 3.1593, 26.38},   {WeightFormat::iq3_xxs, 3.2548, 27.47},
      {WeightFormat::q3_k_m, 3.9960, 34.27}, {WeightFormat::q4_k_s, 4.6672, 40.35},
      {WeightFormat::q5_k_m, 5.7036, 49.95},
  };
  for (const auto& [format, each, size] : expected) {
    INFO(name_of(format));
    CHECK_THAT(bits(format_of("Llama3_8B", "H100", {.weight_format = format}).whole), WithinRel(each, 1e-3));
    const auto large = format_of("Llama3_70B", "H100", {.weight_format = format}).whole;
    CHECK_THAT(large * parameter_count(model("Llama3_70B")) / u::GB, WithinRel(size, 0.015));
  }
  // An embedding that is the head too is stored as the head.
  const auto tied = format_of("Llama3_2_1B", "H100", {.weight_format = WeightFormat::q2_k});
  CHECK_THAT(bits(tied.edge), WithinRel(6.5625, 2e-4));
}

TEST_CASE("experts in blocks of another size have the format nearest in bytes", "[catalogue]") {
  Workload m = model("Mixtral_8x7B");
  // Four bits with 2.5 bytes for 64 values: 0.539 bytes, of which int4 has 0.520 and nf4 0.516.
  m.formats = {{.tensors = TensorGroup::experts,
                .precision = Precision::int4,
                .block = 64,
                .block_rows = 1,
                .scale = 2.5 * u::B}};
  Notes quiet;
  CHECK(served_format(m, {}, device("H100"), nullptr, quiet).experts == WeightFormat::int4);
}

TEST_CASE("files of 16 bits alone are what stands for any model", "[catalogue]") {
  Workload m = model("Llama3_8B");
  m.formats = {{.tensors = TensorGroup::all, .precision = Precision::bf16}};
  NoteBook book;
  Notes notes(book);
  const auto f = served_format(m, {}, device("V100"), nullptr, notes);
  CHECK(f.precision == Precision::fp16);  // the device's usual one: it has no rate in bf16
  CHECK(
      std::ranges::none_of(book.assumptions, [](const Assumption& a) { return a.name == "weight_format"; }));
}

TEST_CASE("devices multiply what they have a rate for and widen the rest", "[catalogue]") {
  const auto computes = [](std::string_view m, std::string_view d, FormatRequest asked = {}) {
    return format_of(m, d, asked).precision;
  };
  CHECK(computes("DeepSeek_V3", "H200") == Precision::fp8);
  CHECK(computes("DeepSeek_V3", "A100") == Precision::fp16);   // no rate in fp8
  CHECK(computes("GPT_OSS_120B", "B200") == Precision::fp16);  // scales for 32 values: activations stay wide
  CHECK(computes("Kimi_K2_5_NVFP4", "B200") == Precision::fp4);  // for 16: made to be multiplied
  CHECK(computes("Kimi_K2_5_NVFP4", "H100") == Precision::fp16);
  CHECK(computes("Llama3_8B", "RTX4090", {.weight_format = WeightFormat::int4}) == Precision::fp16);
  CHECK(computes("Llama3_8B", "H100", {.weight_format = WeightFormat::fp8}) == Precision::fp8);
  CHECK(computes("Llama3_8B", "H100", {.weight_format = WeightFormat::q8_0}) == Precision::fp16);
  CHECK(computes("Llama3_8B", "H100", {.weight_format = WeightFormat::w8a16}) == Precision::fp16);
  // 8 bits with one scale for a matrix are multiplied as they are.
  CHECK(computes("Llama3_8B", "H100", {.weight_format = WeightFormat::int8}) == Precision::int8);
  CHECK(computes("Llama3_8B", "H100") == Precision::fp16);  // no narrow files: the default of the device
  // What is asked for is not changed.
  CHECK(computes("GPT_OSS_120B", "H100", {.precision = Precision::fp8}) == Precision::fp8);
  const auto narrow = format_of("GPT_OSS_120B", "H100", {.precision = Precision::fp8});
  CHECK(bits(narrow.edge) == 16);  // as quantizers leave embedding and head
  CHECK(bits(narrow.whole) < 9);
}

TEST_CASE("naming the format that is assumed anyway changes nothing", "[catalogue]") {
  const auto open = format_of("DeepSeek_V3", "H200"),
             named = format_of("DeepSeek_V3", "H200", {.precision = Precision::fp8});
  CHECK(named.precision == open.precision);
  CHECK(named.whole == open.whole);
  CHECK(named.kv_precision == open.kv_precision);
  CHECK(bits(format_of("DeepSeek_V3", "H200", {.precision = Precision::bf16}).whole) == 16);
  // Engines keep a cache of 16 bits beside weights of 8; formulas from totals take one format for all.
  const auto narrow = format_of("Llama3_8B", "H100", {.precision = Precision::fp8});
  REQUIRE(narrow.kv_precision);
  CHECK(bytes_per_element(*narrow.kv_precision) == 2);
  const auto totals = format_of("DeepSeek_V3", "H200", {.precision = Precision::fp8, .from_totals = true});
  CHECK_FALSE(totals.kv_precision);
  CHECK(bits(totals.whole) == 8);
}

TEST_CASE("a step reads weights as they are stored", "[catalogue]") {
  // One token of one sequence of Llama 3 8B: 6.98e9 weights of the blocks and 0.525e9 of the head cross the
  // memory. At 4.156 and 16 bits these are 4.68 GB, at 16 bits 15.0 GB: 10.3 GB less.
  ServingModel::Inputs in{.workload = &model("Llama3_8B"), .hardware = &device("RTX4090"), .seq_len = 8};
  Notes quiet;
  const auto wide = ServingModel().solve(in, quiet);
  in.weight_format = WeightFormat::int4;
  const auto narrow = ServingModel().solve(in, quiet);
  const Bandwidth<> read = (15.009 - 4.676) * u::GB / (wide.itl - narrow.itl);
  const Bandwidth<> peak = *device("RTX4090").memory.bandwidth;
  CHECK(read < peak);
  CHECK(read > 0.75 * peak);
  // The prompt is multiplied in 16 bits as before.
  in.seq_len = 4096;
  const auto prompt = ServingModel().solve(in, quiet).ttft;
  in.weight_format.reset();
  CHECK_THAT(ServingModel().solve(in, quiet).ttft / prompt, WithinRel(1.0, 0.05));
}

TEST_CASE("frozen weights of a model that adapters train", "[catalogue]") {
  // Llama 3 70B in nf4 (dettmers2023qlora): 68.45e9 weights of blocks x 4.127 bits and 2.1e9 x 16 = 39.5 GB.
  const auto& zoo = standard_zoo();
  DistributedModel::Inputs in{.workload = &zoo.at<Workload>("Llama3_70B"),
                              .fleet = &zoo.at<Fleet>("Research_256")};
  in.batch_size = 256;
  in.seq_len = 512;
  in.recomputation = Recomputation::full;
  in.weight_format = WeightFormat::nf4;
  Notes quiet;
  CHECK_THROWS_WITH(DistributedModel().solve(in, quiet), Contains("weights that are trained"));
  in.trainable_fraction = 0.002;
  const auto held = DistributedModel().solve(in, quiet).memory;
  CHECK_THAT(held.weights / u::GB, WithinRel(39.5, 0.005));
  in.weight_format.reset();
  CHECK_THAT(DistributedModel().solve(in, quiet).memory.weights / u::GB, WithinRel(141.1, 0.005));
}

TEST_CASE("files that nobody described are not guessed", "[catalogue]") {
  CHECK_THROWS_WITH(format_of("Llama3_8B", "H100", {.weight_format = WeightFormat::as_stored}),
                    Contains("how the weights of 'Llama3_8B' are stored is not known"));
}
