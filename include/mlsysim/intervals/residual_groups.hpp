#pragma once
/// Prediction errors by group of measured rows. Intervals are computed from these data.

#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A metric that tables of measurements hold.
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

/// The properties of a number that its prediction error depends on. An empty text means unknown.
struct ErrorSubject {
  std::string metric;      ///< a key of kMeasuredMetrics
  std::string device;      ///< key of the zoo
  std::string generation;  ///< key of the device's class: "hopper"
  std::string origin;  ///< release of a serving engine, family of kernels, or else the table of measurements
  std::string family;  ///< model, or the shape of what was measured
  std::string software;  ///< of which the origin is a release or variant: "vllm" of "vllm@0.12"
  std::string link;      ///< what joins its devices: "device link", "host bus", "network"; of one device none
  bool measured = true;  ///< the device has figures of its own kernels, and not those of its class alone
};

/// Fills in the part of a subject that the device decides: its name, its class, and whether its kernels were
/// measured.
void note_device(ErrorSubject& about, const HardwareNode* device);
/// The release of an engine and the software that it is a release or variant of.
void note_engine(ErrorSubject& about, const ServingEngine& engine);
/// The kind of link between so many devices: nothing where there is one, a network where they do not fit into
/// a node, else the links that devices have among themselves, or the bus to the host.
/// @param node may be null: eight devices with the link of their kind
[[nodiscard]] std::string link_kind(const HardwareNode& device, const Node* node, double devices);
/// The device as nobody has measured it: without figures of its kernels, collectives and draw.
[[nodiscard]] HardwareNode as_of_its_class(HardwareNode device);

/// Rows that are alike, and what their predictions missed.
struct ResidualGroup {
  ErrorSubject subject;
  std::string table;              ///< where its rows come from: "training/nemo_2407_h100_fp8"
  std::size_t rows = 0;           ///< how many were measured
  std::vector<double> residuals;  ///< log(measured / predicted) of times, bytes and joules, sorted; of rates
                                  ///< with the other sign. At most kMostResiduals, evenly over the rows.
  bool unmeasured = false;        ///< predicted again with the device as its class has it
};

/// Residuals that are kept of a group.
inline constexpr std::size_t kMostResiduals = 15;

/// At most `kMostResiduals` of them: the quantiles in the middle of as many equal parts. @return sorted
[[nodiscard]] std::vector<double> thinned(std::vector<double> residuals);

/// By distance, then by level: how many times as wide as their own residuals bands have to be
/// (`ErrorBook::factors`).
using BandFactors = std::vector<std::vector<double>>;

/// @param file empty for zoo/validation/residuals.csv of the shipped zoo
/// @throws InputError for a file that cannot be read, ErrorList with every fault of its text
[[nodiscard]] std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file = {});
/// Those that ship with the zoo and measure one metric; other lines are not read. @throws as above
[[nodiscard]] std::vector<ResidualGroup> read_residual_groups_of(std::string_view metric);
/// @param name stands for the text in messages
[[nodiscard]] std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name);
/// Those that ship with the zoo: they take longer to find than to read. @throws InputError
[[nodiscard]] BandFactors read_band_factors();
/// The groups as CSV, in their order, residuals in thousandths; reading it gives them again.
[[nodiscard]] std::string to_csv(std::span<const ResidualGroup> groups);
/// The factors of the groups of such a CSV, by distance, as another.
[[nodiscard]] std::string factors_csv(std::string residuals);

/// First lines of both.
inline constexpr std::string_view kResidualsHead =
    "metric,device,generation,origin,family,table,software,link,measured,unmeasured,rows,residuals\n";
inline constexpr std::string_view kFactorsHead = "distance,50,80,95\n";

}  // namespace mlsysim
