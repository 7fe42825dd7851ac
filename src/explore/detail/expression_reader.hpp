#pragma once
// Reads expressions: one pass, recursive descent, dimensions checked on the way.

#include <mlsysim/explore/expression.hpp>

namespace mlsysim {

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const ExpressionScope& scope) : text_(text), scope_(scope) {}
  Expression whole_expression();
  void whole_constraint(Expression& left, Comparison& comparison, Expression& right);

 private:
  using Op = Expression::Op;
  Exponents sum(Expression& e);
  Exponents product(Expression& e);
  Exponents unary(Expression& e);
  Exponents primary(Expression& e);
  Exponents number(Expression& e);
  Exponents name(Expression& e);
  Exponents call(Expression& e, std::string_view function, std::size_t at);

  void push(Expression& e, Expression::Step step);
  Expression side();
  [[nodiscard]] bool in_scope(std::string_view word) const;
  [[nodiscard]] std::string_view word_at(std::size_t at) const;
  [[nodiscard]] static bool is_unit(std::string_view word);
  void skip_space();
  bool take(std::string_view token);
  [[nodiscard]] bool ended();
  void same(const Exponents& a, const Exponents& b, std::size_t at, std::string_view what) const;
  [[noreturn]] void refuse(std::size_t at, std::string message, std::string expected, std::string hint) const;

  std::string_view text_;
  ExpressionScope scope_;
  std::size_t at_ = 0;
  std::size_t top_ = 0;    ///< depth of the stack after the steps so far
  std::size_t nested_ = 0;
};

}  // namespace mlsysim
