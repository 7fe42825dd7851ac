#include <mlsysim/scalars/clones.hpp>
#include <mlsysim/tape/batch.hpp>

#include "detail/parts_memo.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

namespace mlsysim::detail {
namespace {

/// Buffers of one thread.
struct Block {
  LaneBuffers parts;
  ScenarioInputs<Lanes> numbers;
  std::vector<std::uint16_t> varying;  ///< inputs of the entry that are not one value over the block
};

/// Inputs that differ between points of the block.
MLSYSIM_KERNEL void find_varying(const double* const* in, std::size_t inputs, std::size_t points, std::vector<std::uint16_t>& out) {
  out.clear();
  for (std::size_t i = 0; i < inputs; ++i) {
    const double* const x = in[i];
    const auto first = std::bit_cast<std::uint64_t>(x[0]);
    std::uint64_t different = 0;
    for (std::size_t p = 0; p < points; ++p) different |= std::bit_cast<std::uint64_t>(x[p]) ^ first;
    if (different != 0) out.push_back(static_cast<std::uint16_t>(i));
  }
}

/// Whether an input belongs to the model or the machine: then the parts of plans are not those of another point.
[[nodiscard]] bool outside_plan(const ScenarioState& s, std::size_t input) {
  const std::size_t at = s.inputs[input] * sizeof(double);
  const auto within = [at](std::size_t from, std::size_t size) { return at >= from && at < from + size; };
  using In = ScenarioInputs<>;
  return within(offsetof(In, device), sizeof(Device<>)) || within(offsetof(In, links), sizeof(Links<>)) ||
         within(offsetof(In, shape), sizeof(Shape<>));
}

/// Everything after the parts, in lanes. Without the clones of MLSYSIM_KERNEL: flattening it for three instruction sets
/// takes minutes of compilation.
void run_lanes(const ScenarioState& s, Block& block, const LaneParts& parts, const double* const* in,
                              double* const* out, std::size_t points) {
  Lanes* const to = flat<Lanes>(block.numbers);
  ScenarioResults<Lanes> results;
  const Lanes* const found = flat<Lanes>(results);
  for (std::size_t at = 0; at < points; at += Lanes::width) {
    for (const std::size_t i : block.varying)
      for (int j = 0; j < Lanes::width; ++j) to[s.inputs[i]].lane[j] = in[i][at + static_cast<std::size_t>(j)];
    scenario_numbers(s, block.numbers, parts, results);
    for (std::size_t i = 0; i < s.results.size(); ++i)
      for (int j = 0; j < Lanes::width; ++j) out[i][at + static_cast<std::size_t>(j)] = found[s.results[i]].lane[j];
  }
}

}  // namespace

// Lowering and pricing are most of the work of a point, and neighbours in a sweep mostly share them: they are done in
// double, once for each plan that is new, and the rest in lanes.
void scenario_batch(const void* self, const double* const* in, double* const* out, std::size_t points) {
  static_assert(sizeof(ScenarioInputs<Lanes>) == kScenarioInputs * sizeof(Lanes) &&
                    sizeof(ScenarioResults<Lanes>) == kScenarioResults * sizeof(Lanes),
                "inputs and results of a scenario are numbers and quantities only, so that they are reached by position");
  static thread_local std::unique_ptr<Block> kept;
  if (points == 0) return;
  if (!kept) kept = std::make_unique<Block>();
  Block& block = *kept;
  const auto& s = *static_cast<const ScenarioState*>(self);
  find_varying(in, s.inputs.size(), points, block.varying);
  ScenarioInputs<> fixed = s.base;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) flat<double>(fixed)[s.inputs[i]] = in[i][0];
  for (std::size_t i = 0; i < kScenarioInputs; ++i) flat<Lanes>(block.numbers)[i] = Lanes(flat<double>(fixed)[i]);
  const bool one_machine = std::none_of(block.varying.begin(), block.varying.end(), [&](std::size_t i) { return outside_plan(s, i); });
  PartsMemo& memo = thread_parts();
  if (one_machine) memo.use(s, fixed);
  block.parts.forget();
  run_lanes(s, block, {one_machine ? &memo : nullptr, &block.parts}, in, out, points);
}

}  // namespace mlsysim::detail
