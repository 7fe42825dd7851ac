// Models that are one under two names.

#include <mlsysim/model_files/known.hpp>
#include <mlsysim/spec/content.hpp>

#include <fmt/format.h>

namespace mlsysim {

std::uint64_t structure_digest(const Workload& w) {
  Workload bare;
  bare.architecture = w.architecture;
  bare.stacks = w.stacks;
  bare.operators = w.operators;
  for (auto& r : bare.operators) r.path.clear();
  return content_digest({&bare, ObjectType<Workload>::name});
}

std::vector<std::string> notes_on_name(const ModelFile& model, const Zoo& zoo) {
  std::vector<std::string> out;
  const auto own = structure_digest(model.workload);
  bool known = false;
  for (const Workload* w : zoo.all<Workload>())
    if ((!w->stacks.empty() || !w->operators.empty()) && structure_digest(*w) == own) {
      out.push_back(fmt::format("the layers are those of {} of the zoo", w->name));
      known = known || w->name == model.entry.name;
    }
  const Workload* named = zoo.find<Workload>(model.entry.name);
  if (named != nullptr && !known && !named->stacks.empty())
    out.push_back(fmt::format("{} of the zoo has other layers than this file", named->name));
  return out;
}

}  // namespace mlsysim
