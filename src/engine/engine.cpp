#include <mlsysim/engine/engine.hpp>
#include <mlsysim/resolve/input_guard.hpp>

#include <fmt/format.h>

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

std::vector<SweepPoint> Engine::sweep(const Options& base, std::span<const HardwareNode* const> hardware,
                                      std::span<const double> batch_sizes,
                                      std::span<const Precision> precisions) {
  std::vector<SweepPoint> points;
  points.reserve(hardware.size() * batch_sizes.size() * precisions.size());
  for (const HardwareNode* device : hardware) {
    for (const double batch : batch_sizes) {
      for (const Precision precision : precisions) {
        SweepPoint p{.hardware = device, .batch_size = batch, .precision = precision};
        if (!device->compute.dense[precision]) {
          p.skipped = true;
          p.reason = fmt::format("{} has no rate at {}", device->name, name_of(precision));
        } else {
          Options o = base;
          o.hardware = device;
          o.batch_size = batch;
          o.precision = precision;
          p.profile = solve(o);
        }
        points.push_back(std::move(p));
      }
    }
  }
  return points;
}

}  // namespace mlsysim
