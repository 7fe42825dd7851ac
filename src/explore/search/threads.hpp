#pragma once
// Threads of a search.

#include <mlsysim/explore/search/explore.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace mlsysim::detail {

/// Threads that share so many pieces of work: those asked for, else one a core; one where subjects are not
/// safe on several.
[[nodiscard]] inline unsigned threads_for(const Space& space, const ExploreOptions& options,
                                          std::uint64_t pieces) {
  if (!space.sample().thread_safe) return 1;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(
      std::min<std::uint64_t>(options.threads == 0 ? cores : options.threads, pieces));
}

/// Runs `work(t)` for t below `threads`, the first one here, and throws what the first of them threw.
template <class F> void on_threads(unsigned threads, F&& work) {
  std::vector<std::exception_ptr> failures(threads);
  const auto guarded = [&](unsigned t) {
    try {
      work(t);
    } catch (...) {
      failures[t] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back([&guarded, t] { guarded(t); });
    guarded(0);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace mlsysim::detail
