#pragma once
/// Share of peak FLOP/s that a class of kernels reaches, and where the rest is lost (wall 3).
///
///   mfu = work / (peak time)      mfu + kernel_loss + memory_stall + launch_loss = 1
///
/// Operator: kernels of the class in one forward pass, priced on the device. kernel_loss: tiles, waves,
/// sustained rate. Without fused attention the scores pass through memory, and both products count their
/// whole squares.
/// Textbook: a table of shares for efficiency 0.5, scaled by the given efficiency.
/// Example: feed-forward layers on an H100 at efficiency 0.5 (textbook): 0.5 x 989 = 494.5 TFLOP/s, lost 0.45
/// in kernels and 0.05 to memory. Attention reaches 0.3, fused attention 0.75.
/// @cite chowdhery2022palm; dao2022flashattention; nvidia-matmul-guide for tiles and waves

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Classes of kernels.
enum class KernelClass : std::uint8_t { ffn, attention, conv, other };
template <> inline constexpr auto names_of<KernelClass> = ChoiceNames{"class of kernels"};

/// MFU of one class of kernels.
struct EfficiencyModel : Model<EfficiencyModel> {
  static constexpr std::string_view id = "EfficiencyModel";
  static constexpr std::string_view about = "share of the peak that a class of kernels reaches";
  static constexpr std::string_view law =
      "mfu = work / (peak time); mfu + kernel_loss + memory_stall + launch_loss = 1";
  static constexpr std::string_view source = "chowdhery2022palm";
  static constexpr std::array walls{3};
  static constexpr std::array fallacies{
      Fallacy{"Kernels that use the matrix engine run near its peak.",
              "A product with few rows fills a part of its tiles and moves its weights for little work."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    KernelClass workload_type = KernelClass::ffn;
    std::optional<bool> use_flash_attention{};
    double batch_size = 1;
    std::optional<double> seq_len{};
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::hardware, key::hardware),
          field(&I::workload_type, "workload_type", "", "class of kernels").defaulted("feed-forward layers"),
          field(&I::use_flash_attention, "use_flash_attention", "",
                "attention as one kernel that keeps its scores on chip")
              .defaulted("no (textbook) or yes (operator)"),
          field(&I::batch_size, key::batch_size).defaulted("one sequence"),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"),
          field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    double mfu = 0;
    ComputeRate<> achievable_flops, peak_flops;
    double kernel_loss = 0, memory_stall = 0, launch_loss = 0, time_share = 1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::mfu, key::mfu),
          field(&R::achievable_flops, "achievable_flops", "TFLOP/s", "rate that is reached"),
          field(&R::peak_flops, "peak_flops", "TFLOP/s", "peak rate of the device"),
          field(&R::kernel_loss, "kernel_loss", "",
                "share of the peak lost in the kernels (textbook: occupancy)"),
          field(&R::memory_stall, "memory_stall", "", "share of the peak lost to memory traffic"),
          field(&R::launch_loss, "launch_loss", "", "share of the peak lost to launches"),
          field(&R::time_share, "time_share", "", "share of the pass that these kernels take (operator)"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
