#pragma once
/// The ordered numbers that one input takes along an axis of a grid or search space: a list or ranges.
///
///     linear:      x[i] = low + i (high - low) / (count - 1)
///     logarithmic: x[i] = low (high / low)^(i / (count - 1))
///     steps:       x[i] = first + i step
///     ratios:      x[i] = first ratio^i
///
/// Numbers are in the canonical base unit. A range keeps its ends and its count, and computes a member when
/// asked. Memory therefore does not depend on the length of a range.
/// Example: `Axis::steps(8, 8, 4)` holds 8, 16, 24, 32, and its text is "8..32:4+8".

#include <mlsysim/units/dimension.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlsysim {

/// Spacing of the members of a range between its two ends.
enum class Spacing : std::uint8_t { linear, logarithmic };

/// Numbers in the order in which they were added. Copies share the list.
class Axis {
 public:
  Axis() = default;
  explicit Axis(Exponents exps) : exps_(exps) {}
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are an axis
  Axis(std::vector<double> base_values, Exponents exps = {});

  /// `count` numbers from `low` to `high`, evenly or in equal ratios; both ends exactly.
  [[nodiscard]] static Axis between(double low, double high, std::size_t count, Spacing spacing,
                                    Exponents exps = {});
  /// first, first + step, ...
  [[nodiscard]] static Axis steps(double first, double step, std::size_t count, Exponents exps = {});
  /// first, first * ratio, ...: member i is first * pow(ratio, i), without accumulated rounding.
  [[nodiscard]] static Axis ratios(double first, double ratio, std::size_t count, Exponents exps = {});

  /// Appends one number, or those of another axis.
  void add(double base);
  void add(const Axis& more);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// In the canonical base unit.
  [[nodiscard]] double operator[](std::size_t i) const { return table_ != nullptr ? table_[i] : member(i); }
  /// All members, where they are listed; null where one belongs to a range.
  [[nodiscard]] const double* listed() const { return table_; }
  [[nodiscard]] const Exponents& exponents() const { return exps_; }
  /// Writes members [first, first + count).
  void copy(std::size_t first, std::size_t count, double* to) const;
  /// The least and the greatest of members [first, last); there must be one.
  struct Extent {
    double low, high;
  };
  [[nodiscard]] Extent extent(std::size_t first, std::size_t last) const;
  [[nodiscard]] Extent extent() const { return extent(0, size_); }
  [[nodiscard]] bool finite() const;
  /// Every member is a whole number.
  [[nodiscard]] bool whole() const;
  /// No member is smaller than the one before.
  [[nodiscard]] bool ascending() const;
  /// The member next to `x`; of equally near ones the first.
  [[nodiscard]] std::size_t nearest(double x) const;
  /// This axis as a list where it has at most `most` members. A list is cheaper to read.
  [[nodiscard]] Axis listed_up_to(std::size_t most) const;
  /// Bytes that it holds, including a list that copies share.
  [[nodiscard]] std::size_t memory() const;
  /// The exact text that defines the axis: "8 64", "1..64:7log".
  [[nodiscard]] std::string text() const;

 private:
  enum class Form : std::uint8_t { listed, linear, logarithmic, steps, ratios };
  /// Members from `first` up to the next part.
  struct Part {
    std::size_t first = 0, count = 0;
    Form form = Form::listed;
    double start = 0, by = 0, end = 0;  // of a range
    std::size_t at = 0;                 // of its first number among those that are listed
  };
  static Axis of(Part part, Exponents exps);
  [[nodiscard]] double member(std::size_t i) const;
  [[nodiscard]] double member_of(const Part& part, std::size_t i) const;
  [[nodiscard]] const Part& part_with(std::size_t i) const;

  std::vector<Part> parts_;
  std::shared_ptr<std::vector<double>> listed_;
  const double* table_ = nullptr;  // where every member is listed
  std::size_t size_ = 0;
  Exponents exps_{};
};

}  // namespace mlsysim
