#include <mlsysim/scalars/loops.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

void refuse_repeat(double count, int bound) {
  throw DomainError(
      {.id = "mlsysim.scalars.001",
       .message = "a loop inside a law was asked for too many rounds",
       .key = "count",
       .found = fmt::format("{} rounds", count),
       .expected = fmt::format("at most {}", bound),
       .hint = "check the input that counts rounds, or raise the bound in the law: repeat<Bound>(...)"});
}

}  // namespace mlsysim::detail
