#include <mlsysim/tools/derivation.hpp>

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

constexpr int kMostDepth = 6;  // of an expression; deeper parts appear as their value

std::string shown(const DerivedValue& v) {
  if (!std::isfinite(v.value)) return fmt::format("{}", v.value);
  const AnyQuantity q = AnyQuantity::from_base(v.value, v.exps);
  return v.unit.empty() ? pretty(q) : pretty(q, v.unit);
}

std::string origin(const Derivation& d, const DerivedValue& v, std::size_t self) {
  if (v.record == kNone || v.record == self) return {};
  const auto& from = d.records[v.record];
  const auto& field = (v.from_input ? from.inputs : from.results)[v.field];
  return fmt::format("   (= {}.{} of [{}])", from.law->id, field.name, v.record + 1);
}

std::string_view symbol_of(std::string_view op) {
  static constexpr std::pair<std::string_view, std::string_view> infix[] = {
      {"add", "+"}, {"subtract", "-"}, {"multiply", "*"}, {"divide", "/"}, {"less", "<"}, {"greater", ">"},
      {"less_equal", "<="}, {"greater_equal", ">="}, {"equal", "=="}, {"not_equal", "!="}, {"both", "and"},
      {"either", "or"}};
  for (const auto& [name, symbol] : infix)
    if (name == op) return symbol;
  return {};
}

enum class Leaves { names, numbers };

/// A node as text; a named node inside another expression stands for itself.
std::string expression(const Derivation& d, std::size_t at, Leaves leaves, int depth, std::size_t self) {
  const DerivedNode& n = d.nodes[at];
  const bool top = depth == 0;
  const bool leaf = n.operands.empty();
  if (leaf || depth > kMostDepth || (!top && !n.name.empty())) {
    if (leaves == Leaves::numbers || n.name.empty()) return pretty(n.value);
    if (n.op == "law_result" && n.record != self) return fmt::format("{}.{}", d.records[n.record].law->id, n.name);
    return n.name;
  }
  const auto part = [&](std::size_t i) { return expression(d, n.operands[i], leaves, depth + 1, self); };
  if (const auto symbol = symbol_of(n.op); !symbol.empty()) {
    const auto text = fmt::format("{} {} {}", part(0), symbol, part(1));
    return top ? text : "(" + text + ")";
  }
  if (n.op == "negate") return "-" + part(0);
  if (n.op == "negation") return "not " + part(0);
  std::string arguments;
  for (std::size_t i = 0; i < n.operands.size(); ++i) arguments += (i > 0 ? ", " : "") + part(i);
  return fmt::format("{}({})", n.op, arguments);
}

void append_named(const Derivation& d, std::size_t at, std::size_t self, std::vector<std::size_t>& out,
                  std::vector<bool>& seen) {
  if (seen[at]) return;
  seen[at] = true;
  for (const std::size_t o : d.nodes[at].operands) append_named(d, o, self, out, seen);
  if (!d.nodes[at].name.empty() && !d.nodes[at].operands.empty()) out.push_back(at);
}

void append_expression(std::string& out, const std::string& indent, const Derivation& d, std::string_view name,
                       std::size_t node, std::size_t self) {
  out += fmt::format("{}  {} = {}\n", indent, name, expression(d, node, Leaves::names, 0, self));
  out += fmt::format("{}  {:{}} = {} = {}\n", indent, "", name.size(), expression(d, node, Leaves::numbers, 0, self),
                     pretty(d.nodes[node].value));
}

}  // namespace

std::string to_text(const Derivation& d) {
  std::string out;
  for (std::size_t r = 0; r < d.records.size(); ++r) {
    const DerivedRecord& record = d.records[r];
    const std::string indent(static_cast<std::size_t>(record.depth) * 2, ' ');
    out += fmt::format("{}[{}] {}: {}\n", indent, r + 1, record.law->id, record.law->equation);
    if (!record.law->source.empty()) {
      out += fmt::format("{}  source: {}{}{}\n", indent, record.law->source, record.law->where.empty() ? "" : ", ",
                         record.law->where);
    }
    if (!record.law->assumptions.empty()) out += fmt::format("{}  assumes: {}\n", indent, record.law->assumptions);
    for (const auto& v : record.inputs)
      out += fmt::format("{}  {} = {}{}\n", indent, v.name, shown(v), origin(d, v, r));
    if (!record.roots.empty()) {
      out += indent + "  in base units:\n";
      std::vector<std::size_t> named;
      std::vector<bool> seen(d.nodes.size());
      for (const std::size_t root : record.roots)
        if (root != kNone) append_named(d, root, r, named, seen);
      for (const std::size_t node : named) append_expression(out, indent + "  ", d, d.nodes[node].name, node, r);
      for (std::size_t i = 0; i < record.roots.size(); ++i) {
        const std::size_t root = record.roots[i];
        if (root != kNone && d.nodes[root].name.empty())
          append_expression(out, indent + "  ", d, record.results[i].name, root, r);
      }
    }
    for (const auto& v : record.results)
      out += fmt::format("{}  -> {} = {}{}\n", indent, v.name, shown(v), origin(d, v, r));
  }
  return out;
}

}  // namespace mlsysim
