#pragma once
/// Supply of training data against demand (wall 8), and preparation of batches on the host (wall 9).
///
///   supply  = nodes x min(cache / hit_ratio, shared / (nodes (1 - hit_ratio)), host links)
///   elapsed = max(prepare, step) + (1 - overlap) min(prepare, step)
///   prepare = batch_size sample_size / (workers cpu_throughput)
///
/// cache, shared: bandwidth of local storage of a node and of shared storage [GB/s]. hit_ratio: cached share
/// of data.
/// Textbook supply: the slower of local storage and host link of one device. One law of elapsed serves both
/// fidelities.
/// Example: 32 nodes that cache 10 of 40 TB, 100 GB/s shared storage: hit ratio 0.25, 100 / 0.75 = 133 GB/s.
/// Example: 256 samples of 500 kB at 0.5 GB/s take 256 ms. Against a step of 10 ms, 26 workers keep up.
/// @cite mohan2021datastalls, section 3; murray2021tfdata, section 3

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// The slowest part of the data path.
enum class DataPath : std::uint8_t { none, storage, shared_storage, host_link };
template <> inline constexpr auto names_of<DataPath> = ChoiceNames{"data path"};

/// Whether storage and links keep up with a training job.
struct DataModel : Model<DataModel> {
  static constexpr std::string_view id = "DataModel";
  static constexpr std::string_view about = "supply of training data against demand";
  static constexpr std::string_view law =
      "supply = nodes min(cache / hit_ratio, shared / (1 - hit_ratio), host links)";
  static constexpr std::string_view source = "mohan2021datastalls";
  static constexpr std::array walls{8};
  static constexpr std::array fallacies{
      Fallacy{"Fast local disks solve ingestion.",
              "The first pass over the data, and all that does not fit, comes from shared storage."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    Bandwidth<> data_rate;
    const HardwareNode* hardware = nullptr;
    const Fleet* fleet = nullptr;
    std::optional<Data<>> dataset_size{}, cache_capacity{};
    std::optional<Bandwidth<>> cache_bandwidth{}, shared_bandwidth{};
    std::optional<Fidelity> fidelity{};

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::data_rate, "data_rate", "GB/s", "bytes that the whole job reads").positive(),
          field(&I::hardware, key::hardware),
          field(&I::fleet, key::fleet).defaulted("one node with one device"),
          field(&I::dataset_size, "dataset_size", "TB", "size of the data set (operator)")
              .positive()
              .defaulted("fits into the caches"),
          field(&I::cache_capacity, "cache_capacity", "TB", "local storage of one node")
              .positive()
              .defaulted("the device's storage"),
          field(&I::cache_bandwidth, "cache_bandwidth", "GB/s", "rate of the local storage of one node")
              .positive()
              .defaulted("the device's storage"),
          field(&I::shared_bandwidth, "shared_bandwidth", "GB/s", "shared storage, for all nodes together")
              .positive()
              .defaulted("there is none"),
          field(&I::fidelity, key::fidelity).defaulted("operator: caches and nodes"));
    }
  };
  struct Result {
    bool is_stalled = false;
    std::optional<double> ingest_utilization;
    Bandwidth<> demand, supply, margin;
    DataPath limit = DataPath::none;
    double hit_ratio = 1, nodes = 1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::is_stalled, "is_stalled", "", "the devices wait for data"),
                  field(&R::ingest_utilization, "ingest_utilization", "", "demand over supply"),
                  field(&R::demand, "demand", "GB/s", "bytes that the whole job reads"),
                  field(&R::supply, "supply", "GB/s", "bytes that can be read"),
                  field(&R::margin, "margin", "GB/s", "supply less demand"),
                  field(&R::limit, "limit", "", "the slowest part of the path"),
                  field(&R::hit_ratio, "hit_ratio", "", "share of the bytes that local storage holds"),
                  field(&R::nodes, "nodes", "", "nodes that read"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

/// Whether the host prepares batches as fast as the device consumes them. Default: one worker, full overlap.
struct TransformationModel : Model<TransformationModel> {
  static constexpr std::string_view id = "TransformationModel";
  static constexpr std::string_view about =
      "preparation of batches on the host against the step of the device";
  static constexpr std::string_view law = "elapsed = max(prepare, step) + (1 - overlap) min(prepare, step)";
  static constexpr std::string_view source = "murray2021tfdata";
  static constexpr std::array walls{9};
  static constexpr std::array fallacies{
      Fallacy{"A faster device trains faster.",
              "When the host prepares the data more slowly, a faster device only waits longer."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    double batch_size = 1;
    Data<> sample_size;
    Bandwidth<> cpu_throughput;
    double workers = 1;
    Time<> accelerator_step_time;
    double overlap = 1;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::batch_size, key::batch_size).defaulted("one sample"),
          field(&I::sample_size, "sample_size", "kB", "bytes of one sample before preparation").positive(),
          field(&I::cpu_throughput, "cpu_throughput", "GB/s", "bytes that one worker prepares").positive(),
          field(&I::workers, "workers", "", "workers on the host").at_least(1).counted().defaulted("one"),
          field(&I::accelerator_step_time, "accelerator_step_time", "ms", "step of the device").positive(),
          field(&I::overlap, "overlap", "", "share of the preparation that runs beside the step")
              .within(0, 1)
              .defaulted("a full prefetch queue"));
    }
  };
  struct Result {
    Time<> transform_time, accelerator_step_time, elapsed;
    bool is_bottleneck = false;
    double accelerator_utilization = 0, slowdown_factor = 1, workers_needed = 1;

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::transform_time, "transform_time", "ms", "time to prepare a batch"),
                  field(&R::accelerator_step_time, "accelerator_step_time", "ms", "step of the device"),
                  field(&R::elapsed, "elapsed", "ms", "step with its preparation"),
                  field(&R::is_bottleneck, "is_bottleneck", "", "preparation takes longer than the step"),
                  field(&R::accelerator_utilization, "accelerator_utilization", "",
                        "share of the time that the device works"),
                  field(&R::slowdown_factor, "slowdown_factor", "", "elapsed time over the step"),
                  field(&R::workers_needed, "workers_needed", "", "fewest workers that keep up"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in) const;
};

}  // namespace mlsysim
