#pragma once
/// Design spaces: axes over the inputs of a subject, and the grid of all their combinations.
///
///   size = product of the axis sizes        row of an axis = index / stride mod axis size
///
/// A space stores no points: a point is its index, so memory does not grow with their number. Structural axes
/// (hardware, precision, ZeRO stage) run slowest, then numeric axes, each in the order given. The last axis
/// runs fastest.
/// Example: "ranks=2,4,8" and "message=1 MB,1 GB" make 6 points. Point 3 has rows 1 and 1: 4 ranks, 1 GB.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The values that one field, or several coupled ones, may take, in order.
///
/// Numbers of one field are an `Axis`: a range holds its ends and its count, so memory does not depend on its
/// length.
struct SpaceAxis {
  std::vector<std::string> names;               ///< one, or several for coupled tuples
  std::vector<std::vector<DynamicValue>> rows;  ///< one value per name; empty where the axis is `numbers`
  std::vector<std::string> labels;  ///< of the rows, for reports; made from the values where empty
  std::string caption{};            ///< of the axis, for reports; the names where empty
  Axis numbers{};                   ///< of one field, where every value is a number of one dimension

  [[nodiscard]] std::size_t size() const { return rows.empty() ? numbers.size() : rows.size(); }
  /// The value of name `k` in a row.
  [[nodiscard]] DynamicValue value(std::size_t row, std::size_t k = 0) const;
  /// The value of name `k` in a row, as a number. @throws std::bad_variant_access if it is not a number
  [[nodiscard]] double number(std::size_t row, std::size_t k = 0) const {
    return rows.empty() ? numbers[row] : std::get<double>(rows[row][k].value);
  }
  /// Appends a value of a single name, or a range of them.
  void add(DynamicValue value);
  void add(const Axis& range);
  [[nodiscard]] std::string title() const;
  /// A value as readers know it: an entry of the zoo by its name.
  [[nodiscard]] std::string text(std::size_t row, std::size_t k) const;
  [[nodiscard]] std::string label(std::size_t row) const;
};

/// `count` values from `low` to `high`, evenly or in equal ratios.
[[nodiscard]] SpaceAxis range_axis(std::string name, const AnyQuantity& low, const AnyQuantity& high,
                                   std::size_t count, Spacing spacing = Spacing::linear);
/// These numbers.
[[nodiscard]] SpaceAxis numbers_axis(std::string name, std::vector<double> base, const Exponents& exps = {});
/// Divisors of a whole number, ascending.
[[nodiscard]] SpaceAxis divisors_axis(std::string name, double n);
/// Every (tp_size, pp_size) or (tp_size, pp_size, ep_size) whose product divides `accelerators`.
[[nodiscard]] SpaceAxis degrees_axis(double accelerators,
                                     std::vector<std::string> names = {"tp_size", "pp_size"});

/// Reads "batch_size=1,2,4", "seq_len=1024..8192*2" (ratio), "batch_size=1..64" (step 1),
/// "batch_size=8..64+8" (step), "hardware.memory.bandwidth=1 TB/s..8 TB/s:64" (64 values, evenly), ":64log"
/// (equal ratios), "tp_size,pp_size=1x8,2x4", "pp_size=divisors(64)", "hardware=@devices.yaml" (a list of
/// values; of lists for coupled names; of maps, each of which is a named configuration of several fields).
/// Values are read by `value(name, text)`, which knows the field. A unit behind the last one is that of all:
/// "power_cap=300,400 W" and "arrival_rate=1..16 request/s*2".
/// @throws InputError for a text that does not read, an empty axis, NaN, or more than 2^32 values
[[nodiscard]] SpaceAxis parse_axis(
    std::string_view text,
    const std::function<DynamicValue(std::string_view name, std::string_view text)>& value);

/// The axes of a YAML file, a map from names to what `parse_axis` reads or to lists as in its files:
/// `{batch_size: 1..64*2, "tp_size, pp_size": [[1, 8], [2, 4]], hardware: [H100, H200]}`.
/// @throws InputError, ErrorList with file, line and column
[[nodiscard]] std::vector<SpaceAxis> read_axes(
    const std::string& path,
    const std::function<DynamicValue(std::string_view name, std::string_view text)>& value);

/// A problem that a space varies. It makes the subject for each choice of the structural axes.
class Problem {
 public:
  virtual ~Problem() = default;
  using Choice = std::vector<std::pair<std::string, DynamicValue>>;
  /// The subject for these values. @throws Error when there is none: the points are skipped with its message
  [[nodiscard]] virtual Subject bind(const Choice& structural, std::span<const std::string> varied) const = 0;
  /// Whether a name must be structural although the subject has a number of that name.
  [[nodiscard]] virtual bool structural(std::string_view name, std::span<const std::string> varied) const = 0;
  /// Warnings of one point, each value of which is given. @throws Error where it has no answer
  [[nodiscard]] virtual std::vector<std::string> warnings(const Choice& point) const = 0;
  /// Everything that the answer depends on besides the axes, as text; shards are merged only when it is the
  /// same.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  [[nodiscard]] virtual std::string title() const = 0;
};

/// A scenario as a problem. `keep` owns what the scenario points to.
[[nodiscard]] std::shared_ptr<const Problem> problem_of(const Scenario& scenario,
                                                        std::shared_ptr<const void> keep = {});
/// A law or resolver at these inputs.
[[nodiscard]] std::shared_ptr<const Problem> problem_of(std::shared_ptr<const Resolver> resolver,
                                                        const void* inputs);

/// The grid of all combinations.
class Space {
 public:
  /// @throws InputError for no axis, an empty axis, a name twice, NaN, or more than 2^62 points; what `bind`
  /// throws for
  ///         every choice
  Space(std::shared_ptr<const Problem> problem, std::vector<SpaceAxis> axes);

  [[nodiscard]] std::uint64_t size() const { return outer_ * inner_; }
  [[nodiscard]] std::uint64_t outer() const { return outer_; }
  [[nodiscard]] std::uint64_t inner() const { return inner_; }
  /// In index order: structural ones first.
  [[nodiscard]] const std::vector<SpaceAxis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t structural_axes() const { return structural_; }
  [[nodiscard]] const Problem& problem() const { return *problem_; }
  /// Row of each axis at a point.
  [[nodiscard]] std::vector<std::size_t> rows_at(std::uint64_t index) const;
  /// A subject of the first choice that has one; for names, units and scopes.
  [[nodiscard]] const Subject& sample() const { return sample_; }
  /// The subject of a choice of the structural axes. @throws Error when there is none
  [[nodiscard]] Subject bind(std::uint64_t outer) const;
  /// Warnings of one point; none where it has no answer.
  [[nodiscard]] std::vector<std::string> warnings_at(std::uint64_t index) const;
  /// The model that is searched, with the load and the software that all points share: "Llama3_70B, all
  /// requests at once".
  [[nodiscard]] std::string title() const;
  /// Axes and problem as text, for `merge` and `resume`.
  [[nodiscard]] std::string fingerprint() const;

  /// An axis over numbers, as the kernels see it.
  struct Column {
    std::size_t input = 0;     ///< of the subject; may differ between choices, see `columns`
    Axis values;               ///< base units, one per row
    std::uint64_t stride = 1;  ///< points until the next row
  };
  /// Columns over the inputs of a bound subject; coupled axes give several with one stride.
  /// @throws LookupError where the subject lacks an input
  [[nodiscard]] std::vector<Column> columns(const Subject& subject) const;

 private:
  /// Makes `sample_` the subject with the most results among the first choices.
  void find_richest_sample();

  std::shared_ptr<const Problem> problem_;
  std::vector<SpaceAxis> axes_;
  std::vector<std::vector<Axis>> numbers_;  ///< of each axis over numbers, by name
  std::vector<std::string> varied_;
  std::size_t structural_ = 0;
  std::uint64_t outer_ = 1, inner_ = 1;
  Subject sample_;
};

}  // namespace mlsysim
