// Checkpoints of models: where engines download them, and how many positions they state.

#include "detail/checkpoints.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <yaml-cpp/yaml.h>

namespace mlsysim::detail {
namespace {

const YAML::Node& table() {
  static const auto known = YAML::Load(
      files::read(zoo_directory() / "launch" / "checkpoints.yaml", "a table of checkpoints", 1 << 20));
  return known;
}

}  // namespace

std::string repository_of(const std::string& model) {
  const auto found = table()["repositories"][model];
  return found ? found.as<std::string>() : model;
}

std::optional<double> positions_of(std::string_view checkpoint) {
  if (checkpoint.empty()) return std::nullopt;
  std::optional<double> out;
  std::size_t longest = 0;
  for (const auto& row : table()["positions"])
    for (const auto& name : row.second)
      if (const auto text = name.as<std::string>();
          text.size() > longest && names_checkpoint(text, checkpoint)) {
        longest = text.size();
        out = row.first.as<double>();
      }
  return out;
}

}  // namespace mlsysim::detail
