#include "commands.hpp"
#include "output.hpp"

#include <mlsysim/validation/calibration_report.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace mlsysim::cli {

Answer calibrate_device(const CalibrateRequest& request, const RenderOptions& options) {
  const HardwareNode& device = zoo().at<HardwareNode>(request.device);
  std::vector<MeasuredTable> tables;
  for (const auto& name : request.tables) tables.push_back(name.ends_with(".yaml") ? load_table_file(name) : load_table(name));
  CalibrationOptions how;
  how.fields = request.constants;
  const Calibration fit = calibrate(device, tables, zoo(), how);
  const auto today = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  if (!request.write.empty()) write_file(request.write, overlay_of(fit, zoo(), request.date.empty() ? today : request.date));
  return {render(fit, options)};
}

}  // namespace mlsysim::cli
