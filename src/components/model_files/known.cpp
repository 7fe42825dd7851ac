// Models that are one under two names.

#include <mlsysim/model_files/known.hpp>
#include <mlsysim/specs/content.hpp>

namespace mlsysim {

std::uint64_t structure_digest(const Workload& w) {
  Workload bare;
  bare.architecture = w.architecture;
  bare.stacks = w.stacks;
  bare.operators = w.operators;
  for (auto& r : bare.operators) r.path.clear();
  return content_digest({&bare, ObjectType<Workload>::name});
}

std::vector<std::string> models_alike(const Workload& workload, const Zoo& zoo) {
  std::vector<std::string> out;
  const auto own = structure_digest(workload);
  for (const Workload* w : zoo.all<Workload>())
    if ((!w->stacks.empty() || !w->operators.empty()) && structure_digest(*w) == own) out.push_back(w->name);
  return out;
}

}  // namespace mlsysim
