// The load of a plan as a comment of its launch: engines have no flag for what arrives.

#include "detail/load_line.hpp"

#include <mlsysim/resolver_api/field_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mlsysim::detail {
namespace {

constexpr std::string_view kBegin = "# load: ";
constexpr std::array<std::string_view, 9> kFields = {
    "load",          "arrival_rate",     "seq_len",           "seq_len_cv",       "seq_len_law",
    "output_tokens", "output_tokens_cv", "output_tokens_law", "cached_prefix_len"};

}  // namespace

bool is_load(std::string_view field) { return std::ranges::find(kFields, field) != kFields.end(); }

std::string load_line(const Scenario& scenario) {
  const Scenario plain;
  std::vector<std::string> out;
  for (const auto& f : describe<Scenario>()) {
    if (!is_load(f.name)) continue;
    const auto text = field_text(f, f.read(&scenario), 17);
    if (text != field_text(f, f.read(&plain), 17)) out.push_back(fmt::format("{} {}", f.name, text));
  }
  return out.empty() ? std::string() : fmt::format("{}{}\n", kBegin, fmt::join(out, ", "));
}

std::map<std::string, std::string> stated_load(std::string_view launch) {
  std::map<std::string, std::string> out;
  while (!launch.empty()) {
    const auto line = launch.substr(0, launch.find('\n'));
    launch.remove_prefix(std::min(line.size() + 1, launch.size()));
    if (!line.starts_with(kBegin)) continue;
    for (auto rest = line.substr(kBegin.size()); !rest.empty();) {
      const auto item = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(item.size() + 2, rest.size()));
      const auto space = item.find(' ');
      if (space == std::string_view::npos || !is_load(item.substr(0, space))) return {};  // of somebody else
      auto value = item.substr(space + 1);
      while (!value.empty() && (value.back() == '\r' || value.back() == ' ')) value.remove_suffix(1);
      out.emplace(item.substr(0, space), value);
    }
  }
  return out;
}

}  // namespace mlsysim::detail
