#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/models/data.hpp>
#include <mlsysim/physics/data_path.hpp>
#include <mlsysim/price/pricing.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

DataModel::Result DataModel::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_named(asked.fidelity);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::data), notes);
  const auto supply = pricing.planning().supply({.hardware = *in.hardware,
                                                 .fleet = in.fleet,
                                                 .dataset = in.dataset_size,
                                                 .cache = in.cache_capacity,
                                                 .cache_bandwidth = in.cache_bandwidth,
                                                 .shared_bandwidth = in.shared_bandwidth},
                                                notes);
  Result r;
  r.fidelity = pricing.fidelity();
  r.demand = in.data_rate;
  r.supply = supply.rate;
  r.limit = supply.limit;
  r.hit_ratio = supply.hit_ratio;
  r.nodes = supply.nodes;
  r.margin = r.supply - r.demand;
  r.is_stalled = r.demand > r.supply;
  if (r.supply > Bandwidth<>()) r.ingest_utilization = r.demand / r.supply;
  return r;
}

TransformationModel::Result TransformationModel::solve(const Inputs& in) const {
  const InputStall::Inputs<double> stall{.batch_size = in.batch_size,
                                         .sample_size = in.sample_size,
                                         .worker_rate = in.cpu_throughput,
                                         .workers = in.workers,
                                         .step = in.accelerator_step_time,
                                         .overlap = in.overlap};
  const auto s = InputStall::solve<double>(stall);
  Result r;
  r.transform_time = s.prepare;
  r.accelerator_step_time = in.accelerator_step_time;
  r.elapsed = s.elapsed;
  r.is_bottleneck = s.prepare > in.accelerator_step_time;
  r.accelerator_utilization = s.utilization;
  r.slowdown_factor = s.elapsed / in.accelerator_step_time;
  r.workers_needed = std::max(1.0, std::ceil(s.prepare * in.workers / in.accelerator_step_time));
  return r;
}

}  // namespace mlsysim
