#pragma once
/// What the serving targets share: the inputs of a replica, and its passes under each comparison.

#include "case_measurand.hpp"

#include <mlsysim/catalogue/detail/pass_times.hpp>

namespace mlsysim::detail {

struct ServingCase {
  const Workload* workload = nullptr;
  const HardwareNode* hardware = nullptr;
  const Node* node = nullptr;
  Precision precision = Precision::bf16;
  std::optional<Precision> kv_precision{};
  std::optional<double> weight_bits{};
  double tp_size = 1, pp_size = 1, ep_size = 1;
  double batch_size = 1, prompt = 1;
  std::optional<double> output_tokens{};
  double prefill_chunk = 8192;
  double kv_share = 0.9;
  std::optional<double> request_rate{};
  std::optional<double> requests{};
  std::optional<double> target_ttft{}, target_itl{};
  double attainment = 0.99;
  std::optional<double> prefill_replicas{}, prefill_tp_size{}, prefill_ep_size{};
  const ServingEngine* engine = nullptr;
  double equal_lengths = 0;

  static constexpr auto fields() {
    using C = ServingCase;
    return rows(
        field(&C::workload, "workload", "", "model of the zoo"),
        field(&C::hardware, "hardware", "", "device"),
        field(&C::node, "node", "", "node, for several devices")
            .defaulted("devices joined by their own link"),
        field(&C::precision, "precision", "", "format of the products").defaulted("bf16"),
        field(&C::kv_precision, "kv_precision", "", "format of the cache").defaulted("as the weights"),
        field(&C::weight_bits, "weight_bits", "", "bits of a stored weight, scales included").positive(),
        field(
            &C::tp_size, "tp_size", "",
            "tensor-parallel degree; 0: the fewest devices, a power of two, whose memory the weights fill at "
            "most to the half")
            .non_negative()
            .counted()
            .defaulted("1"),
        field(&C::pp_size, "pp_size", "", "pipeline-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::ep_size, "ep_size", "", "expert-parallel degree; it also divides the requests")
            .at_least(1)
            .counted()
            .defaulted("1"),
        field(&C::batch_size, "batch_size", "", "requests in flight").positive().defaulted("1"),
        field(&C::prompt, "prompt", "", "tokens of a prompt").positive().defaulted("1"),
        field(&C::output_tokens, "output_tokens", "", "tokens generated for a request").positive(),
        field(&C::prefill_chunk, "prefill_chunk", "", "prompt tokens of one pass")
            .at_least(1)
            .defaulted("8192"),
        field(&C::kv_share, "kv_share", "", "share of the free memory that the cache may take")
            .within(0.01, 1)
            .defaulted("0.9"),
        field(&C::request_rate, "request_rate", "", "requests a second").positive(),
        field(&C::requests, "requests", "", "requests of the whole run").positive(),
        field(&C::target_ttft, "target_ttft", "", "seconds to the first token of a good request").positive(),
        field(&C::target_itl, "target_itl", "", "seconds between the tokens of a good request").positive(),
        field(&C::attainment, "attainment", "", "share of the requests that has to be good")
            .within(0.01, 0.9999)
            .defaulted("0.99"),
        field(&C::prefill_replicas, "prefill_replicas", "",
              "workers for prompts alone, over those that decode; a part where several share one")
            .positive(),
        field(&C::prefill_tp_size, "prefill_tp_size", "", "tensor-parallel degree of a worker for prompts")
            .at_least(1),
        field(&C::prefill_ep_size, "prefill_ep_size", "", "expert-parallel degree of a worker for prompts")
            .at_least(1),
        field(&C::engine, "engine", "", "serving engine").defaulted("no host"),
        field(&C::equal_lengths, "equal_lengths", "", "1: all requests have the same lengths")
            .within(0, 1)
            .defaulted("they vary"));
  }
};

/// One replica under one comparison: the inputs of the resolver that predicts it, and its passes.
class Replica {
 public:
  Replica(const ServingCase& c, const PredictionContext& context);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  /// Inputs without a way of arriving.
  [[nodiscard]] const InFlightBatchingModel::Inputs& inputs() const { return inputs_; }
  [[nodiscard]] const PassTimes& passes() const { return *passes_; }
  /// The steady state of these inputs, with some of them changed.
  [[nodiscard]] InFlightBatchingModel::Result steady(const InFlightBatchingModel::Inputs& in) const;
  /// A decode step of `requests` that takes this long on the device, with the host time of the engine.
  [[nodiscard]] Time<> step(Time<> device, double requests) const;
  [[nodiscard]] const HardwareNode& hardware() const { return *inputs_.hardware; }
  [[nodiscard]] double devices() const { return inputs_.tp_size * inputs_.pp_size * inputs_.ep_size; }

 private:
  Node node_;
  Fleet fleet_;
  InFlightBatchingModel::Inputs inputs_;
  ServingEngine engine_;
  std::unique_ptr<PassTimes> passes_;
};

}  // namespace mlsysim::detail
