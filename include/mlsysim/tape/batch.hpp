#pragma once
/// Sweeps: a law over columns of numbers.
///
/// One core, no threads: split the points among threads and give each its own `BatchKernel`. Any split and any block size
/// give the same bytes, because every point is computed alone.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace mlsysim {

/// One input of a sweep, in the canonical base unit: a value per point, or one value for all.
struct Column {
  std::span<const double> values;
  double constant = 0;
  bool is_constant = true;

  Column(double value) : constant(value) {}  // NOLINT(google-explicit-constructor)
  Column(std::span<const double> each) : values(each), is_constant(false) {}  // NOLINT(google-explicit-constructor)
  Column(const std::vector<double>& each) : Column(std::span<const double>(each)) {}  // NOLINT(google-explicit-constructor)
};

/// Evaluates a law over columns; holds the block buffers, so that a warm kernel allocates nothing.
///
/// Not thread-safe: one kernel per thread. The entry must outlive it.
class BatchKernel {
 public:
  explicit BatchKernel(const LawEntry& law);

  /// Evaluates `points` points into `out`, one span of at least `points` numbers per result, without checks of values.
  /// @throws InputError if the number or length of columns does not fit
  void run(std::span<const Column> in, std::span<const std::span<double>> out, std::size_t points);
  [[nodiscard]] Method method() const { return law_->is_law ? Method::exact : Method::scalar_loop; }

  /// Points that are evaluated at a time; a block's columns stay in the first-level cache.
  static constexpr std::size_t kBlock = 256;
  /// Numbers from one buffer to the next: 64 bytes more than a block, or columns 4 KiB apart evict each other.
  static constexpr std::size_t kStride = kBlock + 8;

 private:
  const LawEntry* law_;
  std::vector<double> buffer_;
  std::vector<const double*> in_;
  std::vector<double*> out_;
};

/// Columns of results with how they were obtained.
struct BatchResult {
  Method method = Method::exact;
  std::vector<std::vector<double>> columns;  ///< one per result, in the order of the entry
};

/// Checks the columns of inputs for finiteness and range. @throws InputError, DomainError naming input and point
void check_columns(const LawEntry& law, std::span<const Column> in, std::size_t points);
/// Checks and evaluates. @throws InputError, DomainError
[[nodiscard]] BatchResult batch(const LawEntry& law, std::span<const Column> in, std::size_t points);

}  // namespace mlsysim
