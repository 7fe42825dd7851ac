// Which model an engine means by a name.

#include "detail/settings.hpp"

#include <mlsysim/engine/field_input.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace mlsysim::detail {
namespace {

std::string letters(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Endings of checkpoints that have the shape of the model they are made from.
constexpr auto kEndings =
    std::to_array<std::string_view>({"instruct", "chat", "hf",   "base", "it",    "fp8",     "nvfp4",   "fp4",
                                     "bf16",     "awq",  "gptq", "int4", "int8",  "w4a16",   "v01",     "v03",
                                     "0528",     "0324", "2507", "2512", "mxfp4", "dynamic", "thinking"});

bool named(const Workload& model, const std::string& stem) {
  if (letters(model.name) == stem) return true;
  const auto* entry = model.entry;
  return entry != nullptr && std::any_of(entry->aliases.begin(), entry->aliases.end(),
                                         [&](const auto& alias) { return letters(alias) == stem; });
}

}  // namespace

std::string model_of(std::string_view name, const Zoo& zoo, std::string& note) {
  if (zoo.find<Workload>(name) != nullptr) return std::string(name);
  for (const std::string_view end : {".json", ".gguf", ".yaml", ".yml", ".safetensors"})
    if (name.ends_with(end)) return std::string(name);
  const auto slash = name.find_last_of('/');
  auto wanted = letters(slash == std::string_view::npos ? name : name.substr(slash + 1));
  while (!wanted.empty()) {
    for (const std::string& stem : {wanted, wanted.starts_with("meta") ? wanted.substr(4) : wanted})
      for (const Workload* known : zoo.all<Workload>())
        if (named(*known, stem)) {
          note = fmt::format("'{}' is taken for {} of the zoo", name, known->name);
          return known->name;
        }
    const auto ending = std::find_if(kEndings.begin(), kEndings.end(), [&](std::string_view e) {
      return wanted.size() > e.size() && wanted.ends_with(e);
    });
    if (ending == kEndings.end()) return {};
    wanted.resize(wanted.size() - ending->size());
  }
  return {};
}

}  // namespace mlsysim::detail
