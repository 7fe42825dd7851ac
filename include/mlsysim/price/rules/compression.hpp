#pragma once
/// What compression does to size, speed and accuracy.

#include <mlsysim/price/figures.hpp>
#include <mlsysim/spec/conventions.hpp>

namespace mlsysim {

/// Ways to make a model smaller.
enum class CompressionMethod : std::uint8_t { quantization, pruning, distillation };
template <> struct Choices<CompressionMethod> {
  static constexpr std::string_view what = "compression method";
  static constexpr std::array<std::string_view, 3> names{"quantization", "pruning", "distillation"};
};
/// Patterns of zeros.
enum class SparsityType : std::uint8_t { unstructured, structured, n_m };
template <> struct Choices<SparsityType> {
  static constexpr std::string_view what = "pattern of zeros";
  static constexpr std::array<std::string_view, 3> names{"unstructured", "structured", "n_m"};
};

/// One way of compressing a model for a device.
struct Compression {
  const Workload& workload;
  const HardwareNode& hardware;
  const Conventions& conventions;
  Params<> params;
  Work<> work;              ///< of a sample
  double active_share = 1;  ///< of the weights, read by one token
  Precision baseline = Precision::fp16;
  CompressionMethod method = CompressionMethod::quantization;
  double bits = 8, sparsity = 0;
  SparsityType pattern = SparsityType::unstructured;
  std::optional<bool> weight_only{};
  std::optional<double> group, student_share;
  double batch = 1;
  std::optional<double> seq_len, efficiency;

  [[nodiscard]] double baseline_bits() const { return 8 * bytes_per_element(baseline); }
};

/// What it comes to.
struct Compressed {
  Data<> original, size;
  double ratio = 1, speedup = 1;
  Bottleneck bottleneck = Bottleneck::memory;
};

class CompressionRules {
 public:
  CompressionRules() = default;
  CompressionRules(const CompressionRules&) = delete;
  CompressionRules& operator=(const CompressionRules&) = delete;
  virtual ~CompressionRules() = default;

  /// Format before compression where nobody names one.
  [[nodiscard]] virtual Precision baseline() const = 0;
  /// @throws DomainError for a pattern of zeros that hardware does not know
  [[nodiscard]] virtual Compressed compress(const Compression& c, const Figures& figures) const = 0;
  /// Change of accuracy to expect, a rule of thumb; absent where training decides.
  [[nodiscard]] virtual std::optional<double> accuracy_change(const Compression& c,
                                                              const Figures& figures) const = 0;
  /// The rate of the device at a width, where it has one.
  [[nodiscard]] virtual std::optional<ComputeRate<>> rate_at_width(const HardwareNode& hardware,
                                                                   double bits) const = 0;
};

}  // namespace mlsysim
