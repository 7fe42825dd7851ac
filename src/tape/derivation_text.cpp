#include <mlsysim/tape/detail/derivation_lines.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr int kMostDepth = 6;  // of an expression; deeper parts appear as their value

std::string_view symbol_of(std::string_view op) {
  static constexpr std::pair<std::string_view, std::string_view> infix[] = {
      {"add", "+"},    {"subtract", "-"},   {"multiply", "*"},    {"divide", "/"},
      {"less", "<"},   {"greater", ">"},    {"less_equal", "<="}, {"greater_equal", ">="},
      {"equal", "=="}, {"not_equal", "!="}, {"both", "and"},      {"either", "or"}};
  for (const auto& [name, symbol] : infix)
    if (name == op) return symbol;
  return {};
}

enum class Leaves { names, numbers };

/// A node as text; a named node inside another expression stands for itself. Sums of sums are one sum.
std::string expression(const Derivation& d, std::size_t at, Leaves leaves, int depth, std::size_t self) {
  const DerivedNode& n = d.nodes[at];
  const bool top = depth == 0;
  const bool leaf = n.operands.empty();
  if (leaf || depth > kMostDepth || (!top && !n.name.empty())) {
    if (leaves == Leaves::numbers || n.name.empty()) return pretty(n.value);
    if (n.op == "law_result" && n.record != self)
      return fmt::format("{}[{}].{}", d.records[n.record].law->id, n.record + 1, n.name);
    return n.name;
  }
  const auto part = [&](std::size_t i) { return expression(d, n.operands[i], leaves, depth + 1, self); };
  if (n.op == "add") {
    // The left side of a sum is the sum so far.
    const DerivedNode& left = d.nodes[n.operands[0]];
    const bool sum = left.op == "add" && left.name.empty() && depth <= kMostDepth;
    auto first = sum ? expression(d, n.operands[0], leaves, std::max(depth, 1), self) : part(0);
    if (sum) first = first.substr(1, first.size() - 2);
    const auto text = fmt::format("{} + {}", first, part(1));
    return top ? text : "(" + text + ")";
  }
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

/// Where a number came from, behind it.
std::string origin_text(const Derivation& d, const DerivedValue& v, std::size_t self) {
  const auto from = detail::origin_of(d, v, self);
  return from.empty() ? from : fmt::format("   (= {})", from);
}

void append_named(const Derivation& d, std::size_t at, std::vector<std::pair<std::string, std::size_t>>& out,
                  std::vector<bool>& seen) {
  if (seen[at]) return;
  seen[at] = true;
  for (const std::size_t o : d.nodes[at].operands) append_named(d, o, out, seen);
  if (!d.nodes[at].name.empty() && !d.nodes[at].operands.empty()) out.emplace_back(d.nodes[at].name, at);
}

/// Most equations and characters shown. Repeats, e.g. chunk after chunk of a prompt, lose their middle.
constexpr std::size_t kEquations = 256, kFormula = 2000;

std::string shortened(std::string formula) {
  if (formula.size() <= kFormula) return formula;
  return fmt::format("{} ... {}", formula.substr(0, kFormula / 2),
                     formula.substr(formula.size() - kFormula / 2));
}

/// Visits the first and the last equations. @param skipped is told how many lie between
template <class Equations, class Visit, class Skipped>
void for_each_shown(const Equations& equations, Visit&& visit, Skipped&& skipped) {
  const std::size_t many = equations.size();
  for (std::size_t i = 0; i < many; ++i) {
    if (many > kEquations && i == kEquations / 2) {
      skipped(many - kEquations);
      i = many - kEquations / 2;
    }
    visit(equations[i]);
  }
}

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

}  // namespace

namespace detail {

std::string origin_of(const Derivation& d, const DerivedValue& v, std::size_t self) {
  constexpr std::size_t most = 100;  // characters of a formula that are still easy to read beside a value
  if (v.record == self) return {};
  if (v.record == kNone) {
    if (v.node == kNone || d.nodes[v.node].op == "constant") return {};
    const auto made = expression(d, v.node, Leaves::names, 0, d.records[self].parent);
    return made.size() > most ? std::string() : made;
  }
  const auto& from = d.records[v.record];
  const auto& field = (v.from_input ? from.inputs : from.results)[v.field];
  return fmt::format("{}.{} of [{}]", from.law->id, field.name, v.record + 1);
}

std::string source_of(const LawInfo& law) {
  return fmt::format("{}{}{}", law.source, law.where.empty() ? "" : ", ", law.where);
}

std::string results_line(const Derivation& d, const std::vector<std::size_t>& records) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < records.size() && i < most; ++i) {
    const auto& v = d.records[records[i]].results.front();
    out += fmt::format("{}[{}] {} = {}", i > 0 ? ", " : "", records[i] + 1, v.name, shown_value(v));
  }
  return records.size() > most ? out + fmt::format(", and {} more", records.size() - most) : out;
}

std::string shown_value(const DerivedValue& v) {
  if (!std::isfinite(v.value)) return fmt::format("{}", v.value);
  const AnyQuantity q = AnyQuantity::from_base(v.value, v.exps);
  return v.unit.empty() ? pretty(q) : pretty(q, v.unit);
}

WrittenRecords written_records(const Derivation& d, Repeats repeats) {
  WrittenRecords out;
  std::vector<std::string_view> seen;
  std::vector<bool> left_out(d.records.size());
  for (std::size_t r = 0; r < d.records.size(); ++r) {
    const auto& record = d.records[r];
    // A call that is left out takes the calls inside it along.
    left_out[r] = record.parent != kNone && left_out[record.parent];
    if (left_out[r]) continue;
    const bool again =
        repeats == Repeats::counted && std::find(seen.begin(), seen.end(), record.law->id) != seen.end();
    if (!again) {
      seen.push_back(record.law->id);
      out.full.push_back(r);
      continue;
    }
    left_out[r] = true;
    const auto of = std::find_if(out.further.begin(), out.further.end(),
                                 [&](const auto& f) { return f.first == record.law->id; });
    if (of == out.further.end())
      out.further.push_back({std::string(record.law->id), {r}});
    else
      of->second.push_back(r);
  }
  return out;
}

std::vector<std::pair<std::string, std::size_t>> equations_of(const Derivation& d, std::size_t record,
                                                              std::span<const std::size_t> written) {
  std::vector<std::pair<std::string, std::size_t>> out;
  const auto& r = d.records[record];
  std::vector<bool> seen(d.nodes.size());
  for (const std::size_t c : written)
    if (d.records[c].parent == record)
      for (const auto& v : d.records[c].inputs)
        if (v.node != kNone) append_named(d, v.node, out, seen);
  for (const std::size_t root : r.roots)
    if (root != kNone) append_named(d, root, out, seen);
  for (std::size_t i = 0; i < r.roots.size(); ++i) {
    const std::size_t root = r.roots[i];
    if (root != kNone && (d.nodes[root].name.empty() || d.nodes[root].operands.empty()))
      out.emplace_back(r.results[i].name, root);
  }
  return out;
}

std::pair<std::string, std::string> expressions_of(const Derivation& d, std::size_t node, std::size_t self) {
  return {expression(d, node, Leaves::names, 0, self), expression(d, node, Leaves::numbers, 0, self)};
}

}  // namespace detail

std::string to_text(const Derivation& d, Repeats repeats) {
  std::string out;
  const auto written = detail::written_records(d, repeats);
  for (const std::size_t r : written.full) {
    const DerivedRecord& record = d.records[r];
    const std::string indent(static_cast<std::size_t>(record.depth) * 2, ' ');
    out += fmt::format("{}[{}] {}: {}\n", indent, r + 1, record.law->id, record.law->equation);
    if (!record.law->source.empty())
      out += fmt::format("{}  source: {}\n", indent, detail::source_of(*record.law));
    if (!record.law->assumptions.empty())
      out += fmt::format("{}  assumes: {}\n", indent, record.law->assumptions);
    for (const auto& v : record.inputs)
      out += fmt::format("{}  {} = {}{}\n", indent, v.name, detail::shown_value(v), origin_text(d, v, r));
    if (!record.roots.empty()) {
      out += indent + "  in base units:\n";
      const auto write = [&](const std::pair<std::string, std::size_t>& equation) {
        const auto& [name, node] = equation;
        const auto [names, numbers] = detail::expressions_of(d, node, r);
        const auto value = pretty(d.nodes[node].value);
        out += fmt::format("{}    {} = {}\n", indent, name, shortened(names));
        out += fmt::format("{}    {:{}} = {}{}\n", indent, "", name.size(), shortened(numbers),
                           numbers == value ? "" : " = " + value);
      };
      for_each_shown(detail::equations_of(d, r, written.full), write, [&](std::size_t more) {
        out += fmt::format("{}    ... {} equations more\n", indent, more);
      });
    }
    for (const auto& v : record.results)
      out += fmt::format("{}  -> {} = {}{}\n", indent, v.name, detail::shown_value(v), origin_text(d, v, r));
  }
  for (const auto& [law, records] : written.further)
    out += fmt::format("{} again, as above: {}\n", law, detail::results_line(d, records));
  return out;
}

std::string to_markdown(const Derivation& d, Repeats repeats) {
  std::string out;
  const auto written = detail::written_records(d, repeats);
  for (const std::size_t r : written.full) {
    const DerivedRecord& record = d.records[r];
    out += fmt::format("### [{}] {}\n\n", r + 1, record.law->id);
    if (!record.law->equation.empty()) out += fmt::format("`{}`\n\n", record.law->equation);
    if (!record.law->source.empty()) out += fmt::format("Source: {}\n\n", detail::source_of(*record.law));
    if (!record.law->assumptions.empty()) out += fmt::format("Assumes: {}\n\n", record.law->assumptions);
    out += "| | name | value | from |\n| --- | --- | --- | --- |\n";
    const auto row = [&](std::string_view side, const DerivedValue& v) {
      out += fmt::format("| {} | `{}` | {} | {} |\n", side, cell(v.name), cell(detail::shown_value(v)),
                         cell(detail::origin_of(d, v, r)));
    };
    for (const auto& v : record.inputs) row("input", v);
    for (const auto& v : record.results) row("result", v);
    out += "\n";
    if (record.roots.empty()) continue;
    out += "In base units:\n\n";
    const auto write = [&](const std::pair<std::string, std::size_t>& equation) {
      const auto& [name, node] = equation;
      const auto [names, numbers] = detail::expressions_of(d, node, r);
      const auto value = pretty(d.nodes[node].value);
      out += fmt::format("- `{} = {}` = {}{}\n", name, shortened(names),
                         numbers == value ? "" : fmt::format("`{}` = ", shortened(numbers)), value);
    };
    for_each_shown(detail::equations_of(d, r, written.full), write,
                   [&](std::size_t more) { out += fmt::format("- {} equations more\n", more); });
    out += "\n";
  }
  for (const auto& [law, records] : written.further)
    out += fmt::format("- {} again, as above: {}\n", law, detail::results_line(d, records));
  return out;
}

}  // namespace mlsysim
