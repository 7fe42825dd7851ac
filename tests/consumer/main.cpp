// What a user's first program does: include a header, call into the library, read a unit.
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/version.hpp>

#include <cmath>

int main() {
  using namespace mlsysim;
  const auto time = 140 * unit::GB / (3.35 * unit::TB / unit::s);
  const bool right = std::abs(time.in(unit::ms)-41.791) < 0.001 && version_text == MLSYSIM_VERSION_TEXT;
  return right ? 0 : 1;
}
