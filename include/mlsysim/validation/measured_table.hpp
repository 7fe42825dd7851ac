#pragma once
/// A table of published measurements: a CSV file, and a YAML definition that maps its rows to inputs of a
/// prediction.
///
/// A definition names measurand, unit, inputs as expressions over columns, rows to leave out, groups and
/// labels. Mappings are data and need no code. Repeats of a measurement become one row with their median if
/// it says so.
/// Example: `measured: {value: latency, unit: us}` and `rows: 2 * half` read the CSV row half 512, latency 20
/// as the input rows = 1024 with 20e-6 s measured.

#include <mlsysim/validation/column_expression.hpp>
#include <mlsysim/validation/measurand.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// Where one input of a row comes from: an expression over columns, a word, or a column of words.
struct InputRule {
  const FieldInfo* field = nullptr;
  std::optional<ColumnExpression> expression{};  ///< of a number
  std::string word{};                            ///< a constant word
  std::optional<std::size_t> column{};           ///< a column of words
  std::map<std::string, std::string> words{};    ///< words of the column to words of the zoo; empty if equal
  std::string otherwise{};  ///< why rows with another word are left out; empty: such a word is an error
};

/// Rows that are not compared, with the reason.
struct LeaveOutRule {
  std::optional<ColumnExpression> when{};
  std::optional<std::size_t> column{};
  std::vector<std::string> words{};  ///< rows whose column holds one of these
  std::string reason;
};

/// One row that is compared; repeats of a measurement are one row with their median.
struct MeasuredRow {
  std::size_t row = 0;  ///< of the (first) record in the file
  std::size_t repeats = 1;
  double measured = 0;                 ///< base unit of the measurand
  std::optional<double> busy{};        ///< back-to-back work up to the end of the row, where it is stated [s]
  std::string group;                   ///< for cross-validation: e.g. "gpt3-175B, A100"
  std::shared_ptr<const void> inputs;  ///< of the measurand
};

/// A reason and the number of records that it excludes.
struct LeftOut {
  std::string reason;
  std::size_t rows = 0;
};

/// A table with its definitions. Read lazily: neither the loader of the zoo nor its cache knows these files.
struct MeasuredTable {
  std::string name, topic, title, reference, licence, note;
  std::string unpredicted;     ///< why the whole table is kept without being compared; empty where it is
  std::filesystem::path file;  ///< the definition
  CsvTable data;
  const Measurand* measurand = nullptr;
  std::optional<ColumnExpression> measured;
  double unit_factor = 1;  ///< base units of one measured unit
  std::optional<ColumnExpression>
      busy;  ///< seconds of back-to-back work; absent where the source says nothing
  std::vector<InputRule> inputs;
  std::vector<LeaveOutRule> left_out;
  std::vector<std::size_t> groups, labels;
  bool median_of_repeats = false;  ///< rows with equal inputs are one row
  std::size_t sample_of = 0;  ///< records of the whole table if the shipped file is a sample; 0: it is whole
  bool whole = true;          ///< `data` holds all records
  double tolerance = 0.005;   ///< by which an error may grow before the check fails
  double aim = 0;             ///< median error that the equations should reach; 0: none

  /// "M 7 GPUs, 512 tokens": the row for readers, from its label columns.
  [[nodiscard]] std::string label(std::size_t row) const;
};

/// Rows to compare, and the rows left out.
struct MeasuredRows {
  std::vector<MeasuredRow> rows;
  std::vector<LeftOut> left_out;
};

/// Names of the tables below a folder, sorted: "training/megatron_sc21_table1_a100".
/// @param folder empty for zoo/validation of the shipped zoo
[[nodiscard]] std::vector<std::string> table_names(const std::filesystem::path& folder = {});
/// YAML files below a folder whose `schema` is not that of a table: zoo entries, plans. `table_names` skips
/// them.
[[nodiscard]] std::vector<std::string> files_of_other_kinds(const std::filesystem::path& folder);
/// The folder of whole tables that the environment names in MLSYSIM_TABLES; empty without it, and in secure
/// mode.
[[nodiscard]] std::filesystem::path whole_tables();
/// Reads one table. @throws LookupError with near misses, ErrorList with every fault of the definition,
/// InputError
/// @param folder of the definitions; empty for those of the zoo
/// @param data   folder of whole tables, by topic: a file there replaces a sample that ships
[[nodiscard]] MeasuredTable load_table(const std::string& name, const std::filesystem::path& folder = {},
                                       const std::filesystem::path& data = whole_tables());
/// Reads a definition from any folder; its CSV file is next to it, or whole in `data`.
[[nodiscard]] MeasuredTable load_table_file(const std::filesystem::path& definition,
                                            const std::filesystem::path& data = whole_tables());
/// Reads a definition from a text; `data` stands for its CSV file.
[[nodiscard]] MeasuredTable parse_table(std::string definition, const std::string& name, CsvTable data);
/// Fills the inputs of every row that is compared.
/// @throws LookupError for a device or model that the zoo lacks, InputError with the place in the CSV file
[[nodiscard]] MeasuredRows rows_of(const MeasuredTable& table, const Zoo& zoo);

}  // namespace mlsysim
