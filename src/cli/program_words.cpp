// Words that people bring from engines, benchmarks and other commands.

#include "program.hpp"

#include <mlsysim/reflect/detail/aliases.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace mlsysim::cli {
namespace {

constexpr auto kModelFlags = std::to_array<std::string_view>({"--model", "--workload"});
constexpr auto kMachineFlags =
    std::to_array<std::string_view>({"--on", "--hardware", "--machine", "--gpu", "--device"});

/// The option that engines and benchmarks call `name`; empty where there is none.
std::string our_option(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string field(name);
  std::replace(field.begin(), field.end(), '-', '_');
  const auto ours = canonical_name(field);
  return ours.empty() ? std::string() : "--" + dashed(ours);
}

/// "--name=value" taken apart; the rest begins with its sign, or is empty.
std::pair<std::string, std::string> split(const std::string& word) {
  const auto sign = std::min(word.find('='), word.size());
  return {word.substr(0, sign), word.substr(sign)};
}

/// An option of a command or of those above it; null where none has the name.
const CLI::Option* option_of(const CLI::App* at, const std::string& name) {
  for (; at != nullptr; at = at->get_parent())
    if (const auto* option = at->get_option_no_throw(name)) return option;
  return nullptr;
}

/// An option that people type, and how a command without it says the same: its options in order, with what
/// they take.
struct OtherOption {
  std::string_view name, what;
  std::array<std::pair<std::string_view, std::string_view>, 2> ours;
};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRents{
    {{"--rent", "'2.5 USD/h'"}, {"--price", "'H100=2.5 USD/h'"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kLimits{
    {{"--subject-to", "'tco <= 10000 USD'"}, {"", ""}}};
constexpr std::string_view kRent = "the price of a device and hour, on demand or spot, is said with";
constexpr std::string_view kLimit = "costs are limited with";
constexpr auto kOtherOptions = std::to_array<OtherOption>({{"--spot", kRent, kRents},
                                                           {"--on-demand", kRent, kRents},
                                                           {"--preemptible", kRent, kRents},
                                                           {"--gpu-price", kRent, kRents},
                                                           {"--gpu-cost", kRent, kRents},
                                                           {"--price", kRent, kRents},
                                                           {"--price-per-hour", kRent, kRents},
                                                           {"--hourly-price", kRent, kRents},
                                                           {"--hourly-cost", kRent, kRents},
                                                           {"--cost-per-hour", kRent, kRents},
                                                           {"--gpu-hour-price", kRent, kRents},
                                                           {"--hourly-rate", kRent, kRents},
                                                           {"--budget", kLimit, kLimits},
                                                           {"--max-cost", kLimit, kLimits},
                                                           {"--max-budget", kLimit, kLimits},
                                                           {"--max-price", kLimit, kLimits},
                                                           {"--cost-limit", kLimit, kLimits}});

/// Earlier names of commands.
constexpr auto kCommands = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"traffic", "trace"}, {"compile", "graph-breaks"}, {"program", "model-graph"}});

}  // namespace

std::string other_option(std::string_view word, const std::vector<std::string>& options) {
  for (const auto& other : kOtherOptions) {
    if (other.name != word) continue;
    for (const auto& [option, value] : other.ours)
      if (std::ranges::find(options, option) != options.end())
        return fmt::format("{} {} {}", other.what, option, value);
    return fmt::format("{} mlsysim optimize ... {} {}", other.what, other.ours[0].first,
                       other.ours[0].second);
  }
  return {};
}

void Program::take_known_command() {
  for (std::size_t i = 0; i < words_.size() && words_[i] != "--"; ++i) {
    if (words_[i].starts_with('-')) {
      const auto* option = option_of(&app_, words_[i]);
      if (option != nullptr && option->get_items_expected_max() > 0) ++i;  // its value
      continue;
    }
    for (const auto& [name, known] : kCommands)
      if (words_[i] == name) words_[i] = known;
    return;
  }
}

void Program::take_other_words() {
  const CLI::App* at = &app_;
  std::size_t first = 0;  // word behind the command
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i].starts_with('-')) continue;
    const auto subs = at->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words_[i]; });
    if (subs.empty()) break;
    at = subs.front();
    first = i + 1;
  }
  for (std::size_t i = first; i < words_.size() && words_[i] != "--"; ++i) {
    const auto [name, rest] = split(words_[i]);
    if (!name.starts_with('-') || option_of(at, name) != nullptr) continue;
    if (const auto ours = our_option(name); !ours.empty() && option_of(at, ours) != nullptr)
      words_[i] = ours + rest;
  }
  const auto places = places_.find(at);
  if (places == places_.end() || places->second.empty() || places->second.front() != Place::model) return;
  place_words(*at, first);
}

/// `--model M --on H` becomes the words M H that the command takes, before its options.
void Program::place_words(const CLI::App& command, std::size_t first) {
  const bool has_machine = places_.at(&command).size() > 1 && places_.at(&command)[1] == Place::machine;
  const auto flagged = [&](std::span<const std::string_view> flags, const std::string& name) {
    return std::find(flags.begin(), flags.end(), name) != flags.end() && option_of(&command, name) == nullptr;
  };
  std::vector<std::string> places, options;
  std::string model, machine;
  for (std::size_t i = first; i < words_.size(); ++i) {
    const auto& word = words_[i];
    if (word == "--") return;
    const auto [name, rest] = split(word);
    const bool is_model = flagged(kModelFlags, name);
    if (is_model || (has_machine && flagged(kMachineFlags, name))) {
      if (rest.empty() && i + 1 == words_.size()) return;
      auto& to = is_model ? model : machine;
      if (!to.empty()) return;
      to = rest.empty() ? words_[++i] : rest.substr(1);
    } else if (word.starts_with('-') && word.size() > 1) {
      const auto* option = option_of(&command, name);
      const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
      options.push_back(word);
      if (rest.empty() && takes_value && i + 1 < words_.size()) options.push_back(words_[++i]);
    } else {
      places.push_back(word);
    }
  }
  if (model.empty() && machine.empty()) return;
  if (!model.empty()) places.insert(places.begin(), model);
  if (!machine.empty()) places.insert(places.begin() + (places.empty() ? 0 : 1), machine);
  words_.resize(first);
  words_.insert(words_.end(), places.begin(), places.end());
  words_.insert(words_.end(), options.begin(), options.end());
}

}  // namespace mlsysim::cli
