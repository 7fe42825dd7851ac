#pragma once
/// The committed record of validation errors, and the regressions of a run against it.
///
///   worse: found > recorded + tolerance + 0.00005      for the median or the mean of |error|
///
/// Recorded errors are rounded to 0.01 %. A table also regresses if it predicts fewer rows, is gone, or is
/// not in the record. A smaller error is no regression.
/// Example: recorded median 0.05, tolerance 0.005: 0.056 is a regression, and 0.055 is none.

#include <mlsysim/validation/validate.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Errors of each table when the record was written.
using ErrorRecord = std::map<std::string, ErrorStatistics>;

/// @param file empty for zoo/validation/record.yaml of the shipped zoo
/// @throws InputError for a file that cannot be read, ErrorList with every fault of its text
[[nodiscard]] ErrorRecord read_record(const std::filesystem::path& file = {});
/// Errors by entry: a table, or "table@whole" for all records of one of which a sample ships.
[[nodiscard]] ErrorRecord record_of(std::span<const TableResult> results);
/// The table of an entry of the record.
[[nodiscard]] std::string table_of_entry(std::string_view entry);
/// The record as YAML, sorted by table; reading it gives the same record.
[[nodiscard]] std::string to_yaml(const ErrorRecord& record);

/// A table that got worse, and in what: "median", "mean", "rows", ...
struct Regression {
  std::string table, what;
  double recorded = 0, found = 0, tolerance = 0;
};
/// Whether every table was run. If so, a recorded table without a result is gone.
enum class RecordScope : std::uint8_t { some_tables, all_tables };
/// The regressions of a run. With `RecordScope::some_tables`, missing tables are not reported.
[[nodiscard]] std::vector<Regression> regressions(const ErrorRecord& record,
                                                  std::span<const TableResult> results, RecordScope scope);

}  // namespace mlsysim
