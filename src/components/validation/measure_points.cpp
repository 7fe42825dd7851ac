#include <mlsysim/validation/measure_points.hpp>

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/detail/json_fault.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A file beside the zoo.
fs::path installed(const char* name) {
  const auto file = zoo_directory().parent_path() / name;
  std::error_code failed;
  if (fs::is_regular_file(file, failed)) return file;
  throw InputError({.id = "mlsysim.validation.100",
                    .message = "the script that measures a machine is not installed",
                    .key = name,
                    .found = fmt::format("no file '{}'", file.generic_string()),
                    .expected = fmt::format("{} beside the zoo", name),
                    .hint = "install mlsysim with its data, or unset MLSYSIM_ZOO_PATH"});
}

MeasurePlan read_plan() {
  const auto file = installed("measure_points.json");
  MeasurePlan plan;
  try {
    const auto json = Json::parse(files::read(file, "a JSON file"));
    plan.deadline = json.at("deadline");
    plan.reserve = json.at("reserve");
    for (const auto& p : json.at("points"))
      plan.points.push_back({.name = p.at("name"),
                             .cpu_name = p.at("cpu_name"),
                             .why = p.at("why"),
                             .needs = p.at("needs"),
                             .identifies = p.at("identifies"),
                             .seconds = p.at("seconds"),
                             .cpu_seconds = p.at("cpu_seconds"),
                             .again = p.at("turn") != 1});
  } catch (const Json::exception& error) {
    throw InputError({.id = "mlsysim.validation.101",
                      .message = "the list of points to measure is damaged",
                      .key = "measure_points.json",
                      .found = detail::json_fault(error),
                      .expected = "the file that was installed",
                      .hint = "install mlsysim again",
                      .where = {.file = file.generic_string()}});
  }
  return plan;
}

}  // namespace

std::vector<const MeasurePoint*> MeasurePlan::of(bool cpu) const {
  std::vector<const MeasurePoint*> out;
  for (const auto& p : points)
    if (!cpu || p.needs.empty()) out.push_back(&p);
  return out;
}

std::size_t MeasurePlan::fitting(const std::vector<const MeasurePoint*>& chosen, double seconds,
                                 bool cpu) const {
  double total = 0;
  std::size_t kept = 0;
  while (kept < chosen.size() && (total += chosen[kept]->expected(cpu)) <= seconds - reserve + 1e-9) ++kept;
  return kept;
}

std::vector<const MeasurePoint*> MeasurePlan::points_for(std::string_view constant) const {
  std::vector<const MeasurePoint*> out;
  for (const auto& p : points)
    if (!p.again && std::ranges::find(p.identifies, constant) != p.identifies.end()) out.push_back(&p);
  return out;
}

fs::path measure_script() { return installed("measure.py"); }

const MeasurePlan& measure_plan() {
  static const MeasurePlan plan = read_plan();
  return plan;
}

const MeasurePlan* installed_measure_plan() {
  try {
    return &measure_plan();
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace mlsysim
