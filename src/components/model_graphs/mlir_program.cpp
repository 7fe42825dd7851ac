// From the statements of MLIR text to a list of operators: calls are expanded, loops counted, branches
// compared.

#include "detail/mlir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mlsysim {
namespace detail {
namespace {

/// The arrays that a local name stands for: a tuple has several.
using Arrays = std::vector<std::uint32_t>;

std::string_view bare(std::string_view name) {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}
std::string_view dialect(std::string_view name) { return name.substr(0, name.find('.')); }
bool is_hlo(std::string_view d) { return d == "stablehlo" || d == "mhlo" || d == "chlo" || d == "vhlo"; }

/// A number that a constant states for every element: "dense<10>".
std::optional<std::int64_t> splat(std::string_view attributes) {
  const auto at = attributes.find("dense<");
  if (at == std::string_view::npos) return std::nullopt;
  const auto* begin = attributes.data() + at + 6;
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(begin, attributes.data() + attributes.size(), n);
  if (error != std::errc() || end == attributes.data() + attributes.size() || *end != '>')
    return std::nullopt;
  return n;
}

class Expander {
 public:
  Expander(const MlirModule& module, Program& program, const ProgramOptions& options, const std::string& file)
      : module_(module), p_(program), options_(options), file_(file) {
    for (const auto& f : module.functions) functions_.emplace(f.name, &f);
    for (std::size_t at = 0; (at = program.text.find('\n', at)) != std::string::npos; ++at)
      lines_.push_back(at);
  }

  void expand() {
    const auto entry = std::find_if(module_.functions.begin(), module_.functions.end(),
                                    [](const MlirFunction& f) { return f.name == "main"; });
    const auto open =
        std::find_if(module_.functions.begin(), module_.functions.end(),
                     [](const MlirFunction& f) { return !f.is_private && !f.body.ops.empty(); });
    const auto* f = entry != module_.functions.end()  ? &*entry
                    : open != module_.functions.end() ? &*open
                                                      : nullptr;
    if (f == nullptr || f->body.ops.empty())
      throw InputError("mlsysim.programs.005", "the text holds no function with a body", "func.func",
                       fmt::format("{} functions", module_.functions.size()), "a function, best @main",
                       "give the program as its compiler prints it", {file_});
    Scope scope(f->locals);
    for (std::size_t i = 0; i < f->body.arguments.size(); ++i) {
      auto& arrays = scope.at(f->body.arguments[i]);
      for (const auto& leaf : module_.types[f->body.argument_types[i]].leaves) {
        auto type = leaf;
        for (std::size_t d = 0; d < type.dims.size(); ++d)
          if (type.dims[d] < 0) type.dims[d] = size_of_symbol(p_, options_, fmt::format("arg{}.{}", i, d));
        arrays.push_back(value(std::move(type), role_of_argument(i, f->body.arguments.size())));
      }
      p_.inputs.insert(p_.inputs.end(), arrays.begin(), arrays.end());
    }
    p_.outputs = block(f->body, scope, "", 1, 0);
  }

 private:
  struct Scope {
    explicit Scope(std::size_t locals) : values(locals) {}
    Arrays& at(std::uint32_t local) { return values[local]; }
    std::vector<Arrays> values;
  };

  ValueRole role_of_argument(std::size_t i, std::size_t count) const {
    for (const auto& w : options_.weights)
      if (w == fmt::format("arg{}", i) || w == fmt::format("{}", i) || (w == "*" && i + 1 < count))
        return ValueRole::weight;
    return ValueRole::activation;
  }

  std::uint32_t value(TensorType type, ValueRole role) { return add_value(p_, std::move(type), role, file_); }

  Arrays operands(const MlirOp& op, Scope& scope) const {
    Arrays out;
    for (const auto local : op.operands) {
      if (local >= scope.values.size()) continue;
      const auto& arrays = scope.at(local);
      out.insert(out.end(), arrays.begin(), arrays.end());
    }
    spend(p_, out.size() / 16, file_);
    return out;
  }

  /// @returns what its last statement gives back
  Arrays block(const MlirRegion& region, Scope& scope, const std::string& path, double times, int depth) {
    if (depth > kNesting)
      throw InputError("mlsysim.programs.007", "calls nest too deeply", path,
                       fmt::format("more than {} levels", kNesting), "no function that calls itself",
                       "look for a cycle of calls", {file_});
    Arrays last;
    for (const auto& op : region.ops) {
      spend(p_, steps_of(path.size() + op.attributes.size()), file_);
      const auto name = bare(op.name);
      if (name == "return" || op.name == "func.return") return operands(op, scope);
      if (name == "call" || op.name == "func.call" || (name == "composite" && is_hlo(dialect(op.name))))
        call(op, scope, path, times, depth);
      else if (name == "while")
        loop(op, scope, path, times, depth);
      else if ((name == "case" || name == "if") && !op.regions.empty())
        branch(op, scope, path, times, depth);
      else
        plain(op, name, scope, path, times);
    }
    return last;
  }

  /// The types that a statement gives its results.
  const MlirType* result_type(const MlirOp& op, std::size_t i) const {
    const auto& types = op.out_types.empty() ? op.in_types : op.out_types;
    if (types.empty()) return nullptr;
    return &module_.types[types[op.result_count == types.size() ? i : types.size() - 1]];
  }

  void call(const MlirOp& op, Scope& scope, const std::string& path, double times, int depth) {
    auto symbol = op.symbol;
    if (const auto at = op.attributes.find("decomposition = @"); at != std::string_view::npos) {
      symbol = op.attributes.substr(at + 17);
      symbol = symbol.substr(0, symbol.find_first_of(" ,}>"));
    }
    const auto found = functions_.find(symbol);
    if (found == functions_.end())
      throw InputError("mlsysim.programs.008", "a function is called that the text does not hold",
                       std::string(symbol), fmt::format("@{}", symbol), "one of its functions",
                       "give the whole module", place(file_, line(op.offset)));
    const auto& f = *found->second;
    spend(p_, f.locals / 8, file_);
    Scope inner(f.locals);
    const auto given = operands(op, scope);
    std::size_t at = 0;
    for (std::size_t i = 0; i < f.body.arguments.size(); ++i)
      for (std::size_t n = module_.types[f.body.argument_types[i]].leaves.size(); n > 0 && at < given.size();
           --n)
        inner.at(f.body.arguments[i]).push_back(given[at++]);
    give(op, scope, block(f.body, inner, join(path, module_path(op), symbol), times, depth + 1));
  }

  /// Hands arrays to the results of a statement, a tuple getting several.
  void give(const MlirOp& op, Scope& scope, const Arrays& arrays) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < op.result_count; ++i) {
      const auto* type = result_type(op, i);
      auto& into = scope.at(op.first_result + static_cast<std::uint32_t>(i));
      into.clear();
      for (std::size_t n = type == nullptr ? 1 : type->leaves.size(); n > 0 && at < arrays.size(); --n)
        into.push_back(arrays[at++]);
    }
  }

  static std::string join(const std::string& path, std::string_view module, std::string_view name) {
    std::string out = path;
    for (const auto part : {module, name})
      if (!part.empty()) out += (out.empty() ? "" : "/") + std::string(part);
    return out;
  }

  /// The modules that a location names: "jit(f)/encoder/layer_0/dot_general" gives "encoder/layer_0".
  std::string_view module_path(const MlirOp& op) {
    auto text = op.location;
    for (int i = 0; i < 8 && text.starts_with("#"); ++i) {
      const auto found = module_.locations.find(text);
      if (found == module_.locations.end()) return {};
      text = found->second;
      if (text.starts_with("loc(")) text = text.substr(4, text.size() - 5);
    }
    const auto open = text.find('"');
    if (open == std::string_view::npos) return {};
    text = text.substr(open + 1, text.find('"', open + 1) - open - 1);
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos || text.find(".py") != std::string_view::npos) return {};
    text = text.substr(0, slash);
    while (text.starts_with("jit(")) {
      const auto next = text.find('/');
      if (next == std::string_view::npos) return {};
      text = text.substr(next + 1);
    }
    return text;
  }

  void loop(const MlirOp& op, Scope& scope, const std::string& path, double times, int depth) {
    const auto start = operands(op, scope);
    if (op.regions.size() < 2)
      throw InputError("mlsysim.programs.009", "a loop has no body", "while", "no regions",
                       "a condition and a body", "give the program as its compiler prints it",
                       place(file_, line(op.offset)));
    const auto bind = [&](const MlirRegion& region) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < region.arguments.size(); ++i) {
        const auto types = !op.in_types.empty() && i < op.in_types.size()
                               ? module_.types[op.in_types[i]].leaves.size()
                               : std::size_t{1};
        auto& into = scope.at(region.arguments[i]);
        into.clear();
        for (std::size_t n = types; n > 0 && at < start.size(); --n) into.push_back(start[at++]);
      }
    };
    bind(op.regions[0]);
    const double trips = trip_count(op, scope);
    (void)block(op.regions[0], scope, join(path, module_path(op), "while"), times * (trips + 1), depth + 1);
    bind(op.regions[1]);
    const auto after =
        block(op.regions[1], scope, join(path, module_path(op), "while"), times * trips, depth + 1);
    give(op, scope, after.size() == start.size() ? after : start);
  }

  /// The statement that gives a local value, in a region.
  static const MlirOp* maker(const MlirRegion& region, std::uint32_t local) {
    for (const auto& op : region.ops)
      if (local >= op.first_result && local - op.first_result < op.result_count) return &op;
    return nullptr;
  }
  std::optional<std::int64_t> number(const MlirRegion& region, std::uint32_t local, Scope& scope) const {
    if (const auto* op = maker(region, local); op != nullptr && bare(op->name) == "constant")
      return splat(op->attributes);
    if (local < scope.values.size() && scope.values[local].size() == 1)
      if (const auto known = numbers_.find(scope.values[local][0]); known != numbers_.end())
        return known->second;
    return std::nullopt;
  }

  /// How often a loop runs: where its condition compares a counter, that the body moves by a constant, with a
  /// constant.
  double trip_count(const MlirOp& op, Scope& scope) {
    const auto& cond = op.regions[0];
    const auto& body = op.regions[1];
    const MlirOp* end = cond.ops.empty() ? nullptr : &cond.ops.back();
    const MlirOp* test = end == nullptr || end->operands.empty() ? nullptr : maker(cond, end->operands[0]);
    if (test != nullptr && bare(test->name) == "compare" && test->operands.size() == 2) {
      const bool less = find_key(test->attributes, "LT") != std::string_view::npos,
                 equal = find_key(test->attributes, "LE") != std::string_view::npos;
      const auto counter = std::find(cond.arguments.begin(), cond.arguments.end(), test->operands[0]);
      const auto limit = number(cond, test->operands[1], scope);
      if ((less || equal) && counter != cond.arguments.end() && limit) {
        const auto index = static_cast<std::size_t>(counter - cond.arguments.begin());
        const auto first = number(cond, *counter, scope);
        const auto step = step_of(body, index, scope);
        if (first && step && *step > 0) {
          const double span = static_cast<double>(*limit) - static_cast<double>(*first) + (equal ? 1 : 0);
          return std::max(0.0, std::ceil(span / static_cast<double>(*step)));
        }
      }
    }
    const auto name = fmt::format("while.{}", loops_++);
    if (const auto given = options_.trips.find(name); given != options_.trips.end()) return given->second;
    p_.symbols.push_back(name);
    p_.open.push_back(name);
    p_.notes.push_back(fmt::format("line {}: the trip count of the loop {} depends on data: counted once",
                                   line(op.offset), name));
    return 1;
  }

  std::optional<std::int64_t> step_of(const MlirRegion& body, std::size_t index, Scope& scope) const {
    if (body.ops.empty() || index >= body.ops.back().operands.size() || index >= body.arguments.size())
      return std::nullopt;
    const auto* add = maker(body, body.ops.back().operands[index]);
    if (add == nullptr || bare(add->name) != "add" || add->operands.size() != 2) return std::nullopt;
    for (int i = 0; i < 2; ++i)
      if (add->operands[static_cast<std::size_t>(i)] == body.arguments[index])
        return number(body, add->operands[static_cast<std::size_t>(1 - i)], scope);
    return std::nullopt;
  }

  void branch(const MlirOp& op, Scope& scope, const std::string& path, double times, int depth) {
    const auto where = join(path, module_path(op), bare(op.name));
    ProgramBranch b{where, -1, -1};
    std::vector<ProgramOp> chosen;
    Arrays results;
    const auto from = p_.ops.size();
    for (const auto& side : op.regions) {
      const auto gives = block(side, scope, where, times, depth + 1);
      double macs = 0;
      for (auto i = from; i < p_.ops.size(); ++i) macs += p_.ops[i].macs() * p_.ops[i].times;
      b.least = b.least < 0 ? macs : std::min(b.least, macs);
      if (macs > b.most) {
        b.most = macs;
        chosen.assign(std::make_move_iterator(p_.ops.begin() + static_cast<std::ptrdiff_t>(from)),
                      std::make_move_iterator(p_.ops.end()));
        results = gives;
      }
      p_.ops.resize(from);
    }
    for (auto& c : chosen) p_.ops.push_back(std::move(c));
    p_.branches.push_back(std::move(b));
    give(op, scope, results);
  }

  void plain(const MlirOp& op, std::string_view name, Scope& scope, const std::string& path, double times) {
    const auto d = dialect(op.name);
    const auto given = operands(op, scope);
    if (is_hlo(d) && (name == "tuple" || name == "optimization_barrier")) return give(op, scope, given);
    if (is_hlo(d) && name == "get_tuple_element") return member(op, scope, given);
    if (name.starts_with("global.load") || name.starts_with("global_load") || name == "global.address" ||
        name == "get_global")
      return global(op, scope, given);
    ProgramOp made;
    made.name = name;
    made.line = static_cast<std::uint32_t>(line(op.offset));
    made.times = times;
    made.operands = given;
    OpTypes types;
    std::vector<TensorType> out;
    for (std::size_t i = 0; i < op.result_count; ++i)
      if (const auto* t = result_type(op, i)) out.insert(out.end(), t->leaves.begin(), t->leaves.end());
    for (auto& t : out) infer(t, made);
    for (const auto v : given) types.in.push_back(&p_.values[v].type);
    for (const auto& t : out) types.out.push_back(&t);
    const bool constant = name == "constant" || (name == "iota" && is_hlo(d));
    Rule rule = Rule::unknown;
    if (is_hlo(d) || d == "arith" || d == op.name)
      rule = count_hlo(made, name, types, attributes(op, name), file_);
    else
      made.kind = ListedKind::movement;
    const auto role = constant ? role_of_constant(op, name) : role_of_result(made, out);
    Arrays results;
    for (auto& t : out) results.push_back(value(std::move(t), role));
    give(op, scope, results);
    made.results = results;
    if (name == "constant")
      if (const auto n = splat(op.attributes); n && results.size() == 1) numbers_.emplace(results[0], *n);
    if (name == "convert" && given.size() == 1 && results.size() == 1)
      if (const auto n = numbers_.find(given[0]); n != numbers_.end())
        numbers_.emplace(results[0], n->second);
    if (rule == Rule::unknown && !given.empty()) {
      const auto target = attributes(op, name).target;
      p_.unknown[std::string(target.empty() ? op.name : target)] += times;
    }
    if (rule == Rule::free) made.touch = Touch::none;
    if (results.empty() && rule == Rule::free) return;
    const auto module = module_path(op);
    made.path = kept(p_, join(path, module, ""));
    if (!constant && role != ValueRole::constant) p_.ops.push_back(std::move(made));
  }

  /// One number for all elements is made when it is needed; a list of them is kept as a weight.
  static ValueRole role_of_constant(const MlirOp& op, std::string_view name) {
    const auto at = op.attributes.find("dense");
    const auto open = at == std::string_view::npos ? at : op.attributes.find('<', at);
    const bool listed = open != std::string_view::npos && open + 1 < op.attributes.size() &&
                        (op.attributes[open + 1] == '[' || op.attributes[open + 1] == '"' ||
                         op.attributes.substr(at).starts_with("dense_resource"));
    return name == "constant" && listed ? ValueRole::weight : ValueRole::constant;
  }
  /// The role of a result. A weight that is broadcast to more values becomes an activation.
  ValueRole role_of_result(const ProgramOp& op, const std::vector<TensorType>& out) const {
    const auto role = role_of(p_, op);
    if (role != ValueRole::weight || out.empty()) return role;
    double most = 0;
    for (const auto v : op.operands) most = std::max(most, p_.values[v].type.elements());
    return out[0].elements() > most ? ValueRole::activation : role;
  }

  void member(const MlirOp& op, Scope& scope, const Arrays& given) {
    const auto at = op.attributes.find("index = ");
    std::size_t index = 0;
    const auto from = at == std::string_view::npos ? op.attributes.find('[') + 1 : at + 8;
    std::from_chars(op.attributes.data() + std::min(from, op.attributes.size()),
                    op.attributes.data() + op.attributes.size(), index);
    std::size_t skip = index, count = 1;
    if (!op.in_types.empty()) {
      const auto& members = module_.types[op.in_types[0]].members;
      if (index < members.size()) {
        skip = 0;
        for (std::size_t i = 0; i < index; ++i) skip += members[i];
        count = members[index];
      }
    }
    Arrays out;
    for (auto i = skip; i < std::min(given.size(), skip + count); ++i) out.push_back(given[i]);
    give(op, scope, out);
  }

  /// A variable of the module is a weight; all that load it share it.
  void global(const MlirOp& op, Scope& scope, const Arrays& given) {
    if (!given.empty()) return give(op, scope, given);  // through an address
    auto& weights = weights_[op.symbol];
    if (weights.empty() && op.result_count > 0)
      if (const auto* t = result_type(op, 0))
        for (const auto& leaf : t->leaves) weights.push_back(value(leaf, ValueRole::weight));
    give(op, scope, weights);
  }

  /// Open extents of a result, where it is clear which operand has them.
  void infer(TensorType& t, const ProgramOp& op) {
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      if (t.dims[i] >= 0) continue;
      bool found = false;
      for (const auto v : op.operands) {
        const auto& from = p_.values[v].type.dims;
        if (from.size() == t.dims.size() && (from[i] >= 0 || !found)) {
          t.dims[i] = from[i];
          found = true;
          if (from[i] != 1) break;
        }
      }
      if (!found) t.dims[i] = size_of_symbol(p_, options_, fmt::format("line{}.{}", op.line, i));
    }
  }

  OpAttributes attributes(const MlirOp& op, std::string_view name) const {
    OpAttributes a;
    const auto text = op.attributes;
    if (name == "dot_general") {
      // Pretty: "batching_dims = [0] x [0], contracting_dims = [2] x [1]".
      const auto both = [&](std::string_view key, auto& left, auto& right) {
        left = integers_after(text, key);
        const auto at = find_key(text, key);
        if (at == std::string_view::npos) return;
        const auto second = text.find("x [", at);
        if (second != std::string_view::npos) right = integers_after(text.substr(second), "x");
      };
      std::vector<std::int64_t> other;
      both("contracting_dims", a.lhs_contract, a.rhs_contract);
      both("batching_dims", a.lhs_batch, other);
      if (a.lhs_contract.empty()) {
        a.lhs_contract = integers_after(text, "lhs_contracting_dimensions");
        a.rhs_contract = integers_after(text, "rhs_contracting_dimensions");
        a.lhs_batch = integers_after(text, "lhs_batching_dimensions");
      }
    } else if (name == "convolution" || name == "dynamic_conv") {
      kernel_layout(text, a);
      const auto count = [&](std::string_view key) {
        const auto at = find_key(text, key);
        double n = 1;
        if (at != std::string_view::npos)
          std::from_chars(text.data() + text.find_first_of("0123456789", at), text.data() + text.size(), n);
        return n;
      };
      a.groups = count("feature_group_count");
      a.batch_groups = count("batch_group_count");
    } else if (name == "reduce_window" || name == "select_and_scatter") {
      a.window = integers_after(text, "window_dimensions");
    } else if (name == "custom_call") {
      a.target = op.symbol;
      const auto at = find_key(text, "call_target_name");
      if (at != std::string_view::npos) {
        const auto open = text.find('"', at);
        if (open != std::string_view::npos)
          a.target = text.substr(open + 1, text.find('"', open + 1) - open - 1);
      }
    }
    if (!op.regions.empty()) {
      double arithmetic = 0;
      for (const auto& inner : op.regions[0].ops)
        arithmetic += bare(inner.name) != "return" && bare(inner.name) != "constant";
      a.region_flops = std::max(1.0, arithmetic);
    }
    return a;
  }

  /// "x[0, 1, i, o]->", or "x[o, i, 0, 1]->", or numbers in the generic form.
  static void kernel_layout(std::string_view text, OpAttributes& a) {
    const auto at = text.find("]x[");
    if (at == std::string_view::npos) {
      const auto o = text.find("kernel_output_feature_dimension = "),
                 i = text.find("kernel_input_feature_dimension = ");
      const auto digit = [&](std::size_t k, std::size_t length) { return text[k + length] - '0'; };
      if (o != std::string_view::npos && i != std::string_view::npos) {
        a.kernel_out = digit(o, 34);
        a.kernel_in = digit(i, 33);
      }
      return;
    }
    int index = 0;
    for (auto k = at + 3; k < text.size() && text[k] != ']'; ++k) {
      if (text[k] == 'o') a.kernel_out = index;
      if (text[k] == 'i') a.kernel_in = index;
      if (text[k] == ',') ++index;
    }
  }

  [[nodiscard]] std::size_t line(std::size_t offset) const {
    return 1 +
           static_cast<std::size_t>(std::lower_bound(lines_.begin(), lines_.end(), offset) - lines_.begin());
  }

  const MlirModule& module_;
  Program& p_;
  const ProgramOptions& options_;
  const std::string& file_;
  std::unordered_map<std::string_view, const MlirFunction*> functions_;
  std::unordered_map<std::string_view, Arrays> weights_;
  std::unordered_map<std::uint32_t, std::int64_t> numbers_;
  std::vector<std::size_t> lines_;  ///< where each ends
  int loops_ = 0;
};

}  // namespace
}  // namespace detail

Program read_mlir(std::string text, const std::string& name, const ProgramOptions& options) {
  Program p;
  p.name = name;
  p.text = std::move(text);
  if (p.text.size() > (1ull << 31))
    throw InputError("mlsysim.programs.010", "the text is too long", "", fmt::format("{} B", p.text.size()),
                     "at most 2 GiB", "print it without the values of its constants", {name});
  const auto module = detail::parse_mlir(p.text, name);
  const bool mhlo =
      p.text.find("mhlo.") != std::string::npos && p.text.find("stablehlo.") == std::string::npos;
  p.format = mhlo ? "MHLO text" : "StableHLO text";
  p.notes.emplace_back("unversioned text: a version is stated by portable artifacts only");
  detail::allow_steps(p, p.text.size());
  detail::Expander(module, p, options, name).expand();
  detail::finish(p);
  return p;
}

}  // namespace mlsysim
