
#include "commands_validation.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/validation/calibration_report.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace mlsysim::cli {

std::string refusal_of(const Calibration& fit) {
  std::string out;
  for (const auto& s : fit.systems)
    if (s.worse())
      out += fmt::format(
          "mlsysim: refused: the fit makes {} worse, from {:.1f} % to {:.1f} %; --force keeps it, "
          "mlsysim calibrate --constant fits less\n",
          s.table, 100 * s.before, 100 * s.after);
  return out;
}

Answer calibrate_constants(const CalibrateRequest& request, const RenderOptions& options) {
  if (request.device.empty() && request.engine.empty())
    throw InputError(
        {.id = "mlsysim.cli.080",
         .message = "nothing is named whose constants are to be fitted",
         .key = "device",
         .found = "neither --device nor --engine",
         .expected = "one of them",
         .hint = "mlsysim calibrate --device H100 --table kernels/aiconfigurator_gemm_bf16_h100"});
  const files::WriteHow replacing{.replace = request.force ? files::Replace::any : files::Replace::own,
                                  .mark = "fitted to "};
  if (!request.write.empty()) files::check_target(request.write, replacing);
  std::vector<MeasuredTable> tables;
  for (const auto& name : request.tables)
    tables.push_back(name.ends_with(".yaml") ? load_table_file(name) : load_table(name));
  CalibrationOptions how;
  how.fields = request.constants;
  how.any_rows = request.force;
  const bool engine = !request.engine.empty();
  Calibration fit =
      calibrate(engine ? "engine" : "device", engine ? request.engine : request.device, tables, zoo(), how);
  check_systems(fit, {}, zoo());
  if (auto refusal = refusal_of(fit); !request.force && !refusal.empty())
    return {render(fit, options), std::move(refusal), Exit::assertion_failed};
  const auto today = fmt::format(
      "{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  if (!request.write.empty())
    files::write(request.write, overlay_of(fit, zoo(), request.date.empty() ? today : request.date),
                 replacing);
  return {render(fit, options)};
}

}  // namespace mlsysim::cli
