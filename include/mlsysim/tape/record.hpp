#pragma once
/// Records a law as a tape: runs it once on `Recorded` inputs and notes each call of a law with its fields.
///
/// Calls whose inputs are all constant are not noted.
/// Example: `record_law<Roofline>()` is a tape of 7 nodes: four inputs, two quotients and their maximum.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/tape/tape.hpp>

#include <array>
#include <cstdint>

namespace mlsysim {

/// Texts and fields of a law, with which a call is shown to a reader.
struct LawShape {
  const LawInfo* info;
  std::span<const FieldInfo> (*inputs_of)(const LawShape&);  ///< of this one: a law may have its own list
  std::span<const FieldInfo> (*results)();

  [[nodiscard]] std::span<const FieldInfo> inputs() const { return inputs_of(*this); }
};

namespace detail {

template <class L>
inline constexpr LawShape law_shape{
    &L::info, [](const LawShape&) { return describe<typename L::template Inputs<double>>(); },
    &describe<typename L::template Result<double>>};

/// The numbers of a table struct over the recording scalar.
template <class S> [[nodiscard]] std::array<Recorded, leaf_count<S>> recorded_leaves(const S& s) {
  std::array<Recorded, leaf_count<S>> out;
  read_leaves(s, [&](std::size_t i, const Recorded& x) { out[i] = x; });
  return out;
}

/// Leaves a call also when a law throws.
class CallScope {
 public:
  CallScope(Recorder& recorder, const LawShape* law, std::span<const Recorded> inputs, std::size_t results)
      : recorder_(recorder), call_(recorder.begin_call(law, inputs, results)) {}
  ~CallScope() { recorder_.leave_call(call_); }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  void end(std::span<const Recorded> results) { recorder_.end_call(call_, results); }

 private:
  Recorder& recorder_;
  std::uint32_t call_;
};

/// `solve(in)` as a call of the law that `shape` describes; `Inputs` and `Result` are table structs over
/// `Recorded`.
template <class Result, class Inputs, class Solve>
[[nodiscard]] Result recorded_call(const LawShape* shape, const Inputs& in, Solve&& solve) {
  Recorder* const recorder = Recorder::current();
  const auto given = recorded_leaves(in);
  bool varies = false;
  for (const Recorded& x : given) varies = varies || !x.is_constant();
  if (recorder == nullptr || !varies) return solve(in);
  CallScope call(*recorder, shape, given, leaf_count<Result>);
  Result result = solve(in);
  call.end(recorded_leaves(result));
  return result;
}

}  // namespace detail

template <> struct LawObserver<Recorded> {
  static constexpr bool active = true;

  template <class L>
  [[nodiscard]] static typename L::template Result<Recorded> call(
      const typename L::template Inputs<Recorded>& in) {
    return detail::recorded_call<typename L::template Result<Recorded>>(
        &detail::law_shape<L>, in, [](const auto& given) { return L::template solve<Recorded>(given); });
  }
};

/// The tape of a law.
template <Law L> [[nodiscard]] Tape record_law() {
  using Inputs = typename L::template Inputs<Recorded>;
  return record_tape(leaf_count<Inputs>, [](std::span<const Recorded> in) {
    Inputs given{};
    write_leaves(given, [&](std::size_t i) { return in[i]; });
    const auto out = detail::recorded_leaves(apply<L, Recorded>(given));
    return std::vector<Recorded>(out.begin(), out.end());
  });
}

}  // namespace mlsysim
