#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_6(ResolverRegistry& registry) { add_laws<5>(registry); }
}  // namespace mlsysim::detail
