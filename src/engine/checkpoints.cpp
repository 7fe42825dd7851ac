// Checkpoints of models: where engines download them, and how many positions they state.

#include <mlsysim/engine/detail/checkpoints.hpp>

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <charconv>

namespace mlsysim::detail {
namespace {

const YamlValue& section(std::string_view key) {
  static const auto known = YamlDocument::read(zoo_directory() / "launch" / "checkpoints.yaml");
  static const YamlValue none;
  const auto* found = known.root().find(key);
  return found == nullptr ? none : *found;
}

}  // namespace

std::string repository_of(const std::string& model) {
  const auto* found = section("repositories").find(model);
  return found == nullptr ? model : found->text;
}

std::optional<double> positions_of(std::string_view checkpoint) {
  if (checkpoint.empty()) return std::nullopt;
  std::optional<double> out;
  std::size_t longest = 0;
  for (const auto& [positions, names] : section("positions").pairs)
    for (const auto& name : names.items)
      if (name.text.size() > longest && names_checkpoint(name.text, checkpoint)) {
        longest = name.text.size();
        double value = 0;
        std::from_chars(positions.text.data(), positions.text.data() + positions.text.size(), value);
        out = value;
      }
  return out;
}

}  // namespace mlsysim::detail
