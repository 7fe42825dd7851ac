#pragma once
// Counts the requests of a file while it is read. Memory does not grow with the number of requests.

#include "request_trace/detail/histogram.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace mlsysim::detail {

/// Blocks that were seen before. Of more than a million only a share is followed, chosen by a hash of the
/// block, so that every visit of a followed block is seen (Waldspurger et al., SHARDS, FAST 2015,
/// section 3.2).
class SeenBlocks {
 public:
  /// Whether the block was there before; none where it is not followed.
  [[nodiscard]] std::optional<bool> visit(std::uint64_t block);
  [[nodiscard]] double sampled() const;
  /// The share of visits to followed blocks that found the block there.
  [[nodiscard]] double found_share() const { return visits_ > 0 ? found_ / visits_ : 0; }

 private:
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t below_ = ~std::uint64_t{0};  // of the hashes that are followed
  double visits_ = 0, found_ = 0;
};

/// One request as a file states it.
struct StatedRequest {
  std::uint64_t prompt = 0;
  std::optional<std::uint64_t> answer{};
  std::optional<std::int64_t> time{};  ///< in ticks of the format
  std::span<const std::uint64_t> blocks{};
};

/// Those of a file.
class RequestTally {
 public:
  /// @param tick of its times [s]
  RequestTally(double tick, double block_tokens) : tick_(tick), block_(block_tokens) {}
  void set_tick(double tick) { tick_ = tick; }
  void add(const StatedRequest& request);
  [[nodiscard]] std::uint64_t requests() const { return prompt_.count(); }
  /// Fills in what was counted.
  void finish(RecordedTraffic& out) const;

 private:
  void add_time(std::int64_t time);
  void add_blocks(const StatedRequest& request);
  [[nodiscard]] std::optional<Arrivals> arrivals(std::vector<std::string>& notes) const;
  [[nodiscard]] std::optional<SharedPrefixes> prefixes() const;

  double tick_, block_;
  NumberHistogram prompt_, answer_, total_, gaps_, found_;
  std::uint64_t times_ = 0, out_of_order_ = 0, together_ = 0;
  std::int64_t first_ = 0, last_ = 0, previous_ = 0;
  std::uint64_t minute_ = 0, in_minute_ = 0, most_in_minute_ = 0;
  SeenBlocks seen_;
  double tokens_ = 0, found_tokens_ = 0;
  std::uint64_t with_blocks_ = 0, short_of_blocks_ = 0;
};

}  // namespace mlsysim::detail
