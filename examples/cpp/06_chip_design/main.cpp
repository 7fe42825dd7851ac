// A chip-design question, from question to Pareto front.
//
// Eight accelerators shall serve Llama-3.1-70B, no slower than 25 ms per token. Where does the next dollar
// go: into memory bandwidth, into arithmetic, into capacity? The prices per unit of each are assumptions of
// this study, not of the zoo.

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cstdio>
#include <string>

using namespace mlsysim;

int main() {
  const Zoo& zoo = standard_zoo();
  Scenario scenario;
  scenario.workload = &zoo.at<Workload>("Llama3_70B");
  scenario.hardware = &zoo.at<HardwareNode>("H100");  // the design that we start from
  scenario.accelerators = 8;
  scenario.accelerators_per_node = 8;
  scenario.batch_size = 64;
  scenario.load = Load::burst;
  scenario.seq_len = 2048;
  scenario.output_tokens = 512;
  scenario.precision = Precision::bf16;
  const Subject today = subject_of(scenario);

  // 1. What limits the design of today, and what would help?
  const auto levers = sensitivity(today, "itl");
  std::printf("Today: %s\n\n", levers.binding.c_str());

  // 2. How much memory bandwidth would halve the time per token?
  const double now = levers.value;
  const auto answer =
      solve(today, "itl <= " + std::to_string(500 * now) + " ms", "hardware.memory.bandwidth");
  std::printf("Half the time per token: %s\n",
              answer ? answer->text().c_str() : answer.why()->text().c_str());

  // 3. All designs of a grid: cost of a token against time per token.
  const std::string dies =
      "(7000 USD * hardware.compute.dense / 1000 TFLOP/s + 2500 USD * hardware.memory.bandwidth / 1 TB/s + "
      "60 USD * hardware.memory.capacity / 1 GB)";
  const std::string cost =
      dies + " * accelerators / facility.lifetime / token_throughput + kwh_price * energy_per_token";
  const Space designs(
      problem_of(scenario),
      {range_axis("hardware.compute.dense", 250 * unit::TFLOP / unit::s, 2000 * unit::TFLOP / unit::s, 8),
       range_axis("hardware.memory.bandwidth", 2 * unit::TB / unit::s, 12 * unit::TB / unit::s, 21),
       range_axis("hardware.memory.capacity", 48 * unit::GB, 288 * unit::GB, 6),
       numbers_axis("batch_size", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512})});
  Question front;
  front.objectives = {{Goal::minimize, cost}, {Goal::minimize, "itl"}};
  front.constraints = {"ttft <= 10 s"};
  const auto pareto = explore(designs, front);
  std::printf("%.0f designs and batches\n%.0f feasible, %zu on the front\n", pareto.total, pareto.feasible,
              pareto.front.size());

  // 4. The cheapest token at 25 ms, proven.
  Question best;
  best.objectives = {{Goal::minimize, cost}};
  best.constraints = {"itl <= 25 ms", "ttft <= 10 s"};
  best.show = {"itl", "ttft", "token_throughput", "memory_utilization"};
  ExploreOptions how;
  how.strategy = Strategy::branch_and_bound;
  const auto chosen = explore(designs, best, how);
  const auto& p = chosen.best.at(0);
  for (std::size_t a = 0; a < p.labels.size(); ++a)
    std::printf("  %-24s %s\n", chosen.axes[a].c_str(), p.labels[a].c_str());
  std::printf("  cost of a million tokens %.3g USD at %.3g ms per token\nThe cheapest design is %s.\n",
              1e6 * p.objectives[0], 1e3 * p.shown[0], std::string(name_of(chosen.exactness)).c_str());
}
