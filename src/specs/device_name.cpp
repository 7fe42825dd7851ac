#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/units/detail/lower.hpp>

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>

namespace mlsysim {
namespace {

constexpr auto kMakers = std::to_array<std::string_view>(
    {"nvidia",   "amd",  "intel", "google",     "aws",         "tesla", "geforce",     "instinct", "radeon",
     "graphics", "gpu",  "gpus",  "generation", "accelerator", "oam",   "corporation", "edition",  "ecc",
     "vf",       "mega", "slice", "podslice",   "ac",          "r",     "tm"});
constexpr auto kForms = std::to_array<std::string_view>({"sxm", "pcie", "nvl"});

/// Names of product lines that people leave out: "4090", "A6000", "7900 XTX".
constexpr auto kLines = std::to_array<std::string_view>({"rtx", "gtx", "rx", "arc", "apple"});

/// Names of cloud accelerators that stand for one card of a chip, without its memory or form: labels of GKE
/// and EKS, and of Google Compute Engine (cloud.google.com/compute/docs/gpus, November 2026).
constexpr auto kLabels = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"nvidia-tesla-a100", "A100 40GB"},
     {"nvidia-tesla-v100", "V100 16GB"},
     {"nvidia-tesla-p100", "P100 PCIe"},
     {"nvidia-rtx-pro-6000", "RTX PRO 6000 Blackwell Server"}});

/// A name, taken apart.
struct DeviceName {
  std::string chip;  ///< letters and digits of what is left
  std::string form;
  std::optional<double> memory;  ///< [GB]
  double slack = 0.02;           ///< between that and the capacity of the entry
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (const char c : text) {
    const bool belongs = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (belongs && !inside) out.emplace_back();
    if (belongs) out.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    inside = belongs;
  }
  return out;
}

/// "80gb", or "80" before "gb".
std::optional<double> size_of(const std::string& word, const std::string& next) {
  for (const std::string_view unit : {"gib", "gb", "g"})
    if (word.ends_with(unit) && all_digits(std::string_view(word).substr(0, word.size() - unit.size())))
      return std::stod(word);
  if (all_digits(word) && word.size() < 5 && (next == "gb" || next == "gib")) return std::stod(word);
  return std::nullopt;
}

/// Whether a word states a form: "sxm4", "pcie".
bool is_form(std::string_view word) {
  return std::any_of(kForms.begin(), kForms.end(), [&](std::string_view form) {
    const auto rest = word.substr(std::min(word.size(), form.size()));
    return word.starts_with(form) && (rest.empty() || (rest.size() == 1 && is_digit(rest.front())));
  });
}

/// "sxm" is any of its generations.
bool same_form(std::string_view a, std::string_view b) {
  return a == b || (!a.empty() && !b.empty() && (a.starts_with(b) || b.starts_with(a)));
}

/// A slice of TPUs as clouds name it, "v5litepod-8", "v4-8" or "tpu-v6e-8", as the name of its chip.
std::string chip_of_slice(std::vector<std::string> words) {
  if (words.size() == 3 && words[0] == "tpu") words.erase(words.begin());
  if (words.size() != 2 || !all_digits(words[1]) || words[0].size() < 2 || words[0][0] != 'v') return {};
  if (!is_digit(words[0][1])) return {};
  const auto kind = words[0].substr(2);
  if (kind == "litepod") return "tpu" + words[0].substr(0, 2) + "e";
  return kind.empty() || kind == "e" || kind == "p" ? "tpu" + words[0] : "";
}

/// A name without what drivers print around it: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d...)" of
/// nvidia-smi -L, "Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes" of llama.cpp,
/// "GPU[0] : Card Series: AMD Instinct MI300X OAM" of rocm-smi, "AMD Instinct MI300X (gfx942)".
std::string_view without_driver(std::string_view text) {
  for (const std::string_view end : {" (UUID", ", compute capability", " (gfx", " [gfx"})
    text = text.substr(0, std::min(text.find(end), text.size()));
  for (auto colon = text.rfind(':'); colon != std::string_view::npos; colon = text.rfind(':', colon - 1)) {
    const auto name = text.find_first_not_of(" \t", colon + 1);
    if (name != std::string_view::npos && name > colon + 1) return text.substr(name);
    if (colon == 0) break;
  }
  return text;
}

DeviceName taken_apart(std::string_view text) {
  DeviceName out;
  text = without_driver(text);
  for (const auto& [label, meant] : kLabels)
    if (text == label) text = meant;
  const auto words = words_of(text);
  if (out.chip = chip_of_slice(words); !out.chip.empty()) return out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end()) continue;
    if (word.starts_with("hbm") || word.starts_with("gddr")) continue;
    if (next == "mib" && all_digits(word) &&
        word.size() < 9) {  // as the driver counts it, less what it keeps
      if (!out.memory) out.memory = std::stod(word) / 1024, out.slack = 0.12;
      ++i;
    } else if (is_form(word)) {
      out.form = word;
    } else if (const auto memory = size_of(word, next)) {
      out.memory = memory;
      if (all_digits(word)) ++i;
    } else if (word == "lite" && !out.chip.empty()) {
      out.chip += 'e';  // of TPUs, as JAX prints them
    } else {
      out.chip += word;
    }
  }
  return out;
}

/// Its name, aliases and title.
std::vector<DeviceName> names_of_device(const HardwareNode& device) {
  std::vector<DeviceName> out{taken_apart(device.name)};
  if (device.entry == nullptr) return out;
  for (const auto& alias : device.entry->aliases) out.push_back(taken_apart(alias));
  if (!device.entry->title.empty()) out.push_back(taken_apart(device.entry->title));
  return out;
}

/// How well an entry answers to a name; 0 where it does not.
int answers(const HardwareNode& device, const DeviceName& asked) {
  int best = 0;
  const auto names = names_of_device(device);
  for (const auto& own : names) {
    if (own.chip != asked.chip) continue;
    // A name that says all of it; then the memory of the device, which is sold in round numbers.
    if (own.form == asked.form && own.memory == asked.memory) best = std::max(best, 4);
    const double capacity = device.memory.capacity ? *device.memory.capacity / unit::GB : 0;
    // Names count in either unit.
    const auto near = [&](double unit) {
      return std::abs(capacity / (*asked.memory * unit) - 1) < asked.slack;
    };
    const bool fits = !asked.memory || near(1) || near(1.0 * unit::GiB / unit::GB);
    const bool formed = asked.form.empty() || same_form(own.form, asked.form);
    if (fits && formed) best = std::max(best, asked.form.empty() && !names.front().form.empty() ? 1 : 2);
    if (fits && formed && asked.form.empty() && names.front().form.empty()) best = std::max(best, 3);
  }
  return best;
}

/// The chip of a computer of Apple, and the cores of its GPU where they are stated: "Apple M4 Pro 20 core" of
/// "Mac mini (M4 Pro, 14-core CPU, 20-core GPU)". Empty where a text is no such computer, or names no chip.
std::string chip_of_mac(std::string_view text) {
  const auto words = words_of(text);
  const auto is_mac = [](std::string_view word) {
    return word == "mac" || word == "imac" || word == "macbook";
  };
  if (std::ranges::none_of(words, is_mac)) return {};
  std::string chip, cores;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    const auto next = [&](std::size_t n) {
      return i + n < words.size() ? std::string_view(words[i + n]) : std::string_view();
    };
    if (chip.empty() && word.size() > 1 && word[0] == 'm' && is_digit(word[1])) {
      chip = "Apple " + word;
      if (next(1) == "pro" || next(1) == "max" || next(1) == "ultra") chip += " " + words[i + 1];
    } else if (all_digits(word) && next(1).starts_with("core") && next(2) == "gpu") {
      cores = " " + word + " core";
    }
  }
  return chip.empty() ? "" : chip + cores;
}

std::string letters_of(std::string_view text) {
  std::string out;
  for (const auto& word : words_of(text)) out += word;
  return out;
}

}  // namespace

namespace {

/// Counts as words in front of a machine: "dual RTX 3090".
constexpr auto kCounts = std::to_array<std::pair<std::string_view, double>>({{"a pair of ", 2},
                                                                             {"pair of ", 2},
                                                                             {"dual ", 2},
                                                                             {"twin ", 2},
                                                                             {"two ", 2},
                                                                             {"triple ", 3},
                                                                             {"three ", 3},
                                                                             {"quad ", 4},
                                                                             {"four ", 4},
                                                                             {"eight ", 8}});

/// A count and a name with a space or nothing else between them, "dual RTX 3090" and "8 H100", or with the
/// count in brackets, "RTX 3090 (x2)".
std::optional<CountedMachine> counted_in_words(std::string_view text) {
  const auto lower = detail::lower(text);
  for (const auto& [word, count] : kCounts)
    if (lower.starts_with(word)) return CountedMachine{count, text.substr(word.size())};
  const auto space = text.find(' '), bracket = text.rfind(" (");
  const auto number = [](std::string_view digits) {
    return all_digits(digits) && digits.size() < 8 ? std::stod(std::string(digits)) : 0;
  };
  if (bracket != std::string_view::npos && text.ends_with(')')) {
    auto inside = text.substr(bracket + 2, text.size() - bracket - 3);
    if (inside.starts_with('x') || inside.starts_with('X'))
      inside.remove_prefix(1);
    else if (inside.ends_with('x') || inside.ends_with('X'))
      inside.remove_suffix(1);
    if (const double count = number(inside); count > 0) return CountedMachine{count, text.substr(0, bracket)};
  }
  if (space == std::string_view::npos) return std::nullopt;
  const auto name = text.substr(space + 1);
  const double count = number(text.substr(0, space));
  if (!(count > 0) || name.empty() || name.find_first_of("xX*:") == 0) return std::nullopt;
  return CountedMachine{count, name};
}

}  // namespace

std::optional<CountedMachine> counted_machine(std::string_view text) {
  const auto trimmed = [](std::string_view part) {
    while (part.starts_with(' ') || part.starts_with('_')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  if (auto in_words = counted_in_words(trimmed(text))) return in_words;
  if (text.starts_with("gpu_")) text.remove_prefix(4);  // of Lambda: "gpu_8x_h100_sxm5"
  // "16,384"; 0 for what is no count.
  const auto count_in = [&](std::string_view part) {
    std::string digits(trimmed(part));
    std::erase(digits, ',');
    return all_digits(digits) && digits.size() < 8 ? std::stod(digits) : 0;
  };
  CountedMachine out{.name = trimmed(text)};
  for (auto sign = out.name.find_first_of("xX*"); sign != std::string_view::npos;
       sign = out.name.find_first_of("xX*")) {
    const double count = count_in(out.name.substr(0, sign));
    if (!(count > 0)) break;
    out.count *= count;
    out.name = trimmed(out.name.substr(sign + 1));
  }
  const auto sign = out.name.find_last_of("xX*:");  // of SkyPilot: "H100:8"
  if (out.name == trimmed(text) && sign != std::string_view::npos) {
    out.count = count_in(out.name.substr(sign + 1));
    out.name = trimmed(out.name.substr(0, sign));
  }
  if (out.name == trimmed(text) || out.name.empty() || !(out.count > 0)) return std::nullopt;
  return out;
}

namespace {

/// The devices that answer best to a name.
std::vector<const HardwareNode*> best_of(const Zoo& zoo, const DeviceName& asked) {
  std::vector<const HardwareNode*> out;
  int best = 1;
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    const int now = answers(*device, asked);
    if (now < best) continue;
    if (now > best) out.clear();
    best = now;
    out.push_back(device);
  }
  return out;
}

/// One chip in several sizes: "Apple M2 Max" has 30 or 38 cores.
std::vector<const HardwareNode*> sizes_of(const Zoo& zoo, const DeviceName& asked) {
  std::vector<const HardwareNode*> out;
  for (const HardwareNode* device : zoo.all<HardwareNode>())
    for (const auto& own : names_of_device(*device))
      if (own.chip.starts_with(asked.chip + "gpu") && (out.empty() || out.back() != device))
        out.push_back(device);
  return out;
}

}  // namespace

std::vector<const HardwareNode*> devices_called(const Zoo& zoo, std::string_view text) {
  const auto asked = taken_apart(text);
  if (asked.chip.empty()) return {};
  auto out = best_of(zoo, asked);
  if (!out.empty()) return out;
  for (const auto line : kLines)
    if (!std::any_of(kLines.begin(), kLines.end(), [&](auto l) { return asked.chip.starts_with(l); })) {
      const auto whole = taken_apart(std::string(line) + " " + std::string(text));
      auto more = best_of(zoo, whole);
      if (more.empty()) more = sizes_of(zoo, whole);
      out.insert(out.end(), more.begin(), more.end());
    }
  if (out.empty()) out = sizes_of(zoo, asked);
  if (!out.empty()) return out;
  if (const auto chip = chip_of_mac(text); !chip.empty()) return devices_called(zoo, chip);
  // Several of one kind: "H100s".
  if (asked.chip.size() > 2 && asked.chip.back() == 's' && text.ends_with('s') &&
      text.find_first_of("0123456789") != std::string_view::npos)
    return devices_called(zoo, text.substr(0, text.size() - 1));
  return out;
}

double chips_of_slice(std::string_view text) {
  const auto words = words_of(text);
  if (chip_of_slice(words).empty()) return 1;
  // The number is that of chips, and of older generations and v5p that of cores, two to a chip.
  const auto& kind = words[words.size() - 2];
  const double count = std::stod(words.back());
  const bool cores = kind == "v2" || kind == "v3" || kind == "v4" || kind == "v5p";
  return std::max(1.0, cores ? count / 2 : count);
}

std::vector<const Node*> nodes_called(const Zoo& zoo, std::string_view text) {
  if (text.starts_with("ml.")) text.remove_prefix(3);  // of SageMaker
  const auto asked = letters_of(text);
  std::vector<const Node*> out;
  if (asked.size() < 4) return out;
  const auto same = [&](std::string_view name) {
    const auto own = letters_of(name);
    return own == asked || own == "aws" + asked || own == "azure" + asked || own == "standard" + asked;
  };
  for (const Node* node : zoo.all<Node>())
    if (same(node->name) || (node->entry != nullptr &&
                             std::any_of(node->entry->aliases.begin(), node->entry->aliases.end(), same)))
      out.push_back(node);
  return out;
}

namespace {

/// The part of a text that is a profile: "2g.20gb". Empty where none is.
std::string_view profile_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0))
      continue;
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (text.substr(end, 2) != "g.") continue;
    end += 2;
    const std::size_t memory = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    // "+me" is the one slice that has the media engines too.
    if (end > memory && text.substr(end, 2) == "gb") return text.substr(at, end + 2 - at);
  }
  return {};
}

/// The rule of slices: rates go with units and bandwidth with memory, as the profiles say; and so that all
/// slices together are the device, its power, price and carbon go with the units, which no source states.
DeviceSlice slice_of(const HardwareNode& device, const PartitionProfile& profile) {
  DeviceSlice slice{.device = device};
  HardwareNode& out = slice.device;
  out.name = device.name + " " + profile.name;
  const double units = profile.units && device.compute.units ? *profile.units / *device.compute.units : 1;
  const double memory =
      profile.memory && device.memory.capacity ? *profile.memory / *device.memory.capacity : units;
  for (auto* rates :
       {&out.compute.dense, &out.compute.sparse, &out.compute.vector, &out.compute.dense_fp16_accumulate})
    for (auto& rate : rates->slots)
      if (rate) rate = *rate * units;
  out.compute.units = profile.units;
  const auto scale = [](auto& figure, double share) {
    if (figure) figure = *figure * share;
  };
  scale(out.memory.capacity, memory);
  scale(out.memory.usable_capacity, memory);
  scale(out.memory.bandwidth, memory);
  scale(out.memory.l2_cache, memory);
  scale(out.power.tdp, units);
  scale(out.power.idle, units);
  scale(out.unit_cost, units);
  scale(out.unit_cost_max, units);
  out.rental.clear();  // nobody rents out a slice at a price that is known
  scale(out.embodied_carbon, units);
  out.device_link = {};
  out.partition_profiles.clear();
  slice.units_share = units;
  slice.rule = "rule of slices: rates, power, price and carbon as its share of the units of " + device.name +
               ", bandwidth as that of the memory; no source states power, price and carbon of a slice";
  return slice;
}

}  // namespace

std::optional<DeviceSlice> slice_called(const Zoo& zoo, std::string_view text) {
  std::string rest = detail::lower(text);
  const auto profile = std::string(profile_in(rest));
  if (profile.empty()) return std::nullopt;
  rest.erase(rest.find(profile), profile.size());
  for (const std::string_view word : {"mig", "+me", "nvidia.com/"})
    if (const auto at = rest.find(word); at != std::string::npos) rest.erase(at, word.size());
  const bool named = !taken_apart(rest).chip.empty();
  std::vector<const HardwareNode*> devices =
      named
          ? devices_called(zoo, rest)
          : std::vector<const HardwareNode*>(zoo.all<HardwareNode>().begin(), zoo.all<HardwareNode>().end());
  std::string names;
  const HardwareNode* found = nullptr;
  const PartitionProfile* part = nullptr;
  const auto look = [&](const HardwareNode* device) {
    for (const auto& p : device->partition_profiles)
      if (p.name == profile) {
        names += (names.empty() ? "" : ", ") + device->name;
        if (found == nullptr) found = device, part = &p;
      }
  };
  std::for_each(devices.begin(), devices.end(), look);
  // "A100 1g.5gb": the profile tells which card of the chip is meant.
  if (const auto asked = taken_apart(rest); found == nullptr && named && !asked.memory)
    for (const HardwareNode* device : zoo.all<HardwareNode>()) {
      const auto own = names_of_device(*device);
      const bool same = std::any_of(own.begin(), own.end(), [&](const DeviceName& name) {
        return name.chip == asked.chip &&
               (asked.form.empty() ? own.front().form.empty() : same_form(name.form, asked.form));
      });
      if (same) look(device);
    }
  if (found == nullptr || names != found->name)
    throw LookupError(
        {.id = "mlsysim.spec.092",
         .message = "the slice is not known",
         .key = "hardware",
         .found = std::string(text),
         .expected = names.empty() ? "a profile that the device's entry lists (partition_profiles)"
                                   : "one device: " + names + " have it",
         .hint = names.empty() ? "add the profile to a file with the device" : "name the device before it"});
  return slice_of(*found, *part);
}

std::optional<CountedMachine> counted_machine(const Zoo& zoo, std::string_view text) {
  const auto many = counted_machine(text);
  if (!many || zoo.find<HardwareNode>(text) != nullptr || !devices_called(zoo, text).empty())
    return std::nullopt;
  const auto name = many->name;
  const bool known = zoo.find<HardwareNode>(name) != nullptr || zoo.find<Node>(name) != nullptr ||
                     zoo.find<Fleet>(name) != nullptr || zoo.find<Pod>(name) != nullptr ||
                     slice_called(zoo, name) || !devices_called(zoo, name).empty() ||
                     !nodes_called(zoo, name).empty();
  return known ? many : std::nullopt;
}

}  // namespace mlsysim
