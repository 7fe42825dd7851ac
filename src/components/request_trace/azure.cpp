// Azure's traces of inference: TIMESTAMP,ContextTokens,GeneratedTokens.

#include "request_trace/detail/readers.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::string_view kHead = "TIMESTAMP,ContextTokens,GeneratedTokens in the first line";

/// Takes a number of so many digits and what follows it off a text.
std::optional<int> digits(std::string_view& text, std::size_t count, char after) {
  int out = 0;
  if (text.size() < count) return std::nullopt;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + count, out);
  if (bad != std::errc{} || end != text.data() + count || text.front() == '-') return std::nullopt;
  text.remove_prefix(count);
  if (after == 0) return out;
  if (text.empty() || (text.front() != after && !(after == ' ' && text.front() == 'T'))) return std::nullopt;
  text.remove_prefix(1);
  return out;
}

/// Digits behind the point, as microseconds; further ones are cut off.
std::optional<std::int64_t> fraction(std::string_view& text) {
  if (text.empty() || text.front() != '.') return 0;
  text.remove_prefix(1);
  std::int64_t out = 0, place = 100000;
  std::size_t n = 0;
  for (; n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n, place /= 10)
    out += place * (text[n] - '0');
  text.remove_prefix(n);
  return n > 0 ? std::optional(out) : std::nullopt;
}

/// "+01:00", "Z" or nothing, as minutes.
std::optional<int> offset(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = digits(text, 2, ':');
  const auto minutes = digits(text, 2, 0);
  if (!hours || !minutes || !text.empty() || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (60 * *hours + *minutes);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto comma = line.find(',');
    out.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

std::optional<std::uint64_t> tokens_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (bad != std::errc{} || end != text.data() + text.size() || out > kMostTokens) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::int64_t> microseconds_of(std::string_view text) {
  const auto year = digits(text, 4, '-'), month = digits(text, 2, '-'), day = digits(text, 2, ' '),
             hour = digits(text, 2, ':'), minute = digits(text, 2, ':'), second = digits(text, 2, 0);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const auto part = fraction(text);
  const auto away = offset(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!part || !away || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + *hour) * 60 + *minute - *away) * 60 + *second) * 1'000'000 + *part;
}

void AzureReader::take_head(std::string_view line) {
  const auto cells = cells_of(line);
  std::array<std::size_t*, 3> places{&time_, &prompt_, &answer_};
  constexpr std::array<std::string_view, 3> names{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  columns_ = cells.size();
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::size_t at = 0;
    while (at < cells.size() && cells[at] != names[k]) ++at;
    if (at == cells.size())
      refuse_traffic(file_, 1, fmt::format("no column '{}'", names[k]), std::string(kHead));
    *places[k] = at;
  }
}

void AzureReader::take(std::string_view line) {
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_ == 1) {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    return take_head(line);
  }
  if (line.empty()) return;
  const auto cells = cells_of(line);
  if (cells.size() != columns_)
    refuse_traffic(file_, line_, fmt::format("{} cells", cells.size()), fmt::format("{}", columns_));
  const auto time = microseconds_of(cells[time_]);
  if (!time)
    refuse_traffic(file_, line_, fmt::format("the time '{}'", cells[time_].substr(0, 40)),
                   "a time such as 2023-11-16 18:15:46.68");
  const auto prompt = tokens_of(cells[prompt_]), answer = tokens_of(cells[answer_]);
  if (!prompt || !answer)
    refuse_traffic(file_, line_, fmt::format("'{}' tokens", cells[prompt ? answer_ : prompt_].substr(0, 40)),
                   fmt::format("a whole number up to {}", kMostTokens));
  tally_.add({.prompt = *prompt, .answer = *answer, .time = *time});
}

void AzureReader::add(std::string_view piece) {
  for (;;) {
    const auto end = piece.find('\n');
    if (rest_.size() + std::min(end, piece.size()) > kLongestLine)
      refuse_traffic(file_, line_ + 1, "a line of more than 64 KiB", "lines of a table");
    rest_ += piece.substr(0, end);
    if (end == std::string_view::npos) return;
    take(rest_);
    rest_.clear();
    piece.remove_prefix(end + 1);
  }
}

void AzureReader::finish() {
  if (!rest_.empty()) take(rest_);
}

}  // namespace mlsysim::detail
