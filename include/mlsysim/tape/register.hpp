#pragma once
/// Turns a law into an entry: instantiates every scalar at once, so that a mistake shows immediately.
///
/// This header is heavy (all scalars); include it where laws are registered, not where entries are used.

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/kernel.hpp>
#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/tape/registry.hpp>
#include <mlsysim/tape/trace.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace mlsysim {
namespace detail {

/// A law on arrays of one scalar.
template <class L, class T>
void call_law(const void*, const T* in, T* out) {
  typename L::template Inputs<T> inputs{};
  write_leaves(inputs, [&](std::size_t i) -> const T& { return in[i]; });
  read_leaves(apply<L, T>(inputs), [&](std::size_t i, const T& x) { out[i] = x; });
}

/// Fields that hold numbers (flags count as 0 and 1), which is what tools can vary.
[[nodiscard]] std::vector<FieldInfo> numeric_fields(std::span<const FieldInfo> fields);
[[nodiscard]] double read_number(const FieldInfo& field, const void* object);
void write_number(const FieldInfo& field, void* object, double base);

template <class R>
struct PlainState {
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

/// The entry of a law, over double, Batch, Dual, Interval and Traced.
template <Law L>
[[nodiscard]] LawEntry make_entry() {
  const auto inputs = describe<typename L::template Inputs<double>>();
  const auto results = describe<typename L::template Result<double>>();
  LawEntry e;
  e.info = L::info;
  e.inputs.assign(inputs.begin(), inputs.end());
  e.results.assign(results.begin(), results.end());
  e.is_law = true;
  e.evaluate = &detail::call_law<L, double>;
  e.batch = &detail::batch_kernel<L>;
  e.dual = &detail::call_law<L, Dual<8>>;
  e.interval = &detail::call_law<L, Interval>;
  e.traced = &detail::call_law<L, Traced>;
  return e;
}

/// The one entry of a law, made at first use.
template <Law L>
[[nodiscard]] const LawEntry& entry_of() {
  static const LawEntry entry = make_entry<L>();
  return entry;
}

/// An entry for a resolver that is not a law: scalar loops and finite differences, and answers that say so.
///
/// Its inputs are the numeric fields of `R::Inputs`; everything else stays as in `base`.
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
  e.evaluate = [](const void* self, const double* in, double* out) { static_cast<const State*>(self)->run(in, out); };
  e.batch = [](const void* self, const double* const* in, double* const* out, std::size_t points) {
    const auto& s = *static_cast<const State*>(self);
    std::vector<double> given(s.inputs.size()), found(s.results.size());
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = in[i][p];
      s.run(given.data(), found.data());
      for (std::size_t i = 0; i < found.size(); ++i) out[i][p] = found[i];
    }
  };
  return e;
}

/// Adds a law to a registry.
template <Law L>
void register_law(LawRegistry& laws) {
  laws.add(entry_of<L>());
}

}  // namespace mlsysim
