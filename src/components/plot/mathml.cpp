#include <mlsysim/plot/mathml.hpp>

#include "equation_writer.hpp"

#include <mlsysim/tape/detail/derivation_lines.hpp>
#include <mlsysim/units/detail/markup.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

// Names of laws and fields, and what a plugin says of itself, are others' words.
using detail::markup_escaped;

/// How MathML writes the forms of an equation: each is one element.
struct MathMl {
  static std::string number(double x) {
    if (std::isnan(x)) return "<mi>NaN</mi>";
    if (std::isinf(x)) return x < 0 ? prefixed("-", "<mi>∞</mi>") : "<mi>∞</mi>";
    if (x < 0) return prefixed("-", number(-x));
    const auto [mantissa, ten] = detail::short_number(x);
    auto first = fmt::format("<mn>{}</mn>", mantissa);
    if (ten.empty()) return first;
    const auto exponent = ten.front() == '-' ? prefixed("-", fmt::format("<mn>{}</mn>", ten.substr(1)))
                                             : fmt::format("<mn>{}</mn>", ten);
    return joined(first, "multiply", power("<mn>10</mn>", exponent));
  }
  static std::string name(std::string_view text) { return fmt::format("<mi>{}</mi>", markup_escaped(text)); }
  static std::string word(std::string_view text) {
    return fmt::format("<mtext>{}</mtext>", markup_escaped(text));
  }
  static std::string euler() { return "<mi>e</mi>"; }
  static std::string result(std::string_view law, std::size_t call, std::string_view field) {
    const auto head = call == 0 ? name(law) : fmt::format("<msub>{}<mn>{}</mn></msub>", name(law), call);
    return fmt::format("<mrow>{}<mo>[</mo>{}<mo>]</mo></mrow>", head, name(field));
  }
  static bool has_sign(std::string_view op) { return !sign(op).empty(); }
  static std::string joined(const std::string& a, std::string_view op, const std::string& b) {
    return fmt::format("<mrow>{}<mo>{}</mo>{}</mrow>", a, sign(op), b);
  }
  static std::string prefixed(std::string_view op, const std::string& a) {
    return fmt::format("<mrow><mo>{}</mo>{}</mrow>", op == "not" ? "¬" : "−", a);
  }
  static std::string fraction(const std::string& a, const std::string& b) {
    return fmt::format("<mfrac>{}{}</mfrac>", a, b);
  }
  static std::string call(std::string_view op, const std::string& a, const std::string& b) {
    const auto f = op == "log"    ? std::string("<mi>ln</mi>")
                   : op == "log2" ? std::string("<msub><mi>log</mi><mn>2</mn></msub>")
                                  : name(op);
    return fmt::format("<mrow>{}<mo>(</mo>{}{}{}<mo>)</mo></mrow>", f, a, b.empty() ? "" : "<mo>,</mo>", b);
  }
  static std::string cases(const std::string& value, const std::string& where, const std::string& other) {
    return fmt::format(
        "<mrow><mo>{{</mo><mtable><mtr><mtd>{}</mtd><mtd>{}</mtd></mtr><mtr><mtd>{}</mtd><mtd><mtext>else</"
        "mtext>"
        "</mtd></mtr></mtable></mrow>",
        value, where, other);
  }
  static std::string between(std::string_view what, const std::string& a) {
    const auto [open, close] = what == "brackets" ? std::pair("(", ")")
                               : what == "abs"    ? std::pair("|", "|")
                               : what == "ceil"   ? std::pair("⌈", "⌉")
                                                  : std::pair("⌊", "⌋");
    return fmt::format("<mrow><mo>{}</mo>{}<mo>{}</mo></mrow>", open, a, close);
  }
  static std::string root(const std::string& a) { return fmt::format("<msqrt>{}</msqrt>", a); }
  static std::string power(const std::string& a, const std::string& b) {
    return fmt::format("<msup>{}{}</msup>", a, b);
  }
  static std::string squared(const std::string& a) { return power(a, "<mn>2</mn>"); }

 private:
  static std::string_view sign(std::string_view op) {
    static constexpr std::pair<std::string_view, std::string_view> signs[] = {
        {"+", "+"},          {"-", "−"},          {"multiply", "·"},      {"less", "&lt;"},
        {"greater", "&gt;"}, {"less_equal", "≤"}, {"greater_equal", "≥"}, {"equal", "="},
        {"not_equal", "≠"},  {"both", "∧"},       {"either", "∨"}};
    for (const auto& [known, text] : signs)
      if (known == op) return text;
    return {};
  }
};

using MathMlWriter = detail::EquationWriter<MathMl>;

/// Names, numbers and value on one line of a page, which breaks at the signs of equality.
std::string equation(const Derivation& d, const std::string& name, std::size_t node) {
  const auto math = [](const std::string& inner) { return fmt::format("<math>{}</math> ", inner); };
  const auto equals = [](const std::string& side) { return fmt::format("<mrow><mo>=</mo>{}</mrow>", side); };
  const auto names = MathMlWriter(d, detail::EquationStyle::names).write(node, true).text;
  const auto numbers = MathMlWriter(d, detail::EquationStyle::numbers).write(node, true).text;
  const auto value = MathMl::number(d.nodes[node].value);
  auto out = "<p class=\"eq\">" + math(fmt::format("<mrow>{}<mo>=</mo>{}</mrow>", MathMl::name(name), names));
  if (numbers != value && numbers != names) out += math(equals(numbers));
  if (value != names) out += math(equals(value));
  return out + "</p>\n";
}

std::string values_of(const Derivation& d, std::size_t record) {
  const auto row = [&](const DerivedValue& v, std::string_view side) {
    return fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", side,
                       markup_escaped(v.name), markup_escaped(detail::shown_value(v)),
                       markup_escaped(detail::origin_of(d, v, record)));
  };
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th scope=\"col\">is</th><th scope=\"col\">name</th>"
      "<th scope=\"col\">value</th><th scope=\"col\">from</th></tr></thead><tbody>\n";
  for (const auto& v : d.records[record].inputs) out += row(v, "input");
  for (const auto& v : d.records[record].results) out += row(v, "result");
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string to_mathml(const Derivation& d, Repeats repeats) {
  std::string out;
  const auto written = detail::written_records(d, repeats);
  for (const std::size_t r : written.full) {
    const auto& law = *d.records[r].law;
    out += fmt::format("<p><b>[{}] {}</b>", r + 1, markup_escaped(law.id));
    if (!law.equation.empty()) out += fmt::format(" <code>{}</code>", markup_escaped(law.equation));
    if (!law.source.empty()) out += fmt::format("<br>source: {}", markup_escaped(detail::source_of(law)));
    if (!law.assumptions.empty()) out += fmt::format("<br>assumes: {}", markup_escaped(law.assumptions));
    out += "</p>\n" + values_of(d, r);
    if (d.records[r].roots.empty()) continue;
    out += "<p>In base units:</p>\n";
    for (const auto& [name, node] : detail::equations_of(d, r, written.full)) out += equation(d, name, node);
  }
  for (const auto& [law, records] : written.further)
    out += fmt::format("<p>{} again, as above: {}</p>\n", markup_escaped(law),
                       markup_escaped(detail::results_line(d, records)));
  return out;
}

}  // namespace mlsysim
