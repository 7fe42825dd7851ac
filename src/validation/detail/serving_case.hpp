#pragma once
/// What the serving targets share: the inputs of a replica, and its two phases under each comparison.

#include "case_measurand.hpp"

#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/prepare.hpp>

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

  static constexpr auto fields() {
    using C = ServingCase;
    return rows(
        field(&C::workload, "workload", "", "model of the zoo"), field(&C::hardware, "hardware", "", "device"),
        field(&C::node, "node", "", "node, for several devices").defaulted("devices joined by their own link"),
        field(&C::precision, "precision", "", "format of the products").defaulted("bf16"),
        field(&C::kv_precision, "kv_precision", "", "format of the cache").defaulted("as the weights"),
        field(&C::weight_bits, "weight_bits", "", "bits of a stored weight, scales included").positive(),
        field(&C::tp_size, "tp_size", "", "tensor-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::pp_size, "pp_size", "", "pipeline-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::ep_size, "ep_size", "", "expert-parallel degree; it also divides the requests").at_least(1).counted().defaulted("1"),
        field(&C::batch_size, "batch_size", "", "requests in flight").positive().defaulted("1"),
        field(&C::prompt, "prompt", "", "tokens of a prompt").positive().defaulted("1"),
        field(&C::output_tokens, "output_tokens", "", "tokens generated for a request").positive(),
        field(&C::prefill_chunk, "prefill_chunk", "", "prompt tokens of one pass").at_least(1).defaulted("8192"),
        field(&C::kv_share, "kv_share", "", "share of the free memory that the cache may take").within(0.01, 1).defaulted("0.9"),
        field(&C::request_rate, "request_rate", "", "requests a second").positive(),
        field(&C::requests, "requests", "", "requests of the whole run").positive());
  }
  [[nodiscard]] double devices() const { return tp_size * pp_size * ep_size; }
};

/// One replica under one comparison; every call prices a pass.
class Replica {
 public:
  Replica(const ServingCase& c, const PredictionContext& context);

  struct Pass {
    Time<> time;
    PassCost<> cost{};
  };
  /// All `batch` prompts of `prompt` tokens in one pass.
  [[nodiscard]] Pass prefill(double batch, double prompt) const;
  /// One token for each of `batch` sequences that hold `context` tokens.
  [[nodiscard]] Pass decode(double batch, double context) const;
  /// Time that one more prompt adds to a busy engine, its pass shared with others up to the chunk.
  [[nodiscard]] Time<> prompt_share() const;
  /// Requests whose cache of `tokens` fits beside the weights; 0 where the weights alone do not fit.
  [[nodiscard]] double capacity(double tokens) const;
  [[nodiscard]] const HardwareNode& hardware() const { return *hardware_; }
  /// Share of a pass during which kernels run.
  [[nodiscard]] static double busy(const Pass& pass);

 private:
  [[nodiscard]] Pass run(Phase phase, double batch, double new_tokens, double context) const;

  const ServingCase& case_;
  const PredictionContext& context_;
  const HardwareNode* hardware_;
  Node node_;
  Fleet fleet_;
  ServingViews<> views_;
  TextbookServingViews<> textbook_;
};

}  // namespace mlsysim::detail
