#pragma once
/// Numbers of results as metrics: their dimension says under which name.

#include <mlsysim/ops/export/metrics.hpp>
#include <mlsysim/units/dimension.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {

/// Gauges in base units: STEM_latency_seconds, STEM_throughput_per_second (of tokens, samples, requests),
/// STEM_memory_bytes, STEM_energy_joules, STEM_cost_usd. A number of another dimension is STEM, with its base
/// unit as the label "unit".
class NumberFamilies {
 public:
  /// @param stem "mlsysim_predicted"
  /// @param help what the numbers are, as a sentence
  NumberFamilies(std::string stem, std::string help) : stem_(std::move(stem)), help_(std::move(help)) {}
  /// A number; the last one of the same labels and time counts.
  /// @param value in the base unit of `exps`
  /// @param time s since 1970; absent: now
  void add(std::map<std::string, std::string> labels, double value, const Exponents& exps,
           std::optional<double> time = {});
  [[nodiscard]] std::vector<MetricFamily> families() const;

 private:
  using Key = std::pair<std::map<std::string, std::string>, std::optional<double>>;
  std::string stem_, help_;
  std::map<std::string, std::map<Key, double>> by_name_;
};

}  // namespace mlsysim
