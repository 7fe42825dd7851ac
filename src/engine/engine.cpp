#include <mlsysim/engine/engine.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>

namespace mlsysim {

SingleNodeModel::Result Engine::solve(const Options& options) {
  // The checks of `evaluate` without its report: nobody could read the notes.
  static const InputGuard guard(describe<Options>());
  guard.check(&options, SingleNodeModel::id);
  auto result = SingleNodeModel{}.solve(options);
  check_result(describe<SingleNodeModel::Result>(), &result, SingleNodeModel::id,
               {describe<Options>(), &options});
  return result;
}

SingleNodeModel::Result Engine::solve(const Workload& workload, const HardwareNode& hardware,
                                      double batch_size, Precision precision) {
  return solve(
      {.workload = &workload, .hardware = &hardware, .batch_size = batch_size, .precision = precision});
}

}  // namespace mlsysim
