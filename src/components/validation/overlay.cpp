#include <mlsysim/validation/calibrate.hpp>

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

/// A spec with fitted figures, as a file.
template <ZooSpec S>
std::string overlay(const S& original, S fitted, const Calibration& calibration, const Zoo& zoo,
                    const std::string& date) {
  Entry entry = Zoo::entry_of(original);
  entry.name = fitted.name = calibration.name + "_calibrated";
  entry.title += ", calibrated";
  entry.aliases.clear();
  entry.origin = "user";
  // Links to measurements that the zoo does not cite fall back to the entry's own source.
  const auto known = std::find_if(calibration.references.begin(), calibration.references.end(),
                                  [&](const auto& r) { return zoo.find_reference(r) != nullptr; });
  for (const auto& c : calibration.constants) {
    if (!c.identified) continue;
    const auto& f = c.constant;
    const double one = f.unit.empty() ? 1.0 : AnyQuantity::parse(fmt::format("1 {}", f.unit)).base();
    Figure figure;
    figure.path = f.field;
    figure.base = c.value;
    figure.authored = fmt::format("{}{}{}", format_exact(c.value / one), f.unit.empty() ? "" : " ", f.unit);
    figure.low = c.p10();
    figure.high = c.p90();
    Source source;
    source.kind = choice_of<SourceKind>("fit").value_or(SourceKind::measured);
    source.ref = known == calibration.references.end() ? entry.source.ref : *known;
    source.recorded = date;
    source.note = fmt::format("fitted to {} rows of {}; range is p10 to p90", calibration.fitted_rows,
                              fmt::join(calibration.tables, ", "));
    figure.own = source;
    const auto at = std::lower_bound(entry.figures.begin(), entry.figures.end(), figure.path,
                                     [](const Figure& a, const std::string& path) { return a.path < path; });
    if (at != entry.figures.end() && at->path == figure.path)
      *at = std::move(figure);
    else
      entry.figures.insert(at, std::move(figure));
  }
  fitted.entry = &entry;
  return to_yaml(fitted);
}

}  // namespace

std::string overlay_of(const Calibration& calibration, const Zoo& zoo, const std::string& date) {
  if (!valid_date(date))
    throw InputError({.id = "mlsysim.validation.086",
                      .message = "the date of the fit is no date",
                      .key = "date",
                      .found = fmt::format("'{}'", date),
                      .expected = "a date of the calendar, YYYY-MM-DD",
                      .hint = "write, e.g., 2026-03-06"});
  const Constants fitted(conventions_of(zoo), calibration.changes());
  if (calibration.what == "engine") {
    const auto& engine = zoo.at<ServingEngine>(calibration.name);
    return overlay(engine, fitted.engine(engine), calibration, zoo, date);
  }
  const auto& device = zoo.at<HardwareNode>(calibration.name);
  HardwareNode own = fitted.device(device);
  if (own.same_die == nullptr) own.same_die = &device;  // for what was not fitted
  return overlay(device, std::move(own), calibration, zoo, date);
}

}  // namespace mlsysim
