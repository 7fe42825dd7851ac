// Logs of TORCH_TRACE: a head (of glog, then JSON) and, where it says so, lines that begin with a tab.

#include "detail/json_members.hpp"
#include "detail/md5.hpp"
#include "detail/readers.hpp"

#include <mlsysim/units/detail/whole.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kLongestLine = 16 << 20;    // [B] of a line; what follows is dropped and counted
constexpr std::size_t kLongestPayload = 1 << 20;  // [B] of a payload that is kept as text
// Bounds the memory for a log of any length. The first breaks are kept one by one, then equal ones are
// counted. Once the different ones fill their bytes, the rest is counted without a reason.
constexpr std::size_t kSingly = 1'000;
constexpr std::size_t kMostBreakBytes = 32 << 20, kMostStringBytes = 32 << 20;
constexpr std::size_t kMostOpen = 10'000;  // compilations with breaks that have not ended yet
constexpr std::size_t kMostRanks = 100'000;
constexpr std::size_t kLongestVersion = 100;  // [B]

// Kinds of records, as PyTorch 2.4 to 2.15 and the samples name them. What is not among them is counted.
constexpr std::string_view known_kinds[] = {"str",
                                            "artifact",
                                            "aot_backward_graph",
                                            "aot_forward_graph",
                                            "aot_inference_graph",
                                            "aot_joint_graph",
                                            "bwd_compilation_metrics",
                                            "aot_autograd_backward_compilation_metrics",
                                            "chromium_event",
                                            "compilation_metrics",
                                            "compilation_metrics_runtime",
                                            "compiled_autograd_graph",
                                            "create_symbol",
                                            "create_unbacked_symbol",
                                            "describe_source",
                                            "describe_storage",
                                            "describe_tensor",
                                            "dump_file",
                                            "dynamo_cpp_guards_str",
                                            "dynamo_guards",
                                            "dynamo_output_graph",
                                            "dynamo_start",
                                            "exported_program",
                                            "expression_created",
                                            "fake_tensor_op",
                                            "graph_dump",
                                            "graph_lowering",
                                            "guard_added",
                                            "guard_added_fast",
                                            "inductor_output_code",
                                            "inductor_post_grad_graph",
                                            "inductor_pre_grad_graph",
                                            "inductor_provenance_tracking_node_mappings",
                                            "link",
                                            "missing_fake_kernel",
                                            "mismatched_fake_kernel",
                                            "optimize_ddp_split_child",
                                            "optimize_ddp_split_graph",
                                            "propagate_real_tensors_provenance",
                                            "symbolic_shape_specialization",
                                            "unbacked_symbol",
                                            "hash"};
// Members of a head that are about the record, not its kind.
constexpr std::string_view envelope[] = {
    "frame_id",    "frame_compile_id", "attempt",  "rank",   "stack",  "compiled_autograd_id",
    "has_payload", "process",          "pathname", "thread", "lineno", "timestamp",
    "compile_id"};

template <std::size_t N> bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// The JSON of a head "V1206 15:20:13.926000 1543231 torch/_dynamo/utils.py:1288] {...}"; nothing for other
/// lines.
std::string_view json_of_head(std::string_view line) {
  if (line.size() < 30 || std::strchr("VIWEC", line[0]) == nullptr) return {};
  for (std::size_t i = 1; i < 5; ++i)
    if (line[i] < '0' || line[i] > '9') return {};
  if (line[5] != ' ' || line[8] != ':' || line[11] != ':') return {};
  const auto at = line.find("] ");
  if (at == std::string_view::npos || at + 2 >= line.size() || line[at + 2] != '{') return {};
  return line.substr(at + 2);
}

/// The first key of an object, which is the kind of nearly every record.
std::string_view first_key(std::string_view json) {
  const auto from = json.find('"');
  if (from == std::string_view::npos) return {};
  const auto end = json.find('"', from + 1);
  return end == std::string_view::npos ? std::string_view{} : json.substr(from + 1, end - from - 1);
}

/// "Graph break in user code at FILE:LINE".
SourceLine place_of_lead(std::string_view line) {
  constexpr std::string_view lead = " in user code at ";
  const auto from = line.find(lead);
  const auto end = line.find('\n', from), colon = line.rfind(':', end);
  if (from == std::string_view::npos || colon == std::string_view::npos || colon < from + lead.size())
    return {};
  int number = 0;
  for (auto k = colon + 1; k < line.size() && line[k] >= '0' && line[k] <= '9' && number < 100'000'000; ++k)
    number = number * 10 + (line[k] - '0');
  return {short_path(line.substr(from + lead.size(), colon - from - lead.size())), number, {}};
}

/// Which compilation a record belongs to: rank, frame, compilation of the frame.
std::string compilation_of(const Json& head) {
  std::string out;
  for (const char* part : {"rank", "frame_id", "frame_compile_id"}) {
    const auto& x = member(head, part);
    out += (x.is_number_integer() ? std::to_string(x.get<std::int64_t>()) : "-") + "/";
  }
  return out;
}

}  // namespace

std::vector<SourceLine> traceback_of(std::string_view text) {
  std::vector<SourceLine> out;
  constexpr std::string_view lead = "File \"", middle = "\", line ", in = ", in ";
  while (!text.empty() && out.size() < 1000) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto at = line.find(middle), from = line.find_first_not_of(' ');
    const bool frame = from != std::string_view::npos && line.substr(from).starts_with(lead);
    if (!frame || at == std::string_view::npos) {
      if (line.starts_with("    ") && !out.empty() && out.back().code.empty())
        out.back().code = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
      continue;
    }
    int number = 0;
    for (auto k = at + middle.size();
         k < line.size() && line[k] >= '0' && line[k] <= '9' && number < 100'000'000; ++k)
      number = number * 10 + (line[k] - '0');
    const auto name = line.find(in, at);
    out.push_back(
        {short_path(line.substr(from + lead.size(), at - from - lead.size())), number,
         name == std::string_view::npos ? std::string() : std::string(line.substr(name + in.size()))});
  }
  return out;
}

struct TraceReader::State {
  explicit State(const BreakRegistry& r) : registry(r) { out.form = RecordForm::trace_log; }

  const BreakRegistry& registry;
  CompileRecord out;
  std::string part;       // of a line that is not at its end
  bool dropping = false;  // the rest of a line that is too long
  // The record whose payload is being read.
  Json head;
  std::string kind, expected, payload;
  bool open = false, keep = false, any = false;
  Md5 checksum;
  std::unordered_map<std::int64_t, std::string> strings;
  std::size_t string_bytes = 0, break_bytes = 0;
  std::set<std::string> named;  // compilations that go on and whose breaks have records of their own
  std::unordered_map<std::string, std::size_t> same;  // breaks by the checksum of reason and stack
  double unkept = 0;
  std::set<double> ranks;
  struct Caches {
    double hits = 0, misses = 0;
    void count(std::string_view name) {
      if (name.ends_with("_cache_hit")) ++hits;
      if (name.ends_with("_cache_miss")) ++misses;
    }
  } events, artifacts;  // a version writes the one, the other, or the same twice

  void line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.starts_with('\t')) return payload_line(text.substr(1));
    close();
    const auto json = json_of_head(text);
    if (json.empty()) {
      if (text.find_first_not_of(" \t") != std::string_view::npos) ++out.read.foreign;
      return;
    }
    head_line(json);
  }
  void payload_line(std::string_view text) {
    if (!open) {
      ++out.read.foreign;
      return;
    }
    if (any) checksum.add("\n");
    checksum.add(text);
    if (keep && payload.size() + text.size() < kLongestPayload) {
      if (any) payload += '\n';
      payload += text;
    }
    any = true;
  }
  void head_line(std::string_view json) {
    head = Json::parse(json, nullptr, false);
    if (!head.is_object()) {
      ++out.read.bad_record;
      return;
    }
    kind = first_key(json);
    if (among(envelope, kind))
      for (const auto& [name, value] : head.items())
        if (!among(envelope, name)) kind = name;
    if (kind == "str") return take_string();
    ++out.read.records;
    if (kind.size() > 100) kind.resize(100);
    if (among(known_kinds, kind) || out.kinds.size() < 200) ++out.kinds[kind];
    if (!among(known_kinds, kind)) ++out.read.unknown;
    if (const auto& rank = member(head, "rank"); rank.is_number() && ranks.size() < kMostRanks)
      ranks.insert(count_of(rank));
    expected = text_of(member(head, "has_payload"));
    open = !expected.empty();
    any = false;
    payload.clear();
    keep = kind == "artifact" || kind == "chromium_event";
    if (open)
      checksum.begin();
    else
      take_record();
  }
  void take_string() {
    const auto& row = head["str"];
    if (row.is_array() && row.size() == 2 && row[0].is_string() && row[1].is_number_integer()) {
      auto text = short_path(row[0].get<std::string>());
      constexpr std::size_t around = 64;  // [B] of an entry beside its text
      if (string_bytes + text.size() + around > kMostStringBytes) return;
      const auto [at, fresh] = strings.try_emplace(row[1].get<std::int64_t>());
      string_bytes += text.size() + (fresh ? around : 0) - at->second.size();
      at->second = std::move(text);
    } else {
      ++out.read.bad_record;
    }
  }
  /// The end of a payload: what it is about is counted whether or not the payload is whole.
  void close() {
    if (!open) return;
    open = false;
    if (checksum.text() != expected) ++out.read.bad_payload;
    take_record();
  }
  void take_record() {
    if (kind == "dynamo_output_graph") ++out.graph_count;
    if (kind == "compilation_metrics") metrics(head["compilation_metrics"]);
    if (kind == "artifact") artifact(text_of(member(head["artifact"], "name")));
    if (kind == "chromium_event") cache(payload);
  }
  /// Events of caches are instants with a name such as fx_graph_cache_hit.
  void cache(std::string_view text) {
    if (text.find("_cache_") == std::string_view::npos) return;
    const auto event = Json::parse(text, nullptr, false);
    if (text_of(member(event, "ph")) == "i") events.count(text_of(member(event, "name")));
  }
  void artifact(const std::string& name) {
    artifacts.count(name);
    if (name == "torch_version" && out.torch.empty())
      out.torch =
          text_of(member(Json::parse(payload, nullptr, false), "pytorch_version")).substr(0, kLongestVersion);
    if (name == "recompile_reasons") ++out.recompiles;
    if (name == "dynamo_error" && out.error.empty())
      out.error = payload.substr(0, payload.find('\n', payload.find('\n') + 1));
    if (name != "dynamo_graph_break_reason") return;
    if (named.size() >= kMostOpen) named.erase(named.begin());
    named.insert(compilation_of(head));
    add_break(payload, {}, stack_of(member(head, "stack")));
  }
  void add_break(std::string_view reason, const SourceLine& place, std::vector<SourceLine> stack) {
    constexpr std::string_view mark = "Graph Break Reason: ", around = "User code traceback:",
                               inner = "\nTraceback (most recent call last):";
    // Newer versions write the place before the reason and the stack of the program behind it; the newest
    // write that of the compiler itself behind both.
    if (const auto at = reason.find(mark); at != std::string_view::npos) {
      const auto lead = place_of_lead(reason.substr(0, at));
      reason = reason.substr(at + mark.size());
      const auto end = reason.find(around);
      if (stack.empty() && end != std::string_view::npos)
        stack = traceback_of(reason.substr(end, reason.find(inner, end) - end));
      if (stack.empty() && !lead.file.empty()) stack.push_back(lead);
      reason = reason.substr(0, end);
    }
    while (reason.ends_with('\n') || reason.ends_with(' ')) reason.remove_suffix(1);
    if (stack.empty() && !place.file.empty()) stack.push_back(place);
    ++out.graph_breaks;
    Md5 sum;
    sum.add(reason);
    std::size_t bytes = 2 * reason.size() + 512;  // reason, its parts, and what is around them
    for (const auto& f : stack) {
      sum.add(fmt::format("\n{}:{} {} {}", f.file, f.line, f.function, f.code));
      bytes += f.file.size() + f.function.size() + f.code.size() + sizeof f;
    }
    const auto [at, fresh] = same.try_emplace(sum.text(), out.breaks.size());
    if (!fresh && out.breaks.size() >= kSingly) {
      ++out.breaks[at->second].count;
      return;
    }
    if (break_bytes + bytes > kMostBreakBytes) {
      if (fresh) same.erase(at);
      ++unkept;
      return;
    }
    break_bytes += bytes;
    auto made = break_of(std::string(reason), registry);
    made.stack = std::move(stack);
    out.breaks.push_back(std::move(made));
  }
  std::vector<SourceLine> stack_of(const Json& frames) {
    std::vector<SourceLine> stack;
    if (!frames.is_array()) return stack;
    for (const auto& f : frames) {
      const auto& file = member(f, "filename");
      std::string name = text_of(file);
      if (file.is_number_integer()) {
        const auto at = strings.find(file.get<std::int64_t>());
        if (at == strings.end())
          ++out.read.missing;
        else
          name = at->second;
      }
      stack.push_back({short_path(name), detail::whole<int>(count_of(member(f, "line"))),
                       text_of(member(f, "name")), text_of(member(f, "loc"))});
    }
    return stack;
  }
  void metrics(const Json& m) {
    ++out.frames;
    out.op_count += count_of(member(m, "graph_op_count"));
    out.guards += count_of(member(m, "guard_count"));
    times(m);
    const SourceLine place{short_path(text_of(member(m, "co_filename"))),
                           detail::whole<int>(count_of(member(m, "co_firstlineno"))),
                           text_of(member(m, "co_name"))};
    // The metrics of a compilation end it. Where its breaks have records, its restarts are no second breaks.
    const bool has_own = named.erase(compilation_of(head)) > 0;
    if (const auto& why = member(m, "restart_reasons"); why.is_array())
      for (const auto& reason : why) {
        ++out.restarts;
        if (!has_own) add_break(text_of(reason), place, {});
      }
    if (const auto type = text_of(member(m, "fail_type")); !type.empty()) {
      ++out.failures;
      if (out.status == "ok" || out.error.empty())
        out.error = type + ": " + text_of(member(m, "fail_reason"));
      out.status = "failed";
    }
  }
  /// Times by phase, in seconds whatever their unit; where one is given twice, the whole number is the
  /// better.
  void times(const Json& m) {
    if (!m.is_object()) return;
    for (const auto& [key, value] : m.items()) {
      const bool micro = key.ends_with("_us");
      if (!micro && !key.ends_with("_s")) continue;
      const auto stem = key.substr(0, key.size() - (micro ? 3 : 2));
      if (!value.is_number() || (!micro && m.contains(stem + "_us"))) continue;
      const double seconds = count_of(value) * (micro ? 1e-6 : 1.0);
      if (stem == "dynamo_time_before_restart") {
        if (!m.contains("dynamo_compile_time_before_restart_us"))
          out.lost_to_restarts = out.lost_to_restarts + seconds * unit::s;
      } else if (stem == "dynamo_compile_time_before_restart") {
        out.lost_to_restarts = out.lost_to_restarts + seconds * unit::s;
      } else if (stem.ends_with("_time") && stem != "start_time" && stem != "end_time") {
        add_phase(out, stem.substr(0, stem.size() - 5), 1, seconds);
        const bool whole = stem == "dynamo_cumulative_compile_time";
        if (whole ||
            (stem == "entire_frame_compile_time" && !m.contains("dynamo_cumulative_compile_time_us")))
          out.compile_time = out.compile_time + seconds * unit::s;
      }
    }
  }
  void finish_breaks() {
    if (unkept > 0)
      out.notes.push_back(
          fmt::format("{:g} breaks are counted without their reasons, which are too many to keep", unkept));
    out.cache_hits = std::max(events.hits, artifacts.hits);
    out.cache_misses = std::max(events.misses, artifacts.misses);
    out.ranks.assign(ranks.begin(), ranks.end());
  }
};

TraceReader::TraceReader(const BreakRegistry& registry) : state_(std::make_unique<State>(registry)) {}
TraceReader::~TraceReader() = default;

void TraceReader::take(std::string_view piece) {
  auto& s = *state_;
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    const auto text = piece.substr(0, end);
    piece = end == std::string_view::npos ? std::string_view{} : piece.substr(end + 1);
    const bool whole = end != std::string_view::npos;
    if (!s.dropping && s.part.size() + text.size() > kLongestLine) {
      s.dropping = true;
      ++s.out.read.truncated;
    }
    if (!s.dropping && !whole) s.part += text;
    if (!whole) continue;
    if (s.dropping) {
      s.dropping = false;
    } else if (s.part.empty()) {
      s.line(text);
    } else {
      s.part += text;
      s.line(s.part);
    }
    s.part.clear();
  }
}

CompileRecord TraceReader::finish() {
  auto& s = *state_;
  const bool cut = !s.part.empty();
  if (cut) {
    // A last line without its end may be whole but for the end; only where it is no record, it is a cut.
    const auto before = s.out.read;
    s.line(s.part);
    if (s.out.read.bad_record > before.bad_record || s.out.read.foreign > before.foreign) {
      s.out.read = before;
      ++s.out.read.truncated;
    }
  }
  s.close();
  s.finish_breaks();
  return std::move(s.out);
}

bool is_trace_log(std::string_view bytes) {
  for (int i = 0; i < 200 && !bytes.empty(); ++i) {
    const auto end = bytes.find('\n');
    if (!json_of_head(bytes.substr(0, end)).empty()) return true;
    if (end == std::string_view::npos) break;
    bytes = bytes.substr(end + 1);
  }
  return false;
}

}  // namespace mlsysim::detail
