#include <mlsysim/ops/graph_breaks/reasons.hpp>

#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace mlsysim {
namespace {

constexpr std::size_t kLongestType = 120;  // [characters] of a label

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Rule {
  std::string_view words;  // that a type holds, in small letters
  BreakCategory category;
};
// The first that fits. What is forced or follows from another break comes before what it is about.
constexpr Rule rules[] = {
    {"torch.compiler.disable", BreakCategory::user_requested},
    {"graph_break()`", BreakCategory::user_requested},
    {"skip_frame()`", BreakCategory::user_requested},
    {"step_unsupported()`", BreakCategory::user_requested},
    {"forced graph break", BreakCategory::user_requested},
    {"should not compile partial graph", BreakCategory::secondary},
    {"graph break in inlined", BreakCategory::secondary},
    {"graph break under", BreakCategory::secondary},
    {"graph break in loop", BreakCategory::secondary},
    {"step_unsupported", BreakCategory::secondary},
    {"store_attr", BreakCategory::secondary},
    {"generic_jump", BreakCategory::data_dependent_control_flow},
    {"data-dependent branching", BreakCategory::data_dependent_control_flow},
    {"data-dependent assertion", BreakCategory::data_dependent_control_flow},
    {"torch.cond", BreakCategory::data_dependent_control_flow},
    {"torch.while_loop", BreakCategory::data_dependent_control_flow},
    {"guard_scalar branch", BreakCategory::data_dependent_control_flow},
    {"data-dependent output shape", BreakCategory::dynamic_shape},
    {"dynamic shape", BreakCategory::dynamic_shape},
    {"dynamic slicing", BreakCategory::dynamic_shape},
    {"symbolic shapes", BreakCategory::dynamic_shape},
    {"symint", BreakCategory::dynamic_shape},
    {"symnode", BreakCategory::dynamic_shape},
    {"non-scalar tensor", BreakCategory::dynamic_shape},
    {"data dependent", BreakCategory::data_dependent_value},
    {"data-dependent", BreakCategory::data_dependent_value},
    {".item()", BreakCategory::data_dependent_value},
    {"tolist()", BreakCategory::data_dependent_value},
    {"print", BreakCategory::side_effect_io},
    {"logging", BreakCategory::side_effect_io},
    {"logger", BreakCategory::side_effect_io},
    {"debugging function", BreakCategory::side_effect_io},
    {"marked as skipped", BreakCategory::skipped_function},
    {"skip_files", BreakCategory::skipped_function},
    {"skipfiles", BreakCategory::skipped_function},
    {"skip frame", BreakCategory::skipped_function},
    {"numpy", BreakCategory::third_party_library},
    {"ndarray", BreakCategory::third_party_library},
    {"triton", BreakCategory::third_party_library},
    {"executorch", BreakCategory::third_party_library},
    {"torchscript", BreakCategory::third_party_library},
    {"subclass", BreakCategory::tensor_subclass},
    {"__torch_function__", BreakCategory::tensor_subclass},
    {"nestedtensor", BreakCategory::tensor_subclass},
    {"nested_tensor", BreakCategory::tensor_subclass},
    {"autograd", BreakCategory::autograd},
    {"backward", BreakCategory::autograd},
    {"grad_fn", BreakCategory::autograd},
    {"requires_grad", BreakCategory::autograd},
    {"custom jvp", BreakCategory::autograd},
    {"custom vjp", BreakCategory::autograd},
    {"backend compiler", BreakCategory::backend_failure},
    {"backendcompilerfailed", BreakCategory::backend_failure},
    {"fake tensor", BreakCategory::backend_failure},
    {"builtin", BreakCategory::unsupported_builtin},
    {"built-in", BreakCategory::unsupported_builtin},
    {"implemented in c/c++", BreakCategory::unsupported_builtin},
    {"method", BreakCategory::unsupported_method},
    {"function call", BreakCategory::unsupported_method},
    {"call_method", BreakCategory::unsupported_method},
    {"call_function", BreakCategory::unsupported_method},
    {"unsupported", BreakCategory::unsupported_method},
};

/// Sentences by which the hints of PyTorch tell what sort of a break it is
/// (torch/_dynamo/graph_break_hints.py).
constexpr std::pair<std::string_view, std::string_view> hint_classes[] = {
    {"result in an error when running in eager", "user_error"},
    {"likely to be a Dynamo bug", "dynamo_bug"},
    {"difficult to debug", "difficult"},
    {"This graph break is fundamental", "fundamental"},
    {"may be possible to write Dynamo tracing rules", "supportable"},
};

/// One placeholder for what stands at `at`, or nothing. @return the place behind it
std::size_t placeholder(std::string_view text, std::size_t at, std::string& out) {
  const char c = text[at];
  const bool starts = at == 0 || !is_word(text[at - 1]);
  if ((c == '\'' || c == '"') && starts) {
    const auto end = text.find(c, at + 1);
    if (end != std::string_view::npos) {
      out += "'...'";
      return end + 1;
    }
  }
  if (c == '[') {
    const auto end = text.find(']', at + 1);
    if (end != std::string_view::npos && end > at + 1) {
      out += "[...]";
      return end + 1;
    }
  }
  if (c == '/' && starts) {
    auto end = at;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) == 0) ++end;
    if (std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(end), '/') > 1) {
      out += "PATH";
      return end;
    }
  }
  if (std::isdigit(static_cast<unsigned char>(c)) != 0 && starts) {
    auto end = at;
    while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
    out += "N";
    return end;
  }
  return at;
}

/// Puts a hint or an explanation, which may go on over several lines, where it belongs.
void take_line(CompileBreak& out, std::string_view line, std::string*& open) {
  const auto text = detail::trimmed(line);
  const auto begins = [&](std::string_view word) { return text.starts_with(word); };
  if (begins("Explanation:")) {
    out.explanation = detail::trimmed(text.substr(12));
    open = &out.explanation;
  } else if (begins("Hint:")) {
    out.hints.emplace_back(detail::trimmed(text.substr(5)));
    open = &out.hints.back();
  } else if (begins("Developer debug context:")) {
    out.context = detail::trimmed(text.substr(24));
    open = &out.context;
  } else if (text.empty() || begins("For more details about this graph break") || begins("***")) {
    open = nullptr;
  } else if (open != nullptr) {
    *open += "\n" + std::string(text);
  }
}

/// Versions from 2.12 on say in a paragraph of its own which instruction was traced; the break begins behind
/// it.
std::string_view behind_lead(std::string_view text) {
  if (!text.starts_with("Encountered graph break ")) return text;
  const auto end = text.find("\n\n");
  const auto from = end == std::string_view::npos ? end : text.find_first_not_of('\n', end);
  return from == std::string_view::npos ? text : text.substr(from);
}

}  // namespace

const BreakRegistry& BreakRegistry::shipped() {
  static const BreakRegistry registry = read((zoo_directory() / "compile" / "graph_breaks.json").string());
  return registry;
}

std::string_view BreakRegistry::id_of(std::string_view type) const {
  const auto at = ids_.find(type);
  if (at != ids_.end()) return at->second;
  // Wordings from before there was a registry.
  if (type == "generic_jump") return id_of("Data-dependent branching");
  if (type == "store_attr") return id_of("Should not compile partial graph (STORE_ATTR)");
  if (type == "step_unsupported") return id_of("Call to `torch._dynamo.step_unsupported()`");
  if (type.starts_with("builtin: ") && type.find('[') == std::string_view::npos)
    return id_of("Failed to trace builtin operator");
  return {};
}

std::string without_addresses(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    auto rest = text.substr(i);
    const std::string_view lead = rest.starts_with(" at 0x") ? " at 0x" : rest.starts_with("0x") ? "0x" : "";
    std::size_t end = lead.size();
    while (!lead.empty() && end < rest.size() && std::isxdigit(static_cast<unsigned char>(rest[end])) != 0)
      ++end;
    if (lead.empty() || end < lead.size() + 4) {  // shorter numbers are values
      out += text[i++];
      continue;
    }
    if (lead == "0x") out += "ADDRESS";
    i += end;
  }
  return out;
}

std::string normal_type(std::string_view reason) {
  auto line = detail::trimmed(reason.substr(0, reason.find('\n')));
  if (line.starts_with("generic_jump")) return "generic_jump";
  if (line.starts_with("builtin: ")) line = detail::trimmed(line.substr(0, line.find(" [", 9)));
  const auto plain = without_addresses(line);
  std::string out;
  for (std::size_t i = 0; i < plain.size() && out.size() < kLongestType;) {
    const auto next = placeholder(plain, i, out);
    if (next == i)
      out += std::iscntrl(static_cast<unsigned char>(plain[i++])) != 0 ? ' ' : plain[i - 1];
    else
      i = next;
  }
  if (out.size() > kLongestType) out.resize(kLongestType);
  return out.empty() ? "unknown" : out;
}

BreakCategory category_of(std::string_view type, std::string_view context) {
  const auto text = detail::lower(type);
  if (text.find("builtin") != std::string::npos) {
    const auto words = text + " " + detail::lower(context.substr(0, context.find('[')));
    for (const std::string_view io : {" print", "logging", " open", " input", "warnings", "breakpoint"})
      if (words.find(io) != std::string::npos) return BreakCategory::side_effect_io;
  }
  for (const auto& rule : rules)
    if (text.find(rule.words) != std::string::npos) return rule.category;
  return BreakCategory::other;
}

CompileBreak break_of(std::string reason, const BreakRegistry& registry) {
  CompileBreak out;
  out.reason = std::move(reason);
  const std::string_view text = behind_lead(out.reason);
  std::string_view rest = text;
  std::string* open = nullptr;
  bool first = true;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    // A second break while the first was handled is part of the text alone.
    if (!first && line.find("another graph break occurred") != std::string_view::npos) break;
    if (!first) take_line(out, line, open);
    first = false;
  }
  const auto head = detail::trimmed(text.substr(0, text.find('\n')));
  out.gb_id = registry.id_of(head);
  out.type = out.gb_id.empty() ? normal_type(text) : std::string(head);
  if (out.gb_id.empty()) out.gb_id = registry.id_of(out.type);
  if (const auto page = text.find("/gb/gb"); page != std::string_view::npos) {
    auto end = page + 6;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > page + 6) out.gb_id = "GB" + std::string(text.substr(page + 6, end - page - 6));
  }
  for (const auto& hint : out.hints)
    for (const auto& [words, name] : hint_classes)
      if (out.hint_class.empty() && hint.find(words) != std::string::npos) out.hint_class = name;
  out.category = category_of(out.type, out.context);
  return out;
}

std::string op_name(std::string_view text) {
  auto plain = without_addresses(detail::trimmed(text));
  std::string_view t = plain;
  if (!t.starts_with('<')) return plain;
  if (const auto at = t.find("<original "); at != std::string_view::npos) {
    t.remove_prefix(at + 10);
    return std::string(t.substr(0, t.find('>')));
  }
  t.remove_prefix(1);
  if (t.ends_with('>')) t.remove_suffix(1);
  for (const std::string_view lead :
       {"built-in method ", "built-in function ", "function ", "bound method ", "class "})
    if (t.starts_with(lead)) {
      t.remove_prefix(lead.size());
      if (t.starts_with('\'') && t.ends_with('\'') && t.size() > 1)
        return std::string(t.substr(1, t.size() - 2));
      return std::string(t.substr(0, t.find(' ')));
    }
  return plain;
}

std::string short_path(std::string_view path) {
  for (const std::string_view lead : {"site-packages/", "dist-packages/"})
    if (const auto at = path.rfind(lead); at != std::string_view::npos)
      return std::string(path.substr(at + lead.size()));
  for (const std::string_view home : {"/home/", "/Users/"})
    if (path.starts_with(home)) {
      const auto end = path.find('/', home.size());
      if (end != std::string_view::npos) path.remove_prefix(end);
    }
  if (!path.starts_with('/')) return std::string(path);  // short already
  auto from = path.size();
  for (int parts = 0; parts < 3 && from != std::string_view::npos && from > 0; ++parts)
    from = path.rfind('/', from - 1);
  return std::string(path.substr(from == std::string_view::npos ? 1 : from + 1));
}

}  // namespace mlsysim
