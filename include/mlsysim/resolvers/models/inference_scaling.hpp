#pragma once
/// Time, energy and cost of a query with a chain of reasoning tokens before the answer (wall 12).
///
///   total_reasoning_time = ttft + reasoning_steps tokens_per_step itl
///   energy = power tp_size total      cost = device_price tp_size total
///
/// ttft, itl: those of ServingModel [s]. power: TDP (textbook), or scaled with the busy share (operator) [W].
/// Textbook keeps ITL at the prompt's context. Operator takes the mean context, and `samples` chains share a
/// prompt.
/// Example: Llama-3.1-8B fp16, 2048 tokens in, 8 steps of 50 tokens on an H100 (textbook): 71.0 ms + 400 x
/// 5.19 ms = 2.15 s. At 700 W and 2.50 USD/h that is 1504 J and 0.15 cents.
/// @cite snell2024testtime

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// One query with its chains.
struct InferenceScalingModel : Model<InferenceScalingModel> {
  static constexpr std::string_view id = "InferenceScalingModel";
  static constexpr std::string_view about = "time, energy and cost of a query that reasons";
  static constexpr std::string_view law = "total = ttft + steps tokens_per_step itl";
  static constexpr std::string_view source = "snell2024testtime";
  static constexpr std::array walls{12};
  static constexpr std::array fallacies{Fallacy{
      "Thinking longer only costs time.",
      "Every token of the chain keeps its keys and values: long chains crowd other requests out of memory."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double reasoning_steps = 8;
    std::optional<double> context_length{};
    std::optional<double> tokens_per_step{};
    double samples = 1, tp_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<MoneyRate<>> device_price{};
    std::optional<double> prefill_chunk_tokens{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
                       field(&I::reasoning_steps, "reasoning_steps", "", "steps of the chain")
                           .at_least(1)
                           .counted()
                           .defaulted("8, convention of MLSys-im"),
                       field(&I::context_length, "context_length", "", "tokens of the prompt")
                           .at_least(1)
                           .counted()
                           .defaulted("2048 tokens, or the longest that the model takes"),
                       field(&I::tokens_per_step, "tokens_per_step", "", "tokens of one step")
                           .at_least(1)
                           .counted()
                           .defaulted("the zoo: catalogue.reasoning.tokens_per_step"),
                       field(&I::samples, "samples", "", "chains side by side (operator)")
                           .at_least(1)
                           .counted()
                           .defaulted("one"),
                       field(&I::tp_size, key::tp_size).defaulted("one device"),
                       field(&I::precision, key::precision).defaulted("the device's default precision"),
                       field(&I::efficiency, key::efficiency)
                           .defaulted("0.5 (textbook) or the device's share (operator)"),
                       field(&I::device_price, "device_price", "USD/h", "price of one device")
                           .non_negative()
                           .defaulted("the zoo: cloud.gpu_inference")),
                  pass_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false;
    Time<> total_reasoning_time, ttft, itl, time_per_step;
    double tokens_generated = 0, reasoning_steps = 0;
    std::optional<Energy<>> energy_per_query{};  ///< absent where the device has no TDP
    Money<> cost_per_query;
    Data<> kv_cache_size;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::feasible, "feasible", "", "weights and the longest cache fit in memory"),
                  field(&R::total_reasoning_time, "total_reasoning_time", "ms",
                        "from the question to the last token"),
                  field(&R::ttft, key::ttft), field(&R::itl, key::itl),
                  field(&R::time_per_step, "time_per_step", "ms", "one step of the chain"),
                  field(&R::tokens_generated, "tokens_generated", "", "tokens of all chains"),
                  field(&R::reasoning_steps, "reasoning_steps", "", "steps of the chain"),
                  field(&R::energy_per_query, "energy_per_query", "J",
                        "energy of the devices; absent where they have no TDP"),
                  field(&R::cost_per_query, "cost_per_query", "USD", "price of the devices for that time"),
                  field(&R::kv_cache_size, key::kv_cache_size),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
