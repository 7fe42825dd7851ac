#include "detail/measured_on.hpp"
#include "detail/whole_system.hpp"

#include <mlsysim/tape/detail/quantile.hpp>
#include <mlsysim/validation/calibrate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace mlsysim {
namespace {

constexpr double kLeastAllowed = 0.005;
constexpr double kAllowedOfFew = 0.05;  // their scatter is not known
constexpr std::size_t kFewSystems = 4;
constexpr double kDeviationOfMedian = 1.2533;  // over that of a mean
constexpr double kDeviationOfSizes = 1.4826;   // over the median of sizes about the median

/// Rows of one table of whole systems that concern the device or engine.
struct SystemTable {
  const MeasuredTable* table = nullptr;
  MeasuredRows all;
  std::vector<const MeasuredRow*> rows;
};

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : detail::quantile(values, 0.5);
}

/// Sizes of relative errors under constants; rows without an answer are skipped.
std::vector<double> sizes_of(const SystemTable& t, const Constants& constants, const Zoo& zoo) {
  std::vector<double> out;
  for (const auto* row : t.rows) {
    const auto p = predict(*t.table->measurand, row->inputs.get(), {&zoo, &constants});
    if (p.answered()) out.push_back(std::abs(p.base - row->measured) / row->measured);
  }
  return out;
}

/// By how much the median of these errors may grow.
double allowed_of(const SystemTable& t, const std::vector<double>& sizes) {
  if (sizes.size() < kFewSystems) return kAllowedOfFew;
  const double middle = median_of(sizes);
  std::vector<double> apart;
  for (const double e : sizes) apart.push_back(std::abs(e - middle));
  std::set<std::string> groups;
  for (const auto* row : t.rows) groups.insert(row->group);
  const double error = kDeviationOfMedian * kDeviationOfSizes * median_of(std::move(apart)) /
                       std::sqrt(static_cast<double>(groups.size()));
  return std::max(kLeastAllowed, error / 2);
}

template <class S>
std::vector<SystemTable> systems_of(const S& subject, const std::vector<MeasuredTable>& shipped,
                                    std::span<const MeasuredTable> more, const Zoo& zoo) {
  std::vector<SystemTable> out;
  const auto add = [&](const MeasuredTable& table) {
    if (table.measurand == nullptr || !detail::is_whole_system(*table.measurand)) return;
    SystemTable t{&table, rows_of(table, zoo), {}};
    for (const auto& row : t.all.rows)
      if (detail::is_measured_on(subject, *table.measurand, row.inputs.get())) t.rows.push_back(&row);
    if (!t.rows.empty()) out.push_back(std::move(t));
  };
  for (const auto& table : shipped) add(table);
  for (const auto& table : more) add(table);
  return out;
}

}  // namespace

bool detail::is_whole_system(const Measurand& measurand) {
  static constexpr std::array<std::string_view, 9> kMetrics{
      "ttft",         "itl",     "token_throughput", "goodput",          "energy_per_token",
      "step_latency", "latency", "generation_time",  "generation_energy"};
  return std::ranges::find(kMetrics, measurand.metric()) != kMetrics.end();
}

void check_systems(Calibration& calibration, std::span<const MeasuredTable> more, const Zoo& zoo) {
  calibration.systems.clear();
  calibration.harmless.clear();
  const auto changes = calibration.changes();
  if (changes.empty()) return;
  std::vector<MeasuredTable> shipped;
  for (const auto& name : table_names()) shipped.push_back(load_table(name));
  const auto tables = calibration.what == "engine"
                          ? systems_of(zoo.at<ServingEngine>(calibration.name), shipped, more, zoo)
                          : systems_of(zoo.at<HardwareNode>(calibration.name), shipped, more, zoo);
  const auto conventions = conventions_of(zoo);
  const Constants before(conventions), after(conventions, changes);
  std::vector<const SystemTable*> answered;
  for (const auto& t : tables) {
    const auto sizes = sizes_of(t, before, zoo);
    if (sizes.empty()) continue;
    answered.push_back(&t);
    calibration.systems.push_back({t.table->name, sizes.size(), median_of(sizes),
                                   median_of(sizes_of(t, after, zoo)), allowed_of(t, sizes)});
  }
  if (!calibration.makes_systems_worse()) return;
  for (const auto& change : changes) {
    const Constants alone(conventions, {change});
    bool worse = false;
    for (std::size_t i = 0; i < answered.size() && !worse; ++i) {
      auto one = calibration.systems[i];
      one.after = median_of(sizes_of(*answered[i], alone, zoo));
      worse = one.worse();
    }
    if (!worse) calibration.harmless.push_back(change.field);
  }
}

}  // namespace mlsysim
