#pragma once
/// Makes the run-time entry of a law or of a resolver.
///
/// The law is instantiated over double and over `Recorded` at once, so a mistake fails to compile. Its tape
/// is recorded at first use.
/// Example: after `register_law<Roofline>(laws)`, `laws.at("Roofline")` has 4 inputs and 3 results.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/tape/registry.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace mlsysim {
namespace detail {

/// A law on arrays of doubles.
template <class L> void call_law(const void*, const double* in, double* out) {
  typename L::template Inputs<double> inputs{};
  write_leaves(inputs, [&](std::size_t i) { return in[i]; });
  read_leaves(L::template solve<double>(inputs), [&](std::size_t i, double x) { out[i] = x; });
}
/// Its one tape, recorded at first use.
template <class L> const Tape& tape_of_law(const void*) {
  static const Tape tape = record_law<L>();
  return tape;
}

/// Fields that hold numbers, which tools can vary. Flags count as 0 and 1.
[[nodiscard]] std::vector<FieldInfo> numeric_fields(std::span<const FieldInfo> fields);
[[nodiscard]] double read_number(const FieldInfo& field, const void* object);
void write_number(const FieldInfo& field, void* object, double base);

template <class R> struct PlainState {
  R resolver;
  typename R::Inputs base;
  std::vector<FieldInfo> inputs, results;

  void run(const double* in, double* out) const {
    auto given = base;
    for (std::size_t i = 0; i < inputs.size(); ++i) write_number(inputs[i], &given, in[i]);
    const auto result = resolver.solve(given);
    for (std::size_t i = 0; i < results.size(); ++i) out[i] = read_number(results[i], &result);
  }
};

}  // namespace detail

/// The entry of a law.
template <Law L> [[nodiscard]] LawEntry make_entry() {
  const auto inputs = describe<typename L::template Inputs<double>>();
  const auto results = describe<typename L::template Result<double>>();
  LawEntry e;
  e.info = L::info;
  e.inputs.assign(inputs.begin(), inputs.end());
  e.results.assign(results.begin(), results.end());
  e.evaluate = &detail::call_law<L>;
  e.recorded = &detail::tape_of_law<L>;
  return e;
}

/// The one entry of a law, made at first use.
template <Law L> [[nodiscard]] const LawEntry& entry_of() {
  static const LawEntry entry = make_entry<L>();
  return entry;
}

/// An entry for a resolver that is not a law. Its tools use scalar loops and finite differences, and their
/// `Method` says so.
///
/// Its inputs are the numeric fields of `R::Inputs`. Everything else stays as in `base`.
/// @param info texts for reports; `id` names the entry
template <class R>
  requires requires(const R& r, const typename R::Inputs& in) { r.solve(in); }
[[nodiscard]] LawEntry plain_entry(R resolver, typename R::Inputs base, LawInfo info) {
  using Result = std::remove_cvref_t<decltype(resolver.solve(base))>;
  using State = detail::PlainState<R>;
  auto state = std::make_shared<State>(State{std::move(resolver), std::move(base),
                                             detail::numeric_fields(describe<typename R::Inputs>()),
                                             detail::numeric_fields(describe<Result>())});
  LawEntry e;
  e.info = info;
  e.inputs = state->inputs;
  e.results = state->results;
  e.self = state;
  e.evaluate = [](const void* self, const double* in, double* out) {
    static_cast<const State*>(self)->run(in, out);
  };
  return e;
}

/// Adds a law to a registry.
template <Law L> void register_law(LawRegistry& laws) { laws.add(entry_of<L>()); }

}  // namespace mlsysim
