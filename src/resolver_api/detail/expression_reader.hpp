#pragma once
// Reads expressions: one pass, recursive descent, dimensions checked on the way. Every level of precedence is
// one function.
//
//   either     = both { "or" both }
//   both       = comparison { "and" comparison }
//   comparison = sum [ sign sum ]
//   sum        = product { ("+" | "-") product }
//   product    = unary { ("*" | "/") unary }
//   unary      = { "-" } primary
//   primary    = number [ unit ] | name | function "(" either { "," either } ")" | "given" "(" name ")"
//              | "(" either ")"

#include <mlsysim/resolver_api/expression.hpp>

#include <optional>

namespace mlsysim {

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const ExpressionScope& scope, const Location& where)
      : text_(text), scope_(scope), where_(where) {}
  Expression whole_expression();
  void whole_constraint(Expression& left, Comparison& comparison, Expression& right);

 private:
  using Op = Expression::Op;
  Exponents either(Expression& e);
  Exponents both(Expression& e);
  Exponents comparison(Expression& e);
  Exponents sum(Expression& e);
  Exponents product(Expression& e);
  Exponents unary(Expression& e);
  Exponents primary(Expression& e);
  Exponents number(Expression& e);
  Exponents name(Expression& e);
  Exponents call(Expression& e, std::string_view function, std::size_t at);
  Exponents given(Expression& e);

  void push(Expression& e, Expression::Step step);
  /// Pushes the number of a name. @throws LookupError where there is none
  Exponents push_name(Expression& e, std::string_view word, std::size_t at);
  void push_slot(Expression& e, std::size_t slot);
  /// A part of the text that one function of the grammar reads.
  Expression part(Exponents (ExpressionReader::*read)(Expression&));
  void close();
  [[nodiscard]] bool in_scope(std::string_view word) const;
  [[nodiscard]] std::string_view word_at(std::size_t at) const;
  [[nodiscard]] static bool is_unit(std::string_view word);
  void skip_space();
  bool take(std::string_view token);
  bool take_word(std::string_view word);
  std::optional<Op> take_sign();
  [[nodiscard]] bool ended();
  void same(const Exponents& a, const Exponents& b, std::size_t at, std::string_view what) const;
  void bare(const Exponents& a, std::size_t at, std::string_view what) const;
  /// The facts of an error at a place of the text: the word found, and the text with a caret below it.
  [[nodiscard]] ErrorFacts at_place(std::size_t at, ErrorFacts facts) const;
  [[noreturn]] void fail(std::size_t at, std::string message, std::string expected, std::string hint) const;

  std::string_view text_;
  ExpressionScope scope_;
  Location where_;
  std::size_t at_ = 0;
  std::size_t top_ = 0;  ///< depth of the stack after the steps so far
  std::size_t nested_ = 0;
};

}  // namespace mlsysim
