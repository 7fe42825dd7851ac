#include <mlsysim/pipeline/pipeline.hpp>

#include "detail/graph.hpp"

#include <mlsysim/pipeline/adapters.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/reflect/describe.hpp>

namespace mlsysim {

const std::string& Pipeline::name() const { return graph_->name; }
std::size_t Pipeline::size() const { return graph_->stages.size(); }
std::vector<std::string> Pipeline::stages() const { return graph_->stage_names(); }
const Resolver& Pipeline::resolver(std::string_view stage) const {
  return *graph_->stages[graph_->stage_at(stage)].resolver;
}

std::vector<std::string> Pipeline::given() const {
  std::vector<std::string> keys;
  for (const auto& g : graph_->givens) keys.push_back(g.key);
  return keys;
}

const FieldInfo* Pipeline::input(std::string_view key) const {
  std::string_view stage, name = canonical_key(key);
  if (const auto dot = key.find('.'); dot != std::string_view::npos) {
    stage = key.substr(0, dot);
    name = key.substr(dot + 1);
  }
  for (const auto& s : graph_->stages) {
    if (!stage.empty() && s.name != stage) continue;
    if (const auto* f = find_field(s.resolver->inputs(), name)) return f;
  }
  return nullptr;
}

Run Pipeline::run(std::initializer_list<Supplied> values) const {
  return run(std::span<const Supplied>(values.begin(), values.size()), {});
}

Run Pipeline::run(std::span<const Supplied> values, const RunOptions& options) const {
  Run run(*this);
  for (const auto& [key, value] : values) run.set(key, value);
  run.execute(options);
  return run;
}

}  // namespace mlsysim
