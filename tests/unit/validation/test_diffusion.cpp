#include "support/catch.hpp"

#include <mlsysim/validation/validate.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {
/// Prediction for a transformer of 57 blocks of width 3072, as FLUX has them, for 4,096 patches and 512
/// tokens of text; fused kernels in a graph unless an engine is named.
double predicted(const std::string& measurand, const std::string& unit, const std::string& inputs,
                 const std::string& hardware = "H100") {
  const auto table = parse_table(
      R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: ml-energy-leaderboard, recorded: 2026-11-21}
measurand: )" +
          measurand + R"(
measured: {value: value, unit: )" +
          unit +
          R"(}
inputs: {hardware: )" +
          hardware +
          R"(, height: 1024, layers: 57, hidden: 3072, heads: 24, width: 12288, text_tokens: 512, )" +
          inputs + "}\n",
      "t.yaml", CsvTable::parse("value\n1\n", "t.csv"));
  return validate(table, standard_zoo(), Depth::ours).rows.front().predicted;
}
double time_of(const std::string& inputs, const std::string& hardware = "H100") {
  return predicted("generation_time", "s", inputs, hardware);
}
double energy_of(const std::string& inputs) { return predicted("generation_energy", "J", inputs); }
constexpr double kTokens = 4608, kBlocks = 28 * 57;
const std::string of_one = "outputs: 1, steps: 28, evaluations: 1";
}  // namespace

TEST_CASE("validation: a diffusion model passes over its patches once a step and evaluation",
          "[validation]") {
  // 12 products of 3072 x 3072 for each of 4,608 tokens, and scores and sums of every pair of tokens:
  // 57 x (2 x 12 x 3072^2 x 4608 + 4 x 4608^2 x 3072) = 74.4 TFLOP a step, 2.1 s of an H100's peak for 28.
  const double work = 57 * (24.0 * 3072 * 3072 * kTokens + 4.0 * kTokens * kTokens * 3072);
  CHECK(work == Approx(74.4e12).epsilon(0.001));
  const double once = time_of(of_one);
  CHECK(once > 28 * work / 989e12);
  CHECK(once < 2.5 * 28 * work / 989e12);
  CHECK(time_of("outputs: 1, steps: 56, evaluations: 1") == Approx(2 * once).epsilon(0.02));
  // Guidance evaluates each step with and without the text, as if there were two outputs.
  CHECK(time_of("outputs: 1, steps: 28, evaluations: 2") == time_of("outputs: 2, steps: 28, evaluations: 1"));
  CHECK(time_of("outputs: 1, steps: 28, evaluations: 2") == Approx(2 * once).epsilon(0.05));
}

TEST_CASE("validation: tokens of a diffusion model are divided over devices", "[validation]") {
  const double one = time_of(of_one), ring = time_of(of_one + ", accelerators: 2, ring: 2"),
               heads = time_of(of_one + ", accelerators: 2, ulysses: 2");
  CHECK(ring > 0.5 * one);
  CHECK(ring < 0.75 * one);
  CHECK(heads > 0.5 * one);
  CHECK(heads < 0.75 * one);
  // Few tokens on many devices wait for the host: at least forty kernels a block, 9.6 us each.
  CHECK(time_of(of_one + ", engine: xdit, accelerators: 8, ulysses: 8") > kBlocks * 40 * 9.6e-6);
}

TEST_CASE("validation: chains of norms and rotations move their bytes kernel by kernel", "[validation]") {
  const std::string eager = of_one + ", engine: xdit";
  const double plain = time_of(eager);
  CHECK(plain > time_of(of_one));
  // Queries and keys, 2 x 28 x 57 arrays of 4,608 x 3,072 values. A norm in FP32 moves 2+4, 4+4, 4, 2+4, 4+2
  // and 2+2 B a value, a rotation 52 B: at most at 0.907 of 3.35 TB/s, at least at 0.45.
  const double values = 2 * kBlocks * kTokens * 3072;
  const double norm = time_of(eager + ", query_key_norm: rms") - plain,
               rotation = time_of(eager + ", rotation: stacked") - plain;
  CHECK(norm > values * 34 / (0.907 * 3.35e12));
  CHECK(norm < 1.2 * values * 34 / (0.45 * 3.35e12));
  CHECK(rotation > values * 52 / (0.907 * 3.35e12));
  CHECK(rotation < 1.2 * values * 52 / (0.45 * 3.35e12));
  // Kernels over strided views are bound by their instructions, 5.77 B a cycle of each of 132 units at 1.98
  // GHz. More bandwidth, as of an H200, helps the other 30 of the 52 B alone.
  const double faster = time_of(eager + ", rotation: stacked", "H200") - time_of(eager, "H200");
  CHECK(faster > values * (22 / (5.77 * 132 * 1.98e9) + 30 / 4.8e12));
  CHECK(faster < rotation);
  CHECK(time_of(eager + ", fp32_norms: true") > plain);
  CHECK(time_of(eager + ", modulation: shift") < plain);
  CHECK(time_of(eager + ", cross_tokens: 300") > plain);
  CHECK(time_of(eager + ", second_attentions: 28") > plain);
  CHECK(time_of(eager + ", skips: 20") > plain);
}

TEST_CASE("validation: encoder and decoder of a diffusion model run once", "[validation]") {
  const double plain = time_of(of_one);
  const double decoder = time_of(of_one + ", decoder_width: 128") - plain;
  // 3 x 3 convolutions at full resolution alone: 256 to 128 and five of 128 to 128 channels, 1.9 TFLOP.
  CHECK(decoder > 1.9e12 / 989e12);
  CHECK(decoder < 0.2 * plain);
  CHECK(time_of("outputs: 1, steps: 56, evaluations: 1, decoder_width: 128") -
            time_of("outputs: 1, steps: 56, evaluations: 1") ==
        Approx(decoder).epsilon(1e-9));
  // 24 layers of 4 x 4096^2 + 3 x 4096 x 10240 weights, 9.2 GB in 16 bits, are read once: 2.8 ms.
  const double encoder =
      time_of(of_one + ", encoder_layers: 24, encoder_hidden: 4096, encoder_width: 10240") - plain;
  CHECK(encoder > 2.7e-3);
  CHECK(encoder < 6e-3);
  // Videos: four frames for one of latents but the first, and kernels of three frames.
  CHECK(time_of(of_one + ", decoder_width: 128, frames: 5, frame_scale: 4") > 5 * decoder);
}

TEST_CASE("validation: a diffusion model draws between idle and full power", "[validation]") {
  const double watts = energy_of(of_one) / time_of(of_one);
  CHECK(watts <= 700);
  CHECK(watts > 0.3 * 700);
  // The energy is that of one output, of all devices.
  CHECK(energy_of("outputs: 4, steps: 28, evaluations: 1") == Approx(energy_of(of_one)).epsilon(0.1));
  CHECK(energy_of(of_one + ", accelerators: 2, ring: 2") == Approx(energy_of(of_one)).epsilon(0.3));
}
