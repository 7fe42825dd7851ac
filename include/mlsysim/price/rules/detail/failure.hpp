#pragma once
/// How failures are counted, and what of a job's time they leave.

#include <mlsysim/physics/resilience.hpp>
#include <mlsysim/price/figures.hpp>
#include <mlsysim/scalars/recorded.hpp>
#include <mlsysim/spec/system.hpp>

namespace mlsysim {

/// Mean times between failures that a request names.
struct PartMtbf {
  std::optional<Time<>> accelerator, nic, psu;
};

/// Parts of a node, each of which stops it.
struct NodeParts {
  NodeMtbf::Inputs<double> rates;
  Frequency<> cables;  ///< of the failures of all other parts, those of switches and cables
};

/// What is left of a job's time.
template <class T = double> struct UsefulTime { T share{0.0}, lost_work{0.0}; };

/// What failures and checkpoints of a job are computed from.
template <class T = double> struct JobTimes {
  Time<T> interval;    ///< work between two checkpoints
  Time<T> checkpoint;  ///< to write one
  Time<T> restart;     ///< from a failure to useful work
  Time<T> mtbf;        ///< of the whole fleet
};

class FailureRules {
 public:
  FailureRules() = default;
  FailureRules(const FailureRules&) = delete;
  FailureRules& operator=(const FailureRules&) = delete;
  virtual ~FailureRules() = default;

  [[nodiscard]] virtual NodeParts parts(const Node& node, const PartMtbf& given,
                                        const Figures& figures) const = 0;
  /// The figure of silent data corruptions of a device in an hour.
  [[nodiscard]] virtual std::string_view silent_corruptions() const = 0;
  /// Work between two checkpoints that loses least. @{
  [[nodiscard]] virtual Time<> checkpoint_interval(Time<> checkpoint, Time<> mtbf) const = 0;
  [[nodiscard]] virtual Time<Recorded> checkpoint_interval(Time<Recorded> checkpoint,
                                                           Time<Recorded> mtbf) const = 0;
  /// @}
  /// The interval where nobody gives one: the best. Free checkpoints are written all the time: a second of
  /// work between two of them stands for none.
  template <class T>
  [[nodiscard]] Time<T> usual_interval(const Time<T>& checkpoint, const Time<T>& mtbf) const {
    return max(checkpoint_interval(checkpoint, mtbf), Time<T>::from_base(T{1.0}));
  }
  [[nodiscard]] virtual UsefulTime<> useful(const JobTimes<>& job) const = 0;
  [[nodiscard]] virtual UsefulTime<Recorded> useful(const JobTimes<Recorded>& job) const = 0;
  /// What a checkpoint holds of a weight.
  [[nodiscard]] virtual Quantity<dim::data_per_param> checkpoint_bytes(Precision precision,
                                                                       OptimizerKind optimizer,
                                                                       const Figures& figures) const = 0;
  /// Writers of a checkpoint where nobody says how many; noted.
  [[nodiscard]] virtual double writers(double nodes, Notes& notes) const = 0;
};

}  // namespace mlsysim
