// Graphs out of logs of TORCH_TRACE: the payloads of dynamo_output_graph and of the graphs of AOTAutograd, as
// printed.

#include "detail/aten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

namespace mlsysim {
namespace detail {
namespace {

struct Kind {
  std::string_view key;
  bool lowered;  ///< operators of ATen rather than calls of modules
};
constexpr std::array<Kind, 4> kKinds{{{"aot_inference_graph", true},
                                      {"aot_forward_graph", true},
                                      {"aot_backward_graph", true},
                                      {"dynamo_output_graph", false}}};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// One printed graph.
class TraceReader {
 public:
  TraceReader(Program& program, const ProgramOptions& options) : p_(program), options_(options) {}

  void line(std::string_view text, std::uint32_t number) {
    text = trimmed(text);
    if (text.starts_with("# File:")) {
      where_ = module_of(text);
    } else if (text.starts_with("def forward(")) {
      arguments(text);
    } else if (text.starts_with("return")) {
      names_in(text.substr(6), [&](std::uint32_t v) { p_.outputs.push_back(v); });
    } else {
      node(text, number);
    }
  }

 private:
  /// "f32[1, s0][10, 1]cpu"; nothing for what is no array.
  std::optional<TensorType> type_of(std::string_view text) {
    const auto open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return std::nullopt;
    TensorType t;
    const auto element = text.substr(0, open);
    t.element = &element_type(element == "b8" ? "i1" : element);
    if (t.element->bits == 0) return std::nullopt;
    auto dims = text.substr(open + 1, close - open - 1);
    while (!dims.empty()) {
      const auto comma = dims.find(',');
      const auto one = trimmed(dims.substr(0, comma));
      std::int64_t n = 0;
      const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), n);
      t.dims.push_back(error == std::errc() && end == one.data() + one.size()
                           ? std::max<std::int64_t>(n, 0)
                           : size_of_symbol(p_, options_, std::string(one)));
      dims = comma == std::string_view::npos ? std::string_view() : dims.substr(comma + 1);
    }
    return t;
  }

  std::uint32_t add(TensorType t, ValueRole role) { return add_value(p_, std::move(t), role, p_.name); }

  /// def forward(self, a: "f32[2][1]cpu", b: "Sym(s0)"):
  void arguments(std::string_view text) {
    std::size_t index = 0;
    for (auto at = text.find(": \""); at != std::string_view::npos; at = text.find(": \"", at + 3)) {
      auto begin = at;
      while (begin > 0 && is_name(text[begin - 1])) --begin;
      const auto name = text.substr(begin, at - begin);
      const auto end = text.find('"', at + 3);
      if (end == std::string_view::npos) return;
      const auto type = type_of(text.substr(at + 3, end - at - 3));
      if (!type) continue;
      bool weight = name.find("_parameters_") != std::string_view::npos ||
                    name.find("_buffers_") != std::string_view::npos;
      for (const auto& w : options_.weights) weight = weight || w == name || w == fmt::format("{}", index);
      const auto id = add(*type, weight ? ValueRole::weight : ValueRole::activation);
      values_[std::string(name)] = id;
      if (!weight) p_.inputs.push_back(id);
      ++index;
    }
  }

  template <class Use> void names_in(std::string_view text, const Use& use) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '\'' || text[i] == '"') quoted = !quoted;
      if (quoted || !is_name(text[i]) || (i > 0 && text[i - 1] == '.')) {
        ++i;
        if (i < text.size() && i > 1 && text[i - 2] == '.' && is_name(text[i - 1]))
          while (i < text.size() && is_name(text[i])) ++i;
        continue;
      }
      auto end = i;
      while (end < text.size() && is_name(text[end])) ++end;
      const auto found = values_.find(std::string(text.substr(i, end - i)));
      if (found != values_.end()) use(found->second);
      i = end;
    }
  }

  /// name: "f32[2]" = torch.ops.aten.mm.default(a, b);  a = None
  void node(std::string_view text, std::uint32_t number) {
    std::size_t end = 0;
    while (end < text.size() && is_name(text[end])) ++end;
    if (end == 0) return;
    const std::string name(text.substr(0, end));
    auto rest = text.substr(end);
    std::optional<TensorType> type;
    if (rest.starts_with(": \"")) {
      const auto close = rest.find('"', 3);
      if (close == std::string_view::npos) return;
      type = type_of(rest.substr(3, close - 3));
      rest = rest.substr(close + 1);
    }
    if (!rest.starts_with(" = ")) return;
    rest = rest.substr(3);
    if (const auto after = rest.find(";  "); after != std::string_view::npos) rest = rest.substr(0, after);
    if (rest == "None") return;
    const auto open = rest.find('(');
    const auto bracket = rest.find('[');
    ProgramOp op;
    op.line = number;
    op.path = kept(p_, where_);
    names_in(rest, [&](std::uint32_t v) { op.operands.push_back(v); });
    const bool plain = std::all_of(rest.begin(), rest.end(), is_name);
    if (plain) {  // another name of a value
      if (!op.operands.empty()) values_[name] = op.operands[0];
      return;
    }
    if (bracket != std::string_view::npos && (open == std::string_view::npos || bracket < open)) {
      if (member(name, rest.substr(0, bracket), type)) return;
      op.name = "getitem";
    } else if (open != std::string_view::npos && open > 0 && is_name(rest[open - 1])) {
      op.name = kept(p_, aten_name(rest.substr(0, open)));
    } else {
      op.name = operation(rest);
    }
    if (!type && op.operands.empty()) return;
    finish_node(name, std::move(op), std::move(type),
                rest.find("transposed = True") != std::string_view::npos);
  }

  /// Element of a result with several arrays: it becomes one of them.
  bool member(const std::string& name, std::string_view of, const std::optional<TensorType>& type) {
    const auto maker = several_.find(std::string(of));
    if (maker == several_.end() || !type) return false;
    auto& op = p_.ops[maker->second];
    const auto id = add(*type, p_.values[op.results[0]].role);
    values_[name] = id;
    if (members_.insert(maker->second).second) p_.values[op.results[0]].type = *type;
    if (op.results.size() == 1 && p_.values[op.results[0]].type.dims == type->dims)
      op.results[0] = id;
    else
      op.results.push_back(id);
    if (op.kind == ListedKind::pointwise && op.flops == 0) count_aten(op, op.name, types_of(op), false);
    return true;
  }

  /// "a + b", "a < 3"
  static std::string_view operation(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 9> words{{{" + ", "add"},
                                                                                  {" - ", "sub"},
                                                                                  {" * ", "mul"},
                                                                                  {" / ", "div"},
                                                                                  {" @ ", "matmul"},
                                                                                  {" ** ", "pow"},
                                                                                  {" < ", "lt"},
                                                                                  {" > ", "gt"},
                                                                                  {" == ", "eq"}}};
    for (const auto& [sign, name] : words)
      if (text.find(sign) != std::string_view::npos) return name;
    return "getitem";
  }

  OpTypes types_of(const ProgramOp& op) const {
    OpTypes t;
    for (const auto v : op.operands) t.in.push_back(&p_.values[v].type);
    for (const auto v : op.results) t.out.push_back(&p_.values[v].type);
    return t;
  }

  void finish_node(const std::string& name, ProgramOp op, std::optional<TensorType> type, bool transposed) {
    const auto role = role_of(p_, op);
    double most = 0;
    for (const auto v : op.operands) most = std::max(most, p_.values[v].type.elements());
    const bool several = !type;
    if (!type)
      type =
          TensorType{op.operands.empty() ? &element_type("f32") : p_.values[op.operands[0]].type.element, {}};
    const bool spread = type->elements() > most;
    const auto id =
        add(std::move(*type), role == ValueRole::activation || spread ? ValueRole::activation : role);
    op.results = {id};
    values_[name] = id;
    const auto rule = count_aten(op, op.name, types_of(op), transposed);
    if (rule == Rule::unknown && !op.operands.empty()) p_.unknown[std::string(op.name)] += 1;
    if (several) several_[name] = p_.ops.size();
    p_.ops.push_back(std::move(op));
  }

  /// "# File: /x/bert.py:120 in forward, code: ..." gives "bert.py/forward".
  static std::string module_of(std::string_view text) {
    text = text.substr(7);
    const auto colon = text.find(".py:");
    if (colon == std::string_view::npos) return {};
    const auto slash = text.rfind('/', colon);
    auto file = trimmed(text.substr(slash == std::string_view::npos ? 0 : slash + 1,
                                    colon + 3 - (slash == std::string_view::npos ? 0 : slash + 1)));
    const auto in = text.find(" in ", colon);
    if (in == std::string_view::npos) return std::string(file);
    const auto comma = text.find(',', in);
    return fmt::format("{}/{}", file,
                       text.substr(in + 4, comma == std::string_view::npos ? comma : comma - in - 4));
  }

  Program& p_;
  const ProgramOptions& options_;
  std::unordered_map<std::string, std::uint32_t> values_;
  std::unordered_map<std::string, std::size_t>
      several_;  ///< operators whose results have no type of their own
  std::unordered_set<std::size_t> members_;
  std::string where_;
};

}  // namespace

Program largest(std::vector<Program> graphs, const std::string& file) {
  if (graphs.empty())
    throw InputError("mlsysim.programs.026", "the log holds no graph", "", "no payload of a graph",
                     "aot_forward_graph, aot_inference_graph or dynamo_output_graph",
                     "run with TORCH_TRACE=folder, and give the log of the rank", {file});
  // Lowered graphs hold the operators that run; the others are of calls that stand for several.
  const auto rank = [](const Program& p) {
    return std::pair(p.version.starts_with("aot"), totals_of(p).flops);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < graphs.size(); ++i)
    if (rank(graphs[best]) < rank(graphs[i])) best = i;
  Program out = std::move(graphs[best]);
  for (std::size_t i = 0; i < graphs.size(); ++i)
    if (i != best)
      out.notes.push_back(
          fmt::format("not taken: {} with {} operators", graphs[i].version, graphs[i].ops.size()));
  return out;
}

}  // namespace detail

std::vector<Program> read_torch_trace(std::string_view bytes, const std::string& name,
                                      const ProgramOptions& options) {
  std::vector<Program> out;
  std::optional<detail::TraceReader> reader;
  std::uint32_t number = 0;
  const auto close = [&] {
    if (reader) detail::finish(out.back());
    reader.reset();
  };
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto line = bytes.substr(0, end);
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
    ++number;
    if (line.starts_with('\t')) {
      if (reader) reader->line(line, number);
      continue;
    }
    close();
    for (const auto& kind : detail::kKinds) {
      const auto at = line.find(fmt::format("{{\"{}\":", kind.key));
      if (at == std::string_view::npos) continue;
      Program p;
      p.name = name;
      p.format = "TORCH_TRACE";
      detail::allow_steps(p, line.size() + bytes.size());
      const auto frame = line.find("\"frame_id\": ");
      std::uint64_t id = 0;
      if (frame != std::string_view::npos)
        std::from_chars(line.data() + frame + 12, line.data() + line.size(), id);
      p.version = fmt::format("{} of frame {}", kind.key, id);
      out.push_back(std::move(p));
      reader.emplace(out.back(), options);
    }
  }
  close();
  return out;
}

}  // namespace mlsysim
