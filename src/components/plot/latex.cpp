#include "equation_writer.hpp"

#include <mlsysim/plot/latex.hpp>

#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace mlsysim {
namespace {

/// Characters of an equation that a reader still follows.
constexpr std::size_t kReadable = 600;

/// How LaTeX writes the forms of an equation.
struct Latex {
  static std::string number(double x) {
    if (std::isnan(x)) return "\\mathrm{NaN}";
    if (std::isinf(x)) return x < 0 ? "-\\infty" : "\\infty";
    const auto [mantissa, power] = detail::short_number(x);
    return power.empty() ? mantissa : fmt::format("{} \\cdot 10^{{{}}}", mantissa, power);
  }
  static std::string name(std::string_view text) { return latex_name(text); }
  static std::string word(std::string_view text) { return std::string(text); }
  static std::string euler() { return "e"; }
  static std::string result(std::string_view law, std::size_t call, std::string_view name) {
    const auto number = call == 0 ? std::string() : fmt::format("_{{{}}}", call);
    return fmt::format("\\mathrm{{{}{}}}\\!\\left[{}\\right]", law, number, latex_name(name));
  }
  static bool has_sign(std::string_view op) { return !sign(op).empty(); }
  static std::string joined(const std::string& a, std::string_view op, const std::string& b) {
    return fmt::format("{} {} {}", a, sign(op), b);
  }
  static std::string prefixed(std::string_view op, const std::string& a) {
    return (op == "not" ? "\\neg " : "-") + a;
  }
  static std::string fraction(const std::string& a, const std::string& b) {
    return fmt::format("\\frac{{{}}}{{{}}}", a, b);
  }
  static std::string call(std::string_view op, const std::string& a, const std::string& b) {
    const std::string_view f = op == "log" ? "ln" : op == "log2" ? "log_2" : op;
    return fmt::format("\\{}\\left({}{}{}\\right)", f, a, b.empty() ? "" : ", ", b);
  }
  static std::string cases(const std::string& value, const std::string& where, const std::string& other) {
    return fmt::format("\\begin{{cases}} {} & {} \\\\ {} & \\text{{else}} \\end{{cases}}", value, where,
                       other);
  }
  static std::string between(std::string_view what, const std::string& a) {
    if (what == "brackets") return "\\left(" + a + "\\right)";
    if (what == "abs") return "\\left|" + a + "\\right|";
    return fmt::format("\\left\\l{0} {1} \\right\\r{0}", what, a);
  }
  static std::string root(const std::string& a) { return fmt::format("\\sqrt{{{}}}", a); }
  static std::string power(const std::string& a, const std::string& b) {
    return fmt::format("{}^{{{}}}", a, b);
  }
  static std::string squared(const std::string& a) { return a + "^2"; }

 private:
  static std::string_view sign(std::string_view op) {
    static constexpr std::pair<std::string_view, std::string_view> signs[] = {{"+", "+"},
                                                                              {"-", "-"},
                                                                              {"multiply", "\\cdot"},
                                                                              {"less", "<"},
                                                                              {"greater", ">"},
                                                                              {"less_equal", "\\le"},
                                                                              {"greater_equal", "\\ge"},
                                                                              {"equal", "="},
                                                                              {"not_equal", "\\ne"},
                                                                              {"both", "\\wedge"},
                                                                              {"either", "\\vee"}};
    for (const auto& [known, text] : signs)
      if (known == op) return text;
    return {};
  }
};
using LatexWriter = detail::EquationWriter<Latex>;

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
  LatexWriter writer(d);
  std::vector<std::string> results;
  const auto& record = d.records.front();
  for (std::size_t i = 0; i < record.results.size() && i < record.roots.size(); ++i) {
    if (record.roots[i] == kNone || record.roots[i] >= d.nodes.size()) continue;
    results.push_back(
        fmt::format("{} = {}", latex_name(record.results[i].name), writer.write(record.roots[i], true).text));
  }
  // An intermediate may use others: write until no new ones turn up.
  std::map<std::size_t, std::string> written;
  for (std::size_t before = written.size();; before = written.size()) {
    const auto known = writer.intermediates();
    for (const auto& [node, name] : known)
      if (!written.contains(node))
        written[node] = fmt::format("{} = {}", latex_name(name), writer.write(node, true).text);
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
      const auto names = LatexWriter(d, detail::EquationStyle::names).write(node, true).text;
      const auto numbers = LatexWriter(d, detail::EquationStyle::numbers).write(node, true).text;
      out += fmt::format("  {} &= {} \\\\\n", latex_name(name), names);
      const auto value = Latex::number(d.nodes[node].value);
      out += numbers == value ? fmt::format("    &= {} \\\\\n", value)
                              : fmt::format("    &= {} = {} \\\\\n", numbers, value);
    }
    for (std::size_t i = 0; i < record.results.size(); ++i)
      out += value_line(record.results[i], i + 1 < record.results.size() ? " \\\\" : "");
    out += "\\end{align*}\n";
  }
  for (const auto& [law, records] : written.further) {
    out += fmt::format("\\noindent {} again, as above:", latex_text(law));
    constexpr std::size_t most = 8;
    for (const std::size_t r : std::span(records).first(std::min(records.size(), most)))
      out += fmt::format("{} [{}] ${} = \\text{{{}}}$", r == records.front() ? "" : ",", r + 1,
                         latex_name(d.records[r].results.front().name),
                         latex_text(detail::shown_value(d.records[r].results.front())));
    if (records.size() > most) out += fmt::format(", and {} more", records.size() - most);
    out += "\n\n";
  }
  return out;
}

}  // namespace mlsysim
