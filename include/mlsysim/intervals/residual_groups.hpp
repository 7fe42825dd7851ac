#pragma once
/// What predictions missed, by groups of measured rows: data of their own, from which intervals are read.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// What tables measure.
struct MeasuredMetric {
  std::string_view key;    ///< of the metric of an estimate, or of what one kernel or device does
  std::string_view words;  ///< for readers
};
inline constexpr MeasuredMetric kMeasuredMetrics[] = {{"ttft", "first token"},
                                                      {"itl", "time between tokens"},
                                                      {"token_throughput", "serving throughput"},
                                                      {"goodput", "throughput within limits"},
                                                      {"energy_per_token", "energy of a token"},
                                                      {"step_latency", "training step"},
                                                      {"energy_per_step", "energy of a training step"},
                                                      {"memory_used", "memory"},
                                                      {"latency", "one pass"},
                                                      {"compile_time", "time to compile"},
                                                      {"payback_steps", "steps until compiling pays"},
                                                      {"matmul", "matrix product"},
                                                      {"matmul_power", "power of matrix products"},
                                                      {"attention", "attention"},
                                                      {"attention_block", "attention block"},
                                                      {"attention_power", "power of attention"},
                                                      {"linear_attention", "linear attention"},
                                                      {"expert_layer", "layer of experts"},
                                                      {"collective", "collective"},
                                                      {"memory_stream", "memory stream"},
                                                      {"generation_time", "time of a generation"},
                                                      {"generation_energy", "energy of a generation"},
                                                      {"operational_carbon", "operational carbon"},
                                                      {"interruptions", "interruptions"}};
/// The metric of a key. A key that is not listed does not compile.
[[nodiscard]] consteval MeasuredMetric measured(std::string_view key) {
  for (const auto& m : kMeasuredMetrics)
    if (m.key == key) return m;
  throw "no table measures a metric of this key";
}

/// What a number is about, as far as errors depend on it. An empty text is not known.
struct ErrorSubject {
  std::string metric;      ///< a key of kMeasuredMetrics
  std::string device;      ///< key of the zoo
  std::string generation;  ///< key of the device's class: "hopper"
  std::string origin;      ///< serving engine, or the table of measurements where no engine serves
  std::string family;      ///< model, or the shape of what was measured
};

/// Rows that are alike, and what their predictions missed.
struct ResidualGroup {
  ErrorSubject subject;
  std::string table;              ///< where its rows come from: "training/nemo_2407_h100_fp8"
  std::size_t rows = 0;           ///< how many were measured
  std::vector<double> residuals;  ///< log(measured / predicted) of times, bytes and joules, sorted; of rates
                                  ///< with the other sign. At most kMostResiduals, evenly over the rows.
};

/// Residuals that are kept of a group.
inline constexpr std::size_t kMostResiduals = 15;

/// At most `kMostResiduals` of them: the quantiles in the middle of as many equal parts. @return sorted
[[nodiscard]] std::vector<double> thinned(std::vector<double> residuals);

/// @param file empty for zoo/validation/residuals.yaml of the shipped zoo
/// @throws InputError for a file that cannot be read, ErrorList with every fault of its text
[[nodiscard]] std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file = {});
/// @param name stands for the text in messages
[[nodiscard]] std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name);
/// The groups as YAML, in their order; reading it gives them again, to a thousandth of a residual.
[[nodiscard]] std::string to_yaml(const std::vector<ResidualGroup>& groups);

/// First words of a file of residuals.
inline constexpr std::string_view kResidualsSchema = "mlsysim/residuals@1";

}  // namespace mlsysim
