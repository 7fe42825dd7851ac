// A model or a program as a file of the zoo.

#include "cli/commands.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/model_files/known.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim::cli {
namespace {

/// Notes on a model's name: zoo models with its layers, and a zoo model of its name with other weights.
std::vector<std::string> notes_on_name(const ModelFile& model) {
  std::vector<std::string> out;
  for (const auto& name : models_alike(model.workload, zoo()))
    out.push_back(fmt::format("the layers are those of {} of the zoo", name));
  const Workload* named = zoo().find<Workload>(model.entry.name);
  if (named == nullptr || named->stacks.empty() || model.workload.stacks.empty()) return out;
  const auto weights = [](const Workload& w) {
    return memory_account({.model = &w}, conventions_of(zoo())).parameters / unit::param;
  };
  const double own = weights(model.workload), theirs = weights(*named);
  if (std::abs(own - theirs) > 1e-3 * theirs)
    out.push_back(
        fmt::format("{} of the zoo has {:.0f} weights, this file {:.0f}", named->name, theirs, own));
  return out;
}

}  // namespace

Answer model_import(const ProgramRequest& request) {
  const auto model = model_of_path(request.path, options_of(request));
  Answer out{model_file_yaml(model)};
  for (const auto& note : model.notes) out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  for (const auto& note : notes_on_name(model)) out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  return out;
}

}  // namespace mlsysim::cli
