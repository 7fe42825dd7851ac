#pragma once
/// What the kernels of one device reach, what a device must have, and what streams through it.

#include <mlsysim/price/figures.hpp>
#include <mlsysim/spec/conventions.hpp>

namespace mlsysim {

/// Classes of kernels.
enum class KernelClass : std::uint8_t { ffn, attention, conv, other };
template <> struct Choices<KernelClass> {
  static constexpr std::string_view what = "class of kernels";
  static constexpr std::array<std::string_view, 4> names{"ffn", "attention", "conv", "other"};
};

/// Kernels of one class in a forward pass.
struct KernelUse {
  const Workload& workload;
  const HardwareNode& hardware;
  const Conventions& conventions;
  Precision precision;
  KernelClass kernels;
  std::optional<bool> fused;  ///< attention as one kernel
  double batch;
  std::optional<double> seq_len, efficiency;
};

/// Shares of the peak; together one.
struct KernelShares {
  double mfu = 0, kernel_loss = 0, memory_stall = 0, launch_loss = 0;
  double of_pass = 1;  ///< share of the pass that these kernels take
};

/// A latency that a device is wanted for.
struct LatencyWish {
  const Workload& workload;
  const Conventions& conventions;
  Time<> latency;
  Precision precision;
  double batch;
  std::optional<double> seq_len, efficiency;
};

/// What it needs. Both rates are 0 where launches alone take longer.
struct DeviceNeeds {
  ComputeRate<> rate;
  Bandwidth<> bandwidth;
  Data<> memory, weights, traffic;
  Work<> work;
  Time<> overhead;
};

/// A pass of a device whose weights come in layer by layer.
struct StreamUse {
  const Workload& workload;
  const HardwareNode& hardware;
  const Conventions& conventions;
  Precision precision;
  bool decodes;
  double batch, seq_len;
  std::optional<double> efficiency;
};

/// One of its layers, and what stays.
struct StreamNeeds {
  Data<> layer_weights, held;
  Work<> work_per_sample;  ///< of a layer
  double layers = 1, efficiency = 1;
};

class DeviceRules {
 public:
  DeviceRules() = default;
  DeviceRules(const DeviceRules&) = delete;
  DeviceRules& operator=(const DeviceRules&) = delete;
  virtual ~DeviceRules() = default;

  /// @throws InputError where the model has no kernels of the class
  [[nodiscard]] virtual KernelShares shares(const KernelUse& use, const Figures& figures) const = 0;
  [[nodiscard]] virtual DeviceNeeds needs(const LatencyWish& wish, Notes& notes) const = 0;
  /// Latency of the wish on a device of these rates.
  [[nodiscard]] virtual Time<> latency(const LatencyWish& wish, ComputeRate<> rate,
                                       Bandwidth<> bandwidth) const = 0;
  [[nodiscard]] virtual StreamNeeds streamed(const StreamUse& use, const Figures& figures) const = 0;
};

}  // namespace mlsysim
