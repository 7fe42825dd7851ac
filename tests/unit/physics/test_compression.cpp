#include "support/catch.hpp"

#include <mlsysim/physics/compression.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("compressed weights take their bits, positions and scales", "[physics]") {
  // 4 bits and a scale of 16 for each 128: 4.125 bits, 8e9 of them in 4.125 GB
  CHECK_THAT(CompressedWeights::solve({.params = 8 * u::Gparam, .bits = 4, .scale_bits = 16, .group = 128})
                 .weights.in(u::GB),
             WithinRel(4.125, 1e-14));
  // Half of them zero, 16 bits and a position of 2 for the others: 9 bits
  CHECK_THAT(CompressedWeights::solve({.params = 8 * u::Gparam, .bits = 16, .sparsity = 0.5, .index_bits = 2})
                 .weights.in(u::GB),
             WithinRel(9.0, 1e-14));
  // Two of four, each with 2 bits of position, and one scale of 8 bits a pair: (1/2)(8 + 2) + 8 / 2 = 9 bits
  CHECK_THAT(
      CompressedWeights::solve(
          {.params = 8 * u::Gparam, .bits = 8, .sparsity = 0.5, .index_bits = 2, .scale_bits = 8, .group = 2})
          .weights.in(u::GB),
      WithinRel(9.0, 1e-14));
  // Nothing compressed is two bytes a weight; nothing kept is nothing.
  CHECK_THAT(CompressedWeights::solve({.params = 8 * u::Gparam, .bits = 16}).weights.in(u::GB),
             WithinRel(16.0, 1e-14));
  CHECK(CompressedWeights::solve({.params = 8 * u::Gparam, .bits = 16, .sparsity = 1}).weights.in(u::GB) ==
        0);
}
