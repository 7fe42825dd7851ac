#pragma once
/// Score of one candidate in a search: an objective with constraints, or the reason why it is skipped.
///
///   excess = |value - limit| / |limit|      for a constraint that is missed, else 0
///
/// Limits: up to 8 constraints per candidate, and up to 4 objectives in a ParetoScore.
/// Example: `{30000 * unit::USD, {at_least("peak", peak, wanted)}}`. A peak of 165 TFLOP/s misses 300 TFLOP/s
/// with an excess of 0.45.

#include <mlsysim/units/quantity.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace mlsysim {

/// A few values without allocation. @throws InputError when there are more than N
template <class T, std::size_t N> class InlineList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineList() {}  // NOLINT(modernize-use-equals-default): the items stay raw on purpose
  InlineList(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  void push_back(const T& item) {
    if (size_ == N) refuse();
    items_[size_++].value = item;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i].value; }

 private:
  [[noreturn]] static void refuse();
  union Raw {
    Raw() {}  // NOLINT
    T value;
  };
  Raw items_[N];
  std::size_t size_ = 0;
};

namespace detail {
[[noreturn]] void too_many_scores(std::size_t most);
}
template <class T, std::size_t N> void InlineList<T, N>::refuse() { detail::too_many_scores(N); }

/// A number to be made small or large, with its dimension.
struct Objective {
  double base = 0;  ///< canonical base unit
  Exponents exps{};

  Objective() = default;
  // NOLINTBEGIN(google-explicit-constructor): a score is a number or a quantity
  template <class N>
    requires(std::is_arithmetic_v<N>)
  Objective(N number) : base(static_cast<double>(number)) {}
  template <class D> Objective(const Quantity<D, double>& q) : base(q.base()), exps(D::exps) {}
  // NOLINTEND(google-explicit-constructor)
};

/// Which side of a limit is admissible.
enum class Sense : std::uint8_t { at_least, at_most };

/// g(x) <= c or g(x) >= c.
struct Constraint {
  std::string_view name;  ///< static text
  double value;           ///< of this candidate, base unit
  double limit;           ///< base unit
  Exponents exps;
  Sense sense;

  [[nodiscard]] bool met() const { return sense == Sense::at_least ? value >= limit : value <= limit; }
  /// How far the limit would have to move, over the limit itself; 0 when it is met.
  [[nodiscard]] double excess() const {
    if (met()) return 0;
    return std::abs(value - limit) / (limit == 0 ? 1 : std::abs(limit));
  }
};

/// `value >= limit`. @param name static text, e.g. "peak"
template <class D>
[[nodiscard]] Constraint at_least(std::string_view name, const Quantity<D, double>& value,
                                  const std::type_identity_t<Quantity<D, double>>& limit) {
  return {name, value.base(), limit.base(), D::exps, Sense::at_least};
}
[[nodiscard]] inline Constraint at_least(std::string_view name, double value, double limit) {
  return {name, value, limit, Exponents{}, Sense::at_least};
}
/// `value <= limit`. @param name static text, e.g. "latency"
template <class D>
[[nodiscard]] Constraint at_most(std::string_view name, const Quantity<D, double>& value,
                                 const std::type_identity_t<Quantity<D, double>>& limit) {
  return {name, value.base(), limit.base(), D::exps, Sense::at_most};
}
[[nodiscard]] inline Constraint at_most(std::string_view name, double value, double limit) {
  return {name, value, limit, Exponents{}, Sense::at_most};
}

/// One candidate with one objective: `{cost, {at_least("peak", hw.peak, wanted)}}` or `{.skip = "no price"}`.
struct Score {
  Objective objective{};
  InlineList<Constraint, 8> constraints{};
  std::string_view skip{};  ///< static text: why this candidate cannot be judged
};

/// One candidate with several objectives, all to be made small.
struct ParetoScore {
  InlineList<Objective, 4> objectives{};
  InlineList<Constraint, 8> constraints{};
  std::string_view skip{};
};

}  // namespace mlsysim
