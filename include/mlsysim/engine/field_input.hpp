#pragma once
/// Reads a text as the value of a field, for plan files, command-line options and `key=value` arguments.
///
/// Dimension and range are checked against the field. A quantity may have any unit of the right dimension.
/// Example: intra_node_bw from "450 GB/s" or "0.45 TB/s" is 4.5e11 B/s. "450 GB" throws DimensionError.

#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// Reads a text as the value of a field: a quantity with its unit, a bare number, true or false, a choice, a
/// text, or the name of a zoo entry (or a YAML file that holds one).
///
/// Keeps what it loads from files; values that point there are valid while it lives.
class FieldReader {
 public:
  explicit FieldReader(const Zoo& zoo) : zoo_(&zoo) {}

  [[nodiscard]] const Zoo& zoo() const { return *zoo_; }
  /// The value of `text` for this field, with dimension and range checked.
  /// @throws UnitError, DimensionError, DomainError, InputError, LookupError with near misses
  [[nodiscard]] DynamicValue read(const FieldInfo& field, std::string_view text, const Location& where = {});
  /// The zoo of one file of the user, loaded once.
  [[nodiscard]] const Zoo& file(const std::string& path);
  /// The model of the zoo that a name of a hub or an engine means, with the positions that this checkpoint
  /// states; null where the name means none.
  [[nodiscard]] const Workload* model(std::string_view name);

 private:
  struct File {
    std::string path;
    Zoo zoo;
  };
  const Zoo* zoo_;
  std::vector<std::unique_ptr<File>> files_;
  std::deque<Workload> checkpoints_;  ///< entries with positions of their own
};

/// A rate of requests: "10/s" and "10" are "10 request/s", since nothing else arrives.
[[nodiscard]] std::string request_rate_text(std::string_view text);

/// The two counts that a number with a letter may mean, in decimal and binary thousands: 128,000 and 131,072
/// of "128k", 1,000,000 and 1,048,576 of "1M". Absent for other texts.
[[nodiscard]] std::optional<std::pair<double, double>> counts_of_letter(std::string_view text);

/// Whether a text means a file rather than a name: it holds a slash, or ends as files do (.yaml,
/// .yml, .json, .gguf, .safetensors).
[[nodiscard]] bool names_a_file(std::string_view text);

}  // namespace mlsysim
