#pragma once
/// The resolved software of a pass: values of a runtime along `extends`, with its kernel families and device
/// numbers.
///
/// The first runtime along `extends` that states a value decides. Runtimes that fuse their kernels have none
/// of this.
/// Example: `software_of` PyTorch eager at bf16 has six launches of "norm". `software_of` vLLM is absent.

#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Constants of one kind of kernel. See SmallKernelTime.
struct SettledKernel {
  double floor = 0, share = 1;
  double unit_bytes = 0;  ///< bytes that a unit moves in a cycle, at most; 0: no limit
};

/// Launches and host times with which a runtime that does not fuse kernels runs an operator list.
struct Software {
  const ServingEngine* runtime = nullptr;
  std::vector<const LaunchPart*> launches;  ///< launches of one operation are adjacent
  std::array<SettledKernel, Choices<LaunchKernel>::names.size()> kernels{};
  double switched = 0, cached = 0, register_row = 0;
  std::optional<ConvolutionRates> convolution;  ///< all stated
  Time<> operation{}, record{}, backward_operation{}, hook{}, module{}, step{}, allocation{}, gap{},
      host_gap{};
  Frequency<> clock{};
  Data<> l2_cache{};
  bool joined = true, masked = false;
  bool autocast = false;        ///< products are cast from fp32 to fp16
  bool full_precision = false;  ///< products run in fp32
  // Properties of the model.
  bool decoder = true, root_mean_square = true, gated = true, head_norm = false, positions = false;

  /// The launches of an operation; empty where the list has none.
  [[nodiscard]] std::span<const LaunchPart* const> of(std::string_view name) const;
};

/// The launches of a runtime. Operations and passes without rows take those of the runtime that it extends.
[[nodiscard]] std::vector<const LaunchPart*> launches_of(const ServingEngine& runtime);

/// The first along `extends` that states a member; null where none does.
template <class M>
[[nodiscard]] const M* stated(const ServingEngine& runtime, std::optional<M> ServingEngine::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->*member) return &*(r->*member);
  return nullptr;
}
/// The first kernel family along `extends`; null where none is named.
[[nodiscard]] const KernelFamily* stated(const ServingEngine& runtime,
                                         const KernelFamily* ServingEngine::*member);
/// The first host or compiler time along `extends` that is stated.
[[nodiscard]] std::optional<Time<>> stated(const ServingEngine& runtime,
                                           std::optional<Time<>> FrameworkHost::*member);
[[nodiscard]] std::optional<Time<>> stated(const ServingEngine& runtime,
                                           std::optional<Time<>> CompilerHost::*member);

/// Whether operators become kernels as a list of launches says.
[[nodiscard]] bool is_unfused(const ServingEngine& runtime);

/// The software of a pass at a precision, without values of the device and the model. Absent where the
/// runtime fuses its kernels.
/// @throws InputError when the runtime names no family of kernels, or one that leaves out what it launches
[[nodiscard]] std::optional<Software> software_of(const ServingEngine& runtime, Precision precision);

}  // namespace mlsysim
