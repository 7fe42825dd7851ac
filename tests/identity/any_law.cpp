#include "identity/any_law.hpp"

#include <mlsysim/physics/laws.hpp>
#include <mlsysim/tape/register.hpp>

namespace identity {

using namespace mlsysim;

std::vector<double> AnyLaw::solve(const std::vector<double>& values) const {
  return evaluate_checked(*entry, values);
}

const std::vector<AnyLaw>& all_laws() {
  static const std::vector<AnyLaw> laws = [] {
    std::vector<AnyLaw> list;
    for_each_law([&]<class L>() {
      const LawEntry& entry = entry_of<L>();
      list.push_back({entry.info, entry.inputs, entry.results, &entry});
    });
    return list;
  }();
  return laws;
}

}  // namespace identity
