// HLO text, as XLA prints it before or after its optimization.

#include "detail/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mlsysim {
namespace detail {
namespace {

/// One line: name = type opcode(operands), attributes.
struct Instruction {
  std::string_view name, opcode, inside, attributes;
  std::vector<TensorType> types;
  std::vector<std::uint32_t> members;  ///< arrays of each member of a tuple
  std::uint32_t line = 0;
  bool root = false;
};
using Computation = std::vector<Instruction>;
using Arrays = std::vector<std::uint32_t>;

constexpr bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '%';
}
std::string_view trimmed(std::string_view t) {
  while (!t.empty() && (t.front() == ' ' || t.front() == '\t')) t.remove_prefix(1);
  return t;
}
std::string_view plain(std::string_view name) { return name.starts_with('%') ? name.substr(1) : name; }

/// The end of a bracketed part that begins at `at`; npos where it is not closed. Comments and texts are
/// skipped.
std::size_t closing(std::string_view text, std::size_t at) {
  int depth = 0;
  for (auto i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = text.find('"', i + 1);
      if (i == std::string_view::npos) return i;
    } else if (c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == '}' || c == ']') && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// The value of "key=..." among attributes: a word or what is in braces.
std::string_view attribute(std::string_view text, std::string_view key) {
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if ((at > 0 && is_name(text[at - 1])) || at + key.size() >= text.size() || text[at + key.size()] != '=')
      continue;
    const auto from = at + key.size() + 1;
    if (from < text.size() && text[from] == '{') {
      const auto end = closing(text, from);
      return end == std::string_view::npos ? std::string_view() : text.substr(from + 1, end - from - 1);
    }
    if (from < text.size() && text[from] == '"')
      return text.substr(from + 1, text.find('"', from + 1) - from - 1);
    auto end = from;
    while (end < text.size() && text[end] != ',' && text[end] != ' ' && text[end] != '}') ++end;
    return text.substr(from, end - from);
  }
  return {};
}
std::vector<std::int64_t> integers(std::string_view text) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < text.size();) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), n);
    if (error == std::errc()) {
      out.push_back(n);
      i = static_cast<std::size_t>(end - text.data());
    } else {
      ++i;
    }
  }
  return out;
}

class HloReader {
 public:
  HloReader(Program& program, const ProgramOptions& options, const std::string& file)
      : p_(program), options_(options), file_(file) {}

  void read() {
    split();
    const auto found = computations_.find(entry_);
    if (found == computations_.end() || found->second.empty())
      throw InputError(
          "mlsysim.programs.027", "the text holds no computation to begin with", "ENTRY",
          fmt::format("{} computations", computations_.size()), "a computation that begins with ENTRY",
          "give HLO as XLA prints it (--xla_dump_to, or lowered.as_text(dialect='hlo'))", {file_});
    p_.outputs = expand(found->second, {}, "", 1, 0);
  }

 private:
  void split() {
    std::string_view rest = p_.text;
    Computation* open = nullptr;
    for (std::uint32_t number = 1; !rest.empty(); ++number) {
      const auto end = rest.find('\n');
      auto line = trimmed(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (line.starts_with('}')) {
        open = nullptr;
      } else if (open == nullptr) {
        if (!line.ends_with('{') || line.starts_with("HloModule") || line.starts_with("//")) continue;
        const bool entry = line.starts_with("ENTRY ");
        if (entry) line = trimmed(line.substr(6));
        std::size_t n = 0;
        while (n < line.size() && is_name(line[n])) ++n;
        const auto name = plain(line.substr(0, n));
        if (entry) entry_ = name;
        open = &computations_[name];
      } else if (!line.empty()) {
        open->push_back(instruction(line, number));
      }
    }
  }

  Instruction instruction(std::string_view line, std::uint32_t number) const {
    Instruction i;
    i.line = number;
    const auto bad = [&](std::string found) {
      throw InputError("mlsysim.programs.028", "an instruction cannot be read", "", std::move(found),
                       "name = type opcode(operands), attributes", "give HLO as XLA prints it",
                       place(file_, number));
    };
    if (line.starts_with("ROOT ")) {
      i.root = true;
      line = trimmed(line.substr(5));
    }
    std::size_t n = 0;
    while (n < line.size() && is_name(line[n])) ++n;
    i.name = plain(line.substr(0, n));
    line = trimmed(line.substr(n));
    if (i.name.empty() || !line.starts_with('=')) bad(std::string(line.substr(0, 24)));
    line = trimmed(line.substr(1));
    auto end = line.starts_with('(') ? closing(line, 0) : line.find(' ');
    if (end == std::string_view::npos) bad("no type");
    end += line.starts_with('(') ? 1 : 0;
    types(line.substr(0, end), i, 0);
    line = trimmed(line.substr(end));
    const auto open = line.find('(');
    const auto close = open == std::string_view::npos ? open : closing(line, open);
    if (close == std::string_view::npos) bad("no operands");
    i.opcode = trimmed(line.substr(0, open));
    i.inside = line.substr(open + 1, close - open - 1);
    i.attributes = line.substr(close + 1);
    return i;
  }

  /// "f32[8,16]{1,0}" or "(s32[], f32[2]{0})"; sizes "<=8" are what is allocated.
  void types(std::string_view text, Instruction& into, int depth) const {
    if (depth > kNesting) return;
    text = trimmed(text);
    if (text.starts_with('(')) {
      const auto end = closing(text, 0);
      auto inside = text.substr(1, end == std::string_view::npos ? end : end - 1);
      while (!inside.empty()) {
        inside = trimmed(inside);
        if (inside.starts_with("/*"))
          inside = trimmed(inside.substr(std::min(inside.size(), inside.find("*/") + 2)));
        std::size_t stop = 0;
        while (stop < inside.size() && inside[stop] != ',') {
          const auto past = inside[stop] == '(' || inside[stop] == '[' || inside[stop] == '{'
                                ? closing(inside, stop)
                                : stop;
          if (past == std::string_view::npos) return;
          stop = past + 1;
        }
        const auto before = into.types.size();
        types(inside.substr(0, stop), into, depth + 1);
        if (depth == 0) into.members.push_back(static_cast<std::uint32_t>(into.types.size() - before));
        inside = stop < inside.size() ? inside.substr(stop + 1) : std::string_view();
      }
      return;
    }
    const auto open = text.find('[');
    if (open == std::string_view::npos || text.starts_with("token")) return;
    TensorType t;
    t.element = &element_type(text.substr(0, open));
    t.dims = integers(text.substr(open, text.find(']') - open));
    for (auto& d : t.dims) d = std::max<std::int64_t>(d, 0);
    into.types.push_back(std::move(t));
  }

  /// Operands by their names, with or without types before them.
  std::vector<std::string_view> operand_names(std::string_view inside) const {
    std::vector<std::string_view> out;
    std::string_view last;
    int depth = 0;
    for (std::size_t i = 0; i <= inside.size(); ++i) {
      const char c = i < inside.size() ? inside[i] : ',';
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth > 0) continue;
      if (c == ',') {
        if (!last.empty()) out.push_back(plain(last));
        last = {};
      } else if (is_name(c)) {
        const auto from = i;
        while (i < inside.size() && is_name(inside[i])) ++i;
        last = inside.substr(from, i - from);
        --i;
      }
    }
    return out;
  }

  Arrays expand(const Computation& computation, const std::vector<Arrays>& given, const std::string& path,
                double times, int depth) {
    if (depth > kNesting)
      throw InputError("mlsysim.programs.007", "calls nest too deeply", path,
                       fmt::format("more than {} levels", kNesting), "no computation that calls itself",
                       "look for a cycle of calls", {file_});
    std::unordered_map<std::string_view, Arrays> values;
    Arrays last;
    for (const auto& i : computation) {
      spend(p_, steps_of(path.size() + i.inside.size() + i.attributes.size() + 4 * last.size()), file_);
      last = one(i, given, values, path, times, depth);
      values[i.name] = last;
      if (i.root) return last;
    }
    return last;
  }

  std::uint32_t add(TensorType t, ValueRole role) { return add_value(p_, std::move(t), role, file_); }

  const Computation& computation(std::string_view name, const Instruction& i) const {
    const auto found = computations_.find(plain(trimmed(name)));
    if (found == computations_.end())
      throw InputError("mlsysim.programs.008", "a function is called that the text does not hold",
                       std::string(name), std::string(name), "one of its computations",
                       "give the whole module", place(file_, i.line));
    return found->second;
  }

  Arrays parameter(const Instruction& i, const std::vector<Arrays>& given, int depth) {
    const auto numbers = integers(i.inside);
    const auto index = numbers.empty() ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(0, numbers[0]));
    if (depth > 0) return index < given.size() ? given[index] : Arrays();
    Arrays out;
    bool weight = false;
    for (const auto& w : options_.weights) weight = weight || w == fmt::format("{}", index) || w == i.name;
    for (const auto& t : i.types) out.push_back(add(t, weight ? ValueRole::weight : ValueRole::activation));
    p_.inputs.insert(p_.inputs.end(), out.begin(), out.end());
    return out;
  }

  Arrays one(const Instruction& i, const std::vector<Arrays>& given,
             std::unordered_map<std::string_view, Arrays>& values, const std::string& path, double times,
             int depth) {
    if (i.opcode == "parameter") return parameter(i, given, depth);
    std::vector<Arrays> operands;
    Arrays flat;
    if (i.opcode != "constant")
      for (const auto name : operand_names(i.inside))
        if (const auto found = values.find(name); found != values.end()) {
          operands.push_back(found->second);
          flat.insert(flat.end(), found->second.begin(), found->second.end());
        }
    const auto where = path.empty() ? module_of(i) : path;
    if (i.opcode == "tuple" || i.opcode == "opt-barrier" || i.opcode.ends_with("-done")) return flat;
    if (i.opcode == "get-tuple-element") return member(i, operands);
    if (i.opcode == "call" || i.opcode == "fusion" || i.opcode == "async-start" || i.opcode == "map") {
      const auto name =
          attribute(i.attributes, i.opcode == "fusion" || i.opcode == "async-start" ? "calls" : "to_apply");
      return expand(computation(name, i), operands, where, times, depth + 1);
    }
    if (i.opcode == "while") return loop(i, operands, where, times, depth);
    if (i.opcode == "conditional") return branch(i, operands, where, times, depth);
    return plain_operator(i, flat, where, times);
  }

  static Arrays member(const Instruction& i, const std::vector<Arrays>& operands) {
    if (operands.empty()) return {};
    const auto index = integers(attribute(i.attributes, "index"));
    const auto at = index.empty() ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(0, index[0]));
    // Members before it hold an array each, unless the tuple nests.
    Arrays out;
    for (std::size_t k = 0; k < std::max<std::size_t>(1, i.types.size()); ++k)
      if (at + k < operands[0].size()) out.push_back(operands[0][at + k]);
    return out;
  }

  Arrays loop(const Instruction& i, const std::vector<Arrays>& operands, const std::string& where,
              double times, int depth) {
    double trips = -1;
    if (const auto at = i.attributes.find("known_trip_count"); at != std::string_view::npos)
      if (const auto n = integers(i.attributes.substr(at, 60)); !n.empty()) trips = static_cast<double>(n[0]);
    if (trips < 0) {
      const auto name = fmt::format("while.{}", loops_++);
      if (const auto told = options_.trips.find(name); told != options_.trips.end()) {
        trips = told->second;
      } else {
        trips = 1;
        p_.symbols.push_back(name);
        p_.open.push_back(name);
        p_.notes.push_back(
            fmt::format("line {}: the trip count of the loop {} is not stated: counted once", i.line, name));
      }
    }
    (void)expand(computation(attribute(i.attributes, "condition"), i), operands, where, times * (trips + 1),
                 depth + 1);
    return expand(computation(attribute(i.attributes, "body"), i), operands, where, times * trips, depth + 1);
  }

  Arrays branch(const Instruction& i, const std::vector<Arrays>& operands, const std::string& where,
                double times, int depth) {
    std::vector<std::string_view> sides = operand_names(attribute(i.attributes, "branch_computations"));
    for (const char* key : {"true_computation", "false_computation"})
      if (const auto side = attribute(i.attributes, key); !side.empty()) sides.push_back(plain(side));
    ProgramBranch b{std::string(i.name), -1, -1};
    std::vector<ProgramOp> chosen;
    Arrays results;
    const auto from = p_.ops.size();
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const std::vector<Arrays> given{k + 1 < operands.size() ? operands[k + 1] : Arrays()};
      const auto gives = expand(computation(sides[k], i), given, where, times, depth + 1);
      double macs = 0;
      for (auto n = from; n < p_.ops.size(); ++n) macs += p_.ops[n].macs() * p_.ops[n].times;
      b.least = b.least < 0 ? macs : std::min(b.least, macs);
      if (macs > b.most) {
        b.most = macs;
        chosen.assign(p_.ops.begin() + static_cast<std::ptrdiff_t>(from), p_.ops.end());
        results = gives;
      }
      p_.ops.resize(from);
    }
    p_.ops.insert(p_.ops.end(), chosen.begin(), chosen.end());
    p_.branches.push_back(std::move(b));
    return results;
  }

  Arrays plain_operator(const Instruction& i, const Arrays& operands, const std::string& where,
                        double times) {
    ProgramOp op;
    std::string name(i.opcode);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name.ends_with("_start")) name.resize(name.size() - 6);
    op.name = kept(p_, name);
    op.line = i.line;
    op.times = times;
    op.operands = operands;
    op.path = kept(p_, where);
    OpTypes types;
    for (const auto v : operands) types.in.push_back(&p_.values[v].type);
    for (const auto& t : i.types) types.out.push_back(&t);
    OpAttributes a;
    a.lhs_contract = integers(attribute(i.attributes, "lhs_contracting_dims"));
    a.rhs_contract = integers(attribute(i.attributes, "rhs_contracting_dims"));
    a.lhs_batch = integers(attribute(i.attributes, "lhs_batch_dims"));
    a.target = attribute(i.attributes, "custom_call_target");
    if (op.name == "convolution") kernel(i, a);
    if (op.name == "reduce_window" || op.name == "select_and_scatter") {
      const auto window = attribute(i.attributes, "window");
      a.window = sizes_of(window);
    }
    if (const auto body = attribute(i.attributes, "to_apply"); !body.empty())
      if (const auto found = computations_.find(plain(body)); found != computations_.end())
        a.region_flops = std::max<double>(
            1,
            static_cast<double>(std::count_if(found->second.begin(), found->second.end(),
                                              [](const Instruction& k) { return k.opcode != "parameter"; })));
    const bool constant = op.name == "constant" || op.name == "iota";
    const bool listed = op.name == "constant" && i.inside.find("...") != std::string_view::npos;
    const auto rule = count_hlo(op, op.name == "topk" ? "top_k" : op.name, types, a, file_);
    auto role = listed ? ValueRole::weight : constant ? ValueRole::constant : role_of(p_, op);
    double most = 0;
    for (const auto* t : types.in) most = std::max(most, t->elements());
    if (role == ValueRole::weight && !constant && !i.types.empty() && i.types[0].elements() > most)
      role = ValueRole::activation;
    for (const auto& t : i.types) op.results.push_back(add(t, role));
    if (rule == Rule::unknown && !operands.empty())
      p_.unknown[a.target.empty() ? name : std::string(a.target)] += times;
    if (rule == Rule::free) op.touch = Touch::none;
    auto results = op.results;
    if (!constant && role != ValueRole::constant && !op.results.empty()) p_.ops.push_back(std::move(op));
    return results;
  }

  /// window={size=3x3 stride=2x2}
  static std::vector<std::int64_t> sizes_of(std::string_view window) {
    const auto at = window.find("size=");
    if (at == std::string_view::npos) return {};
    return integers(window.substr(at + 5, window.find(' ', at) - at - 5));
  }
  /// dim_labels=b01f_01io->b01f
  static void kernel(const Instruction& i, OpAttributes& a) {
    const auto labels = attribute(i.attributes, "dim_labels");
    const auto from = labels.find('_'), to = labels.find("->");
    if (from == std::string_view::npos || to == std::string_view::npos) return;
    const auto own = labels.substr(from + 1, to - from - 1);
    a.kernel_out = static_cast<int>(own.find('o'));
    a.kernel_in = static_cast<int>(own.find('i'));
    for (const auto& [key, into] :
         {std::pair{"feature_group_count", &a.groups}, {"batch_group_count", &a.batch_groups}})
      if (const auto n = integers(attribute(i.attributes, key)); !n.empty())
        *into = static_cast<double>(n[0]);
  }

  /// op_name="jit(f)/jit(main)/encoder/dot_general" lies in "encoder".
  static std::string module_of(const Instruction& i) {
    auto text = attribute(attribute(i.attributes, "metadata"), "op_name");
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos) return {};
    text = text.substr(0, slash);
    while (text.starts_with("jit(")) {
      const auto next = text.find('/');
      if (next == std::string_view::npos) return {};
      text = text.substr(next + 1);
    }
    return std::string(text);
  }

  Program& p_;
  const ProgramOptions& options_;
  const std::string& file_;
  std::unordered_map<std::string_view, Computation> computations_;
  std::string_view entry_;
  int loops_ = 0;
};

}  // namespace
}  // namespace detail

Program read_hlo(std::string text, const std::string& name, const ProgramOptions& options) {
  Program p;
  p.name = name;
  p.text = std::move(text);
  p.format = "HLO text";
  p.notes.emplace_back("unversioned text: a version is stated by portable artifacts only");
  detail::allow_steps(p, p.text.size());
  detail::HloReader(p, options, name).read();
  detail::finish(p);
  return p;
}

}  // namespace mlsysim
