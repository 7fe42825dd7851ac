#include "detail/formats.hpp"

#include <mlsysim/units/detail/trimmed.hpp>

#include <fmt/format.h>

#include <charconv>

namespace mlsysim::plugin::detail {
namespace {

/// Major and minor; the patch does not count.
using Version = std::pair<int, int>;

std::optional<Version> version_of(std::string_view text) {
  Version v{0, 0};
  const auto part = [&](int& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || out < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return text.empty() || text.front() == '.';
  };
  if (!part(v.first)) return std::nullopt;
  if (text.empty()) return v;
  text.remove_prefix(1);
  if (!part(v.second)) return std::nullopt;
  return v;
}

/// One item of what a plugin takes; both ends belong to it.
struct Accepted {
  std::string_view name, range;
  std::optional<Version> oldest, newest;
  bool understood = true;
};

Accepted accepted_of(std::string_view item) {
  Accepted a;
  const auto colon = item.find(':');
  a.name = mlsysim::detail::trimmed(item.substr(0, colon));
  if (colon == std::string_view::npos) return a;
  a.range = mlsysim::detail::trimmed(item.substr(colon + 1));
  const auto dots = a.range.find("..");
  a.oldest = version_of(a.range.substr(0, dots));
  a.newest = dots == std::string_view::npos ? a.oldest : version_of(a.range.substr(dots + 2));
  a.understood = a.oldest && a.newest && *a.oldest <= *a.newest;
  return a;
}

SupportReason refusal(std::string_view source, std::string hint) {
  return {.code = ReasonCode::version,
          .op = std::string(source),
          .count = 1,
          .location = {},
          .hint = std::move(hint)};
}

/// Why a version is outside of a range; nothing where it may lie inside.
std::optional<SupportReason> outside(const Accepted& a, std::string_view source, std::string_view version) {
  if (a.range.empty() || version.empty()) return std::nullopt;
  if (!a.understood)
    return refusal(source, fmt::format("the plugin states a range that is not understood: '{}'", a.range));
  const bool above = version.front() == '>';
  const auto v = version_of(above ? version.substr(1) : version);
  if (!v) return refusal(source, fmt::format("'{}' is no version", version));
  const auto takes = fmt::format("it takes {} {}", a.name, a.range);
  if (above ? *v >= *a.newest : *v > *a.newest)
    return refusal(source, fmt::format("{}: ask the producer to target <= {}.{}", takes, a.newest->first,
                                       a.newest->second));
  if (!above && *v < *a.oldest) return refusal(source, takes + ": ask the producer to export it again");
  return std::nullopt;
}

}  // namespace

Handover handover(std::string_view accepted, std::string_view source) {
  Handover out{.format = "operators", .refused = {}};
  if (source.empty() || mlsysim::detail::trimmed(accepted).empty()) return out;
  const auto colon = source.find(':');
  const auto name = source.substr(0, colon);
  const auto version = colon == std::string_view::npos ? std::string_view() : source.substr(colon + 1);
  bool operators = false;
  std::optional<SupportReason> why;
  for (auto rest = accepted; !rest.empty();) {
    const auto comma = rest.find(',');
    const auto a = accepted_of(mlsysim::detail::trimmed(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    operators = operators || a.name == "operators";
    if (a.name != name) continue;
    why = outside(a, source, version);
    if (!why) return {.format = std::string(source), .refused = {}};
  }
  // It names this representation and not this version, or takes nothing that the host can make of it.
  if (why) return {.format = {}, .refused = std::move(why)};
  if (!operators)
    out.refused =
        refusal(source, fmt::format("the plugin takes {} only", mlsysim::detail::trimmed(accepted)));
  return out;
}

}  // namespace mlsysim::plugin::detail
