// Which weights of a served model lie in host memory, as flags of engines say it.

#include "detail/settings.hpp"

#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace mlsysim::detail {
namespace {

/// Bytes of the weights of a model; among them of its embedding and output matrix, and of dense feed-forward.
struct WeightBytes {
  Data<> all, ends, dense;
};

/// Those of a model of the zoo in the format of the launch; absent where they are not known.
std::optional<WeightBytes> weights_of(const Launch& launch, const Workload& model, const Zoo& zoo) {
  if (model.stacks.empty()) return std::nullopt;
  const auto text = [&](const char* field) {
    const auto at = launch.fields.find(field);
    return at == launch.fields.end() ? std::string() : at->second;
  };
  const auto account = memory_account({.model = &model,
                                       .precision = choice_of<Precision>(text("precision")),
                                       .weight_format = choice_of<WeightFormat>(text("weight_format"))},
                                      conventions_of(zoo));
  WeightBytes out{.all = account.sum(MemoryPart::weights), .ends = {}, .dense = {}};
  for (const auto& item : account.items) {
    if (item.part == MemoryPart::weights && item.what == "dense feed-forward") out.dense += item.bytes;
    if (item.part == MemoryPart::weights &&
        (item.what == name_of(TensorGroup::embedding) || item.what == name_of(TensorGroup::head)))
      out.ends += item.bytes;
  }
  return out;
}

/// A pattern for names of tensors. Nothing for one that is no expression, or whose repeats of repeats would
/// take long.
std::optional<std::regex> pattern_of(const std::string& pattern) {
  const auto repeats =
      std::count_if(pattern.begin(), pattern.end(), [](char c) { return c == '*' || c == '+'; });
  const bool nested = pattern.find(")*") != std::string::npos || pattern.find(")+") != std::string::npos ||
                      pattern.find("){") != std::string::npos;
  if (nested || repeats > 6 || pattern.size() > 500) return std::nullopt;
  try {
    return std::regex(pattern);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

/// Whether a part of a name matches. Nothing for a pattern that is not understood.
std::optional<bool> matches(const std::optional<std::regex>& pattern, const std::string& name) {
  if (!pattern) return std::nullopt;
  try {
    return std::regex_search(name, *pattern);
  } catch (const std::regex_error&) {  // of a search that would take too much
    return std::nullopt;
  }
}

/// Matrices of a model that patterns place in host memory, as shares of those of each kind.
struct PlacedTensors {
  double experts = 0, dense = 0, attention = 0;
};

/// Those of `--override-tensor`: PATTERN=BUFFER, separated by commas; the first that matches a name places
/// the tensor. Nothing where a pattern is not understood.
std::optional<PlacedTensors> placed_tensors(std::string_view text, const Workload& model) {
  std::vector<std::pair<std::optional<std::regex>, bool>> rules;
  while (!text.empty()) {
    const auto rule = text.substr(0, std::min(text.find(','), text.size()));
    text.remove_prefix(std::min(rule.size() + 1, text.size()));
    const auto equals = rule.rfind('=');
    if (equals == std::string_view::npos) return std::nullopt;
    rules.emplace_back(pattern_of(std::string(rule.substr(0, equals))),
                       rule.substr(equals + 1).starts_with("CPU"));
  }
  const double layers = std::min(model.layers().value_or(0), 1000.0), routed = model.expert_layers();
  PlacedTensors out;
  for (double layer = 0; layer < layers; ++layer) {
    const bool mixture = layer >= layers - routed;  // the first layers are dense
    const auto share = [&](std::initializer_list<const char*> names) -> std::optional<double> {
      double away = 0;
      for (const auto* name : names)
        for (const auto& [pattern, host] : rules) {
          const auto found = matches(pattern, fmt::format("blk.{:.0f}.{}.weight", layer, name));
          if (!found) return std::nullopt;
          if (!*found) continue;
          away += host ? 1.0 / static_cast<double>(names.size()) : 0;
          break;
        }
      return away;
    };
    const auto fed = mixture ? share({"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"})
                             : share({"ffn_gate", "ffn_up", "ffn_down"});
    const auto mixed = share({"attn_q", "attn_k", "attn_v", "attn_output"});
    if (!fed || !mixed) return std::nullopt;
    (mixture ? out.experts : out.dense) += *fed / (mixture ? routed : layers - routed);
    out.attention += *mixed / layers;
  }
  return out;
}

/// Sets the shares of what patterns place in host memory.
void put_placed_tensors(Settings& s, Launch& launch, const Zoo& zoo) {
  const auto placed = placed_tensors(s.text("placed_tensors"), *s.model);
  if (!placed)
    return s.end("placed_tensors", FlagUse::contradicts,
                 "the patterns are not understood: --offload-weights and --offload-experts give the shares");
  std::string words;
  if (placed->experts > 0) {
    launch.fields["offload_experts"] = count_text(std::min(placed->experts, 1.0));
    words = fmt::format("{:.3g} % of the routed experts lie in host memory", 100 * placed->experts);
  } else if (const auto weights = weights_of(launch, *s.model, zoo);
             weights && placed->dense + placed->attention > 0) {
    const Data<> blocks = weights->all - weights->ends,
                 moved = placed->dense * weights->dense + placed->attention * (blocks - weights->dense);
    launch.fields["offload_weights"] = count_text(std::min(moved / blocks, 1.0));
    words = fmt::format(
        "{:.3g} % of the weights of layers lie in host memory; the plan moves whole layers, with their cache",
        100 * (moved / blocks));
  } else {
    words = "no matrix that the patterns name is moved to host memory";
  }
  if (placed->experts > 0 && placed->dense + placed->attention > 0)
    words += "; what the patterns name beside them stays on the device";
  s.end("placed_tensors", FlagUse::used, words);
}

}  // namespace

/// Sets the shares of the weights and of the routed experts that lie in host memory.
void put_host_memory(Settings& s, Launch& launch, const Zoo& zoo, double devices) {
  auto& fields = launch.fields;
  const Workload* model = s.model;
  const auto share = [](double part, double whole) { return count_text(std::clamp(part / whole, 0.0, 1.0)); };
  const auto unknown = [&](std::string_view quantity, std::string_view what) {
    s.end(quantity, FlagUse::contradicts,
          fmt::format("{} of the model are not known: --offload-weights gives the share", what));
  };
  if (const double gib = s.number_or("host_weights", 0); gib > 0) {
    const auto weights = model == nullptr ? std::nullopt : weights_of(launch, *model, zoo);
    if (weights) {  // vLLM moves layers, and neither the embedding nor the output matrix
      const Data<> moved = min(gib * devices * unit::GiB, weights->all - weights->ends);
      fields["offload_weights"] = share(moved.base(), weights->all.base());
    } else
      unknown("host_weights", "the bytes");
  }
  const double layers = model == nullptr ? 0 : model->layers().value_or(0);
  if (const auto on_device = s.number("device_layers"); on_device && *on_device >= 0) {
    if (layers > 0) {
      fields["offload_weights"] = share(layers - *on_device, layers);
      if (*on_device <= layers)
        launch.notes.push_back("the output matrix, which is moved last, is taken to lie on the device");
    } else if (*on_device < 999)
      unknown("device_layers", "the layers");
  }
  const double experts = model == nullptr ? 0 : model->expert_layers();
  if (s.has("placed_tensors")) put_placed_tensors(s, launch, zoo);
  if (s.on("host_experts")) fields["offload_experts"] = "1";
  if (const auto n = s.number("host_expert_layers")) {
    if (experts > 0)
      fields["offload_experts"] = share(*n, experts);
    else
      s.end("host_expert_layers", FlagUse::ignored, "the model has no routed experts");
  }
}

}  // namespace mlsysim::detail
