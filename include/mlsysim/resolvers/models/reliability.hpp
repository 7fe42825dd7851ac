#pragma once
/// Mean time between failures of a fleet, best checkpoint interval, and useful share of the time (wall 15).
///
///   fleet_mtbf = node_mtbf / nodes      1 / node_mtbf = sum of parts / mtbf of the part
///   goodput = (interval / mtbf) exp(-restart / mtbf) / (exp((interval + checkpoint) / mtbf) - 1)
///
/// Operator: observed rates of all causes, Daly's interval, and a restart that waits for repair without a
/// spare.
/// Textbook: Young's interval sqrt(2 checkpoint mtbf), goodput = 1 - checkpoint / interval - restart / mtbf.
/// Assumed: one job needs every node. A power supply counts only where a node has a single one.
/// Example: 1024 nodes of 4687.5 h: 4.58 h. Checkpoints of 60 s every 1406 s (Young) and restarts of 300 s
/// give goodput 0.901, or 0.939 without lost work (textbook).
/// @cite daly2006, eqs. (20) and (37); young1974; llama3-herd, table 5

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Failures of a job that needs the whole fleet, their causes, and the spares that it should keep.
struct ReliabilityModel : Model<ReliabilityModel> {
  static constexpr std::string_view id = "ReliabilityModel";
  static constexpr std::string_view about = "failures of a fleet and the useful share of its time";
  static constexpr std::string_view law =
      "goodput = (interval / mtbf) exp(-restart / mtbf) / (exp((interval + checkpoint) / mtbf) - 1)";
  static constexpr std::string_view source = "daly2006";
  static constexpr std::array walls{15};
  static constexpr std::array fallacies{
      Fallacy{"A part that fails once in six years is reliable enough.",
              "Sixteen thousand of them fail every three hours."},
      Fallacy{"Checkpoints cost the time to write them.",
              "At the best interval the work that failures destroy costs as much again as the writing."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Fleet* fleet = nullptr;
    Time<> job_duration;
    Time<> checkpoint_time = 60.0 * unit::s;
    Time<> recovery_time = 300.0 * unit::s;
    std::optional<Time<>> checkpoint_interval{}, accelerator_mtbf{}, nic_mtbf{}, psu_mtbf{};
    std::optional<double> spare_nodes{};
    std::optional<Time<>> repair_time{};
    std::optional<Fidelity> fidelity{};

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::fleet, key::fleet),
          field(&I::job_duration, "job_duration", "h", "length of the job").positive(),
          field(&I::checkpoint_time, "checkpoint_time", "s", "time to write one checkpoint")
              .non_negative()
              .defaulted("60 s, convention of MLSys-im"),
          field(&I::recovery_time, "recovery_time", "s", "from a failure to useful work with a node at hand")
              .non_negative()
              .defaulted("300 s, convention of MLSys-im"),
          field(&I::checkpoint_interval, key::checkpoint_interval).defaulted("the best one"),
          field(&I::accelerator_mtbf, "accelerator_mtbf", "h", "mean time to failure of an accelerator")
              .positive()
              .defaulted("the zoo: Gpu (textbook) or Gpu_Llama3"),
          field(&I::nic_mtbf, "nic_mtbf", "h", "mean time to failure of a network adapter")
              .positive()
              .defaulted("the zoo: Nic (textbook) or Nic_Llama3"),
          field(&I::psu_mtbf, "psu_mtbf", "h",
                "mean time to failure of a power supply; counts where a node has one alone")
              .positive()
              .defaulted("the zoo: Psu"),
          field(&I::spare_nodes, "spare_nodes", "", "nodes that stand by (operator)")
              .within(0, 4096)
              .counted()
              .defaulted("a spare is always ready"),
          field(&I::repair_time, "repair_time", "min", "time until a failed node is back")
              .positive()
              .defaulted("the zoo: Recovery.node_recovery"),
          field(&I::fidelity, key::fidelity).defaulted("operator: observed rates and lost work"));
    }
  };
  struct Result {
    Time<> node_mtbf, fleet_mtbf;
    double failure_probability = 0, expected_failures = 0;
    Time<> optimal_checkpoint_interval, checkpoint_interval;
    double goodput_ratio = 0, lost_work_share = 0, checkpoint_share = 0, restart_share = 0;
    double accelerator_share = 0, network_share = 0, other_share = 0;
    double nodes_in_repair = 0, spares_for_99 = 0;
    std::optional<double> spare_coverage;
    double silent_corruptions = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::node_mtbf, "node_mtbf", "h", "mean time between failures of one node"),
          field(&R::fleet_mtbf, key::fleet_mtbf),
          field(&R::failure_probability, "failure_probability", "",
                "probability of a failure during the job"),
          field(&R::expected_failures, "expected_failures", "", "failures during the job"),
          field(&R::optimal_checkpoint_interval, "optimal_checkpoint_interval", "s",
                "work between two checkpoints that loses least"),
          field(&R::checkpoint_interval, key::checkpoint_interval),
          field(&R::goodput_ratio, "goodput_ratio", "", "useful share of the time"),
          field(&R::lost_work_share, "lost_work_share", "",
                "share of the time whose work failures destroy, to first order"),
          field(&R::checkpoint_share, "checkpoint_share", "",
                "share of the time that checkpoints take, to first order"),
          field(&R::restart_share, "restart_share", "",
                "share of the time that restarts take, to first order"),
          field(&R::accelerator_share, "accelerator_share", "",
                "share of the failures that accelerators cause"),
          field(&R::network_share, "network_share", "",
                "share of the failures that adapters, switches and cables cause"),
          field(&R::other_share, "other_share", "", "share of the failures of all other causes"),
          field(&R::nodes_in_repair, "nodes_in_repair", "", "nodes in repair on average"),
          field(&R::spares_for_99, "spares_for_99", "", "spares that are enough for 99 % of the failures"),
          field(&R::spare_coverage, "spare_coverage", "", "probability that a spare is ready"),
          field(&R::silent_corruptions, "silent_corruptions", "",
                "silent data corruptions to expect during the job"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
