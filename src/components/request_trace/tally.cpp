#include "request_trace/detail/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kMostBlocks = 1 << 20;
constexpr double kMinute = 60, kTenMinutes = 600;  // [s]

/// The finalizer of SplitMix64: numbers that follow one another become bits without order.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<bool> SeenBlocks::visit(std::uint64_t block) {
  const auto hash = mixed(block);
  if (hash > below_) return std::nullopt;
  const bool before = !seen_.insert(hash).second;
  visits_ += 1;
  found_ += before ? 1 : 0;
  if (seen_.size() > kMostBlocks) {
    below_ >>= 1;
    std::erase_if(seen_, [this](std::uint64_t h) { return h > below_; });
    visits_ /= 2;  // so much of what was counted is followed from here on
    found_ /= 2;
  }
  return before;
}

double SeenBlocks::sampled() const { return std::ldexp(static_cast<double>(below_), -64); }

void RequestTally::add(const StatedRequest& r) {
  prompt_.add(r.prompt);
  if (r.answer) {
    answer_.add(*r.answer);
    total_.add(r.prompt + *r.answer);
  }
  if (r.time) add_time(*r.time);
  if (!r.blocks.empty()) add_blocks(r);
}

void RequestTally::add_time(std::int64_t time) {
  if (times_++ == 0) {
    first_ = last_ = previous_ = time;
    in_minute_ = most_in_minute_ = 1;
    return;
  }
  if (time < previous_)
    ++out_of_order_;
  else
    gaps_.add(static_cast<std::uint64_t>(time - previous_));
  together_ += time == previous_ ? 1 : 0;
  first_ = std::min(first_, time);
  last_ = std::max(last_, time);
  previous_ = time;
  const auto minute = static_cast<std::uint64_t>(static_cast<double>(time - first_) * tick_ / kMinute);
  in_minute_ = minute == minute_ ? in_minute_ + 1 : 1;
  minute_ = minute;
  most_in_minute_ = std::max(most_in_minute_, in_minute_);
}

void RequestTally::add_blocks(const StatedRequest& r) {
  ++with_blocks_;
  double hits = 0;
  bool leading = true;
  for (const auto block : r.blocks) {
    const bool before = seen_.visit(block).value_or(false);
    leading = leading && before;
    hits += leading ? 1 : 0;
  }
  const auto prompt = static_cast<double>(r.prompt);
  const double found = std::min(prompt, hits * block_);
  short_of_blocks_ += static_cast<double>(r.blocks.size()) * block_ < prompt ? 1 : 0;
  tokens_ += prompt;
  found_tokens_ += found;
  if (found > 0) found_.add(static_cast<std::uint64_t>(found));
}

std::optional<Arrivals> RequestTally::arrivals(std::vector<std::string>& notes) const {
  const double span = static_cast<double>(last_ - first_) * tick_;
  if (times_ < 2) return std::nullopt;
  if (!(span > 0)) {
    notes.emplace_back("all requests have the same time: no law of arrivals");
    return std::nullopt;
  }
  const auto requests = static_cast<double>(times_);
  Arrivals out;
  out.rate = (requests - 1) / span * (unit::request / unit::s);
  out.span = span * unit::s;
  out.together = static_cast<double>(together_) / (requests - 1);
  if (out_of_order_ > 0) {
    notes.push_back(fmt::format(
        "{} times are before the one above: the rate is that of the whole file, gaps are not told",
        out_of_order_));
    return out;
  }
  out.gaps = gaps_.spread(tick_);
  out.cv = out.gaps->cv();
  if (span >= kTenMinutes) out.busiest = static_cast<double>(most_in_minute_) / (requests / span * kMinute);
  if (out.together > 0.2)
    notes.push_back(
        fmt::format("{:.0f} % of the requests have the time of the one before: times are rounded, or "
                    "requests come in groups, and gaps follow no smooth law",
                    100 * out.together));
  return out;
}

std::optional<SharedPrefixes> RequestTally::prefixes() const {
  if (with_blocks_ == 0) return std::nullopt;
  SharedPrefixes out{.block = block_, .sampled = seen_.sampled()};
  const bool whole = out.sampled >= 1;
  out.found_share = whole ? (tokens_ > 0 ? found_tokens_ / tokens_ : 0) : seen_.found_share();
  out.mean = out.found_share * prompt_.mean();
  if (whole) {
    out.without = 1 - static_cast<double>(found_.count()) / static_cast<double>(with_blocks_);
    if (found_.count() > 0) out.found = found_.spread();
  }
  return out;
}

void RequestTally::finish(RecordedTraffic& out) const {
  out.requests = static_cast<double>(prompt_.count());
  out.prompt = prompt_.spread();
  if (answer_.count() > 0) {
    out.answer = answer_.spread();
    out.total_mean = total_.mean();
    out.longest = total_.most();
  }
  if (times_ > 0) out.arrivals = arrivals(out.notes);
  out.prefixes = prefixes();
  if (short_of_blocks_ > 0)
    out.notes.push_back(
        fmt::format("{} prompts are longer than their blocks of {:g} tokens: another block size?",
                    short_of_blocks_, block_));
}

}  // namespace mlsysim::detail
