#pragma once
/// The search that an Optimizer receives: it evaluates candidates, counts them, reports progress, can be
/// cancelled.
///
/// Candidates are any range of objects or pointers, or a `Grid`. They are visited in order, and of equal ones
/// the earlier wins, so equal inputs give equal answers.
/// Example: `search.minimize(sizes, score)` over 1 to 6 with the constraints x >= 3 ("low") and x <= 4 finds
/// 3. Its summary names "low" as binding.

#include <mlsysim/resolver_api/non_dominated.hpp>
#include <mlsysim/resolver_api/tally.hpp>
#include <mlsysim/resolver_api/tier_scope.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace mlsysim {

/// Asks a running search to stop; may be set from another thread.
class CancelToken {
 public:
  void cancel() { requested_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool requested() const { return requested_.load(std::memory_order_relaxed); }
  /// Flag of the request, for searches that look at it themselves.
  [[nodiscard]] const std::atomic<bool>& flag() const { return requested_; }

 private:
  std::atomic<bool> requested_{false};
};

/// Progress of a search.
struct SearchProgress {
  std::size_t searched = 0;
  std::size_t feasible = 0;
  double best_objective = 0;  ///< base unit; infinite while nothing is feasible
};

/// Cancellation and progress reports for the search of an optimizer.
struct SearchOptions {
  const CancelToken* cancel = nullptr;
  std::function<void(const SearchProgress&)> progress{};
  std::size_t progress_every = 1024;  ///< candidates between two reports
};

/// Anything that a range-for loop runs over. (<ranges> alone would cost every user a quarter of a second.)
template <class C>
concept CandidateRange = requires(C& c) {
  std::begin(c) != std::end(c);
  *std::begin(c);
};

/// The best candidate, when there is one, and the summary in either case.
template <class Item> class [[nodiscard]] Found {
 public:
  SearchSummary summary;

  [[nodiscard]] explicit operator bool() const { return at_ != nullptr || own_.has_value(); }
  /// The candidate. Call only when there is one.
  [[nodiscard]] const Item& operator*() const { return at_ != nullptr ? *at_ : *own_; }
  [[nodiscard]] const Item* operator->() const { return &**this; }

 private:
  friend class Search;
  explicit Found(SearchSummary s) : summary(std::move(s)) {}
  const Item* at_ = nullptr;  // a candidate that lives elsewhere
  std::optional<Item> own_;   // a candidate that the range made up
};

/// The candidates that no other beats in every objective, in order of their index.
template <class Item> struct [[nodiscard]] Front {
  struct Point {
    Item item;
    std::vector<double> objectives;  ///< base units
  };
  std::vector<Point> points;
  SearchSummary summary;
};

namespace detail {
/// The object behind a candidate: pointers are followed.
template <class T> const auto& candidate(const T& item) {
  if constexpr (std::is_pointer_v<T> || requires {
                  item.get();
                  *item;
                })
    return *item;
  else
    return item;
}
template <class T> using candidate_t = std::remove_cvref_t<decltype(candidate(std::declval<const T&>()))>;
template <class C> using element_ref_t = decltype(*std::begin(std::declval<C&>()));
template <class C> inline constexpr bool is_span_v = false;
template <class T, std::size_t N> inline constexpr bool is_span_v<std::span<T, N>> = true;
/// True where the range yields references to objects that outlive the call.
template <class C, class T>
inline constexpr bool lives_on_v = std::is_pointer_v<T> ||
                                   (std::is_lvalue_reference_v<element_ref_t<C>> &&
                                    (std::is_lvalue_reference_v<C> || is_span_v<std::remove_cvref_t<C>>));

[[nodiscard]] std::string index_name(std::size_t index);
[[nodiscard]] std::string number_name(double number);
[[nodiscard]] std::string point_name(std::span<const FieldInfo> fields, const void* point);

template <class Item> std::string candidate_name(const void* raw, std::size_t index) {
  const auto& item = *static_cast<const Item*>(raw);
  if constexpr (requires { std::string(item.name); })
    return std::string(item.name);
  else if constexpr (std::is_convertible_v<const Item&, std::string>)
    return item;
  else if constexpr (std::is_arithmetic_v<Item>)
    return number_name(static_cast<double>(item));
  else if constexpr (HasFields<Item>)
    return point_name(describe<Item>(), raw);
  else
    return index_name(index);
}
void add_candidate(Error& error, const Namer& name);
void check_objectives(const InlineList<Objective, 4>& objectives, std::size_t expected);
}  // namespace detail

/// Evaluates candidates for an Optimizer and keeps count.
class Search {
 public:
  /// @throws SolverError inside a Model or a Solver
  explicit Search(SearchOptions options = {}) : options_(std::move(options)) {
    detail::refuse_search_in_lower_tier();
  }

  /// The candidate with the smallest objective among those that meet every constraint.
  /// @param candidates range of objects or pointers, or a Grid
  /// @param score      called with each candidate, returns a Score
  template <CandidateRange C, class F> auto minimize(C&& candidates, F&& score) {
    return best<C>(candidates, score, detail::Aim::minimize);
  }
  /// The candidate with the largest objective among those that meet every constraint.
  template <CandidateRange C, class F> auto maximize(C&& candidates, F&& score) {
    return best<C>(candidates, score, detail::Aim::maximize);
  }
  /// The candidates that meet every constraint and that no other beats; every objective is made small.
  /// @param score called with each candidate, returns a ParetoScore
  template <CandidateRange C, class F> auto pareto(C&& candidates, F&& score);

  /// The summary of the last search, or null before the first.
  [[nodiscard]] const SearchSummary* last() const { return last_ ? &*last_ : nullptr; }

 private:
  template <class C, class F> auto best(C& candidates, F& score, detail::Aim aim);
  template <class S, class C, class F, class Keep>
  void visit(C& candidates, F& score, detail::Tally& tally, Keep&& keep);
  void report(const detail::Tally& tally) const;

  SearchOptions options_;
  std::optional<SearchSummary> last_;
};

template <class S, class C, class F, class Keep>
void Search::visit(C& candidates, F& score, detail::Tally& tally, Keep&& keep) {
  std::size_t index = 0;
  for (auto&& element : candidates) {
    if (options_.cancel != nullptr && options_.cancel->requested()) {
      tally.cancel();
      break;
    }
    const auto& item = detail::candidate(element);
    using Item = std::remove_cvref_t<decltype(item)>;
    static_assert(
        std::is_invocable_r_v<S, F&, const Item&>,
        "the score of a candidate is a function from const Candidate& to Score (ParetoScore for pareto)");
    const detail::Namer name{&item, index, &detail::candidate_name<Item>};
    try {
      const S s = score(item);
      keep(s, item, index, tally.count(s, name));
    } catch (Error& error) {
      detail::add_candidate(error, name);
      throw;
    }
    ++index;
    if (options_.progress && index % options_.progress_every == 0) report(tally);
  }
  if (options_.progress) report(tally);
}

template <class C, class F> auto Search::best(C& candidates, F& score, detail::Aim aim) {
  using Element = std::remove_cvref_t<detail::element_ref_t<C>>;
  using Item = detail::candidate_t<Element>;
  detail::Tally tally(aim);
  Found<Item> found{SearchSummary()};
  visit<Score>(candidates, score, tally, [&](const Score&, const Item& item, std::size_t, bool is_best) {
    if (!is_best) return;
    if constexpr (detail::lives_on_v<C, Element>)
      found.at_ = &item;
    else
      found.own_.emplace(item);
  });
  found.summary = tally.summary();
  last_ = found.summary;
  return found;
}

template <CandidateRange C, class F> auto Search::pareto(C&& candidates, F&& score) {
  using Element = std::remove_cvref_t<detail::element_ref_t<C>>;
  using Item = detail::candidate_t<Element>;
  constexpr bool lives_on = detail::lives_on_v<C, Element>;
  using Kept = std::conditional_t<lives_on, const Item*, Item>;
  detail::Tally tally(detail::Aim::minimize);
  Front<Kept> front{{}, SearchSummary()};
  NonDominated kept;
  std::vector<std::pair<std::size_t, Kept>> items;  // by index; those that are beaten go now and then
  const auto reduce = [&](const std::vector<NonDominated::Entry>& entries) {
    std::vector<bool> on_front(items.empty() ? 0 : items.back().first + 1);
    for (const auto& e : entries) on_front[e.index] = true;
    std::erase_if(items, [&](const auto& i) { return !on_front[i.first]; });
  };
  std::vector<double> numbers;
  visit<ParetoScore>(candidates, score, tally,
                     [&](const ParetoScore& s, const Item& item, std::size_t index, bool feasible) {
                       if (!feasible) return;
                       detail::check_objectives(s.objectives,
                                                numbers.empty() ? s.objectives.size() : numbers.size());
                       numbers.resize(s.objectives.size());
                       for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = s.objectives[i].base;
                       if (!kept.add(numbers, index)) return;
                       if constexpr (lives_on)
                         items.emplace_back(index, &item);
                       else
                         items.emplace_back(index, item);
                       if (items.size() > 1024 + 4 * kept.held()) reduce(kept.entries());
                     });
  auto entries = kept.entries();
  reduce(entries);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (std::size_t i = 0; i < entries.size(); ++i)
    front.points.push_back({std::move(items[i].second), std::move(entries[i].values)});
  front.summary = tally.summary();
  last_ = front.summary;
  return front;
}

}  // namespace mlsysim
