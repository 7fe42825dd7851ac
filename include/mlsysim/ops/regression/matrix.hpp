#pragma once
/// Reads the YAML matrix of a regression check: the cells to predict, the metrics to compare and the budgets
/// to meet.
///
///   cells = models x hardware x precision x pipelines, in this order
///
/// A budget is a constraint on results, optionally for cells whose labels match a regular expression.
/// Example: models [Llama3_8B, Llama3_70B], hardware [H100, H200], precision [bf16] and two pipelines serve
/// and compile make 8 cells. The first is "Llama3_8B/H100/bf16/serve".

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

/// In which direction a number improves.
enum class Better : std::uint8_t { lower, higher, neither };
template <> inline constexpr auto names_of<Better> = ChoiceNames{"better direction"};

/// The better direction by dimension: time, money, energy, carbon, water and memory lower, rates higher,
/// other dimensions neither.
[[nodiscard]] Better better_by_dimension(const Exponents& exps);

/// A number that is stored and compared.
struct WatchedMetric {
  std::string name;              ///< of a result: "itl"
  std::optional<Better> better;  ///< absent: by its dimension, amounts lower and rates higher
  double relative = 1e-9;        ///< share of the accepted value; a smaller change is ignored
  std::optional<AnyQuantity> absolute{};
  Location where{};
};

/// "itl <= 50 ms for model=~\"Llama.*\"": a constraint, and the cells that must meet it.
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
  std::filesystem::path records{};  ///< compile records; their breaks and times are inputs, place by place

  /// "Llama3_8B/H100/bf16/serve".
  [[nodiscard]] std::string name() const;
  /// The value of "model", "hardware", "precision", "pipeline" or "cell"; null for another label.
  [[nodiscard]] std::optional<std::string> label(std::string_view label) const;
};

/// Number of devices that run the predicted load all year, and the price of one device for an hour.
struct FleetPrice {
  double accelerators = 0;
  Money<> device_hour{};
};

/// A matrix as read, with its cells in order.
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
