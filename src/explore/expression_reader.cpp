#include "detail/expression_reader.hpp"

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace mlsysim {
namespace {

constexpr std::size_t kDeepest = 64;  // parentheses within each other

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$'; }
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

struct Function {
  std::string_view name;
  int arguments;
};
constexpr Function kFunctions[] = {{"min", 2}, {"max", 2}, {"abs", 1}, {"sqrt", 1}, {"floor", 1}, {"ceil", 1}};

Exponents times(const Exponents& a, const Exponents& b, int sign) {
  const auto qa = AnyQuantity::from_base(1, a), qb = AnyQuantity::from_base(1, b);
  return (sign > 0 ? qa * qb : qa / qb).exponents();
}

std::string shown(const Exponents& e) { return e.dimensionless() ? "a number without unit" : dimension_name(e); }

}  // namespace

void ExpressionReader::skip_space() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
}

bool ExpressionReader::take(std::string_view token) {
  skip_space();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool ExpressionReader::ended() {
  skip_space();
  return at_ == text_.size();
}

std::string_view ExpressionReader::word_at(std::size_t at) const {
  if (at >= text_.size() || !starts_word(text_[at])) return {};
  std::size_t end = at;
  while (end < text_.size() && in_word(text_[end])) ++end;
  return text_.substr(at, end - at);
}

bool ExpressionReader::in_scope(std::string_view word) const {
  return find_field(scope_.inputs, word) != nullptr || find_field(scope_.results, word) != nullptr;
}

bool ExpressionReader::is_unit(std::string_view word) {
  try {
    (void)AnyQuantity::parse(fmt::format("1 {}", word));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void ExpressionReader::refuse(std::size_t at, std::string message, std::string expected, std::string hint) const {
  throw InputError({.id = "mlsysim.explore.010",
                    .message = std::move(message),
                    .found = fmt::format("'{}'\n        {:>{}}", text_, "^", at + 1),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

void ExpressionReader::same(const Exponents& a, const Exponents& b, std::size_t at, std::string_view what) const {
  if (a == b) return;
  const bool bare = a.dimensionless() != b.dimensionless();
  throw DimensionError({.id = "mlsysim.explore.011",
                        .message = fmt::format("the two sides of '{}' have different units in '{}'", what, text_),
                        .found = fmt::format("{} and {} at column {}", shown(a), shown(b), at + 1),
                        .expected = "the same dimension on both sides",
                        .hint = bare ? "give the number its unit, e.g. 500 ms" : "compare a time with a time, a rate with a rate"});
}

void ExpressionReader::push(Expression& e, Expression::Step step) {
  using enum Expression::Op;
  if (step.op == constant || step.op == slot) ++top_;
  else if (step.op == add || step.op == subtract || step.op == multiply || step.op == divide || step.op == min || step.op == max) --top_;
  e.depth_ = std::max(e.depth_, top_);
  e.steps_.push_back(step);
}

Exponents ExpressionReader::sum(Expression& e) {
  if (++nested_ > kDeepest) refuse(at_, "the expression is nested too deeply", fmt::format("at most {} levels", kDeepest), "simplify it");
  Exponents left = product(e);
  for (;;) {
    skip_space();
    const std::size_t at = at_;
    const bool plus = take("+");
    if (!plus && !take("-")) break;
    same(left, product(e), at, plus ? "+" : "-");
    push(e, {plus ? Op::add : Op::subtract});
  }
  --nested_;
  return left;
}

Exponents ExpressionReader::product(Expression& e) {
  Exponents left = unary(e);
  for (;;) {
    const bool by = take("*");
    if (!by && !take("/")) return left;
    left = times(left, unary(e), by ? 1 : -1);
    push(e, {by ? Op::multiply : Op::divide});
  }
}

Exponents ExpressionReader::unary(Expression& e) {
  std::size_t minus = 0;
  while (take("-")) ++minus;
  const Exponents exps = primary(e);
  if (minus % 2 == 1) push(e, {Op::negate});
  return exps;
}

Exponents ExpressionReader::primary(Expression& e) {
  skip_space();
  if (at_ == text_.size()) refuse(at_, "the expression ends too early", "a number, a name or a parenthesis", "");
  if (take("(")) {
    const Exponents exps = sum(e);
    if (!take(")")) refuse(at_, "a parenthesis is not closed", "')'", "");
    return exps;
  }
  const char c = text_[at_];
  if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number(e);
  if (starts_word(c)) return name(e);
  refuse(at_, "the expression cannot be read", "a number, a name or a parenthesis", "operators are + - * / and one comparison <= >= < > ==");
}

Exponents ExpressionReader::number(Expression& e) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (failed != std::errc{}) refuse(at_, "the number cannot be read", "a number such as 1.5e9", "");
  std::string unit;
  const std::string_view digits = text_.substr(at_, static_cast<std::size_t>(end - (text_.data() + at_)));
  at_ += digits.size();
  // A unit goes on as long as the next word is one and no name of the question.
  std::size_t after = at_;
  char join = 0;
  for (;;) {
    std::size_t at = after;
    const auto spaces = [&] { while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at])) != 0) ++at; };
    spaces();
    if (!unit.empty()) {
      if (at == text_.size() || (text_[at] != '/' && text_[at] != '*')) break;
      join = text_[at++];
      spaces();
    }
    const auto word = word_at(at);
    if (word.empty() || in_scope(word) || !is_unit(word)) break;
    if (!unit.empty()) unit += join;
    unit += word;
    after = at + word.size();
    if (after < text_.size() && text_[after] == '^') {
      std::size_t power = after + 1;
      while (power < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[power])) != 0 || text_[power] == '-')) ++power;
      unit += text_.substr(after, power - after);
      after = power;
    }
  }
  if (unit.empty()) {
    push(e, {.op = Op::constant, .value = value});
    return {};
  }
  at_ = after;
  const auto q = AnyQuantity::parse(fmt::format("{} {}", digits, unit));
  push(e, {.op = Op::constant, .value = q.base()});
  return q.exponents();
}

Exponents ExpressionReader::name(Expression& e) {
  const std::size_t at = at_;
  const auto word = word_at(at_);
  at_ += word.size();
  for (const auto& f : kFunctions)
    if (f.name == word && take("(")) return call(e, word, at);
  const auto slot_of = [&](std::span<const FieldInfo> fields, std::size_t first) {
    const auto* f = find_field(fields, word);
    const auto slot = static_cast<std::uint16_t>(first + static_cast<std::size_t>(f - fields.data()));
    push(e, {.op = Op::slot, .slot = slot});
    const auto place = std::lower_bound(e.slots_.begin(), e.slots_.end(), slot);
    if (place == e.slots_.end() || *place != slot) e.slots_.insert(place, slot);
    e.unit_ = f->unit;
    return f->exps;
  };
  // A result wins over an input of the same name: the result is what came of it.
  if (find_field(scope_.results, word) != nullptr) return slot_of(scope_.results, scope_.inputs.size());
  if (find_field(scope_.inputs, word) != nullptr) return slot_of(scope_.inputs, 0);
  std::vector<std::string> names;
  for (const auto& f : scope_.results) names.push_back(f.name);
  for (const auto& f : scope_.inputs) names.push_back(f.name);
  throw LookupError({.id = "mlsysim.explore.012",
                     .message = fmt::format("there is no result or input '{}'", word),
                     .key = std::string(word),
                     .found = fmt::format("'{}' in '{}'", word, text_),
                     .expected = fmt::format("a name such as {}", fmt::join(std::span(names).first(std::min<std::size_t>(names.size(), 8)), ", ")),
                     .hint = did_you_mean(word, names)});
}

Exponents ExpressionReader::call(Expression& e, std::string_view function, std::size_t at) {
  const Exponents first = sum(e);
  if (function == "min" || function == "max") {
    if (!take(",")) refuse(at_, fmt::format("'{}' compares two values", function), "','", fmt::format("{}(a, b)", function));
    do {
      same(first, sum(e), at, function);
      push(e, {function == "min" ? Op::min : Op::max});
    } while (take(","));
  } else if (function == "sqrt") {
    if (!first.dimensionless()) refuse(at, "the root of a quantity with a unit has no unit here", "a number without unit", "divide by a unit first");
    push(e, {Op::sqrt});
  } else {
    push(e, {function == "abs" ? Op::abs : function == "floor" ? Op::floor : Op::ceil});
  }
  if (!take(")")) refuse(at_, fmt::format("the arguments of '{}' do not end", function), "')'", "");
  return first;
}

Expression ExpressionReader::side() {
  Expression e;
  skip_space();
  const std::size_t from = at_;
  top_ = 0;
  e.exps_ = sum(e);
  std::size_t to = at_;
  while (to > from && std::isspace(static_cast<unsigned char>(text_[to - 1])) != 0) --to;
  e.text_ = std::string(text_.substr(from, to - from));
  if (e.lone_slot() < 0) e.unit_ = {};
  return e;
}

Expression ExpressionReader::whole_expression() {
  Expression e = side();
  if (!ended()) refuse(at_, "the expression does not end here", "an operator + - * /", "a comparison belongs into a constraint");
  return e;
}

void ExpressionReader::whole_constraint(Expression& left, Comparison& comparison, Expression& right) {
  left = side();
  skip_space();
  const std::size_t at = at_;
  if (take("<=")) comparison = Comparison::at_most;
  else if (take(">=")) comparison = Comparison::at_least;
  else if (take("==") || take("=")) comparison = Comparison::equal;
  else if (take("<")) comparison = Comparison::below;
  else if (take(">")) comparison = Comparison::above;
  else refuse(at_, "a constraint compares two values", "<=, >=, <, > or ==", "e.g. ttft <= 500 ms");
  right = side();
  if (!ended()) refuse(at_, "the constraint does not end here", "one comparison", "give several constraints one by one");
  same(left.exponents(), right.exponents(), at, text_.substr(at, text_[at + 1] == '=' ? 2 : 1));
}

}  // namespace mlsysim
