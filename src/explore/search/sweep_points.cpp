#include "explore/search/search.hpp"
#include "explore/search/threads.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>

namespace mlsysim::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kEpoch = 0.25;       // seconds between looks at progress and cancellation
constexpr double kCheckpoint = 10.0;  // seconds between checkpoints
constexpr std::uint64_t kFastChunk = 1 << 16, kSlowChunk = 1 << 10;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// One thread's share of the work.
struct Worker {
  PointKernel kernel;
  Reduction reduction;
  std::uint64_t bound = static_cast<std::uint64_t>(-1);
  std::string reason;

  Worker(const Space& space, const Question& question, std::size_t constraints)
      : kernel(space, question), reduction(question, constraints) {}

  void run(const Space& space, std::uint64_t first, std::uint64_t last) {
    while (first < last) {
      const std::uint64_t outer = first / space.inner(), at = first % space.inner();
      if (outer != bound) {
        reason = kernel.bind(outer);
        bound = outer;
      }
      const std::uint64_t end = std::min(last - first, space.inner() - at);
      if (!reason.empty()) {
        reduction.skip(reason, static_cast<double>(end));
      } else {
        for (std::uint64_t done = 0; done < end;) {
          const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(PointKernel::kBlock, end - done));
          kernel.run(at + done, n);
          reduction.add(kernel, first + done);
          done += n;
        }
      }
      first += end;
    }
  }
};

}  // namespace

SearchResult sweep_points(const Space& space, const Question& question, const ExploreOptions& options,
                          PointRange range, std::uint64_t from, Reduction start) {
  const auto began = Clock::now();
  const std::size_t constraints = start.misses.size();
  SearchResult out{.reduction = std::move(start), .range = range, .next = from};
  const std::uint64_t chunk = space.sample().entry.is_law() ? kFastChunk : kSlowChunk;
  const unsigned threads = threads_for(space, options, (range.last - from + chunk - 1) / chunk + 1);
  out.threads = threads;
  std::vector<Worker> workers;
  workers.reserve(threads);
  for (unsigned t = 0; t < threads; ++t) workers.emplace_back(space, question, constraints);
  const std::string digest = options.checkpoint ? digest_of(space, question) : std::string();
  auto saved = Clock::now() - std::chrono::seconds(static_cast<int>(kCheckpoint));  // the first one soon
  while (out.next < range.last && out.complete) {
    const std::uint64_t base = out.next;
    std::atomic<std::uint64_t> taken{0};
    const auto epoch = Clock::now();
    on_threads(threads, [&](unsigned t) {
      // One chunk at least: where the clock leaps, as after a sleep of the machine, it would come to no end.
      for (bool begun = false; !begun || seconds_since(epoch) < kEpoch; begun = true) {
        if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) break;
        const std::uint64_t mine = base + taken.fetch_add(1) * chunk;
        if (mine >= range.last) break;
        workers[t].run(space, mine, std::min(range.last, mine + chunk));
      }
    });
    for (auto& w : workers) {
      out.reduction.merge(w.reduction);
      w.reduction = Reduction(question, constraints);
    }
    out.next = std::min(range.last, base + taken.load() * chunk);
    if (options.cancel != nullptr && options.cancel->load()) out.complete = out.next >= range.last;
    if (options.progress) {
      const double done = static_cast<double>(out.next - range.first),
                   total = static_cast<double>(range.last - range.first);
      const double rate = static_cast<double>(out.next - from) / std::max(1e-9, seconds_since(began));
      options.progress({done, total, rate, (total - done) / std::max(rate, 1e-300)});
    }
    if (options.checkpoint &&
        (seconds_since(saved) > kCheckpoint || out.next >= range.last || !out.complete)) {
      options.checkpoint(state_text(out, digest, options.shard, options.shards));
      saved = Clock::now();
    }
  }
  out.seconds = seconds_since(began);
  return out;
}

namespace {

/// Hands points over block by block; keeps the subject that it has bound.
class Visitor {
 public:
  Visitor(const Space& space, const Question& question)
      : space_(space), kernel_(space, question), feasible_(PointKernel::kBlock) {}

  template <class Take> void visit(std::uint64_t first, std::uint64_t last, const Take& take) {
    while (first < last) {
      const std::uint64_t outer = first / space_.inner(), at = first % space_.inner();
      if (outer != bound_) {
        reason_ = kernel_.bind(outer);
        bound_ = outer;
      }
      const auto n = static_cast<std::size_t>(
          std::min({last - first, space_.inner() - at, static_cast<std::uint64_t>(PointKernel::kBlock)}));
      shown_.clear();
      if (reason_.empty()) {
        kernel_.run(at, n);
        for (std::size_t k = 0; k < kernel_.compiled().show.size(); ++k) shown_.push_back(kernel_.shown(k));
        const auto* misses = kernel_.misses();
        for (std::size_t p = 0; p < n; ++p) feasible_[p] = misses[p] == 0 ? 1 : 0;
      } else {
        std::fill_n(feasible_.begin(), n, std::uint8_t{0});
      }
      take(RowBlock{first, n, shown_, std::span(feasible_).first(n), reason_});
      first += n;
    }
  }

 private:
  const Space& space_;
  PointKernel kernel_;
  std::uint64_t bound_ = static_cast<std::uint64_t>(-1);
  std::string reason_;
  std::vector<const double*> shown_;
  std::vector<std::uint8_t> feasible_;
};

}  // namespace

}  // namespace mlsysim::detail

namespace mlsysim {

PointRange shard_range(std::uint64_t points, std::uint64_t shard, std::uint64_t shards) {
  if (shards < 1 || shard < 1 || shard > shards)
    throw InputError({.id = "mlsysim.explore.053",
                      .message = "there is no such shard",
                      .found = fmt::format("{}/{}", shard, shards),
                      .expected = "k/n with 1 <= k <= n"});
  const auto part = [&](std::uint64_t k) {
    return points / shards * k + points % shards * k / shards;  // no product beyond 64 bits
  };
  return {part(shard - 1), part(shard)};
}

void visit_points(const Space& space, const Question& question, std::uint64_t first, std::uint64_t last,
                  const std::function<void(const RowBlock&)>& take) {
  (void)detail::Compiled(question, space.sample().entry);  // what does not read is refused, not skipped
  detail::Visitor(space, question).visit(first, std::min(last, space.size()), take);
}

void write_points(const Space& space, const Question& question, PointRange range, unsigned threads,
                  const std::function<void(const RowBlock&, std::string& text)>& append,
                  const std::function<void(std::uint64_t next, std::string_view text)>& take) {
  constexpr std::uint64_t many = 1 << 10, few = 1 << 6;  // points of a piece: of laws, of resolvers
  const LawEntry& entry = space.sample().entry;
  (void)detail::Compiled(question, entry);
  const std::uint64_t piece = entry.is_law() ? many : few;
  const std::uint64_t last = std::min(range.last, space.size());
  std::vector<detail::Visitor> visitors;
  const unsigned most = detail::threads_for(space, {.threads = threads}, (last - range.first) / piece + 1);
  for (unsigned t = 0; t < most; ++t) visitors.emplace_back(space, question);
  std::vector<std::string> texts(most);
  for (std::uint64_t next = range.first; next < last; next = std::min(last, next + most * piece)) {
    const auto end_of = [&](unsigned t) { return std::min(last, next + (t + 1) * piece); };
    detail::on_threads(most, [&](unsigned t) {
      texts[t].clear();
      visitors[t].visit(std::min(last, next + t * piece), end_of(t),
                        [&](const RowBlock& block) { append(block, texts[t]); });
    });
    for (unsigned t = 0; t < most && !texts[t].empty(); ++t) take(end_of(t), texts[t]);
  }
}

}  // namespace mlsysim
