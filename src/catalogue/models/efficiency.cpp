#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/efficiency.hpp>
#include <mlsysim/price/pricing.hpp>

namespace mlsysim {

EfficiencyModel::Result EfficiencyModel::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_for(asked.fidelity, *asked.workload, notes);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::efficiency), notes);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  const auto shares = pricing.devices().shares({.workload = *in.workload,
                                                .hardware = *in.hardware,
                                                .conventions = conventions_or_standard(in.conventions),
                                                .precision = precision,
                                                .kernels = in.workload_type,
                                                .fused = in.use_flash_attention,
                                                .batch = in.batch_size,
                                                .seq_len = in.seq_len,
                                                .efficiency = in.efficiency},
                                               detail::zoo_figures(notes));
  Result r;
  r.fidelity = pricing.fidelity();
  r.peak_flops = rate_at(*in.hardware, precision);
  r.mfu = shares.mfu;
  r.achievable_flops = r.peak_flops * r.mfu;
  r.kernel_loss = shares.kernel_loss;
  r.memory_stall = shares.memory_stall;
  r.launch_loss = shares.launch_loss;
  r.time_share = shares.of_pass;
  return r;
}

}  // namespace mlsysim
