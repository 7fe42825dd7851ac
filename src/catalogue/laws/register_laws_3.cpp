#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_3(ResolverRegistry& registry) { add_laws<2>(registry); }
}  // namespace mlsysim::detail
