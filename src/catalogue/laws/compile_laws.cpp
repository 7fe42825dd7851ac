#include "catalogue/laws/compile_laws.hpp"

#include <mlsysim/physics/compilation.hpp>

namespace mlsysim::detail {

void add_compile_laws(ResolverRegistry& registry) {
  registry.add<EagerStep>();
  registry.add<CompiledStep>();
  registry.add<CompilePayback>();
}

}  // namespace mlsysim::detail
