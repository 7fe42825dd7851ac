#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_1(ResolverRegistry& registry) { add_laws<0>(registry); }
}  // namespace mlsysim::detail
