#pragma once
/// Records law calls: completes the traced scalar with what only field tables know.

#include <mlsysim/scalars/traced.hpp>
#include <mlsysim/table/describe.hpp>
#include <mlsysim/table/law.hpp>
#include <mlsysim/tape/leaves.hpp>

#include <cstdint>
#include <limits>

namespace mlsysim {

/// What a record needs to be read again: texts and fields of its law.
struct LawShape {
  const LawInfo* info;
  std::span<const FieldInfo> (*inputs)();
  std::span<const FieldInfo> (*results)();
};

namespace detail {

template <class L>
inline constexpr LawShape law_shape{&L::info, &describe<typename L::template Inputs<double>>,
                                    &describe<typename L::template Result<double>>};

/// Puts back which call was running, also when a law throws.
class RunningCall {
 public:
  RunningCall(Trace& trace, std::uint32_t call, bool open)
      : trace_(trace), parent_(trace.parent), inside_open_(trace.inside_open) {
    trace.parent = call;
    trace.inside_open = open;
  }
  ~RunningCall() {
    trace_.parent = parent_;
    trace_.inside_open = inside_open_;
  }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  [[nodiscard]] bool enclosing_open() const { return inside_open_; }

 private:
  Trace& trace_;
  std::uint32_t parent_;
  bool inside_open_;
};

}  // namespace detail

template <>
struct LawObserver<Traced> {
  static constexpr bool active = true;

  template <class L>
  [[nodiscard]] static typename L::template Result<Traced> call(const typename L::template Inputs<Traced>& in) {
    using Inputs = typename L::template Inputs<Traced>;
    using Result = typename L::template Result<Traced>;
    constexpr auto n_in = static_cast<std::uint16_t>(leaf_count<Inputs>);
    constexpr auto n_out = static_cast<std::uint16_t>(leaf_count<Result>);
    static_assert(sizeof(Inputs) == n_in * sizeof(Traced) && sizeof(Result) == n_out * sizeof(Traced),
                  "a law's inputs and results are numbers and quantities only, so that a record is one copy");
    Trace* const trace = detail::current_trace;
    if (trace == nullptr) return L::template solve<Traced>(in);
    const std::uint32_t at =
        trace->begin<n_in, n_out>(&detail::law_shape<L>, reinterpret_cast<const Traced*>(&in));
    if (trace->any_open()) return call_open<L>(*trace, at, in);
    const detail::RunningCall running(*trace, at, false);
    // Inside, inputs are known as this record's, so that calls inside can tell what was handed on to them.
    Inputs own = in;
    for (std::uint32_t i = 0; i < n_in; ++i) reinterpret_cast<Traced*>(&own)[i].id = at + 1 + i;
    Result result = L::template solve<Traced>(own);
    trace->end<n_in, n_out>(at, reinterpret_cast<Traced*>(&result));
    return result;
  }

 private:
  /// The slow way, while some law is open: values change between nodes inside and cells outside.
  template <class L>
  static typename L::template Result<Traced> call_open(Trace& trace, std::uint32_t at,
                                                       typename L::template Inputs<Traced> in) {
    using Inputs = typename L::template Inputs<Traced>;
    using Result = typename L::template Result<Traced>;
    constexpr auto n_in = static_cast<std::uint16_t>(leaf_count<Inputs>);
    constexpr auto n_out = static_cast<std::uint16_t>(leaf_count<Result>);
    const bool opened = trace.opens(L::info.id);
    const detail::RunningCall running(trace, at, opened);
    double numbers[n_in];
    read_leaves(in, [&](std::size_t i, const Traced& x) { numbers[i] = x.value; });
    write_leaves(in, [&](std::size_t i) {
      const std::uint64_t cell = at + 1 + i;
      return Traced(numbers[i], opened ? trace.add_leaf(TraceOp::input, numbers[i], cell) : cell);
    });
    Result result = L::template solve<Traced>(in);
    trace.end<n_in, n_out>(at, reinterpret_cast<Traced*>(&result));
    if (running.enclosing_open()) {
      double values[n_out];
      read_leaves(result, [&](std::size_t i, const Traced& x) { values[i] = x.value; });
      write_leaves(result, [&](std::size_t i) {
        const std::uint64_t cell = at + 1 + n_in + i;
        return Traced(values[i], trace.add_leaf(TraceOp::law_result, values[i], cell));
      });
    }
    return result;
  }
};

}  // namespace mlsysim
