// Reads the output of TORCH_LOGS=recompiles,graph_breaks and the warnings of limits, as it stands in issues
// and job logs.

#include "detail/readers.hpp"

#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/detail/whole.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

namespace mlsysim::detail {
namespace {

// Names of loggers in torch 2.3 and later, then in earlier versions.
constexpr std::string_view kLoggers[] = {"[__recompiles]", "[__graph_breaks]", ".__recompiles: [",
                                         ".__graph_breaks: ["};
constexpr std::string_view kLimit = "torch._dynamo hit config.";
/// Begins the warning of torch 2.2 to 2.5 about values that the host reads.
constexpr std::string_view kFrom = "Graph break from `";
/// Begin the last line of an exception: with fullgraph=True a break or a limit is one.
constexpr std::string_view kUnsupported = "torch._dynamo.exc.Unsupported: ",
                           kOverLimit = "torch._dynamo.exc.FailOnRecompileLimitHit: ";
constexpr std::size_t kMostBreaks = 100'000, kLongestReason = 16'384, kMostNotes = 20;

std::optional<double> count_at(std::string_view text) {
  double x = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (bad != std::errc{} || end == text.data()) return std::nullopt;
  return counted(x);
}

/// A line of a log: what it says, behind time, place in PyTorch, frame and kind.
struct LogLine {
  std::string_view text;
  double compiled = 0;  ///< of "[2/8]": earlier compilations of the frame
};

/// A line of torch before 2.3, "[time] [2/8] torch._dynamo.guards.__recompiles: [DEBUG] text"; or nothing.
std::optional<LogLine> earlier_line(std::string_view line) {
  const auto name = line.find("] torch.");
  const auto level = name == std::string_view::npos ? name : line.find(": [", name);
  const auto end = level == std::string_view::npos ? level : line.find(']', level);
  if (end == std::string_view::npos) return std::nullopt;
  LogLine out{line.substr(end + 1)};
  if (out.text.starts_with(' ')) out.text.remove_prefix(1);
  if (const auto slash = line.substr(0, name).rfind('/'); slash != std::string_view::npos)
    out.compiled = count_at(line.substr(slash + 1, name - slash - 1)).value_or(0);
  return out;
}

LogLine line_of(std::string_view line) {
  if (const auto earlier = earlier_line(line)) return *earlier;
  LogLine out{line};
  if (const auto at = line.find(".py:"); at != std::string_view::npos)
    if (const auto end = line.find("] ", at); end != std::string_view::npos) out.text = line.substr(end + 2);
  // The frame and the kind, each in brackets; what follows keeps its indent.
  while (out.text.starts_with('[')) {
    const auto end = out.text.find(']');
    if (end == std::string_view::npos) break;
    const auto inside = out.text.substr(1, end - 1);
    const auto slash = inside.find('/');
    if (slash != std::string_view::npos)
      out.compiled = count_at(inside.substr(slash + 1)).value_or(0);
    else if (!inside.starts_with("__"))
      break;
    out.text = out.text.substr(end + 1);
    if (out.text.starts_with(' ')) out.text.remove_prefix(1);
  }
  return out;
}

/// The rank that PyTorch writes before a line of a job of several: "[rank3]:".
std::optional<double> rank_of(std::string_view line) {
  const auto at = line.substr(0, 120).find("[rank");
  return at == std::string_view::npos ? std::nullopt : count_at(line.substr(at + 5));
}

/// A line without the colors of a terminal.
std::string without_colors(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    while (i + 1 < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
  }
  return out;
}

/// "path/file.py:12".
SourceLine place_of(std::string_view text) {
  text = trimmed(text);
  const auto colon = text.rfind(':');
  SourceLine out{.file = short_path(text.substr(0, colon))};
  if (colon != std::string_view::npos) out.line = whole<int>(count_at(text.substr(colon + 1)).value_or(0));
  return out;
}

/// Reads the lines of one log.
class LogText {
 public:
  explicit LogText(const BreakRegistry& registry) : registry_(registry) { out_.form = RecordForm::log_text; }

  void line(std::string_view whole_line) {
    // All ranks of a job compile the same: those of the first that prints are counted.
    if (const auto rank = rank_of(whole_line)) {
      if (!rank_) rank_ = rank;
      others_ = others_ || rank != rank_;
      if (rank != rank_) return;
    }
    const auto l = line_of(whole_line);
    const auto plain = trimmed(l.text);
    if (const auto at = plain.find(kLimit); at != std::string_view::npos)
      return limit(plain.substr(at + kLimit.size()), l);
    if (!in_trace_ && thrown(plain)) return;
    if (plain.starts_with("Recompiling function ")) return recompile(plain.substr(21));
    if (const auto at = plain.find("n user code at ");
        at != std::string_view::npos && plain.starts_with("Graph break"))
      return start(Kind::graph_break, place_of(plain.substr(at + 15)));
    if (const auto at = plain.find(kFrom); at != std::string_view::npos) {
      start(Kind::graph_break, {});
      reason_ = plain.substr(at, plain.find(',', at) - at);
      warned_ = true;
      return;
    }
    constexpr std::string_view lead = "Graph break: ", end = "from user code at:";
    if (plain.starts_with(lead) && plain.ends_with(end)) {
      if (!warned_) start(Kind::graph_break, {});
      const auto reason = trimmed(plain.substr(lead.size(), plain.size() - lead.size() - end.size()));
      if (!warned_) reason_ = reason;
      warned_ = false;
      in_stack_ = true;
      return;
    }
    if (warned_ && plain.starts_with("torch._dynamo.config.")) remedy_ = plain;
    if (kind_ != Kind::none && !warned_) part(l.text, plain);
  }

  CompileRecord finish() {
    close();
    out_.frames = static_cast<double>(functions_.size());
    out_.graph_breaks = graph_breaks_;
    out_.recompiles = std::max(out_.recompiles, of_limits_);
    if (others_) out_.notes.push_back(fmt::format("several ranks print: those of rank {:g} count", *rank_));
    out_.notes.emplace_back("a log of texts says nothing of graphs, operators and times");
    return std::move(out_);
  }

 private:
  enum class Kind : std::uint8_t { none, graph_break, recompile, limit };

  void start(Kind kind, SourceLine place) {
    close();
    kind_ = kind;
    place_ = std::move(place);
  }
  /// "recompile_limit (8)"
  void limit(std::string_view text, const LogLine& l) {
    start(Kind::limit, {});
    const auto open = text.find('(');
    name_ = std::string(trimmed(text.substr(0, open)));
    if (open != std::string_view::npos) limit_ = count_at(text.substr(open + 1)).value_or(0);
    compiled_ = l.compiled;
  }
  /// Starts the record of an exception. @return whether the line is one
  bool thrown(std::string_view plain) {
    const bool over = plain.starts_with(kOverLimit);
    if (!over && !plain.starts_with(kUnsupported)) return false;
    start(over ? Kind::limit : Kind::graph_break, {});
    reason_ = plain.substr(over ? kOverLimit.size() : kUnsupported.size());
    if (over) name_ = reason_.substr(0, reason_.find(' '));
    thrown_ = true;
    return true;
  }
  /// "fn in /path/file.py:3"
  void recompile(std::string_view text) {
    const auto in = text.rfind(" in ");
    start(Kind::recompile, place_of(in == std::string_view::npos ? text : text.substr(in + 4)));
    if (in != std::string_view::npos) place_.function = trimmed(text.substr(0, in));
    functions_.insert(place_.function + place_.file);
    ++out_.recompiles;
  }
  void part(std::string_view text, std::string_view plain) {
    if (kind_ == Kind::limit && plain.starts_with("function: ")) {
      // 'name' (file:line)
      const auto quote = plain.find('\''), end = plain.find('\'', quote + 1), open = plain.rfind('(');
      if (open != std::string_view::npos)
        place_ = place_of(plain.substr(open + 1, plain.find_last_of(')') - open - 1));
      if (quote != std::string_view::npos && end != std::string_view::npos)
        place_.function = plain.substr(quote + 1, end - quote - 1);
      functions_.insert(place_.function + place_.file);
    } else if (kind_ == Kind::limit && plain.starts_with("last reason: ")) {
      reason_ = plain.substr(13);
    } else if (kind_ == Kind::limit && plain.starts_with("reasons:")) {
      reason_ = trimmed(plain.substr(8));
    } else if (kind_ == Kind::limit || (thrown_ && plain.empty() && !stack_.empty())) {
      close();
    } else if (plain.starts_with("triggered by") || plain.empty()) {
    } else if (plain.starts_with("User code traceback:") || plain.starts_with("User Stack:") ||
               plain == "from user code:") {
      in_stack_ = true;
    } else if (in_stack_ && plain.starts_with("Traceback (most recent call last)")) {
      in_trace_ = true;  // of the compiler itself, down to what it could not do
    } else if (in_trace_) {
      if (const auto at = plain.find("Unsupported: "); at != std::string_view::npos && reason_.empty())
        reason_ = plain.substr(at + 13);
    } else if (in_stack_) {
      stack_ += std::string(text) + "\n";
    } else {
      for (const std::string_view lead : {"Graph Break Reason:", "Reason:", "- "})
        if (plain.starts_with(lead)) plain = trimmed(plain.substr(lead.size()));
      // A guard is followed by the line of code that it comes from.
      if (kind_ == Kind::recompile) plain = trimmed(plain.substr(0, plain.find("  # ")));
      if (reason_.size() < kLongestReason) reason_ += (reason_.empty() ? "" : "\n") + std::string(plain);
    }
  }
  void close() {
    if (kind_ != Kind::none && out_.breaks.size() < kMostBreaks) add();
    kind_ = Kind::none;
    reason_.clear();
    stack_.clear();
    name_.clear();
    remedy_.clear();
    in_stack_ = in_trace_ = warned_ = thrown_ = false;
    limit_ = compiled_ = 0;
  }
  void add() {
    CompileBreak made;
    if (kind_ == Kind::graph_break) {
      ++graph_breaks_;
      made = break_of(reason_.empty() ? "the log gives no reason" : reason_, registry_);
      made.stack = traceback_of(stack_);
      if (!remedy_.empty()) made.hints.push_back(remedy_);
    } else if (kind_ == Kind::limit) {
      made = break_of("Dynamo recompile limit exceeded", registry_);
      made.graph_break = false;
      made.explanation =
          thrown_ ? fmt::format("a function was compiled as often as {} allows, an error with fullgraph=True",
                                name_)
                  : fmt::format("'{}' was compiled {:g} times, the {}; from then on it runs uncompiled",
                                place_.function, limit_, name_);
      made.context = reason_;
      if (!thrown_ && !reason_.empty() && out_.notes.size() < kMostNotes)
        out_.notes.push_back(fmt::format("{} reached {} ({:g}), the last time because of {}",
                                         place_.function.empty() ? "a function" : place_.function, name_,
                                         limit_, reason_));
      if (const auto at = reason_.find("consider "); at != std::string::npos)
        made.hints.push_back(reason_.substr(at));
      of_limits_ += std::max(0.0, (compiled_ > 0 ? compiled_ : limit_) - 1);
    } else {
      made = break_of("Recompilation: " + reason_, registry_);
      made.graph_break = false;
    }
    if (made.stack.empty() && !place_.file.empty()) made.stack.push_back(place_);
    out_.breaks.push_back(std::move(made));
  }

  const BreakRegistry& registry_;
  CompileRecord out_;
  Kind kind_ = Kind::none;
  SourceLine place_;
  std::string reason_, stack_, name_, remedy_;
  bool in_stack_ = false, in_trace_ = false, others_ = false;
  bool warned_ = false;  ///< the place of the break is still to come
  bool thrown_ = false;  ///< an exception, behind which a job log goes on
  std::optional<double> rank_;
  double limit_ = 0, compiled_ = 0, graph_breaks_ = 0, of_limits_ = 0;
  std::set<std::string> functions_;
};

}  // namespace

bool is_log_text(std::string_view bytes) {
  const auto holds = [&](std::string_view words) { return bytes.find(words) != std::string_view::npos; };
  return holds(kLimit) || holds(kFrom) || holds(kUnsupported) || holds(kOverLimit) ||
         std::any_of(std::begin(kLoggers), std::end(kLoggers), holds);
}

CompileRecord read_log_text(std::string_view text, const BreakRegistry& registry) {
  LogText reader(registry);
  while (!text.empty()) {
    const auto end = text.find('\n');
    reader.line(without_colors(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return reader.finish();
}

}  // namespace mlsysim::detail
