#pragma once
/// Size, write time and training-time cost of checkpoints (wall 19).
///
///   write_time = size / min(writers writer_bandwidth, shared_limit)      mfu_penalty = stall / interval
///
/// size: parameters x bytes. Textbook: 14 B with Adam, 4 B else. Operator: master copy and moments (12 B with
/// Adam), since 16-bit weights are their rounding, and one writer per node. stall: write time, or the copy to
/// host memory for an asynchronous checkpoint [s].
/// Limits: full checkpoints only, no compression. A best interval needs `fleet_mtbf`.
/// Example: 175e9 parameters x 14 B = 2450 GB at 7 GB/s take 350 s, 2.4 % of every 4 h.
/// @cite eisenman2022checknrun, section 4; young1974 for the interval

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// One checkpoint policy of a training run.
struct CheckpointModel : Model<CheckpointModel> {
  static constexpr std::string_view id = "CheckpointModel";
  static constexpr std::string_view about = "size, write time and cost of checkpoints";
  static constexpr std::string_view law =
      "write_time = size / min(writers bandwidth, shared_limit); mfu_penalty = stall / interval";
  static constexpr std::string_view source = "eisenman2022checknrun";
  static constexpr std::array walls{19};
  static constexpr std::array fallacies{
      Fallacy{"A checkpoint is the weights.",
              "With Adam the moments and the master copy are six times as large as 16-bit weights."},
      Fallacy{"More frequent checkpoints are safer.",
              "Below the best interval the writing costs more than the failures."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    const Fleet* fleet = nullptr;
    OptimizerKind optimizer = OptimizerKind::adam;
    std::optional<Precision> precision{};
    Time<> checkpoint_interval = 4.0 * unit::h;
    std::optional<double> writers{};
    std::optional<Bandwidth<>> writer_bandwidth{}, shared_limit{};
    bool asynchronous = false;
    std::optional<Time<>> fleet_mtbf{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::hardware, key::hardware),
          field(&I::fleet, key::fleet).defaulted("one device"),
          field(&I::optimizer, key::optimizer).defaulted("Adam"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::checkpoint_interval, key::checkpoint_interval).defaulted("4 h, convention of MLSys-im"),
          field(&I::writers, "writers", "", "writers at once")
              .at_least(1)
              .counted()
              .defaulted("one, or the nodes of the fleet (operator)"),
          field(&I::writer_bandwidth, "writer_bandwidth", "GB/s", "rate of one writer")
              .positive()
              .defaulted("the storage of the device, else the zoo"),
          field(&I::shared_limit, "shared_limit", "GB/s", "rate of the file system")
              .positive()
              .defaulted("the zoo: catalogue.checkpoint.shared_limit"),
          field(&I::asynchronous, "asynchronous", "", "train on while the checkpoint is written (operator)")
              .defaulted("training waits"),
          field(&I::fleet_mtbf, key::fleet_mtbf).defaulted("no best interval is given"),
          field(&I::fidelity, key::fidelity).defaulted("operator: what a restart needs"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    Data<> checkpoint_size;
    Time<> write_time, stall;
    Bandwidth<> write_bandwidth, bandwidth_for_60_s;
    bool storage_bottleneck = false;
    double mfu_penalty = 0, writers = 1;
    std::optional<Time<>> optimal_checkpoint_interval;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::checkpoint_size, "checkpoint_size", "GB", "bytes of one checkpoint"),
          field(&R::write_time, "write_time", "s", "time to write one checkpoint"),
          field(&R::stall, "stall", "s", "time for which training stands still"),
          field(&R::write_bandwidth, "write_bandwidth", "GB/s", "rate of all writers"),
          field(&R::bandwidth_for_60_s, "bandwidth_for_60_s", "GB/s",
                "rate that writes a checkpoint in a minute"),
          field(&R::storage_bottleneck, "storage_bottleneck", "", "a write takes longer than a minute"),
          field(&R::mfu_penalty, "mfu_penalty", "", "share of the training time that checkpoints take"),
          field(&R::writers, "writers", "", "writers at once"),
          field(&R::optimal_checkpoint_interval, "optimal_checkpoint_interval", "s",
                "interval that loses least, where the failures are known"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
