#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_2(ResolverRegistry& registry) { add_laws<1>(registry); }
}  // namespace mlsysim::detail
