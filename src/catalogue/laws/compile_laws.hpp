#pragma once
// Registration of the laws of compiled steps.

#include <mlsysim/resolve/registry.hpp>

namespace mlsysim::detail {

void add_compile_laws(ResolverRegistry& registry);

}  // namespace mlsysim::detail
