#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/zoo/loader.hpp>

namespace mlsysim {

const Conventions& conventions_or_standard(const Conventions* conventions) {
  if (conventions != nullptr) return *conventions;
  static const Conventions standard = conventions_of(standard_zoo());
  return standard;
}

}  // namespace mlsysim
