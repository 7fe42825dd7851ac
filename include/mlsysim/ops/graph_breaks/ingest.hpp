#pragma once
/// Reads compiler output into compile records: `torch._dynamo.explain` results and TORCH_TRACE or TORCH_LOGS
/// logs.
///
/// An explain result may be a JSON document, a text or a pickle. A pickle runs no code. Files with the same
/// bytes count once, unless `Duplicates::kept` is asked for.
/// Example: the text "Graph Count: 3, Graph Break Count: 2, Op Count: 12", one count a line, followed by a
/// line "Break Reasons:", gives a record with graph_count 3, graph_breaks 2 and op_count 12.

#include <mlsysim/ops/graph_breaks/reasons.hpp>
#include <mlsysim/ops/graph_breaks/record.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Whether damaged records are counted, or refused with an error.
enum class Damage : std::uint8_t { counted, refused };
/// Whether files of the same content count once.
enum class Duplicates : std::uint8_t { once, kept };

/// How files are read.
struct IngestHow {
  std::string family, model, commit;  ///< where the files do not say
  std::string registry;               ///< a registry file; empty for the shipped one
  Damage damage = Damage::counted;
  Duplicates duplicates = Duplicates::once;
};

/// Files with the same bytes under several names.
struct SameContent {
  std::string counted;              ///< the first of them
  std::vector<std::string> others;  ///< left out of totals, unless duplicates are kept
};

/// Everything that was read.
struct CompileRecords {
  std::vector<CompileRecord> records;  ///< that count
  std::vector<SameContent> duplicates;
  std::vector<std::string> notes;
};

/// Reads files, and folders with all files in them. All logs of a folder (one per rank) are one record each.
/// @throws InputError for what cannot be read at all, and with Damage::refused for any fault
[[nodiscard]] CompileRecords ingest(const std::vector<std::filesystem::path>& paths, const IngestHow& how);

/// Reads one document from memory; logs too. @param name of the file, for messages
[[nodiscard]] CompileRecord read_compile_record(std::string_view bytes, const std::string& name,
                                                const BreakRegistry& registry);

/// Schema of the documents that this library writes and reads.
inline constexpr std::string_view kExplainSchema = "mlsysim.dynamo_explain/1";
/// A record as such a document (JSON).
[[nodiscard]] std::string explain_document(const CompileRecord& record);
/// JSON Schema of such documents. Members that it does not name may be there.
[[nodiscard]] std::string explain_schema();

/// Breaks of one type or place, with the most frequent source line.
struct BreakGroup {
  std::string type, gb_id, hint;
  BreakCategory category = BreakCategory::other;
  SourceLine place;
  double count = 0, models = 0;
};
/// Everything that was read, and the breaks in groups, as JSON: `mlsysim/compile_report@1`. Times in seconds.
[[nodiscard]] std::string report_json(const CompileRecords& records);

/// How breaks are put together.
enum class BreaksBy : std::uint8_t { type, place };
/// The most frequent first; ties by name.
[[nodiscard]] std::vector<BreakGroup> groups_of(const CompileRecords& records, BreaksBy by);

}  // namespace mlsysim
