/// Fuzzes what users write: plan files and lists of regions. Whatever the bytes, only mlsysim::Error is
/// thrown, every error has an id and says something, and what is read twice gives the same scorecard.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds for a fixed number of rounds:
/// fuzz_plan [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;

/// As `fuzz::takes`, and no result may be what no number is.
template <class F> bool answers(const std::string& text, F&& f) {
  return fuzz::takes(text, [&] {
    try {
      f();
    } catch (const SolverError& error) {
      fail("a result that is no number", text + "\n----\n" + error.what());
    }
  });
}

/// All numbers of a scorecard.
std::vector<double> numbers(const SystemEvaluation& card) {
  std::vector<double> out;
  for (const auto* level : card.levels())
    for (const auto& m : level->metrics)
      if (const auto* x = std::get_if<double>(&m.value)) out.push_back(*x);
  return out;
}

bool check_plan(const std::string& text) {
  if (!fuzz::takes(
          text, [&] { (void)parse_plan(text, "fuzz.yaml", standard_zoo()).build(); }, "fuzz.yaml"))
    return false;
  return answers(text, [&] {
    const auto plan = parse_plan(text, "fuzz.yaml", standard_zoo());
    const auto built = plan.build();
    const auto card = SystemEvaluator::evaluate(built.scenario);
    const auto found = numbers(card);
    for (const double x : found)
      if (!std::isfinite(x)) fail("a metric that is no finite number", text);
    if (numbers(SystemEvaluator::evaluate(parse_plan(text, "fuzz.yaml", standard_zoo()).build().scenario)) !=
        found)
      fail("the same plan gives other numbers", text);
    (void)plan.check(card);
  });
}

bool check_regions(const std::string& text) {
  return answers(text, [&] {
    const auto answer =
        evaluate(PlacementOptimizer{},
                 {.fleet = &standard_zoo().at<Fleet>("Research_256"), .duration_days = 30, .regions = text});
    if (!answer) fail("no region and no error", text);
    if (!answer->total_cost || !(answer->total_cost->in(unit::USD) > 0))
      fail("a region without a cost", text);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_plan(bytes);
  check_regions(bytes);
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

const std::vector<std::string>& plans() {
  static const std::vector<std::string> all{
      "version: \"1\"\nname: a\nworkload: {name: Llama3_8B, batch_size: 8, seq_len: 1024, output_tokens: "
      "128,\n"
      "  cached_prefix_len: 16, prefill_chunk_tokens: 512, draft_model: GPT2_Small, draft_tokens: 4}\n"
      "hardware: {name: H100, accelerators: 8, intra_node_bw: 400 GB/s, precision: bf16, kv_precision: fp8, "
      "efficiency: 0.5}\n"
      "parallelism: {tp_size: 4, pp_size: 2}\nops: {region: Quebec, duration_days: 30, kwh_price: 0.1 "
      "USD/kWh}\n"
      "also: SustainabilityModel, TailLatencyModel\nconstraints:\n  assert:\n  - {metric: performance.itl, "
      "max: 25 ms}\n",
      "version: \"1\"\nname: b\nmode: train\nworkload: {name: Llama3_8B, batch_size: 128, seq_len: 2048}\n"
      "hardware: {name: DGX_H100, node_count: 4, congestion_factor: 1.5, straggler_factor: 1.1}\n"
      "parallelism: {tp_size: 2, pp_size: 4, v_stages: 1, microbatch_count: 8, zero_stage: 1, recomputation: "
      "full,\n"
      "  kernel_fusion: false, dropout: true, trainable_fraction: 0.5, offload_states: 0.5, schedule: "
      "zero_bubble}\n",
      "version: 1\nname: c\nmode: infer\nfidelity: textbook\nworkload: {name: ResNet50, batch_size: 256}\n"
      "hardware: {name: A100, accelerators: 2, unit_cost: 15000 USD}\nops: {grid: Poland, datacenter: "
      "Norway_Hydro}\n",
  };
  return all;
}

const std::vector<std::string>& regions() {
  static const std::vector<std::string> all{"Quebec", "US_Avg,Quebec,Iowa", "Texas, Iowa",
                                            " Poland ,, France"};
  return all;
}

const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all{
      ": ",   "\n",           "\n  ",  "{",     "}",      ",",       "\"",   "-1",
      "0",    "1e9",          "1e308", "nan",   "7",      "0.3",     "512",  "GB/s",
      "3 kg", "true",         "fp8",   "gpipe", "Quebec", "Quebeck", "\xC3", " ",
      ";",    "Mixtral_8x7B", "T4",    "full",  "train",  "serve",   "1024"};
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 4000;
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  for (const auto& seed : plans())
    if (!check_plan(seed)) fail("a seed that is refused teaches nothing", seed);
  for (const auto& seed : regions())
    if (!check_regions(seed)) fail("a seed that is refused teaches nothing", seed);
  long answered = 0;
  for (long i = 0; i < rounds; ++i) {
    answered += fuzz::bounded(check_plan, fuzz::mutated({plans(), pieces()}, random)) ? 1 : 0;
    answered += fuzz::bounded(check_regions, fuzz::mutated({regions(), pieces()}, random)) ? 1 : 0;
  }
  std::printf("%ld rounds, %ld answers\n", rounds, answered);
  fuzz::replay_corpus();
  return answered > 0 ? 0 : 1;
}
#endif
