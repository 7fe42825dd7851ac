#pragma once
/// Exact derivatives: a value with its partial derivatives for N seeds, carried forward through a law.
///
/// Partials are one-sided where they must be: at a tie of `min`, `max`, `abs` or `select`, partial i is the one for a
/// move along +seed i, exactly. So seeding -1 and negating the result gives the other side; both runs together are
/// the whole truth about a kink. A bit per seed remembers that a tie with unequal partials was met (`kinks`), and
/// another that the value changes in steps along that seed (`steps`: ceil, floor, a count, a jump): a partial of 0
/// there is no answer, and `gradient` reports the difference to the next step instead. The bits cover both sides of the
/// point: where no kink was met, the partials are those of the other side as well.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/units/overloads.hpp>

#include <cmath>
#include <cstdint>

namespace mlsysim {

template <int N = 8>
struct Dual;

namespace detail {

/// How far a seed must move until a ceil or floor in the law takes its next value; filled while `step_probe` points
/// at it. Distances are linear estimates in units of the seed; `marks` changes when one of them does.
struct StepProbe {
  static constexpr int kSeeds = 16;
  double up[kSeeds];    ///< smallest move along +seed; infinite if none
  double down[kSeeds];  ///< smallest move along -seed, as a positive number
  double marks = 0;
  StepProbe() {
    for (int i = 0; i < kSeeds; ++i) up[i] = down[i] = HUGE_VAL;
  }
};

/// Probe of this thread, or null. Thread-local because a law has no place for it; set only through StepProbeScope.
[[nodiscard]] StepProbe*& step_probe();

/// Sends steps met by this thread to a probe while it lives.
class StepProbeScope {
 public:
  explicit StepProbeScope(StepProbe& probe) : before_(step_probe()) { step_probe() = &probe; }
  ~StepProbeScope() { step_probe() = before_; }
  StepProbeScope(const StepProbeScope&) = delete;
  StepProbeScope& operator=(const StepProbeScope&) = delete;

 private:
  StepProbe* before_;
};

enum class Rounding : std::uint8_t { up, down };
/// Notes one ceil or floor of `x`, whose partials are `partial`.
void note_step(StepProbe& probe, Rounding rounding, double x, const double* partial, int seeds);

}  // namespace detail

/// Outcome of a comparison, with the outcome after an arbitrarily small move along each seed and against it.
template <int N>
struct DualCondition : detail::NoBranch {
  static constexpr std::uint32_t kAll = (1u << N) - 1u;
  bool value = false;
  std::uint32_t ahead = 0;   ///< bit i: outcome after a small move along +seed i
  std::uint32_t behind = 0;  ///< bit i: outcome after a small move along -seed i

  constexpr DualCondition(bool now, std::uint32_t soon, std::uint32_t before) : value(now), ahead(soon), behind(before) {}
  friend constexpr DualCondition operator&&(const DualCondition& a, const DualCondition& b) {
    return {a.value && b.value, a.ahead & b.ahead, a.behind & b.behind};
  }
  friend constexpr DualCondition operator||(const DualCondition& a, const DualCondition& b) {
    return {a.value || b.value, a.ahead | b.ahead, a.behind | b.behind};
  }
  friend constexpr DualCondition operator!(const DualCondition& a) { return {!a.value, ~a.ahead & kAll, ~a.behind & kAll}; }
  friend constexpr DualCondition operator&(const DualCondition& a, const DualCondition& b) { return a && b; }
  friend constexpr DualCondition operator|(const DualCondition& a, const DualCondition& b) { return a || b; }

  /// `a` where the condition holds, else `b`; where it is about to change, the other's partials or a step. What changes
  /// on the other side of the point leaves a flag only.
  friend constexpr Dual<N> select(const DualCondition& c, const Dual<N>& a, const Dual<N>& b) {
    Dual<N> r = c.value ? a : b;
    const std::uint32_t soon = c.value ? ~c.ahead & kAll : c.ahead, before = c.value ? ~c.behind & kAll : c.behind;
    if ((soon | before) == 0) return r;
    const Dual<N>& other = c.value ? b : a;
    r.flags |= other.flags;
    for (int i = 0; i < N; ++i) {
      if (((soon | before) >> i & 1u) == 0) continue;
      if (other.value != r.value) {
        r.flags |= 1u << i;
      } else if (other.partial[i] != r.partial[i]) {
        if ((soon >> i & 1u) != 0) r.partial[i] = other.partial[i];
        r.flags |= 1u << (i + Dual<N>::kKinkShift);
      }
    }
    return r;
  }
  friend constexpr Dual<N> select(const DualCondition& c, double a, double b) {
    return select(c, Dual<N>(a), Dual<N>(b));
  }
};

/// A value and its partial derivatives with respect to `N` seeds.
/// @tparam N seeds at once, at most 16; more inputs are done in chunks
template <int N>
struct Dual {
  static_assert(N >= 1 && N <= detail::StepProbe::kSeeds);
  static constexpr int size = N;
  static constexpr int kKinkShift = 16;

  double value = 0.0;
  std::uint32_t flags = 0;  ///< bits 0-15 steps, 16-31 kinks, by seed
  double partial[N] = {};

  constexpr Dual() = default;
  /// A constant.
  constexpr Dual(double x) : value(x) {}  // NOLINT(google-explicit-constructor)
  /// The variable of seed `i`, moving with `direction` (+1 or -1).
  [[nodiscard]] static constexpr Dual variable(double x, int i, double direction = 1.0) {
    Dual r(x);
    r.partial[i] = direction;
    return r;
  }

  [[nodiscard]] constexpr bool steps(int i) const { return (flags >> i & 1u) != 0; }
  [[nodiscard]] constexpr bool kinks(int i) const { return (flags >> (i + kKinkShift) & 1u) != 0; }
  [[nodiscard]] constexpr bool any_kink() const { return flags >> kKinkShift != 0; }
  /// The same in value, partials and flags: what was computed from one holds for the other.
  friend constexpr bool identical(const Dual& a, const Dual& b) {
    bool same = a.value == b.value && a.flags == b.flags;
    for (int i = 0; i < N; ++i) same = same && a.partial[i] == b.partial[i];
    return same;
  }

  friend constexpr Dual operator+(const Dual& a, const Dual& b) {
    Dual r = both(a.value + b.value, a, b);
    for (int i = 0; i < N; ++i) r.partial[i] = a.partial[i] + b.partial[i];
    return r;
  }
  friend constexpr Dual operator-(const Dual& a, const Dual& b) {
    Dual r = both(a.value - b.value, a, b);
    for (int i = 0; i < N; ++i) r.partial[i] = a.partial[i] - b.partial[i];
    return r;
  }
  friend constexpr Dual operator*(const Dual& a, const Dual& b) {
    Dual r = both(a.value * b.value, a, b);
    for (int i = 0; i < N; ++i) r.partial[i] = a.partial[i] * b.value + b.partial[i] * a.value;
    return r;
  }
  friend constexpr Dual operator/(const Dual& a, const Dual& b) {
    Dual r = both(a.value / b.value, a, b);
    const double inverse = 1.0 / b.value;
    for (int i = 0; i < N; ++i) r.partial[i] = (a.partial[i] - r.value * b.partial[i]) * inverse;
    return r;
  }
  friend constexpr Dual operator-(const Dual& a) { return scaled(a, -a.value, -1.0); }
  friend constexpr Dual operator+(const Dual& a) { return a; }

  // With a constant on one side there is nothing to add to the partials.
  friend constexpr Dual operator+(const Dual& a, double b) { return shifted(a, a.value + b); }
  friend constexpr Dual operator+(double a, const Dual& b) { return shifted(b, a + b.value); }
  friend constexpr Dual operator-(const Dual& a, double b) { return shifted(a, a.value - b); }
  friend constexpr Dual operator-(double a, const Dual& b) { return scaled(b, a - b.value, -1.0); }
  friend constexpr Dual operator*(const Dual& a, double b) { return scaled(a, a.value * b, b); }
  friend constexpr Dual operator*(double a, const Dual& b) { return scaled(b, a * b.value, a); }
  friend constexpr Dual operator/(const Dual& a, double b) { return scaled(a, a.value / b, 1.0 / b); }
  friend constexpr Dual operator/(double a, const Dual& b) {
    const double q = a / b.value;
    return scaled(b, q, -q / b.value);
  }
  constexpr Dual& operator+=(const Dual& o) { return *this = *this + o; }
  constexpr Dual& operator-=(const Dual& o) { return *this = *this - o; }
  constexpr Dual& operator*=(const Dual& o) { return *this = *this * o; }
  constexpr Dual& operator/=(const Dual& o) { return *this = *this / o; }

#define MLSYSIM_COMPARE(OP)                                                          \
  friend constexpr DualCondition<N> operator OP(const Dual& a, const Dual& b) {      \
    const bool now = a.value OP b.value;                                             \
    const std::uint32_t all = now ? DualCondition<N>::kAll : 0u;                     \
    if (a.value != b.value) return {now, all, all};                                  \
    std::uint32_t ahead = 0, behind = 0;                                             \
    for (int i = 0; i < N; ++i) {                                                    \
      ahead |= (a.partial[i] OP b.partial[i] ? 1u : 0u) << i;                        \
      behind |= (b.partial[i] OP a.partial[i] ? 1u : 0u) << i;                       \
    }                                                                                \
    return {now, ahead, behind};                                                     \
  }
  MLSYSIM_COMPARE(<)
  MLSYSIM_COMPARE(>)
  MLSYSIM_COMPARE(<=)
  MLSYSIM_COMPARE(>=)
  MLSYSIM_COMPARE(==)
  MLSYSIM_COMPARE(!=)
#undef MLSYSIM_COMPARE

  friend constexpr Dual min(const Dual& a, const Dual& b) {
    if (a.value < b.value) return a;
    if (b.value < a.value) return b;
    return tie(a, b, [](double p, double q) { return q < p ? q : p; });
  }
  friend constexpr Dual max(const Dual& a, const Dual& b) {
    if (a.value < b.value) return b;
    if (b.value < a.value) return a;
    return tie(a, b, [](double p, double q) { return p < q ? q : p; });
  }
  friend constexpr Dual clamp(const Dual& x, const Dual& low, const Dual& high) { return min(max(x, low), high); }
  friend constexpr Dual select(bool condition, const Dual& a, const Dual& b) { return condition ? a : b; }
  friend constexpr Dual abs(const Dual& a) {
    if (a.value > 0) return a;
    if (a.value < 0) return -a;
    return max(a, -a);
  }
  friend Dual ceil(const Dual& a) { return step(a, std::ceil(a.value), detail::Rounding::up); }
  friend Dual floor(const Dual& a) { return step(a, std::floor(a.value), detail::Rounding::down); }
  friend Dual ceil_div(const Dual& count, const Dual& size) { return ceil(count / size); }
  friend Dual sqrt(const Dual& a) {
    const double root = std::sqrt(a.value);
    return chained(a, root, 0.5 / root);
  }
  friend Dual exp(const Dual& a) {
    const double e = std::exp(a.value);
    return chained(a, e, e);
  }
  friend Dual log(const Dual& a) { return chained(a, std::log(a.value), 1.0 / a.value); }
  friend Dual log2(const Dual& a) {
    constexpr double inverse_ln2 = 1.4426950408889634074;
    return chained(a, std::log2(a.value), inverse_ln2 / a.value);
  }
  friend Dual pow(const Dual& x, double y) {
    const double p = std::pow(x.value, y);
    return chained(x, p, x.value != 0 ? y * p / x.value : y * std::pow(x.value, y - 1.0));
  }
  friend Dual pow(double x, const Dual& y) {
    const double p = std::pow(x, y.value);
    return chained(y, p, p == 0 ? 0.0 : p * std::log(x));
  }
  friend Dual pow(const Dual& x, const Dual& y) {
    Dual r = pow(x, y.value);
    const Dual e = pow(x.value, y);
    r.flags |= e.flags;
    for (int i = 0; i < N; ++i) r.partial[i] += e.partial[i];
    return r;
  }
  friend constexpr Dual named(std::string_view, const Dual& x) { return x; }

 private:
  static constexpr Dual both(double value, const Dual& a, const Dual& b) {
    Dual r;
    r.value = value;
    r.flags = a.flags | b.flags;
    return r;
  }
  static constexpr Dual shifted(const Dual& a, double value) {
    Dual r = a;
    r.value = value;
    return r;
  }
  static constexpr Dual scaled(const Dual& a, double value, double slope) {
    Dual r;
    r.value = value;
    r.flags = a.flags;
    for (int i = 0; i < N; ++i) r.partial[i] = a.partial[i] * slope;
    return r;
  }
  /// Like `scaled`, but a seed that does not move stays still even where the slope is infinite or undefined.
  static constexpr Dual chained(const Dual& a, double value, double slope) {
    Dual r;
    r.value = value;
    r.flags = a.flags;
    for (int i = 0; i < N; ++i) r.partial[i] = a.partial[i] == 0.0 ? 0.0 : a.partial[i] * slope;
    return r;
  }
  template <class Choose>
  static constexpr Dual tie(const Dual& a, const Dual& b, Choose choose) {
    Dual r = both(a.value, a, b);
    for (int i = 0; i < N; ++i) {
      r.partial[i] = choose(a.partial[i], b.partial[i]);
      if (a.partial[i] != b.partial[i]) r.flags |= 1u << (i + kKinkShift);
    }
    return r;
  }
  static Dual step(const Dual& a, double rounded, detail::Rounding rounding) {
    Dual r(rounded);
    r.flags = a.flags;
    for (int i = 0; i < N; ++i)
      if (a.partial[i] != 0.0) r.flags |= 1u << i;
    if (auto* probe = detail::step_probe()) detail::note_step(*probe, rounding, a.value, a.partial, N);
    return r;
  }
};

template <int N>
inline constexpr bool is_scalar_v<Dual<N>> = true;

namespace detail {
template <int N>
struct LoopTraits<Dual<N>> {
  static constexpr bool merges = false;
  static constexpr bool may_be_endless = false;
  [[nodiscard]] static constexpr double upper(const Dual<N>& count) { return count.value; }
  static void mark_steps(Dual<N>& state, const Dual<N>& count) {
    const Dual<N> rounds = ceil(count);
    state.flags |= rounds.flags;
  }
  static constexpr void mark_steps(double&, const Dual<N>&) {}
};
}  // namespace detail

}  // namespace mlsysim
