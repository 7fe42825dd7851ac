#pragma once
/// Parts that the serving measurands share: the row, which is the inputs of InFlightBatchingModel, and the
/// replica that it describes under each comparison.

#include "row_measurand.hpp"

#include <mlsysim/resolvers/detail/pass_times.hpp>

namespace mlsysim::detail {

struct ServingRow {
  InFlightBatchingModel::Inputs in;
  const Node* node = nullptr;
  std::optional<double> prefill_replicas{};
  bool fewest_devices = false;
  double attainment = 0.99;

  template <class R = ServingRow> static constexpr auto fields() {
    return rows(
        field(&R::in, "in", "", "inputs of InFlightBatchingModel; without an engine no host time is counted"),
        field(&R::node, "node", "", "node, for several devices")
            .defaulted("devices joined by their own link"),
        field(&R::prefill_replicas, "prefill_replicas", "",
              "workers that only process prompts; a part where several replicas share one")
            .positive()
            .defaulted("prompts run where tokens are generated"),
        field(&R::fewest_devices, "fewest_devices", "",
              "the tensor-parallel degree is the fewest devices, a power of two, whose memory the weights "
              "fill at most to the half")
            .defaulted("tp_size"),
        field(&R::attainment, "attainment", "", "share of the requests that has to meet both targets")
            .within(0.01, 0.9999)
            .defaulted("0.99"));
  }
};

/// One replica under one comparison: the inputs of the resolver with the constants of the context, and its
/// passes.
class Replica {
 public:
  Replica(const ServingRow& row, const PredictionContext& context);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  [[nodiscard]] const InFlightBatchingModel::Inputs& inputs() const { return inputs_; }
  [[nodiscard]] double seq_len() const { return *inputs_.seq_len; }
  /// Requests that run together, of a row that states them.
  [[nodiscard]] double requests() const { return inputs_.concurrency.value_or(1); }
  [[nodiscard]] const ReplicaPasses<>& passes() const { return passes_; }
  /// The steady state of these inputs, with some of them changed.
  [[nodiscard]] InFlightBatchingModel::Result steady(const InFlightBatchingModel::Inputs& in) const;
  /// A decode step of all requests that takes this long on the device, with the host time of the engine.
  [[nodiscard]] Time<> step(Time<> device) const;
  [[nodiscard]] double devices() const { return inputs_.tp_size * inputs_.pp_size * inputs_.ep_size; }

 private:
  std::optional<RowFleet> fleet_;
  InFlightBatchingModel::Inputs inputs_;
  ServingEngine engine_;
  ReplicaPasses<> passes_;
};

}  // namespace mlsysim::detail
