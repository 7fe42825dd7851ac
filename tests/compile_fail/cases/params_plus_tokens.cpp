// expect: fail
// expect-match: no match for 'operator\+'.*dim::params.*dim::tokens
// forbid-match: \\[0-9]{3}
// mistake: Adding parameters to tokens
// fix: Multiply by what turns the one into the other first, for example tokens per parameter.
#include <mlsysim/units/unit.hpp>
using namespace mlsysim;

auto sum() {
  const auto model = 8.0 * unit::Gparam;
  const auto corpus = 15.0 * unit::Ttoken;
  return model + corpus;
}
