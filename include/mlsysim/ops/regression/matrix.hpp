#pragma once
/// The YAML file of a continuous check: the cells to predict, and the limits that predictions must meet.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// Which way a number may go without anybody being told that it got worse.
enum class Better : std::uint8_t { lower, higher, neither };
template <> inline constexpr auto names_of<Better> = ChoiceNames{"better direction"};

/// By dimension: amounts of time, money, energy, carbon, water and memory lower, rates higher, what has none
/// neither.
[[nodiscard]] Better better_by_dimension(const Exponents& exps);

/// A number that is stored and compared.
struct WatchedMetric {
  std::string name;              ///< of a result: "itl"
  std::optional<Better> better;  ///< absent: by its dimension, amounts lower and rates higher
  double relative = 1e-9;        ///< of the accepted value; a smaller change is none
  std::optional<AnyQuantity> absolute{};
  Location where{};
};

/// "itl <= 50 ms for model=~\"Llama.*\"": a constraint, and the cells that it is asked of.
struct CellBudget {
  std::string text, constraint;
  std::vector<std::pair<std::string, std::string>> only;  ///< label and regular expression of its whole value
  Location where;
};

/// One combination.
struct MatrixCell {
  std::string model, hardware, precision, pipeline;
  std::string resolver{};                       ///< empty: a scenario
  std::map<std::string, std::string> fields{};  ///< of the scenario or of the inputs of the resolver
  std::filesystem::path
      records{};  ///< what a compiler left behind: its breaks and times are inputs, place by place

  /// "Llama3_8B/H100/bf16/serve".
  [[nodiscard]] std::string name() const;
  /// The value of "model", "hardware", "precision", "pipeline" or "cell"; null for another label.
  [[nodiscard]] std::optional<std::string> label(std::string_view label) const;
};

/// Devices that run what a cell predicts all the year, and what an hour of one costs.
struct FleetPrice {
  double accelerators = 0;
  Money<> device_hour{};
};

/// A matrix: models x hardware x precision x pipelines, in this order.
struct CiMatrix {
  std::filesystem::path file, baseline;  ///< the second beside the first, unless the file says where
  std::vector<MatrixCell> cells;
  std::vector<WatchedMetric> metrics;
  std::vector<CellBudget> budgets;
  std::optional<FleetPrice> fleet;
  std::vector<std::string> notes;  ///< names of a list that the zoo does not have
};

/// Reads a matrix. All its faults are reported at once, with file, line and column.
/// @throws InputError for a file that cannot be read, ErrorList
[[nodiscard]] CiMatrix read_matrix(const std::filesystem::path& file, const Zoo& zoo);

}  // namespace mlsysim
