#pragma once
/// Supply of training data to a device: read rate from cache and storage, and stalls for preparation.
///
///   supply  = min(cache_bandwidth / hit_ratio, remote_bandwidth / (1 - hit_ratio), host_bandwidth)   [B/s]
///   prepare = batch_size sample_size / (worker_rate workers)                                         [s]
///   elapsed = max(prepare, step) + (1 - overlap) min(prepare, step)                                  [s]
///
/// hit_ratio: share of bytes in the cache. worker_rate: bytes that one host worker prepares [B/s].
/// step: time of a step on the device [s]. overlap: 1 for a full prefetch queue, 0 for none.
/// Limits: cache and storage read at once, uniform access, workers scale linearly.
/// Example: cache 10 GB/s with 80 % hits, storage 1 GB/s, host link 25 GB/s: min(12.5, 5, 25) = 5 GB/s.
/// Example: 256 samples of 100 kB on 16 workers of 10 MB/s: 160 ms, so a 100 ms step takes 160 ms.
/// @cite mohan2021datastalls, section 3
/// @cite murray2021tfdata, section 3

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Rate at which one node can read its training data [B/s].
///
/// Cache and remote storage each read their share of the bytes, and everything crosses the host link.
/// Ranges: bandwidths > 0; hit_ratio in [0, 1].
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
/// utilization is step / elapsed. Ranges: amounts, step > 0; overlap in [0, 1].
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
