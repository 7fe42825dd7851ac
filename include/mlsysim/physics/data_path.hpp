#pragma once
/// The way of the training data: from storage over caches and links, through preparation, to the device.

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Rate at which one node can read its training data [B/s].
///
/// supply = min(cache_bandwidth / hit_ratio, remote_bandwidth / (1 - hit_ratio), host_bandwidth): cache and
/// remote storage work at the same time, each on its share of the bytes, and everything crosses the host
/// link. Ranges: bandwidths > 0; hit_ratio in [0, 1].
/// @cite mohan2021datastalls, section 3
struct CachedSupply {
  static constexpr LawInfo info{
      "CachedSupply",
      "supply = min(cache_bandwidth / hit_ratio, remote_bandwidth / (1 - hit_ratio), host_bandwidth)",
      "mohan2021datastalls", "section 3", "cache and storage read at the same time; uniform access"};
  template <class T> struct Inputs {
    Bandwidth<T> cache_bandwidth, remote_bandwidth, host_bandwidth;
    T hit_ratio;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::cache_bandwidth, "cache_bandwidth", "GB/s", "local cache, per node").positive(),
          field(&Inputs::remote_bandwidth, "remote_bandwidth", "GB/s", "storage behind it, per node")
              .positive(),
          field(&Inputs::host_bandwidth, "host_bandwidth", "GB/s", "links to the devices, per node")
              .positive(),
          field(&Inputs::hit_ratio, "hit_ratio", "", "share of the bytes that the cache holds").within(0, 1));
    }
  };
  template <class T> struct Result {
    Bandwidth<T> supply;
    static constexpr auto fields() {
      return rows(field(&Result::supply, "supply", "GB/s", "what a node can read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    // A path without a share limits nothing: 1e-12 of the bytes is as good as none.
    const T hit = clamp(in.hit_ratio, T(1e-12), T(1.0)),
            miss = clamp(T(1.0 - in.hit_ratio), T(1e-12), T(1.0));
    return {.supply = min(min(in.cache_bandwidth / hit, in.remote_bandwidth / miss), in.host_bandwidth)};
  }
};

/// Step time when a batch must be prepared on the host while the device computes [s].
///
/// prepare = samples sample_size / (worker_rate workers); elapsed = max(prepare, step) + (1 - overlap)
/// min(prepare, step). overlap 1 is a full prefetch queue, 0 is preparation between the steps. Ranges:
/// amounts, step > 0; overlap in [0, 1].
/// @cite murray2021tfdata, section 3 (pipelines and prefetching); mohan2021datastalls
struct InputStall {
  static constexpr LawInfo info{
      "InputStall", "elapsed = max(prepare, step) + (1 - overlap) min(prepare, step)", "murray2021tfdata",
      "section 3", "workers scale linearly; the queue absorbs variation"};
  template <class T> struct Inputs {
    T batch_size;
    Data<T> sample_size;
    Bandwidth<T> worker_rate;
    T workers{1.0};
    Time<T> step;
    T overlap{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::batch_size, key::batch_size).at_least(1),
          field(&Inputs::sample_size, "sample_size", "kB", "bytes of one sample before preparation")
              .positive(),
          field(&Inputs::worker_rate, "worker_rate", "GB/s", "bytes that one worker prepares").positive(),
          field(&Inputs::workers, "workers", "", "workers on the host")
              .at_least(1)
              .counted()
              .defaulted("one"),
          field(&Inputs::step, "step", "ms", "time of a step on the device").positive(),
          field(&Inputs::overlap, "overlap", "", "share of the preparation that runs beside the step")
              .within(0, 1)
              .defaulted("a full prefetch queue"));
    }
  };
  template <class T> struct Result {
    Time<T> prepare, elapsed;
    T utilization;
    static constexpr auto fields() {
      return rows(field(&Result::prepare, "prepare", "ms", "time to prepare a batch"),
                  field(&Result::elapsed, "elapsed", "ms", "time of a step with its preparation"),
                  field(&Result::utilization, key::utilization));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto prepare = named("prepare", in.sample_size * in.batch_size / (in.worker_rate * in.workers));
    const T ratio = prepare / in.step;
    const T beside = 1.0 - in.overlap;
    return {.prepare = prepare,
            .elapsed = max(prepare, in.step) + min(prepare, in.step) * beside,
            .utilization = 1.0 / (max(ratio, T(1.0)) + beside * min(ratio, T(1.0)))};
  }
};

}  // namespace mlsysim
