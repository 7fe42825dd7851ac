#include "support/catch.hpp"

#include <mlsysim/validation/validate.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {
/// Prediction for a transformer of 57 blocks of width 3072, as FLUX has them, for 4,096 patches and 512
/// tokens of text.
double predicted(const std::string& measurand, const std::string& unit, const std::string& inputs) {
  const auto table = parse_table(R"(schema: mlsysim/validation@1
title: one row
data: t.csv
source: {kind: measured, ref: ml-energy-leaderboard, recorded: 2026-11-21}
measurand: )" + measurand + R"(
measured: {value: value, unit: )" + unit +
                                     R"(}
inputs: {hardware: H100, layers: 57, hidden: 3072, heads: 24, width: 12288, tokens: 4096, text_tokens: 512, )" +
                                     inputs + "}\n",
                                 "t.yaml", CsvTable::parse("value\n1\n", "t.csv"));
  return validate(table, standard_zoo(), Depth::ours).rows.front().predicted;
}
double time_of(const std::string& inputs) { return predicted("generation_time", "s", inputs); }
double energy_of(const std::string& inputs) { return predicted("generation_energy", "J", inputs); }
}  // namespace

TEST_CASE("validation: a diffusion model passes over its patches once a step and evaluation",
          "[validation]") {
  // 12 products of 3072 x 3072 for each of 4,608 tokens, and scores and sums of every pair of tokens:
  // 57 x (2 x 12 x 3072^2 x 4608 + 4 x 4608^2 x 3072) = 74.4 TFLOP a step, 2.1 s of an H100's peak for 28.
  const double work = 57 * (24.0 * 3072 * 3072 * 4608 + 4.0 * 4608 * 4608 * 3072);
  CHECK(work == Approx(74.4e12).epsilon(0.001));
  const double once = time_of("outputs: 1, steps: 28, evaluations: 1");
  CHECK(once > 28 * work / 989e12);
  CHECK(once < 2.5 * 28 * work / 989e12);
  CHECK(time_of("outputs: 1, steps: 56, evaluations: 1") == Approx(2 * once).epsilon(0.02));
  // Guidance evaluates each step with and without the text, as if there were two outputs.
  CHECK(time_of("outputs: 1, steps: 28, evaluations: 2") == time_of("outputs: 2, steps: 28, evaluations: 1"));
  CHECK(time_of("outputs: 1, steps: 28, evaluations: 2") == Approx(2 * once).epsilon(0.05));
}

TEST_CASE("validation: tokens of a diffusion model are divided over devices", "[validation]") {
  const std::string of_one = "outputs: 1, steps: 28, evaluations: 1";
  const double one = time_of(of_one), ring = time_of(of_one + ", accelerators: 2, ring: 2"),
               heads = time_of(of_one + ", accelerators: 2, ulysses: 2");
  CHECK(ring > 0.5 * one);
  CHECK(ring < 0.65 * one);
  CHECK(heads > 0.5 * one);
  CHECK(heads < 0.65 * one);
  // Few tokens on many devices wait for the host, which launches every kernel: at least ten a block, 5 us
  // each.
  CHECK(time_of(of_one + ", accelerators: 8, ulysses: 8") > 28 * 57 * 10 * 5e-6);
}

TEST_CASE("validation: chains of norms and rotations move their bytes kernel by kernel", "[validation]") {
  const std::string of_one = "outputs: 1, steps: 28, evaluations: 1";
  const double plain = time_of(of_one);
  // Queries and keys of 28 x 57 layers, 4,608 tokens of 3,072 values, 34 B each: 1.5 TB, 0.46 s of 3.35 TB/s.
  const double bytes = 2 * 28 * 57 * 4608.0 * 3072 * 34;
  const double added = time_of(of_one + ", norm_bytes: 34") - plain;
  CHECK(added > bytes / 3.35e12);
  CHECK(added < 1.3 * bytes / 3.35e12);
  CHECK(time_of(of_one + ", rotation_bytes: 34") - plain == Approx(added).epsilon(1e-9));
  // The second generation of the kernel multiplies at 0.6 of the rate; a fifth of the work is attention.
  const double slower = time_of(of_one + ", attention_kernel: flash2") - plain;
  CHECK(slower > 0);
  CHECK(slower < 0.2 * plain);
  CHECK(time_of(of_one + ", cross_tokens: 300") > plain);
  CHECK(time_of(of_one + ", self_attentions: 1.5") > plain);
}

TEST_CASE("validation: a diffusion model draws between idle and full power", "[validation]") {
  const std::string of_one = "outputs: 1, steps: 28, evaluations: 1";
  const double watts = energy_of(of_one) / time_of(of_one);
  CHECK(watts <= 700);
  CHECK(watts > 0.3 * 700);
  // The energy is that of one output, of all devices.
  CHECK(energy_of("outputs: 4, steps: 28, evaluations: 1") == Approx(energy_of(of_one)).epsilon(0.1));
  CHECK(energy_of(of_one + ", accelerators: 2, ring: 2") == Approx(energy_of(of_one)).epsilon(0.3));
}
