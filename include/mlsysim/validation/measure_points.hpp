#pragma once
/// The points that `mlsysim measure` takes on a machine, most valuable first, and the script that measures
/// them.
///
///   a point fits if the sum of expected seconds up to it <= deadline - reserve
///
/// Each point names the constants that it identifies. A CPU core measures smaller sizes, and no point that
/// needs an accelerator.
/// Example: points of 10, 20 and 30 s, deadline 60 s, reserve 20 s: two points fit.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One kernel, host call or check of the plan.
struct MeasurePoint {
  std::string name, cpu_name;  ///< with its sizes; on a CPU core the sizes are smaller
  std::string why;
  std::string needs;                    ///< "accelerator", "fp8", "power", or nothing
  std::vector<std::string> identifies;  ///< constants; none for a check, which no fit uses
  double seconds = 0, cpu_seconds = 0;  ///< expected on an accelerator and on a CPU core
  bool again = false;                   ///< repeats the work of an earlier point
  [[nodiscard]] double expected(bool cpu) const { return cpu ? cpu_seconds : seconds; }
};

/// All points, the most valuable first. A deadline drops points from the end.
struct MeasurePlan {
  std::vector<MeasurePoint> points;
  double deadline = 0, reserve = 0;  ///< default of the whole run, and the part of it for writing files [s]

  /// The points that a CPU core can measure, or all.
  [[nodiscard]] std::vector<const MeasurePoint*> of(bool cpu) const;
  /// How many of these points fit a deadline [s].
  [[nodiscard]] std::size_t fitting(const std::vector<const MeasurePoint*>& points, double seconds,
                                    bool cpu) const;
  /// Points that identify a constant, the most valuable first.
  [[nodiscard]] std::vector<const MeasurePoint*> points_for(std::string_view constant) const;
};

/// The installed script. @throws InputError where it is not beside the zoo
[[nodiscard]] std::filesystem::path measure_script();
/// The points of the installed script. @throws InputError where their file is missing or damaged
[[nodiscard]] const MeasurePlan& measure_plan();
/// The points of the installed script; null where their file is missing or damaged.
[[nodiscard]] const MeasurePlan* installed_measure_plan();

}  // namespace mlsysim
