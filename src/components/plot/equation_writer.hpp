#pragma once
// Operations of a derivation as equations. A notation (LaTeX, MathML) says how each form is written; which
// form an operation has, and where brackets stand, is said here once.

#include <mlsysim/tape/derivation.hpp>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace mlsysim::detail {

/// How tightly an expression binds; a looser operand gets parentheses.
enum class Binds { condition, sum, product, power, atom };

struct Equation {
  std::string text;
  Binds binds = Binds::atom;
};

enum class EquationStyle {
  law,     ///< names; calls of other laws by the law's name
  names,   ///< names; calls of other laws with their number
  numbers  ///< the numbers put in
};

/// A number of at most six digits as mantissa and power of ten. @return {"1.5", "9"}; the exponent is empty
/// where none is needed
inline std::pair<std::string, std::string> short_number(double x) {
  if (x == std::floor(x) && std::abs(x) < 1e6) return {fmt::format("{}", static_cast<long long>(x)), ""};
  auto text = fmt::format("{:.6g}", x);
  const auto e = text.find('e');
  if (e == std::string::npos) return {text, ""};
  return {text.substr(0, e), fmt::format("{}", std::stoi(text.substr(e + 1)))};
}

/// Writes the nodes of a derivation.
template <class Notation> class EquationWriter {
 public:
  explicit EquationWriter(const Derivation& derivation, EquationStyle style = EquationStyle::law)
      : d_(derivation), style_(style) {}

  Equation write(std::size_t node, bool top) {
    const DerivedNode& n = d_.nodes[node];
    if (style_ == EquationStyle::numbers && (n.operands.empty() || (!top && !n.name.empty())))
      return {Notation::number(n.value), n.value < 0                                  ? Binds::sum
                                         : std::isfinite(n.value) && powered(n.value) ? Binds::product
                                                                                      : Binds::atom};
    if (!top && !n.name.empty() && n.op != "input" && n.op != "constant" && n.op != "law_result") {
      intermediates_.emplace(node, n.name);
      return {Notation::name(n.name), Binds::atom};
    }
    return expression(n);
  }
  /// Named intermediates in the order of their nodes: operands come before the nodes that use them.
  [[nodiscard]] const std::map<std::size_t, std::string>& intermediates() const { return intermediates_; }

 private:
  static bool powered(double x) { return !short_number(x).second.empty(); }
  static std::string wrapped(const Equation& e, Binds at_least) {
    return e.binds < at_least ? Notation::between("brackets", e.text) : e.text;
  }
  Equation at(const DerivedNode& n, std::size_t i) { return write(n.operands[i], false); }

  Equation expression(const DerivedNode& n) {
    const auto& op = n.op;
    if (n.operands.empty()) return leaf(n);
    const auto first = [&](Binds at_least) { return wrapped(at(n, 0), at_least); };
    if (op == "add")
      return {Notation::joined(first(Binds::sum), "+", wrapped(at(n, 1), Binds::sum)), Binds::sum};
    if (op == "subtract")
      return {Notation::joined(first(Binds::sum), "-", wrapped(at(n, 1), Binds::product)), Binds::sum};
    if (op == "multiply") return product(n);
    if (op == "divide" && is_one(d_.nodes[n.operands[1]])) return at(n, 0);  // a unit of one
    if (op == "divide") return {Notation::fraction(at(n, 0).text, at(n, 1).text), Binds::product};
    if (op == "negate") return {Notation::prefixed("-", first(Binds::product)), Binds::sum};
    if (op == "negation") return {Notation::prefixed("not", first(Binds::atom)), Binds::atom};
    if (op == "min" || op == "max") return {Notation::call(op, at(n, 0).text, at(n, 1).text), Binds::atom};
    if (op == "log" || op == "log2") return {Notation::call(op, at(n, 0).text, {}), Binds::atom};
    if (op == "select") return {Notation::cases(at(n, 1).text, at(n, 0).text, at(n, 2).text), Binds::sum};
    if (op == "abs" || op == "ceil" || op == "floor")
      return {Notation::between(op, at(n, 0).text), Binds::atom};
    if (op == "sqrt") return {Notation::root(at(n, 0).text), Binds::atom};
    if (op == "pow") return {Notation::power(first(Binds::atom), at(n, 1).text), Binds::power};
    if (op == "exp") return {Notation::power(Notation::euler(), at(n, 0).text), Binds::power};
    if (op == "quadrature")
      return {Notation::root(Notation::joined(Notation::squared(first(Binds::atom)), "+",
                                              Notation::squared(wrapped(at(n, 1), Binds::atom)))),
              Binds::atom};
    if (Notation::has_sign(op)) return {Notation::joined(at(n, 0).text, op, at(n, 1).text), Binds::condition};
    return {Notation::word(op), Binds::atom};
  }

  Equation leaf(const DerivedNode& n) {
    if (n.op == "constant") return {Notation::number(n.value), n.value < 0 ? Binds::sum : Binds::atom};
    if (n.op == "input") return {Notation::name(n.name), Binds::atom};
    if (n.op != "law_result") return {Notation::word(n.op), Binds::atom};
    const bool known = n.record < d_.records.size() && d_.records[n.record].law != nullptr;
    return {Notation::result(known ? d_.records[n.record].law->id : "law",
                             style_ == EquationStyle::names ? n.record + 1 : 0, n.name),
            Binds::atom};
  }

  static bool is_one(const DerivedNode& n) { return n.op == "constant" && n.value == 1 && n.name.empty(); }

  Equation product(const DerivedNode& n) {
    const DerivedNode& left = d_.nodes[n.operands[0]];
    const DerivedNode& right = d_.nodes[n.operands[1]];
    // Factors of one come from units and say nothing.
    if (is_one(left)) return at(n, 1);
    if (is_one(right)) return at(n, 0);
    const bool swap = right.op == "constant" && left.op != "constant";
    const Equation a = swap ? at(n, 1) : at(n, 0), b = swap ? at(n, 0) : at(n, 1);
    return {Notation::joined(wrapped(a, Binds::product), "multiply", wrapped(b, Binds::product)),
            Binds::product};
  }

  const Derivation& d_;
  EquationStyle style_;
  std::map<std::size_t, std::string> intermediates_;
};

}  // namespace mlsysim::detail
