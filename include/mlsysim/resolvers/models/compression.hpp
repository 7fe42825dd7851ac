#pragma once
/// Size, decode speed-up and accuracy change of a quantized, pruned or distilled model (wall 13).
///
///   weights = params ((1 - sparsity)(bits + index_bits) + scale_bits / group) / 8
///   speedup = step time before / after, by the roofline of weights and KV cache
///
/// bits: width of a stored weight. group: weights that share a scale. index_bits: 2 for 2:4 sparsity.
/// Textbook: ratios of widths, roofline of batch one, medians of accuracy changes. Operator: scales and
/// indices count, the KV cache stays, weight-only kernels dequantize, and sparse rates are those of the
/// device.
/// Limits: accuracy changes are published medians. Measure them on your task.
/// Example: Llama-3.1-8B at 4 bits with a 16-bit scale for 128 weights: 8.03e9 x 4.125 / 8 = 4.14 GB, 16 /
/// 4.125 = 3.88 times smaller than fp16.
/// @cite gholami-2021; frantar2023gptq; blalock2020pruning; han-2015

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Ways to make a model smaller.
enum class CompressionMethod : std::uint8_t { quantization, pruning, distillation };
template <> inline constexpr auto names_of<CompressionMethod> = ChoiceNames{"compression method"};
/// Patterns of zeros. `n_m` keeps two of four weights.
enum class SparsityType : std::uint8_t { unstructured, structured, n_m };
template <> inline constexpr auto names_of<SparsityType> = ChoiceNames{"pattern of zeros"};

/// One way of compressing a model, with guard rails on size, accuracy, speed and hardware support.
struct CompressionModel : Model<CompressionModel> {
  static constexpr std::string_view id = "CompressionModel";
  static constexpr std::string_view about = "size, speed and accuracy of a compressed model";
  static constexpr std::string_view law =
      "weights = params ((1 - sparsity)(bits + index_bits) + scale_bits / group) / 8";
  static constexpr std::string_view source = "gholami-2021";
  static constexpr std::array walls{13};
  static constexpr std::array fallacies{
      Fallacy{"Four bits are four times as fast as sixteen.",
              "Only the weights shrink: at larger batches the caches and the arithmetic decide."},
      Fallacy{"Nine tenths of zeros make a model ten times as fast.",
              "Hardware skips zeros in patterns that it knows; scattered ones it multiplies."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    CompressionMethod method = CompressionMethod::quantization;
    double target_bitwidth = 8, sparsity = 0;
    SparsityType sparsity_type = SparsityType::unstructured;
    std::optional<Precision> baseline_precision{};
    std::optional<bool> weight_only{};
    std::optional<double> group_size{}, student_share{};
    double batch_size = 1;
    std::optional<double> seq_len{};
    std::optional<double> efficiency{};
    std::optional<Data<>> size_limit{};
    std::optional<double> max_accuracy_drop{}, min_speedup{};
    bool require_hardware_support = false;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(
              field(&I::workload, key::workload), field(&I::hardware, key::hardware),
              field(&I::method, "method", "", "way of compression").defaulted("quantization"),
              field(&I::target_bitwidth, "target_bitwidth", "", "bits of a weight")
                  .within(1, 64)
                  .counted()
                  .defaulted("8"),
              field(&I::sparsity, "sparsity", "", "share of the weights that are zero")
                  .within(0, 1)
                  .defaulted("none"),
              field(&I::sparsity_type, "sparsity_type", "", "pattern of the zeros").defaulted("unstructured"),
              field(&I::baseline_precision, key::baseline_precision)
                  .defaulted("fp32 (textbook) or fp16 (operator)"),
              field(&I::weight_only, "weight_only", "", "arithmetic stays in the baseline format (operator)")
                  .defaulted("yes below 8 bits"),
              field(&I::group_size, "group_size", "", "weights that share a scale (operator)")
                  .at_least(1)
                  .counted()
                  .defaulted("the zoo below 8 bits, else one per matrix"),
              field(&I::student_share, "student_share", "", "weights of a distilled model over the original")
                  .within(1e-6, 1)
                  .defaulted("no smaller model is named"),
              field(&I::batch_size, key::batch_size).defaulted("one sequence"),
              field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
              field(&I::efficiency, key::efficiency).defaulted("0.5 (operator); textbook: the peak")),
          guard_rail_rows<I>(),
          rows(field(&I::fidelity, key::fidelity).defaulted("operator: what is stored and read"),
               field(&I::conventions, key::conventions).defaulted(kDefaults.view())));
    }
  };
  struct Result {
    std::string label;
    Data<> original_size, compressed_size;
    double compression_ratio = 1, memory_savings = 0, inference_speedup = 1;
    std::optional<double> estimated_accuracy_delta = 0;
    bool hardware_supported = false, feasible = true;
    std::string binding_constraint, violations;
    Precision baseline_precision = Precision::fp16;
    Bottleneck bottleneck = Bottleneck::memory;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::label, "label", "", "what was done"),
          field(&R::original_size, "original_size", "GB", "weights before"),
          field(&R::compressed_size, "compressed_size", "GB", "weights after"),
          field(&R::compression_ratio, "compression_ratio", "", "before over after"),
          field(&R::memory_savings, "memory_savings", "", "share of the bytes that is saved"),
          field(&R::estimated_accuracy_delta, "estimated_accuracy_delta", "",
                "change of accuracy to expect, a rule of thumb; absent where training decides"),
          field(&R::inference_speedup, "inference_speedup", "", "time before over time after, one step"),
          field(&R::hardware_supported, "hardware_supported", "", "the device has the format or pattern"),
          field(&R::feasible, "feasible", "", "every guard rail is kept"),
          field(&R::binding_constraint, "binding_constraint", "", "first guard rail that is broken; none"),
          field(&R::violations, "violations", "", "all guard rails that are broken"),
          field(&R::baseline_precision, key::baseline_precision), field(&R::bottleneck, key::bottleneck),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
