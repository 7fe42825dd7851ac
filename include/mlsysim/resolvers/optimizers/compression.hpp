#pragma once
/// Pareto front of quantization and pruning over size, speed and accuracy, and the best candidate (wall 13).
///
///   min (compressed_size, 1 / inference_speedup, |estimated_accuracy_delta|) subject to the guard rails
///
/// Eleven candidates go through CompressionModel: 16 to 2 bits, 2:4 sparsity, structured and unstructured
/// pruning. A candidate is dominated when another is no worse in all three and better in one. The best one on
/// the front loses least accuracy, and ties go to the smaller and faster.
/// Example: Llama-3.1-8B on an H100: 9 of 11 are judged, since structured pruning has no accuracy estimate.
/// FP16 wins without guard rails. A size limit of 0.1 GB leaves no candidate, and "model_size" binds.
/// @cite gholami-2021; blalock2020pruning

#include <mlsysim/resolvers/models/compression.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// Searches the eleven candidates. Those without an accuracy estimate are listed as unjudged.
struct CompressionOptimizer : Optimizer<CompressionOptimizer> {
  static constexpr std::string_view id = "CompressionOptimizer";
  static constexpr std::string_view about = "compressions that no other beats in size, speed and accuracy";
  static constexpr std::string_view law = "min (size, time, loss of accuracy) subject to the guard rails";
  static constexpr std::string_view source = "gholami-2021";
  static constexpr std::array walls{13};
  static constexpr std::array fallacies{
      Fallacy{"The smallest model is the best compromise.",
              "A front has several ends: what you give up decides, and a guard rail says what you may."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<Precision> baseline_precision{};
    double batch_size = 1;
    std::optional<double> seq_len{};
    std::optional<Data<>> size_limit{};
    std::optional<double> max_accuracy_drop{}, min_speedup{};
    bool require_hardware_support = false;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(
              field(&I::workload, key::workload), field(&I::hardware, key::hardware),
              field(&I::baseline_precision, key::baseline_precision)
                  .defaulted("fp32 (textbook) or fp16 (operator)"),
              field(&I::batch_size, key::batch_size).defaulted("one sequence"),
              field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes")),
          guard_rail_rows<I>(),
          rows(field(&I::fidelity, key::fidelity).defaulted("operator: what is stored and read"),
               field(&I::conventions, key::conventions).defaulted(kDefaults.view())));
    }
  };
  struct Result {
    SearchSummary search;
    std::string best, frontier, dominated, unjudged;
    Data<> compressed_size;
    double inference_speedup = 1, estimated_accuracy_delta = 0;

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::search, "search", "", "what was tried"),
          field(&R::best, "best_candidate", "", "least loss of accuracy within the guard rails"),
          field(&R::frontier, "frontier", "", "candidates that no other beats"),
          field(&R::dominated, "dominated", "", "candidates that another beats, or that break a guard rail"),
          field(&R::unjudged, "unjudged", "", "candidates whose loss of accuracy is not known"),
          field(&R::compressed_size, "compressed_size", "GB", "weights of the best candidate"),
          field(&R::inference_speedup, "inference_speedup", "", "speed-up of the best candidate"),
          field(&R::estimated_accuracy_delta, "estimated_accuracy_delta", "",
                "change of accuracy of the best candidate"));
    }
  };
  [[nodiscard]] std::optional<Result> solve(const Inputs& in, Search& search, Notes& notes) const;
};

}  // namespace mlsysim
