#include "price/rules/rules.hpp"

#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/price/rules/detail/failure.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

Time<> given_or(const std::optional<Time<>>& given, std::string_view name, const Figures& figures) {
  return given ? *given : figures.figure<dim::time>(name);
}

/// Supplies whose failure stops the node: one alone. Where there are more, the others carry the load until it
/// is replaced.
double psus_in_series(const Node& node, Notes& notes) {
  const double psus = node.psus_per_node.value_or(2.0);
  if (!node.psus_per_node) notes.assume("psus_per_node", psus, "convention of MLSys-im");
  if (psus <= 1) return psus;
  notes.assume("power supplies", "redundant", "one of them may fail without stopping the node");
  return 0;
}

/// The laws of one way of counting, over both scalars.
template <class Rules> class OverScalars : public FailureRules {
 public:
  Time<> checkpoint_interval(Time<> checkpoint, Time<> mtbf) const final {
    return Rules::template interval<double>(checkpoint, mtbf);
  }
  Time<Recorded> checkpoint_interval(Time<Recorded> checkpoint, Time<Recorded> mtbf) const final {
    return Rules::template interval<Recorded>(checkpoint, mtbf);
  }
  UsefulTime<> useful(const JobTimes<>& job) const final { return Rules::template left<double>(job); }
  UsefulTime<Recorded> useful(const JobTimes<Recorded>& job) const final {
    return Rules::template left<Recorded>(job);
  }
};

/// Round failure rates of parts; work between a checkpoint and a failure is not counted as lost.
class TextbookFailures final : public OverScalars<TextbookFailures> {
 public:
  NodeParts parts(const Node& node, const PartMtbf& given, const Figures& figures) const override {
    NodeParts p;
    p.rates.accelerators = node.accelerators_per_node;
    p.rates.accelerator_mtbf = given_or(given.accelerator, "Gpu", figures);
    p.rates.nics = node.nics_per_node.value_or(1.0);
    p.rates.nic_mtbf = given_or(given.nic, "Nic", figures);
    p.rates.psu_mtbf = given_or(given.psu, "Psu", figures);
    if (!node.nics_per_node) figures.notes().assume("nics_per_node", p.rates.nics, "convention of MLSys-im");
    p.rates.psus = psus_in_series(node, figures.notes());
    return p;
  }
  std::string_view silent_corruptions() const override { return "SilentDataCorruption"; }
  template <class T> static Time<T> interval(const Time<T>& checkpoint, const Time<T>& mtbf) {
    return apply<YoungInterval, T>({checkpoint, mtbf}).interval;
  }
  template <class T> static UsefulTime<T> left(const JobTimes<T>& j) {
    return {apply<FirstOrderGoodput, T>({j.interval, j.checkpoint, j.restart, j.mtbf, T{0.0}}).goodput,
            T{0.0}};
  }
  DataPerParam<> checkpoint_bytes(Precision, OptimizerKind optimizer, const Figures& figures) const override {
    const bool adam = optimizer == OptimizerKind::adam || optimizer == OptimizerKind::adamw;
    return figures.figure<dim::data_per_param>(adam ? "catalogue.checkpoint.adam_bytes"
                                                    : "catalogue.checkpoint.sgd_bytes");
  }
  double writers(double /*nodes*/, Notes& notes) const override {
    notes.assume("writers", 1.0, "one writer");
    return 1;
  }
};

/// Observed failure rates and the complete mean of lost time.
class OperatorFailures final : public OverScalars<OperatorFailures> {
 public:
  NodeParts parts(const Node& node, const PartMtbf& given, const Figures& figures) const override {
    NodeParts p;
    auto& r = p.rates;
    r.accelerators = node.accelerators_per_node;
    r.accelerator_mtbf = given_or(given.accelerator, "Gpu_Llama3", figures);
    r.nics = node.nics_per_node.value_or(node.accelerators_per_node);
    r.nic_mtbf = given_or(given.nic, "Nic_Llama3", figures);
    r.psu_mtbf = given_or(given.psu, "Psu", figures);
    if (!node.nics_per_node) figures.notes().assume("nics_per_node", r.nics, "one adapter for each device");
    // What the observed run lost to everything else: switches, cables, hosts, power and software.
    const auto any = 1.0 / figures.figure<dim::time>("GpuAnyCause_Llama3");
    const auto own =
        1.0 / figures.figure<dim::time>("Gpu_Llama3") + 1.0 / figures.figure<dim::time>("Nic_Llama3");
    r.psus = given.psu ? psus_in_series(node, figures.notes())
                       : 0.0;  // counted with the rest unless told otherwise
    r.other_rate = max(any - own, Frequency<>()) * r.accelerators;
    p.cables = min(1.0 / figures.figure<dim::time>("Network_Llama3") * r.accelerators, r.other_rate);
    return p;
  }
  std::string_view silent_corruptions() const override { return "SilentDataCorruption_Llama3"; }
  template <class T> static Time<T> interval(const Time<T>& checkpoint, const Time<T>& mtbf) {
    return apply<DalyInterval, T>({checkpoint, mtbf}).interval;
  }
  template <class T> static UsefulTime<T> left(const JobTimes<T>& j) {
    return {apply<CheckpointGoodput, T>({j.interval, j.checkpoint, j.restart, j.mtbf}).goodput,
            min(T{1.0}, T(0.5 * (j.interval / j.mtbf)))};
  }
  /// A master copy makes the narrow weights redundant; without one the weights are the state.
  DataPerParam<> checkpoint_bytes(Precision precision, OptimizerKind optimizer,
                                  const Figures&) const override {
    const Storage s = training_storage(precision, optimizer);
    const double master = s.weight_bytes < 4 && s.state_bytes >= 4 ? 0.0 : s.weight_bytes;
    return (s.matrix_state_bytes + master) * unit::B / unit::param;  // most weights are matrices of blocks
  }
  double writers(double nodes, Notes& notes) const override {
    notes.assume("writers", nodes, "one writer per node");
    return nodes;
  }
};

}  // namespace

const FailureRules& textbook_failures() {
  static const TextbookFailures rules;
  return rules;
}
const FailureRules& operator_failures() {
  static const OperatorFailures rules;
  return rules;
}

}  // namespace mlsysim::detail
