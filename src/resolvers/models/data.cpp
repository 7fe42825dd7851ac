#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/data_path.hpp>
#include <mlsysim/resolvers/models/data.hpp>
#include <mlsysim/timing/views.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

namespace {

/// A rate that limits nothing, for a part of the path that does not exist.
constexpr Bandwidth<> kNone = Bandwidth<>::from_base(1e30);

struct DataSupply {
  Bandwidth<> rate;
  DataPath limit = DataPath::none;
  double hit_ratio = 1, nodes = 1;
};

/// The smaller of local storage and host link of one device.
DataSupply textbook_supply(const DataModel::Inputs& in) {
  const auto& storage = in.hardware->storage.bandwidth;
  const auto& host = in.hardware->host_link.bandwidth;
  DataSupply r;
  if (storage) r = {*storage, DataPath::storage};
  if (host && (!storage || *host < *storage)) r = {*host, DataPath::host_link};
  return r;
}

/// Per node a cache that holds a share of the data set, shared storage behind it, and the host links of all
/// devices.
DataSupply operator_supply(const DataModel::Inputs& in, Notes& notes) {
  DataSupply r;
  r.nodes = in.fleet != nullptr ? in.fleet->count : 1.0;
  const double devices = in.fleet != nullptr ? in.fleet->node->accelerators_per_node : 1.0;
  const auto cache = in.cache_bandwidth ? in.cache_bandwidth : in.hardware->storage.bandwidth;
  const auto room = in.cache_capacity ? in.cache_capacity : in.hardware->storage.capacity;
  if (!cache)
    r.hit_ratio = 0;
  else if (in.dataset_size && room)
    r.hit_ratio = std::min(1.0, *room / *in.dataset_size);
  else if (in.dataset_size)
    notes.warn("the capacity of the local storage is not known: the whole data set is taken to fit");
  if (r.hit_ratio < 1 && !in.shared_bandwidth) {
    notes.warn("a part of the data is in no local storage and no shared storage was given",
               BreakReason::infeasible_constraint);
    return r;  // nothing can be supplied
  }
  const Bandwidth<> shared = in.shared_bandwidth ? *in.shared_bandwidth / r.nodes : kNone;
  const auto& link = in.hardware->host_link.bandwidth;
  const Bandwidth<> host = link ? *link * devices : kNone;
  if (!link) notes.assume("host_link", "no limit", "the device has no figure for its host link");
  const Bandwidth<> node =
      CachedSupply::solve<double>({cache.value_or(kNone), shared, host, r.hit_ratio}).supply;
  r.rate = node * r.nodes;
  const bool misses =
      r.hit_ratio < 1 && (r.hit_ratio == 0 || shared / (1.0 - r.hit_ratio) <= *cache / r.hit_ratio);
  r.limit = node == host ? DataPath::host_link : misses ? DataPath::shared_storage : DataPath::storage;
  return r;
}

}  // namespace

DataModel::Result DataModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(
      asked, fidelity, {"dataset_size", "cache_capacity", "cache_bandwidth", "shared_bandwidth"}, notes);
  const auto supply = fidelity == Fidelity::textbook ? textbook_supply(in) : operator_supply(in, notes);
  Result r;
  r.fidelity = fidelity;
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
