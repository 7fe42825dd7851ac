#include <mlsysim/validation/page.hpp>

#include "detail/competitors.hpp"
#include "detail/result_text.hpp"

#include <mlsysim/validation/report.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

constexpr std::string_view kCalibrationsSchema = "mlsysim/validation-calibrations@1";

constexpr std::string_view kHead =
    "# Accuracy\n\n"
    "Written by `mlsysim validate --page docs/reference/accuracy.md`; a change that makes a table worse than "
    "its tolerance fails\n"
    "`mlsysim validate --check`. Errors are |predicted - measured| / measured over the rows of a table, the "
    "bias is their signed mean.\n"
    "One set of constants for each device: no constant belongs to a model, a table or a row. `textbook` is "
    "the classic formula with half of the\n"
    "peak rate, `roofline` the larger of work over peak rate and traffic over peak bandwidth. Both, and what "
    "the terms of the model\n"
    "are worth, are computed over the rows that the operators answer, with a count where they answer fewer. "
    "Rows that a source leaves\n"
    "ambiguous are left out, with the reason. Of large tables samples ship; the figures are those of all "
    "their "
    "records where the folder of\n"
    "whole tables is named (MLSYSIM_TABLES), and of the samples else.\n\n";

/// Constants of each device and engine that come from a fit rather than from a data sheet or the priors of
/// zoo/defaults.yaml.
std::string fitted_constants(const Zoo& zoo) {
  std::string out =
      "## Fitted constants\n\n| device or engine | figures | of them fitted or measured | names |\n| --- | "
      "---: | ---: | --- |\n";
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    if (device->entry == nullptr) continue;
    std::vector<std::string> names;
    for (const auto& f : device->entry->figures) {
      const auto group = f.path.substr(0, f.path.find('.'));
      if (group == "efficiency" || group == "draw" || group == "kernels" || group == "collectives")
        names.push_back(f.path);
    }
    if (!names.empty())
      out += fmt::format("| {} | {} | {} | {} |\n", device->name, device->entry->figures.size(), names.size(),
                         fmt::join(names, ", "));
  }
  for (const ServingEngine* engine : zoo.all<ServingEngine>()) {
    if (engine->entry == nullptr) continue;
    std::vector<std::string> names;
    for (const auto& f : engine->entry->figures)
      if (engine->entry->source_of(f.path).kind == SourceKind::fit) names.push_back(f.path);
    if (!names.empty())
      out += fmt::format("| {} | {} | {} | {} |\n", engine->name, engine->entry->figures.size(), names.size(),
                         fmt::join(names, ", "));
  }
  return out +
         "\nA device that is not listed is predicted from its data sheet and the priors of its class.\n\n";
}

std::string cross_validation(std::span<const Calibration> calibrations) {
  std::string out =
      "## Groups left out\n\nThe constants are fitted again without one group of rows (a model, a shape, a "
      "library) and asked about it. An\n"
      "interval is the covariance of the constants and the scatter of the rows, scaled by what groups missed "
      "that their fit had not\n"
      "seen; what it holds is counted over rows of a group with the scale of the other groups.\n\n"
      "| device or engine | tables | rows | median, in the sample | median, left out | mean, left out | 50 % "
      "intervals hold | 80 % | 95 % |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& c : calibrations) {
    const auto apart = [&](double share) {
      return c.groups.empty() ? std::string("-") : detail::percent(share);
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", c.name, fmt::join(c.tables, ", "),
                       c.rows, detail::percent(c.after.median), apart(c.left_out.median),
                       apart(c.left_out.mean), apart(c.coverage_left_out(0.5)),
                       apart(c.coverage_left_out(0.8)), apart(c.coverage_left_out(0.95)));
  }
  return out + "\n";
}

}  // namespace

std::vector<CalibrationCheck> read_calibration_checks(const std::filesystem::path& file) {
  const auto document =
      YamlDocument::read(file.empty() ? zoo_directory() / "validation" / "calibrations.yaml" : file);
  std::vector<ErrorFacts> problems;
  const auto fault = [&](const YamlValue& at, std::string message, std::string expected) {
    problems.push_back(document.placed({.id = "mlsysim.validation.095",
                                        .message = std::move(message),
                                        .found = at.describe(),
                                        .expected = std::move(expected)},
                                       at));
  };
  std::vector<CalibrationCheck> out;
  const auto& root = document.root();
  const YamlValue *schema = root.find("schema"), *list = root.find("calibrations");
  if (schema == nullptr || schema->text != kCalibrationsSchema)
    fault(root, "the file has another schema", std::string(kCalibrationsSchema));
  if (list == nullptr || list->kind != YamlValue::Kind::sequence)
    fault(root, "'calibrations' is missing", "a list of {device: a device, tables: [names]}");
  else
    for (const auto& item : list->items) {
      const YamlValue *device = item.find("device"), *engine = item.find("engine"),
                      *tables = item.find("tables");
      if ((device == nullptr) == (engine == nullptr) || tables == nullptr ||
          tables->kind != YamlValue::Kind::sequence) {
        fault(item, "a calibration needs a device or an engine, and its tables",
              "{device: a device, tables: [names]}");
        continue;
      }
      CalibrationCheck check{
          device != nullptr ? "device" : "engine", device != nullptr ? device->text : engine->text, {}, {}};
      for (const auto& t : tables->items) check.tables.push_back(t.text);
      if (const YamlValue* constants = item.find("constants"); constants != nullptr)
        for (const auto& c : constants->items) check.constants.push_back(c.text);
      out.push_back(std::move(check));
    }
  if (problems.empty()) return out;
  const auto title = fmt::format("{}: {} problems", document.file(), problems.size());
  throw ErrorList({.id = "mlsysim.validation.096", .message = title}, std::move(problems));
}

std::string accuracy_page(std::span<const TableResult> results, std::span<const Calibration> calibrations,
                          const Zoo& zoo) {
  std::string out(kHead);
  out += fitted_constants(zoo);
  if (!calibrations.empty()) out += cross_validation(calibrations);
  out += honest_columns(results, calibrations, zoo);
  out += render(results, {.format = OutputFormat::markdown});
  return out;
}

}  // namespace mlsysim
