#pragma once
/// Record of one torch.compile run of one model: its graphs, the breaks between them, guards and times.
///
///   listed   = sum of count over the breaks that have a reason
///   unlisted = max(0, graph_breaks - listed)
///
/// graph_breaks is the number that the source states. It may exceed the breaks that the source lists.
/// Example: graph_breaks 5 and one listed break with count 3: listed() is 3 and unlisted() is 2.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlsysim {

/// Why a graph ends although the program continues.
enum class BreakCategory : std::uint8_t {
  data_dependent_control_flow,
  data_dependent_value,
  dynamic_shape,
  unsupported_builtin,
  unsupported_method,
  skipped_function,
  side_effect_io,
  third_party_library,
  tensor_subclass,
  autograd,
  backend_failure,
  secondary,
  user_requested,
  other
};
template <>
inline constexpr auto names_of<BreakCategory> = ChoiceNames{"category of breaks",
                                                            "data_dependent_control_flow",
                                                            "data_dependent_value",
                                                            "dynamic_shape",
                                                            "unsupported_builtin",
                                                            "unsupported_method",
                                                            "skipped_function",
                                                            "side_effect_io",
                                                            "third_party_library",
                                                            "tensor_subclass",
                                                            "autograd",
                                                            "backend_failure",
                                                            "resume/secondary",
                                                            "user_requested",
                                                            "other"};

/// The form in which a record was found.
enum class RecordForm : std::uint8_t { explain_document, explain_text, explain_pickle, trace_log, log_text };
template <>
inline constexpr auto names_of<RecordForm> = ChoiceNames{
    "form of compile records", "explain document", "explain text", "explain pickle", "trace log", "log text"};

/// A line of the program.
struct SourceLine {
  std::string
      file;      ///< below its package folder where it has one: "transformers/models/vits/modeling_vits.py"
  int line = 0;  ///< from 1; 0 where it is not known
  std::string function, code{};
};

/// One break. `type`, `category` and `gb_id` have few values and may be labels of metrics; `reason` may hold
/// anything.
struct CompileBreak {
  std::string reason;  ///< the whole text
  std::string type;    ///< first line, without addresses, quoted values, numbers and paths
  BreakCategory category = BreakCategory::other;
  std::string gb_id;  ///< of the registry of PyTorch, "GB0170"; empty where the type is not in it
  std::string explanation, context, hint_class;
  std::vector<std::string> hints;
  std::vector<SourceLine> stack;  ///< outermost first
  bool graph_break = true;
  double count = 1;  ///< of breaks with this reason and this stack; of long logs equal ones are counted

  /// The innermost line of the program, in front of which the graph ends; empty where there is no stack.
  [[nodiscard]] SourceLine place() const { return stack.empty() ? SourceLine{} : stack.back(); }
};

/// A graph: how often each operator is in it.
struct CompileGraph {
  std::map<std::string, double> ops;
  double op_count = 0;
};

/// Time of one phase of compiling, over its runs.
struct CompilePhase {
  std::string name;  ///< as the source names it, without its unit
  double runs = 0;
  Time<> time{};
};

/// Counts of the records that a reader found in a file, and of the faults.
struct ReadCounts {
  double records = 0;      ///< understood records; of a log, without those that only number strings
  double bad_record = 0;   ///< heads that are not JSON
  double bad_payload = 0;  ///< payloads with a wrong checksum
  double unknown = 0;      ///< records of an unknown kind
  double foreign = 0;      ///< lines that do not belong to a log
  double missing = 0;      ///< references to absent strings
  double truncated = 0;    ///< records that are cut off

  [[nodiscard]] double faults() const {
    return bad_record + bad_payload + unknown + foreign + missing + truncated;
  }
};

/// One compile run of one model, from one file.
struct CompileRecord {
  std::string source;  ///< path
  RecordForm form = RecordForm::explain_document;
  std::string digest;  ///< of the bytes: equal files have equal digests
  std::string family, model, commit;
  std::string torch;            ///< version; empty where it is not said
  std::string status = "ok";    ///< "ok", "failed" or "skipped"
  std::string error;            ///< of a failed run
  std::vector<double> ranks{};  ///< of a log; empty for one process

  double frames = 0;  ///< compiled code objects of a log
  double graph_count = 0;
  double graph_breaks = 0;  ///< as the source counts them, which may be more than it lists
  double op_count = 0;
  double guards = 0;
  std::map<std::string, double> guard_types;
  std::vector<CompileGraph> graphs;
  std::vector<CompileBreak> breaks;
  std::vector<CompilePhase> phases;
  Time<> compile_time{};
  double restarts = 0;
  Time<> lost_to_restarts{};
  double recompiles = 0, cache_hits = 0, cache_misses = 0, failures = 0;
  std::map<std::string, double> kinds;  ///< records of a log by kind

  ReadCounts read;
  std::vector<std::string> notes;

  /// Breaks that are listed with their reasons.
  [[nodiscard]] double listed() const {
    double sum = 0;
    for (const auto& b : breaks) sum += b.count;
    return sum;
  }
  /// Breaks that the source counts but gives no reason for.
  [[nodiscard]] double unlisted() const {
    const double known = listed();
    return graph_breaks > known ? graph_breaks - known : 0.0;
  }
};

}  // namespace mlsysim
