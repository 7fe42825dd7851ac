#pragma once
/// Labeled numbers as metrics: Prometheus text 0.0.4, OpenMetrics 1.0 or OTLP JSON.
///
/// Names follow Prometheus: base units, and counters (and only counters) end in _total. A histogram sample
/// holds the cumulative count at or below each bound, the count of all, and the sum.
/// Example: a_seconds with bounds {0.1, 1}, counts {1, 3, 4}, sum 2.5 and label k="v" gives
///   a_seconds_bucket{k="v",le="0.1"} 1
///   a_seconds_bucket{k="v",le="1"} 3
///   a_seconds_bucket{k="v",le="+Inf"} 4
///   a_seconds_sum{k="v"} 2.5
///   a_seconds_count{k="v"} 4

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// One number.
struct MetricSample {
  std::map<std::string, std::string> labels;
  double value = 0;              ///< of a histogram: the sum of its observations
  std::optional<double> time{};  ///< seconds since 1970; absent: now
  std::vector<double> counts{};  ///< of a histogram: how many are at or below each bound, and how many in all
};

/// All numbers of one name.
struct MetricFamily {
  std::string name, help;
  MetricType type = MetricType::gauge;
  std::vector<MetricSample> samples;
  std::vector<double> bounds{};  ///< of a histogram, ascending and finite
};

/// How many samples of a name are kept apart. The rest is added up under the label value "other".
struct Cardinality {
  std::size_t most = 1000;
  std::vector<std::string> folded{"reason", "model_name",
                                  "model"};  ///< labels that become "other", in this order
};

/// A text as a label value. Bytes that are not UTF-8 are replaced. A text over 1024 bytes is cut and ends in
/// a hash of the whole.
[[nodiscard]] std::string label_value(std::string_view text);
/// Folds the samples above the limit. @return how many samples were merged into others
std::size_t fold_labels(MetricFamily& family, const Cardinality& limit);

/// The text format 0.0.4 of Prometheus. @throws InputError for names that it does not take, the same series
/// twice, or a time, which gateways refuse
[[nodiscard]] std::string prometheus_text(const std::vector<MetricFamily>& families);
/// OpenMetrics 1.0, with times where samples have them, so that history can be filled in. @throws InputError
[[nodiscard]] std::string open_metrics_text(const std::vector<MetricFamily>& families);
/// OTLP metrics as JSON (ExportMetricsServiceRequest). @param time of samples without one [ns since 1970]
[[nodiscard]] std::string otlp_metrics_json(const std::vector<MetricFamily>& families, std::uint64_t time);

}  // namespace mlsysim
