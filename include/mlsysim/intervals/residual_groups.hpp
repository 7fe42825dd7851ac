#pragma once
/// Prediction errors by group of measured rows: the data behind prediction intervals, and their CSV files.
///
///   residual = log(measured / predicted)     of a time, bytes or joules
///   residual = log(predicted / measured)     of a rate
///   thinned  = sorted[floor((i + 0.5) / 15 * n)],  i = 0..14     if n > 15 residuals
///
/// A group has one metric, device, software release, model or shape, kind of link and table.
/// Example: 12 ms measured and 10 ms predicted: residual 0.182, written as 182 thousandths. The residuals 1,
/// 2, ..., 30 are thinned to 2, 4, ..., 30.

#include <mlsysim/fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A metric that tables of measurements hold.
struct MeasuredMetric {
  std::string_view key;    ///< key of a result of an estimate, or of a quantity of one kernel or device
  std::string_view words;  ///< for readers
  std::string_view kind;   ///< of quantities whose errors are told together: "kernels"
};
inline constexpr MeasuredMetric kMeasuredMetrics[] = {
    {"ttft", "first token", "first token"},
    {"itl", "time between tokens", "token time"},
    {"token_throughput", "serving throughput", "throughput"},
    {"goodput", "throughput within limits", "throughput"},
    {"energy_per_token", "energy of a token", "energy"},
    {"step_latency", "training step", "training"},
    {"energy_per_step", "energy of a training step", "energy"},
    {"memory_used", "memory", "memory"},
    {"latency", "one pass", "single pass"},
    {"compile_time", "time to compile", "other"},
    {"payback_steps", "steps until compiling pays", "other"},
    {"matmul", "matrix product", "kernels"},
    {"matmul_power", "power of matrix products", "energy"},
    {"attention", "attention", "kernels"},
    {"attention_block", "attention block", "kernels"},
    {"attention_power", "power of attention", "energy"},
    {"linear_attention", "linear attention", "kernels"},
    {"expert_layer", "layer of experts", "kernels"},
    {"collective", "collective", "collectives"},
    {"memory_stream", "memory stream", "kernels"},
    {"generation_time", "time of a generation", "single pass"},
    {"generation_energy", "energy of a generation", "energy"},
    {"operational_carbon", "operational carbon", "other"},
    {"interruptions", "interruptions", "other"}};
/// The metric of a key. A key that is not listed does not compile.
[[nodiscard]] consteval MeasuredMetric measured(std::string_view key) {
  for (const auto& m : kMeasuredMetrics)
    if (m.key == key) return m;
  throw "no table measures a metric of this key";
}

/// The kind of a metric; "other" for one that no table measures.
[[nodiscard]] std::string_view kind_of(std::string_view metric);

/// The properties of a number that its prediction error depends on. An empty text means unknown.
struct ErrorSubject {
  std::string metric;      ///< a key of kMeasuredMetrics
  std::string device;      ///< key of the zoo
  std::string generation;  ///< key of the device's class: "hopper"
  std::string origin;  ///< release of a serving engine, family of kernels, or else the table of measurements
  std::string family;  ///< model, or the measured shape
  std::string software;  ///< of which the origin is a release or variant: "vllm" of "vllm@0.12"
  std::string link;      ///< between its devices: "device link", "host bus", "network"; empty for one device
  bool measured = true;  ///< the device has parameters from its own kernels, not only those of its class
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
/// The device without the parameters that were measured on it: kernels, collectives and power draw.
[[nodiscard]] HardwareNode as_of_its_class(HardwareNode device);

/// Similar rows, and their prediction errors.
struct ResidualGroup {
  ErrorSubject subject;
  std::string table;              ///< where its rows come from: "training/nemo_2407_h100_fp8"
  std::size_t rows = 0;           ///< how many were measured
  std::vector<double> residuals;  ///< sorted, at most kMostResiduals
  bool unmeasured = false;        ///< predicted with the parameters of the device's class
};

/// The most residuals that a group keeps.
inline constexpr std::size_t kMostResiduals = 15;

/// At most `kMostResiduals` of the residuals, by the formula above. @return sorted
[[nodiscard]] std::vector<double> thinned(std::vector<double> residuals);

/// Factors on the half width of bands by kind of quantity, then by what the nearest groups do not share, then
/// by level (`ErrorBook::factors`).
using BandFactors = std::map<std::string, std::vector<std::vector<double>>, std::less<>>;

/// @param file empty for zoo/validation/residuals.csv of the shipped zoo
/// @throws InputError for a file that cannot be read, ErrorList with every fault of its text
[[nodiscard]] std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file = {});
/// The shipped groups of one metric. Other lines are not read. @throws as above
[[nodiscard]] std::vector<ResidualGroup> read_residual_groups_of(std::string_view metric);
/// @param name stands for the text in messages
[[nodiscard]] std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name);
/// The shipped factors, in their order, which take longer to compute than to read. @throws InputError
[[nodiscard]] BandFactors read_band_factors();
/// The groups as CSV, in their order, with residuals in thousandths.
[[nodiscard]] std::string to_csv(std::span<const ResidualGroup> groups);
/// The factors of the groups in such a CSV, as a CSV.
[[nodiscard]] std::string factors_csv(std::string residuals);

/// Head lines of the two CSV files.
inline constexpr std::string_view kResidualsHead =
    "metric,device,generation,origin,family,table,software,link,measured,unmeasured,rows,residuals\n";
inline constexpr std::string_view kFactorsHead = "kind,apart,50,80,95\n";

}  // namespace mlsysim
