#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/models/data.hpp>
#include <mlsysim/physics/data_path.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// A rate that limits nothing: the path does not exist, and another one does.
constexpr Bandwidth<> kNone = Bandwidth<>::from_base(1e30);

void textbook(const DataModel::Inputs& in, DataModel::Result& r) {
  const auto& storage = in.hardware->storage.bandwidth;
  const auto& host = in.hardware->host_link.bandwidth;
  if (storage) {
    r.supply = *storage;
    r.limit = DataPath::storage;
  }
  if (host && (!storage || *host < *storage)) {
    r.supply = *host;
    r.limit = DataPath::host_link;
  }
}

void per_node(const DataModel::Inputs& in, DataModel::Result& r, Notes& notes) {
  r.nodes = in.fleet != nullptr ? in.fleet->count : 1.0;
  const double devices = in.fleet != nullptr ? in.fleet->node->accelerators_per_node : 1.0;
  const std::optional<Bandwidth<>> cache =
      in.cache_bandwidth ? in.cache_bandwidth : in.hardware->storage.bandwidth;
  const std::optional<Data<>> room = in.cache_capacity ? in.cache_capacity : in.hardware->storage.capacity;
  if (!cache)
    r.hit_ratio = 0;
  else if (in.dataset_size && room)
    r.hit_ratio = std::min(1.0, *room / *in.dataset_size);
  else if (in.dataset_size)
    notes.warn("the capacity of the local storage is not known: the whole data set is taken to fit");
  if (r.hit_ratio < 1 && !in.shared_bandwidth) {
    notes.warn("a part of the data is in no local storage and no shared storage was given");
    return;  // nothing can be supplied
  }
  const Bandwidth<> shared = in.shared_bandwidth ? *in.shared_bandwidth / r.nodes : kNone;
  const Bandwidth<> host =
      in.hardware->host_link.bandwidth ? *in.hardware->host_link.bandwidth * devices : kNone;
  if (!in.hardware->host_link.bandwidth)
    notes.assume("host_link", "no limit", "the device has no figure for its host link");
  const Bandwidth<> node =
      CachedSupply::solve<double>({cache.value_or(kNone), shared, host, r.hit_ratio}).supply;
  r.supply = node * r.nodes;
  r.limit = node == host ? DataPath::host_link
            : r.hit_ratio < 1 && (r.hit_ratio == 0 || shared / (1.0 - r.hit_ratio) <= *cache / r.hit_ratio)
                ? DataPath::shared_storage
                : DataPath::storage;
}

}  // namespace

DataModel::Result DataModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  r.demand = in.data_rate;
  if (r.fidelity == Fidelity::textbook) {
    detail::warn_of_unpriced(in, {"dataset_size", "cache_capacity", "cache_bandwidth", "shared_bandwidth"}, notes);
    textbook(in, r);
  } else {
    per_node(in, r, notes);
  }
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
