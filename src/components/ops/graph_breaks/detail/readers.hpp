#pragma once
/// One reader for each form of compile records.

#include <mlsysim/ops/graph_breaks/ingest.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

[[nodiscard]] bool is_explain_text(std::string_view bytes);
/// Whether the text begins as a log does, after lines that belong to none.
[[nodiscard]] bool is_trace_log(std::string_view bytes);

/// Reads `str(ExplainOutput)`, or the text that `explain` of PyTorch 2.0 gave. Never throws: what is not
/// there is not counted.
[[nodiscard]] CompileRecord read_explain_text(std::string_view text, const BreakRegistry& registry);
/// A document of the schema `mlsysim.dynamo_explain/1`. @throws InputError
[[nodiscard]] CompileRecord read_explain_document(std::string_view text, const std::string& file,
                                                  const BreakRegistry& registry);
/// A pickle of `ExplainOutput` or of its list of reasons. Nothing is instantiated and nothing runs: classes
/// become records of their members, and a class that is not known is refused. @throws InputError
[[nodiscard]] CompileRecord read_explain_pickle(std::string_view bytes, const std::string& file,
                                                const BreakRegistry& registry);

/// Reads recompilations and breaks that TORCH_LOGS prints, and the warnings of limits.
[[nodiscard]] bool is_log_text(std::string_view bytes);
[[nodiscard]] CompileRecord read_log_text(std::string_view text, const BreakRegistry& registry);
/// Frames of a traceback of Python: '  File "F", line N, in FUNCTION', each with its line of code below.
[[nodiscard]] std::vector<SourceLine> traceback_of(std::string_view text);

/// A log of TORCH_TRACE, piece by piece: memory does not grow with the log.
class TraceReader {
 public:
  explicit TraceReader(const BreakRegistry& registry);
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;
  ~TraceReader();

  void take(std::string_view piece);
  /// Returns the record of all pieces. `take` may not be called afterwards.
  [[nodiscard]] CompileRecord finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A count or a time as it was stated; what is no number, below zero or beyond what doubles count exactly is
/// none.
[[nodiscard]] inline double counted(double stated) { return stated > 0 && stated <= 0x1p53 ? stated : 0; }

/// A record of a compiler that captured no operator says nothing about breaks: its status becomes "skipped".
void skip_if_empty(CompileRecord& record);

/// `count` phases of a name, added to those that are there.
void add_phase(CompileRecord& record, std::string_view name, double runs, double seconds);

}  // namespace mlsysim::detail
