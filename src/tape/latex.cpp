#include <mlsysim/tape/latex.hpp>

#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace mlsysim {
namespace {

/// Characters of an equation that a reader still follows.
constexpr std::size_t kReadable = 600;

/// How tightly an expression binds; a looser operand gets parentheses.
enum class Binds { condition, sum, product, power, atom };

struct Text {
  std::string latex;
  Binds binds = Binds::atom;
};

std::string wrapped(const Text& t, Binds at_least) {
  return t.binds < at_least ? "\\left(" + t.latex + "\\right)" : t.latex;
}

std::string number(double x) {
  if (x == std::floor(x) && std::abs(x) < 1e6) return fmt::format("{}", static_cast<long long>(x));
  auto text = std::isnan(x)   ? "\\mathrm{NaN}"
              : std::isinf(x) ? (x < 0 ? "-\\infty" : "\\infty")
                              : fmt::format("{:.6g}", x);
  const auto e = text.find('e');
  if (e == std::string::npos) return text;
  return fmt::format("{} \\cdot 10^{{{}}}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

/// Writes the nodes of one opened record.
class Writer {
 public:
  enum class Style {
    law,     ///< names; calls of other laws by the law's name
    names,   ///< names; calls of other laws with their number
    numbers  ///< the numbers put in
  };
  explicit Writer(const Derivation& derivation, Style style = Style::law) : d_(derivation), style_(style) {}

  Text write(std::size_t node, bool top) {
    const DerivedNode& n = d_.nodes[node];
    if (style_ == Style::numbers && (n.operands.empty() || (!top && !n.name.empty()))) {
      const auto text = number(n.value);
      return {text, n.value < 0                           ? Binds::sum
                    : text.find(' ') != std::string::npos ? Binds::product
                                                          : Binds::atom};
    }
    if (!top && !n.name.empty() && n.op != "input" && n.op != "constant" && n.op != "law_result") {
      intermediates_.emplace(node, n.name);
      return {latex_name(n.name), Binds::atom};
    }
    return expression(n);
  }
  /// Named intermediates in the order of their nodes: operands come before the nodes that use them.
  [[nodiscard]] const std::map<std::size_t, std::string>& intermediates() const { return intermediates_; }

 private:
  Text at(const DerivedNode& n, std::size_t i) { return write(n.operands[i], false); }

  Text expression(const DerivedNode& n) {
    const auto call = [&](const char* f) {
      return Text{fmt::format("{}\\left({}\\right)", f, at(n, 0).latex), Binds::atom};
    };
    const auto pair = [&](const char* f) {
      return Text{fmt::format("{}\\left({}, {}\\right)", f, at(n, 0).latex, at(n, 1).latex), Binds::atom};
    };
    const auto compare = [&](const char* sign) {
      return Text{at(n, 0).latex + " " + sign + " " + at(n, 1).latex, Binds::condition};
    };
    const auto& op = n.op;
    if (op == "constant") return {number(n.value), n.value < 0 ? Binds::sum : Binds::atom};
    if (op == "input") return {latex_name(n.name), Binds::atom};
    if (op == "law_result") {
      std::string law = n.record < d_.records.size() && d_.records[n.record].law != nullptr
                            ? std::string(d_.records[n.record].law->id)
                            : "law";
      if (style_ == Style::names) law = fmt::format("{}_{{{}}}", law, n.record + 1);
      return {fmt::format("\\mathrm{{{}}}\\!\\left[{}\\right]", law, latex_name(n.name)), Binds::atom};
    }
    if (op == "add")
      return {wrapped(at(n, 0), Binds::sum) + " + " + wrapped(at(n, 1), Binds::sum), Binds::sum};
    if (op == "subtract")
      return {wrapped(at(n, 0), Binds::sum) + " - " + wrapped(at(n, 1), Binds::product), Binds::sum};
    if (op == "multiply") return product(n);
    if (op == "divide" && is_one(d_.nodes[n.operands[1]])) return at(n, 0);  // a unit of one
    if (op == "divide")
      return {fmt::format("\\frac{{{}}}{{{}}}", at(n, 0).latex, at(n, 1).latex), Binds::product};
    if (op == "negate") return {"-" + wrapped(at(n, 0), Binds::product), Binds::sum};
    if (op == "min") return pair("\\min");
    if (op == "max") return pair("\\max");
    if (op == "select")
      return {fmt::format("\\begin{{cases}} {} & {} \\\\ {} & \\text{{else}} \\end{{cases}}", at(n, 1).latex,
                          at(n, 0).latex, at(n, 2).latex),
              Binds::sum};
    if (op == "abs") return {fmt::format("\\left|{}\\right|", at(n, 0).latex), Binds::atom};
    if (op == "ceil") return {fmt::format("\\left\\lceil {} \\right\\rceil", at(n, 0).latex), Binds::atom};
    if (op == "floor") return {fmt::format("\\left\\lfloor {} \\right\\rfloor", at(n, 0).latex), Binds::atom};
    if (op == "sqrt") return {fmt::format("\\sqrt{{{}}}", at(n, 0).latex), Binds::atom};
    if (op == "pow")
      return {fmt::format("{}^{{{}}}", wrapped(at(n, 0), Binds::atom), at(n, 1).latex), Binds::power};
    if (op == "quadrature")
      return {fmt::format("\\sqrt{{{}^2 + {}^2}}", wrapped(at(n, 0), Binds::atom),
                          wrapped(at(n, 1), Binds::atom)),
              Binds::atom};
    if (op == "log") return call("\\ln");
    if (op == "log2") return call("\\log_2");
    if (op == "exp") return {fmt::format("e^{{{}}}", at(n, 0).latex), Binds::power};
    if (op == "less") return compare("<");
    if (op == "greater") return compare(">");
    if (op == "less_equal") return compare("\\le");
    if (op == "greater_equal") return compare("\\ge");
    if (op == "equal") return compare("=");
    if (op == "not_equal") return compare("\\ne");
    if (op == "both") return compare("\\wedge");
    if (op == "either") return compare("\\vee");
    if (op == "negation") return {"\\neg " + wrapped(at(n, 0), Binds::atom), Binds::atom};
    return {std::string(op), Binds::atom};
  }

  static bool is_one(const DerivedNode& n) { return n.op == "constant" && n.value == 1 && n.name.empty(); }

  Text product(const DerivedNode& n) {
    const DerivedNode& left = d_.nodes[n.operands[0]];
    const DerivedNode& right = d_.nodes[n.operands[1]];
    // Factors of one come from units and say nothing.
    if (is_one(left)) return at(n, 1);
    if (is_one(right)) return at(n, 0);
    const bool swap = right.op == "constant" && left.op != "constant";
    const Text a = swap ? at(n, 1) : at(n, 0), b = swap ? at(n, 0) : at(n, 1);
    return {wrapped(a, Binds::product) + " \\cdot " + wrapped(b, Binds::product), Binds::product};
  }

  const Derivation& d_;
  Style style_;
  std::map<std::size_t, std::string> intermediates_;
};

/// A point inside the ranges of a law; counts are `count`.
std::vector<double> point_of(const LawEntry& law, double count) {
  std::vector<double> out;
  for (const auto& f : law.inputs) {
    const double low = f.low > -kUnbounded ? f.low : 0.0;
    double display = f.integral ? std::max(low, count)
                                : std::max(low + 0.25 * std::min(1.0, f.high - low), std::min(f.high, 0.6));
    display = std::min(display, f.high);
    const auto unit = UnitRegistry::standard().parse_unit(f.unit);
    out.push_back(display * unit.mul / unit.div);
  }
  return out;
}

Derivation traced(const LawEntry& law, double count) {
  const std::string id(law.info.id);
  return derive(law, point_of(law, count), {&id, 1});
}

}  // namespace

std::string latex_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_')
      out += "\\_";
    else
      out += c;
  }
  return "\\mathrm{" + out + "}";
}

LatexLaw to_latex(const LawEntry& law) {
  LatexLaw out;
  const auto d = traced(law, 3);
  out.loops =
      std::any_of(d.nodes.begin(), d.nodes.end(), [](const DerivedNode& n) { return n.op == "loop"; });
  Writer writer(d);
  std::vector<std::string> results;
  const auto& record = d.records.front();
  for (std::size_t i = 0; i < record.results.size() && i < record.roots.size(); ++i) {
    if (record.roots[i] == kNone || record.roots[i] >= d.nodes.size()) continue;
    results.push_back(fmt::format("{} = {}", latex_name(record.results[i].name),
                                  writer.write(record.roots[i], true).latex));
  }
  // An intermediate may use others: write until no new ones turn up.
  std::map<std::size_t, std::string> written;
  for (std::size_t before = written.size();; before = written.size()) {
    const auto known = writer.intermediates();
    for (const auto& [node, name] : known)
      if (!written.contains(node))
        written[node] = fmt::format("{} = {}", latex_name(name), writer.write(node, true).latex);
    if (written.size() == before) break;
  }
  std::vector<std::string> seen;  // a result may be an intermediate under its own name
  for (const auto& [node, text] : written) seen.push_back(text);
  for (auto& text : results) seen.push_back(std::move(text));
  for (auto& text : seen)
    if (std::find(out.equations.begin(), out.equations.end(), text) == out.equations.end())
      out.equations.push_back(std::move(text));
  for (const auto& text : out.equations) out.long_winded = out.long_winded || text.size() > kReadable;
  return out;
}

namespace {

/// Plain text inside a LaTeX document.
std::string latex_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\textbackslash{}";
    else if (c == '^' || c == '~')
      out += fmt::format("\\{}{{}}", c);
    else if (std::string_view("{}_&%$#").find(c) != std::string_view::npos)
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string to_latex(const Derivation& d, Repeats repeats) {
  std::string out;
  const auto written = detail::written_records(d, repeats);
  const auto value_line = [](const DerivedValue& v, std::string_view end) {
    return fmt::format("  {} &= \\text{{{}}}{}\n", latex_name(v.name), latex_text(detail::shown_value(v)),
                       end);
  };
  for (const std::size_t r : written.full) {
    const auto& record = d.records[r];
    out += fmt::format("\\paragraph{{[{}] {}}}", r + 1, latex_text(record.law->id));
    if (!record.law->equation.empty())
      out += fmt::format(" \\texttt{{{}}}", latex_text(record.law->equation));
    if (!record.law->source.empty())
      out += fmt::format(" \\cite{}{{{}}}",
                         record.law->where.empty() ? "" : fmt::format("[{}]", latex_text(record.law->where)),
                         record.law->source);
    out += "\n\\begin{align*}\n";
    for (const auto& v : record.inputs) out += value_line(v, " \\\\");
    for (const auto& [name, node] : detail::equations_of(d, r, written.full)) {
      const auto names = Writer(d, Writer::Style::names).write(node, true).latex;
      const auto numbers = Writer(d, Writer::Style::numbers).write(node, true).latex;
      out += fmt::format("  {} &= {} \\\\\n", latex_name(name), names);
      const auto value = number(d.nodes[node].value);
      out += numbers == value ? fmt::format("    &= {} \\\\\n", value)
                              : fmt::format("    &= {} = {} \\\\\n", numbers, value);
    }
    for (std::size_t i = 0; i < record.results.size(); ++i)
      out += value_line(record.results[i], i + 1 < record.results.size() ? " \\\\" : "");
    out += "\\end{align*}\n";
  }
  for (const auto& [law, records] : written.further) {
    out += fmt::format("\\noindent {} again, as above:", latex_text(law));
    for (const std::size_t r : records)
      out += fmt::format("{} [{}] ${} = \\text{{{}}}$", r == records.front() ? "" : ",", r + 1,
                         latex_name(d.records[r].results.front().name),
                         latex_text(detail::shown_value(d.records[r].results.front())));
    out += "\n\n";
  }
  return out;
}

}  // namespace mlsysim
