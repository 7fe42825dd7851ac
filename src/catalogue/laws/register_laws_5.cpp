#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_5(ResolverRegistry& registry) { add_laws<4>(registry); }
}  // namespace mlsysim::detail
