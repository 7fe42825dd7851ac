#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/solvers/synthesis.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/price/rules/device.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

using In = SynthesisSolver::Inputs;

LatencyWish wish_of(const In& in) {
  return {.workload = *in.workload,
          .conventions = conventions_or_standard(in.conventions),
          .latency = in.target_latency,
          .precision = in.precision,
          .batch = in.batch_size,
          .seq_len = in.seq_len,
          .efficiency = in.efficiency};
}

}  // namespace

Outcome<SynthesisSolver::Result> SynthesisSolver::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_for(asked.fidelity, *asked.workload, notes);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::synthesis), notes);
  const auto needs = pricing.devices().needs(wish_of(in), notes);
  if (in.target_latency <= needs.overhead)
    return Infeasible{
        .reason = fmt::format("launches and dispatch alone take {:.4g} ms, the target is {:.4g} ms",
                              needs.overhead.in(unit::ms), in.target_latency.in(unit::ms)),
        .smallest_change =
            fmt::format("a target above {:.4g} ms, or fewer kernels", needs.overhead.in(unit::ms)),
        .facts = {{"overhead", fmt::format("{:.6g} ms", needs.overhead.in(unit::ms))}}};
  Result r;
  r.fidelity = pricing.fidelity();
  r.required_flops = needs.rate;
  r.required_bw = needs.bandwidth;
  r.compute_memory_ratio = needs.rate / needs.bandwidth;
  r.required_memory = needs.memory;
  r.model_size = needs.weights;
  r.total_ops = needs.work;
  r.total_traffic = needs.traffic;
  r.overhead = needs.overhead;
  return r;
}

Check SynthesisSolver::verify(const Inputs& in, const Result& result) const {
  const auto& rules = pricing_of(result.fidelity).devices();
  return {in.target_latency, rules.latency(wish_of(in), result.required_flops, result.required_bw),
          "target_latency"};
}

}  // namespace mlsysim
