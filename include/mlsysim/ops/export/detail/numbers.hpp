#pragma once
/// Names Prometheus gauges by the dimension of a number. Values are in base units.
///
///   time                                     STEM_latency_seconds
///   tokens/s, samples/s, requests/s, 1/s     STEM_throughput_per_second
///   bytes                                    STEM_memory_bytes
///   energy                                   STEM_energy_joules
///   money                                    STEM_cost_usd
///   any other dimension                      STEM, with its base unit in the label "unit"
///
/// Example: stem mlsysim_predicted: 0.0152 s becomes mlsysim_predicted_latency_seconds 0.0152, and 2 W
/// becomes mlsysim_predicted{unit="W"} 2.

#include <mlsysim/ops/export/metrics.hpp>
#include <mlsysim/units/dimension.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {

/// Collects numbers and groups them into metric families.
class NumberFamilies {
 public:
  /// @param stem "mlsysim_predicted"
  /// @param help a sentence that describes the numbers
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
