#include "catalogue/laws/register_laws.hpp"

namespace mlsysim::detail {
void add_laws_4(ResolverRegistry& registry) { add_laws<3>(registry); }
}  // namespace mlsysim::detail
