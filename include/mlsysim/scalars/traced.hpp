#pragma once
/// Derivations: a scalar that remembers where its value came from.
///
/// By default a trace holds one record per law call: the law, the inputs with the ids of the values they were, and
/// the results. Only inside laws that were opened by name (`trace.open("Roofline")`) does it hold every operation.
/// So tracing costs a copy of inputs and results per law call, and arithmetic stays arithmetic.
///
/// `TraceScope recording(trace);` sends what this thread does to `trace` until the end of the block. The scope is a
/// thread-local pointer, because a pure law has no other way to the recorder; without a scope nothing is recorded.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/units/overloads.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct Traced;
struct LawShape;

/// What a node of an opened law does.
enum class TraceOp : std::uint8_t {
  input, constant, law_result, add, subtract, multiply, divide, negate, min, max, select, abs, ceil, floor, sqrt, pow,
  log, log2, exp, less, greater, less_equal, greater_equal, equal, not_equal, both, either, negation
};

/// One operation of an opened law.
struct TraceNode {
  TraceOp op = TraceOp::constant;
  /// Nodes, as many as the operation takes; for a leaf, first the cell that it stands for (0 for constants).
  std::uint32_t operand[3] = {};
  double value = 0;
};

/// A name given to a node by `named`.
struct TraceName {
  std::uint32_t node = 0;
  std::string_view name;
};

/// What was recorded; owns all of it. Not thread-safe: one trace per thread.
class Trace {
 public:
  Trace();

  /// Records every operation inside calls of the law with this id, from now on.
  Trace& open(std::string law);
  /// Forgets everything recorded; keeps which laws are open and the memory.
  void clear();

  /// Sixteen bytes of the log: a call's header, or one value with the id of what produced it.
  struct Cell {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
  };
  /// Header of one law call, followed by its inputs and results in the log.
  struct Call {
    const LawShape* law = nullptr;
    std::uint32_t cell = 0;    ///< where the header is
    std::uint32_t parent = 0;  ///< cell of the enclosing call's header; 0 for none
    std::uint16_t inputs = 0;
    std::uint16_t results = 0;
  };
  /// All calls in order of their beginning.
  [[nodiscard]] std::vector<Call> calls() const;
  /// A value of the log: `cell` of a call, then inputs, then results.
  [[nodiscard]] Traced value(std::uint32_t cell) const;
  /// Operations of opened laws, operands before results.
  [[nodiscard]] std::span<const TraceNode> nodes() const { return {nodes_.data(), node_count_}; }
  /// Names of nodes, in order of naming.
  [[nodiscard]] std::span<const TraceName> names() const { return names_; }

  // For the recorder of law calls and for the operators below.
  static constexpr std::uint64_t kNode = std::uint64_t{1} << 63;
  template <std::uint16_t Inputs, std::uint16_t Results>
  [[nodiscard]] std::uint32_t begin(const LawShape* law, const Traced* inputs);
  template <std::uint16_t Inputs, std::uint16_t Results>
  void end(std::uint32_t call, Traced* results);
  [[nodiscard]] bool opens(std::string_view law) const;
  [[nodiscard]] bool any_open() const { return !open_.empty(); }
  [[nodiscard]] std::uint64_t add_node(TraceOp op, double value, const Traced& a);
  [[nodiscard]] std::uint64_t add_node(TraceOp op, double value, const Traced& a, const Traced& b);
  [[nodiscard]] std::uint64_t add_node(TraceOp op, double value, const Traced& a, const Traced& b, const Traced& c);
  [[nodiscard]] std::uint64_t add_leaf(TraceOp op, double value, std::uint64_t source);
  void name_node(std::uint64_t id, std::string_view name);

  std::uint32_t parent = 0;     ///< header of the call that is running
  bool inside_open = false;     ///< the running call is of an opened law

 private:
  void grow(std::size_t need);
  std::uint32_t operand(const Traced& x);
  std::uint64_t push(TraceOp op, double value, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0);

  // Both logs are all allocated, and `size_` and `node_count_` of them used. Cell 0 stays empty: id 0 is "no source".
  std::vector<Cell> cells_;
  std::size_t size_ = 1;
  std::vector<TraceNode> nodes_;
  std::size_t node_count_ = 0;
  std::vector<TraceName> names_;
  std::vector<std::string> open_;
};

namespace detail {
#if defined(__ELF__) && defined(__GNUC__)
#define MLSYSIM_TLS_FAST __attribute__((tls_model("initial-exec")))
#else
#define MLSYSIM_TLS_FAST
#endif
/// Trace of this thread, or null; set only by TraceScope.
extern MLSYSIM_TLS_FAST constinit thread_local Trace* current_trace;
}  // namespace detail

/// Records into `trace` what this thread computes with Traced, while it lives. Scopes nest.
class TraceScope {
 public:
  explicit TraceScope(Trace& trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* before_;
};

/// Outcome of a comparison, with its node inside an opened law.
struct TracedCondition : detail::NoBranch {
  bool value = false;
  std::uint64_t id = 0;

  constexpr TracedCondition(bool v, std::uint64_t node) : value(v), id(node) {}
  friend TracedCondition operator&&(const TracedCondition& a, const TracedCondition& b) {
    return combine(TraceOp::both, a.value && b.value, a, b);
  }
  friend TracedCondition operator||(const TracedCondition& a, const TracedCondition& b) {
    return combine(TraceOp::either, a.value || b.value, a, b);
  }
  friend TracedCondition operator!(const TracedCondition& a) {
    return {!a.value, (a.id & Trace::kNode) == 0 ? 0 : make(TraceOp::negation, !a.value, a, a, 1)};
  }
  friend TracedCondition operator&(const TracedCondition& a, const TracedCondition& b) { return a && b; }
  friend TracedCondition operator|(const TracedCondition& a, const TracedCondition& b) { return a || b; }

  friend Traced select(const TracedCondition& c, const Traced& a, const Traced& b);
  friend Traced select(const TracedCondition& c, double a, double b);

 private:
  static TracedCondition combine(TraceOp op, bool value, const TracedCondition& a, const TracedCondition& b) {
    if (((a.id | b.id) & Trace::kNode) == 0) return {value, 0};
    return {value, make(op, value, a, b, 2)};
  }
  static std::uint64_t make(TraceOp op, bool value, const TracedCondition& a, const TracedCondition& b, int operands);
};

/// A value with the id of what produced it: a cell of the log, a node of an opened law, or 0 for anything else.
struct Traced {
  double value = 0.0;
  std::uint64_t id = 0;

  constexpr Traced() = default;
  constexpr Traced(double x) : value(x) {}  // NOLINT(google-explicit-constructor)
  constexpr Traced(double x, std::uint64_t source) : value(x), id(source) {}

  friend Traced operator+(const Traced& a, const Traced& b) { return make(TraceOp::add, a.value + b.value, a, b); }
  friend Traced operator-(const Traced& a, const Traced& b) { return make(TraceOp::subtract, a.value - b.value, a, b); }
  friend Traced operator*(const Traced& a, const Traced& b) { return make(TraceOp::multiply, a.value * b.value, a, b); }
  friend Traced operator/(const Traced& a, const Traced& b) { return make(TraceOp::divide, a.value / b.value, a, b); }
  friend Traced operator-(const Traced& a) { return make(TraceOp::negate, -a.value, a); }
  friend Traced operator+(const Traced& a) { return a; }
  Traced& operator+=(const Traced& o) { return *this = *this + o; }
  Traced& operator-=(const Traced& o) { return *this = *this - o; }
  Traced& operator*=(const Traced& o) { return *this = *this * o; }
  Traced& operator/=(const Traced& o) { return *this = *this / o; }

#define MLSYSIM_COMPARE(OP, NAME)                                               \
  friend TracedCondition operator OP(const Traced& a, const Traced& b) {        \
    return {a.value OP b.value, tagged(a, b) ? note(TraceOp::NAME, a.value OP b.value ? 1.0 : 0.0, a, b) : 0}; \
  }
  MLSYSIM_COMPARE(<, less)
  MLSYSIM_COMPARE(>, greater)
  MLSYSIM_COMPARE(<=, less_equal)
  MLSYSIM_COMPARE(>=, greater_equal)
  MLSYSIM_COMPARE(==, equal)
  MLSYSIM_COMPARE(!=, not_equal)
#undef MLSYSIM_COMPARE

  // Outside opened laws the chosen value keeps its source: the smaller of two results is one of them.
  friend Traced min(const Traced& a, const Traced& b) {
    const bool second = b.value < a.value;
    const Traced r(second ? b.value : a.value, second ? b.id : a.id);
    if (tagged(a, b)) [[unlikely]] return {r.value, note(TraceOp::min, r.value, a, b)};
    return r;
  }
  friend Traced max(const Traced& a, const Traced& b) {
    const bool second = a.value < b.value;
    const Traced r(second ? b.value : a.value, second ? b.id : a.id);
    if (tagged(a, b)) [[unlikely]] return {r.value, note(TraceOp::max, r.value, a, b)};
    return r;
  }
  friend Traced clamp(const Traced& x, const Traced& low, const Traced& high) { return min(max(x, low), high); }
  friend Traced select(bool condition, const Traced& a, const Traced& b) { return condition ? a : b; }
  friend Traced abs(const Traced& a) { return make(TraceOp::abs, std::fabs(a.value), a); }
  friend Traced ceil(const Traced& a) { return make(TraceOp::ceil, std::ceil(a.value), a); }
  friend Traced floor(const Traced& a) { return make(TraceOp::floor, std::floor(a.value), a); }
  friend Traced ceil_div(const Traced& count, const Traced& size) { return ceil(count / size); }
  friend Traced sqrt(const Traced& a) { return make(TraceOp::sqrt, std::sqrt(a.value), a); }
  friend Traced pow(const Traced& x, const Traced& y) { return make(TraceOp::pow, std::pow(x.value, y.value), x, y); }
  friend Traced log(const Traced& a) { return make(TraceOp::log, std::log(a.value), a); }
  friend Traced log2(const Traced& a) { return make(TraceOp::log2, std::log2(a.value), a); }
  friend Traced exp(const Traced& a) { return make(TraceOp::exp, std::exp(a.value), a); }
  /// Names an intermediate in the derivation of an opened law. The text must outlive the trace: use a literal.
  friend Traced named(std::string_view name, const Traced& x) {
    if ((x.id & Trace::kNode) != 0 && detail::current_trace != nullptr) detail::current_trace->name_node(x.id, name);
    return x;
  }
  friend Traced select(const TracedCondition& c, const Traced& a, const Traced& b) {
    if (((a.id | b.id | c.id) & Trace::kNode) != 0) [[unlikely]] return choose(c, a, b);
    return {c.value ? a.value : b.value, c.value ? a.id : b.id};
  }

 private:
  static bool tagged(const Traced& a, const Traced& b) { return ((a.id | b.id) & Trace::kNode) != 0; }
  static Traced make(TraceOp op, double value, const Traced& a, const Traced& b) {
    if (tagged(a, b)) [[unlikely]] return {value, note(op, value, a, b)};
    return {value};
  }
  static Traced make(TraceOp op, double value, const Traced& a) {
    if ((a.id & Trace::kNode) != 0) [[unlikely]] return {value, note(op, value, a)};
    return {value};
  }
  static std::uint64_t note(TraceOp op, double value, const Traced& a, const Traced& b);
  static std::uint64_t note(TraceOp op, double value, const Traced& a);
  static Traced choose(const TracedCondition& c, const Traced& a, const Traced& b);
};
static_assert(sizeof(Traced) == sizeof(Trace::Cell));

template <std::uint16_t Inputs, std::uint16_t Results>
inline std::uint32_t Trace::begin(const LawShape* law, const Traced* inputs) {
  constexpr std::size_t need = 1u + Inputs + Results;
  if (size_ + need > cells_.size()) grow(need);
  const std::size_t at = size_;
  Cell* const c = cells_.data() + at;
  c[0].first = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(law));
  c[0].second = std::uint64_t{parent} << 32 | std::uint64_t{Inputs} << 16 | Results;
  for (std::size_t i = 0; i < Inputs; ++i) c[1 + i] = {std::bit_cast<std::uint64_t>(inputs[i].value), inputs[i].id};
  // Results stay zero if the law throws.
  for (std::size_t i = 0; i < Results; ++i) c[1 + Inputs + i] = {};
  size_ += need;
  return static_cast<std::uint32_t>(at);
}
template <std::uint16_t Inputs, std::uint16_t Results>
inline void Trace::end(std::uint32_t call, Traced* results) {
  Cell* const c = cells_.data() + call + 1 + Inputs;
  for (std::uint32_t i = 0; i < Results; ++i) {
    c[i] = {std::bit_cast<std::uint64_t>(results[i].value), results[i].id};
    results[i].id = call + 1 + Inputs + i;
  }
}

inline Traced select(const TracedCondition& c, double a, double b) { return select(c, Traced(a), Traced(b)); }

template <>
inline constexpr bool is_scalar_v<Traced> = true;

namespace detail {
template <>
struct LoopTraits<Traced> : LoopTraits<double> {
  [[nodiscard]] static constexpr double upper(const Traced& count) { return count.value; }
  template <class S>
  static constexpr void mark_steps(S&, const Traced&) {}
};
}  // namespace detail

// Completed in tools/trace.hpp, which knows field tables; without it a traced law call does not compile.
template <class T>
struct LawObserver;
template <>
struct LawObserver<Traced>;

}  // namespace mlsysim
