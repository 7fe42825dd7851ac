#pragma once
/// Checks the inputs and results of a resolver: ranges, whole counts, finiteness and missing objects.
///
/// The check runs over a table that is made once per resolver type.
/// Example: `devices` with `.at_least(1).counted()` accepts 2 and refuses 1.5, 0, NaN and infinity with
/// DomainError.

#include <mlsysim/reflect/describe.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Range that a number may have, in the base unit.
struct BaseRange {
  double low = -kUnbounded;
  double high = kUnbounded;
  bool open_low = false;
  bool integral = false;

  [[nodiscard]] static BaseRange of(const FieldInfo& field);
  /// False for NaN and infinities too.
  [[nodiscard]] bool holds(double x) const {
    return x <= high && (open_low ? x > low : x >= low) && (!integral || x == std::floor(x));
  }
};

/// Checks all inputs of one struct type.
class InputGuard {
 public:
  explicit InputGuard(std::span<const FieldInfo> inputs);

  /// @throws DomainError for a number out of its range or not finite, InputError for a missing required
  /// object
  void check(const void* inputs, std::string_view resolver) const {
    for (const auto& n : numbers_) {
      const double x = *reinterpret_cast<const double*>(static_cast<const std::byte*>(inputs) + n.offset);
      if (!n.range.holds(x)) [[unlikely]]
        refuse(*n.field, inputs, resolver);
    }
    if (!others_.empty()) check_others(inputs, resolver);
  }

 private:
  struct Number {
    std::size_t offset;
    BaseRange range;
    const FieldInfo* field;
  };
  [[noreturn]] static void refuse(const FieldInfo& field, const void* inputs, std::string_view resolver);
  void check_others(const void* inputs, std::string_view resolver) const;

  std::vector<Number> numbers_;
  std::vector<const FieldInfo*> others_;  // optional numbers, and objects that must be there
};

/// The inputs behind a result, to say which of them were left at zero.
struct GivenInputs {
  std::span<const FieldInfo> fields{};
  const void* object = nullptr;
};

/// Checks that the numbers of a result are finite. @throws SolverError naming resolver and field, and inputs
/// that are zero
void check_result(std::span<const FieldInfo> outputs, const void* result, std::string_view resolver,
                  const GivenInputs& given = {});

/// True where the member is a bare double in memory, so that it may be copied without looking.
[[nodiscard]] bool is_bare_number(const FieldInfo& field);

}  // namespace mlsysim
