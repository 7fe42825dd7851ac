#pragma once
/// The committed record of errors: what a change must not make worse.

#include <mlsysim/validation/validate.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Errors of each table when the record was written, rounded to 0.01 %.
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

/// A table that got worse, and how.
struct Regression {
  std::string table, what;
  double recorded = 0, found = 0, tolerance = 0;
};
/// Whether every table was run, so that one of the record without a result is gone.
enum class RecordScope : std::uint8_t { some_tables, all_tables };
/// Tables whose median or mean error grew by more than their tolerance, that predict fewer rows or are gone,
/// or that the record does not know. A table that got better is no regression.
[[nodiscard]] std::vector<Regression> regressions(const ErrorRecord& record,
                                                  std::span<const TableResult> results, RecordScope scope);

}  // namespace mlsysim
