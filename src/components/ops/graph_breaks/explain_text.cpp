#include "detail/readers.hpp"

#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/detail/whole.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace mlsysim::detail {
namespace {

std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<double> number_of(std::string_view text) {
  text = trimmed(text);
  double x = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (bad != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return x;
}

/// "<FrameSummary file F, line N in FUNCTION>"
std::optional<SourceLine> frame_of(std::string_view line) {
  line = trimmed(line);
  constexpr std::string_view lead = "<FrameSummary file ";
  if (!line.starts_with(lead) || !line.ends_with('>')) return std::nullopt;
  line = line.substr(lead.size(), line.size() - lead.size() - 1);
  const auto at = line.rfind(", line ");
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = line.substr(at + 7);
  const auto in = rest.find(" in ");
  SourceLine out{.file = short_path(line.substr(0, at))};
  out.line = detail::whole<int>(number_of(rest.substr(0, in)).value_or(0));
  if (in != std::string_view::npos) out.function = rest.substr(in + 4);
  return out;
}

/// A row of the table of times: a name and its numbers, divided by commas or blanks.
void take_times(CompileRecord& out, std::string_view line) {
  const auto end = line.find_first_of(", \t");
  if (end == std::string_view::npos) return;
  const auto name = line.substr(0, end);
  double runs = 0, seconds = 0;
  for (auto rest = line.substr(end); !rest.empty();) {
    const auto from = rest.find_first_not_of(", \t");
    if (from == std::string_view::npos) break;
    rest = rest.substr(from);
    const auto stop = rest.find_first_of(", \t");
    const auto x = number_of(rest.substr(0, stop));
    if (!x) return;  // the head of the table, or a line below it
    ++runs;
    seconds += counted(*x);
    rest = stop == std::string_view::npos ? std::string_view{} : rest.substr(stop);
  }
  if (runs == 0) return;
  add_phase(out, name, runs, seconds);
  if (name.find("compile_inner") != std::string_view::npos)
    out.compile_time = out.compile_time + seconds * unit::s;
}

enum class Section : std::uint8_t { none, breaks, numbered, ops, guards, times };

/// The text of one break is put together until its stack begins.
struct OpenBreak {
  std::string reason;
  std::vector<SourceLine> stack;
  std::string traceback;  ///< the stack as PyTorch 2.0 prints it
  bool in_stack = false;
};

/// PyTorch 2.0 gives no object but a sentence: "Dynamo produced 3 graphs with 2 graph break and 12 ops".
constexpr std::string_view kSentence = "Dynamo produced ";

/// Reads "N WORDS" from the beginning of a text and drops it; nothing where the text goes on otherwise.
std::optional<double> leading_count(std::string_view& text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const auto x = number_of(text.substr(0, at));
  if (x) text.remove_prefix(at + words.size());
  return x;
}

struct SentenceCounts {
  double graphs = 0, breaks = 0, ops = 0;
};
std::optional<SentenceCounts> sentence_of(std::string_view line) {
  if (!line.starts_with(kSentence)) return std::nullopt;
  line.remove_prefix(kSentence.size());
  const auto graphs = leading_count(line, " graphs with ");
  const auto breaks = leading_count(line, " graph break and ");
  const auto ops = leading_count(line, " ops");
  if (!graphs || !breaks || !ops) return std::nullopt;
  return SentenceCounts{counted(*graphs), counted(*breaks), counted(*ops)};
}

class TextReader {
 public:
  explicit TextReader(const BreakRegistry& registry) : registry_(registry) {
    out_.form = RecordForm::explain_text;
  }

  void line(std::string_view text) {
    if (head(text)) return;
    if (section_ == Section::breaks) break_line(text);
    if (section_ == Section::numbered) numbered_line(text);
    if (section_ == Section::ops) op_line(text);
    if (section_ == Section::guards) guard_line(text);
    if (section_ == Section::times) take_times(out_, text);
  }
  CompileRecord finish() {
    close();
    skip_if_empty(out_);
    return std::move(out_);
  }

 private:
  bool head(std::string_view text) {
    const auto count = [&](std::string_view name, double& to) {
      if (!text.starts_with(name)) return false;
      to = counted(number_of(text.substr(name.size())).value_or(0));
      return true;
    };
    if (count("Graph Count:", out_.graph_count) || count("Graph Break Count:", out_.graph_breaks) ||
        count("Op Count:", out_.op_count))
      return true;
    if (const auto sentence = sentence_of(text)) {
      out_.graph_count = sentence->graphs;
      out_.graph_breaks = sentence->breaks;
      out_.op_count = sentence->ops;
      return true;
    }
    Section next{};
    if (text == "Break Reasons:")
      next = Section::breaks;
    else if (trimmed(text) == "Break reasons:")
      next = Section::numbered;
    else if (text == "Ops per Graph:")
      next = Section::ops;
    else if (text == "Out Guards:")
      next = Section::guards;
    else if (text.starts_with("Compile Times:") || text.starts_with("TorchDynamo compilation metrics:"))
      next = Section::times;
    else
      return false;
    close();
    section_ = next;
    return true;
  }
  void break_line(std::string_view text) {
    const auto plain = trimmed(text);
    if (text.starts_with("  Break Reason ") && plain.ends_with(':')) {
      close();
      open_.emplace();
    } else if (!open_) {
      return;
    } else if (plain == "User Stack:" && text.starts_with("    ")) {
      open_->in_stack = true;
    } else if (open_->in_stack) {
      if (auto frame = frame_of(text)) open_->stack.push_back(std::move(*frame));
    } else if (open_->reason.empty() && plain.starts_with("Reason:")) {
      open_->reason = trimmed(plain.substr(7));
    } else {
      open_->reason += "\n" + std::string(text);
    }
  }
  /// A break of PyTorch 2.0: "1. REASON", then the frames of a traceback.
  void numbered_line(std::string_view text) {
    const auto lead = std::to_string(out_.breaks.size() + (open_ ? 2 : 1)) + ". ";
    if (text.starts_with(lead)) {
      close();
      open_.emplace();
      open_->reason = text.substr(lead.size());
    } else if (open_) {
      open_->in_stack = open_->in_stack || text.starts_with("  File \"");
      (open_->in_stack ? open_->traceback : open_->reason) += "\n" + std::string(text);
    }
  }
  void op_line(std::string_view text) {
    if (text.starts_with("  Ops ") && text.ends_with(':')) {
      out_.graphs.emplace_back();
    } else if (text.starts_with("    ") && !out_.graphs.empty()) {
      ++out_.graphs.back().ops[op_name(text)];
      ++out_.graphs.back().op_count;
    }
  }
  void guard_line(std::string_view text) {
    constexpr std::string_view kind = "    Create Function: ";
    if (text.starts_with("  Guard ") && text.ends_with(':')) ++out_.guards;
    if (text.starts_with(kind)) ++out_.guard_types[std::string(text.substr(kind.size()))];
  }
  void close() {
    if (!open_) return;
    while (!open_->reason.empty() && (open_->reason.back() == '\n' || open_->reason.back() == ' '))
      open_->reason.pop_back();
    auto made = break_of(std::move(open_->reason), registry_);
    made.stack =
        open_->traceback.empty() ? std::move(open_->stack) : traceback_of(open_->traceback.substr(1));
    out_.breaks.push_back(std::move(made));
    open_.reset();
  }

  const BreakRegistry& registry_;
  CompileRecord out_;
  Section section_ = Section::none;
  std::optional<OpenBreak> open_;
};

}  // namespace

bool is_explain_text(std::string_view bytes) {
  while (!bytes.empty())
    if (const auto line = next_line(bytes); line.starts_with("Graph Count:") || sentence_of(line))
      return true;
  return false;
}

CompileRecord read_explain_text(std::string_view text, const BreakRegistry& registry) {
  TextReader reader(registry);
  while (!text.empty()) reader.line(next_line(text));
  return reader.finish();
}

void skip_if_empty(CompileRecord& record) {
  if (record.status != "ok" || record.graph_count > 0 || record.op_count > 0 || !record.breaks.empty())
    return;
  record.status = "skipped";
  record.notes.emplace_back("the compiler captured no operator, so breaks were not looked for");
}

void add_phase(CompileRecord& record, std::string_view name, double runs, double seconds) {
  const auto at = std::find_if(record.phases.begin(), record.phases.end(),
                               [&](const CompilePhase& p) { return p.name == name; });
  constexpr std::size_t most = 1'000;  // names are those of a compiler, which has a few dozen
  if (at == record.phases.end()) {
    if (record.phases.size() >= most) return;
    record.phases.push_back({std::string(name), runs, seconds * unit::s});
  } else {
    at->runs += runs;
    at->time = at->time + seconds * unit::s;
  }
}

}  // namespace mlsysim::detail
