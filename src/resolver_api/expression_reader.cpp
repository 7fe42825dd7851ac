#include "detail/expression_reader.hpp"

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::size_t kDeepest = 64;  // parentheses within each other

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
}
bool in_word(char c) {
  return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

constexpr std::string_view kFunctions[] = {"min",  "max",   "abs",  "sqrt", "floor",
                                           "ceil", "round", "log2", "given"};
constexpr std::string_view kHint =
    "operators are or and == != < <= > >= + - * /, functions min max abs sqrt floor ceil round log2 given";

Exponents times(const Exponents& a, const Exponents& b, int sign) {
  const auto qa = AnyQuantity::from_base(1, a), qb = AnyQuantity::from_base(1, b);
  return (sign > 0 ? qa * qb : qa / qb).exponents();
}

std::string shown(const Exponents& e) {
  return e.dimensionless() ? "a number without unit" : dimension_name(e);
}

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

bool ExpressionReader::take_word(std::string_view word) {
  skip_space();
  if (word_at(at_) != word) return false;
  at_ += word.size();
  return true;
}

std::optional<Expression::Op> ExpressionReader::take_sign() {
  if (take("<=")) return Op::at_most;
  if (take(">=")) return Op::at_least;
  if (take("==") || take("=")) return Op::equal;
  if (take("!=")) return Op::differ;
  if (take("<")) return Op::less;
  if (take(">")) return Op::more;
  return std::nullopt;
}

bool ExpressionReader::ended() {
  skip_space();
  return at_ == text_.size();
}

std::string_view ExpressionReader::word_at(std::size_t at) const {
  if (at >= text_.size() || !starts_word(text_[at])) return {};
  std::size_t end = at;
  while (end < text_.size() && in_word(text_[end])) {
    ++end;
    // A place in a list is part of a name: "stacks[0].hidden".
    const auto close =
        text_.substr(end).starts_with('[') ? text_.find_first_not_of("0123456789", end + 1) : end;
    if (close != std::string_view::npos && close > end + 1 && text_[close] == ']') end = close + 1;
  }
  return text_.substr(at, end - at);
}

bool ExpressionReader::in_scope(std::string_view word) const {
  return find_field(scope_.inputs, word) != nullptr || find_field(scope_.results, word) != nullptr ||
         std::find(scope_.columns.begin(), scope_.columns.end(), word) != scope_.columns.end();
}

bool ExpressionReader::is_unit(std::string_view word) {
  try {
    (void)AnyQuantity::parse(fmt::format("1 {}", word));
    return true;
  } catch (const Error&) {
    return false;
  }
}

ErrorFacts ExpressionReader::at_place(std::size_t at, ErrorFacts facts) const {
  at = std::min(at, text_.size());
  if (facts.key.empty()) facts.key = std::string(text_);
  if (facts.found.empty())
    facts.found = at == text_.size()
                      ? std::string("the end")
                      : fmt::format("'{}'", text_.substr(at, std::max<std::size_t>(word_at(at).size(), 1)));
  facts.found += fmt::format(" at column {}", at + 1);
  facts.where = where_;
  if (facts.where.column > 0) facts.where.column += static_cast<int>(at);
  facts.excerpt = fmt::format("    {}\n    {:>{}}", text_, "^", at + 1);
  return facts;
}

void ExpressionReader::fail(std::size_t at, std::string message, std::string expected,
                            std::string hint) const {
  if (hint.empty()) hint = kHint;
  throw InputError(at_place(
      at, {"mlsysim.expression.001", std::move(message), "", "", std::move(expected), std::move(hint)}));
}

void ExpressionReader::same(const Exponents& a, const Exponents& b, std::size_t at,
                            std::string_view what) const {
  if (a == b) return;
  const bool one_bare = a.dimensionless() != b.dimensionless();
  throw DimensionError(
      at_place(at, {.id = "mlsysim.expression.002",
                    .message = fmt::format("the two sides of '{}' have different units", what),
                    .found = fmt::format("{} and {}", shown(a), shown(b)),
                    .expected = "the same dimension on both sides",
                    .hint = one_bare ? "give the number its unit, e.g. 500 ms"
                                     : "compare a time with a time, a rate with a rate"}));
}

void ExpressionReader::bare(const Exponents& a, std::size_t at, std::string_view what) const {
  if (a.dimensionless()) return;
  throw DimensionError(at_place(at, {.id = "mlsysim.expression.003",
                                     .message = fmt::format("'{}' takes numbers without a unit", what),
                                     .found = dimension_name(a),
                                     .expected = "a number without unit, or a comparison",
                                     .hint = "divide by a unit first, e.g. itl / 1 ms"}));
}

void ExpressionReader::push(Expression& e, Expression::Step step) {
  if (step.op == Op::constant || step.op == Op::slot)
    ++top_;
  else if (step.op >= Op::add)
    --top_;
  e.depth_ = std::max(e.depth_, top_);
  e.steps_.push_back(step);
}

Exponents ExpressionReader::either(Expression& e) {
  if (++nested_ > kDeepest)
    fail(at_, "the expression is nested too deeply", fmt::format("at most {} levels", kDeepest),
         "simplify it");
  Exponents left = both(e);
  for (skip_space(); take_word("or"); skip_space()) {
    const std::size_t at = at_;
    bare(left, at, "or");
    bare(both(e), at, "or");
    push(e, {Op::either});
  }
  --nested_;
  return left;
}

Exponents ExpressionReader::both(Expression& e) {
  Exponents left = comparison(e);
  for (skip_space(); take_word("and"); skip_space()) {
    const std::size_t at = at_;
    bare(left, at, "and");
    bare(comparison(e), at, "and");
    push(e, {Op::both});
  }
  return left;
}

Exponents ExpressionReader::comparison(Expression& e) {
  const Exponents left = sum(e);
  skip_space();
  const std::size_t at = at_;
  const auto sign = take_sign();
  if (!sign) return left;
  const std::string_view what = text_.substr(at, at_ - at);
  same(left, sum(e), at, what);
  push(e, {*sign});
  return {};
}

Exponents ExpressionReader::sum(Expression& e) {
  Exponents left = product(e);
  for (;;) {
    skip_space();
    const std::size_t at = at_;
    const bool plus = take("+");
    if (!plus && !take("-")) break;
    same(left, product(e), at, plus ? "+" : "-");
    push(e, {plus ? Op::add : Op::subtract});
  }
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
  if (at_ == text_.size())
    fail(at_, "the expression ends too early", "a number, a name or a parenthesis", "");
  if (take("(")) {
    const Exponents exps = either(e);
    close();
    return exps;
  }
  const char c = text_[at_];
  if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number(e);
  if (starts_word(c)) return name(e);
  fail(at_, "the expression cannot be read", "a number, a name or a parenthesis", "");
}

Exponents ExpressionReader::number(Expression& e) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (failed != std::errc{} || !std::isfinite(value))
    fail(at_, "the number cannot be read", "a number such as 1.5e9", "");
  std::string unit;
  const std::string_view digits = text_.substr(at_, static_cast<std::size_t>(end - (text_.data() + at_)));
  at_ += digits.size();
  // A unit goes on as long as the next word is one and no name of the question.
  std::size_t after = at_;
  char join = 0;
  for (;;) {
    std::size_t at = after;
    const auto spaces = [&] {
      while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at])) != 0) ++at;
    };
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
      while (power < text_.size() &&
             (std::isdigit(static_cast<unsigned char>(text_[power])) != 0 || text_[power] == '-'))
        ++power;
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
  if (!take("(")) return push_name(e, word, at);
  if (word == "given") return given(e);
  if (std::find(std::begin(kFunctions), std::end(kFunctions), word) == std::end(kFunctions))
    fail(at, fmt::format("there is no function '{}'", word), fmt::format("{}", fmt::join(kFunctions, ", ")),
         "");
  return call(e, word, at);
}

void ExpressionReader::push_slot(Expression& e, std::size_t number) {
  const auto slot = static_cast<std::uint16_t>(number);
  push(e, {.op = Op::slot, .slot = slot});
  const auto place = std::lower_bound(e.slots_.begin(), e.slots_.end(), slot);
  if (place == e.slots_.end() || *place != slot) e.slots_.insert(place, slot);
}

Exponents ExpressionReader::push_name(Expression& e, std::string_view word, std::size_t at) {
  const auto field = [&](std::span<const FieldInfo> fields, std::size_t first) -> const FieldInfo* {
    const auto* f = find_field(fields, word);
    if (f != nullptr) push_slot(e, first + static_cast<std::size_t>(f - fields.data()));
    return f;
  };
  // A result wins over an input of the same name: the result is what came of it.
  const FieldInfo* f = field(scope_.results, scope_.inputs.size());
  if (f == nullptr) f = field(scope_.inputs, 0);
  if (f != nullptr) {
    e.unit_ = f->unit;
    return f->exps;
  }
  if (const auto column = std::find(scope_.columns.begin(), scope_.columns.end(), word);
      column != scope_.columns.end()) {
    push_slot(e, static_cast<std::size_t>(column - scope_.columns.begin()));
    return {};
  }
  std::vector<std::string> names(scope_.columns.begin(), scope_.columns.end());
  for (const auto& r : scope_.results) names.push_back(r.name);
  for (const auto& i : scope_.inputs) names.push_back(i.name);
  throw LookupError(at_place(
      at, {.id = "mlsysim.expression.004",
           .message = fmt::format("there is no {} '{}'",
                                  scope_.columns.empty() ? "result or input" : "column", word),
           .key = std::string(word),
           .found = fmt::format("'{}'", word),
           .expected =
               fmt::format("a name such as {}",
                           fmt::join(std::span(names).first(std::min<std::size_t>(names.size(), 8)), ", ")),
           .hint = did_you_mean(word, names)}));
}

Exponents ExpressionReader::given(Expression& e) {
  skip_space();
  const std::size_t at = at_;
  const auto word = word_at(at_);
  at_ += word.size();
  Expression named;
  (void)push_name(named, word, at);
  --top_;  // its own number is not read
  // Every point has a number for each name; a row of a table need not.
  if (scope_.columns.empty())
    push(e, {.op = Op::constant, .value = 1});
  else
    push_slot(e, named.slots_[0] + scope_.columns.size());
  close();
  return {};
}

Exponents ExpressionReader::call(Expression& e, std::string_view function, std::size_t at) {
  const Exponents first = either(e);
  if (function == "min" || function == "max") {
    if (!take(","))
      fail(at_, fmt::format("'{}' compares two values", function), "','", fmt::format("{}(a, b)", function));
    do {
      same(first, either(e), at, function);
      push(e, {function == "min" ? Op::min : Op::max});
    } while (take(","));
  } else if (function == "sqrt" || function == "log2") {
    bare(first, at, function);
    push(e, {function == "sqrt" ? Op::sqrt : Op::log2});
  } else {
    push(e, {function == "abs"     ? Op::abs
             : function == "floor" ? Op::floor
             : function == "ceil"  ? Op::ceil
                                   : Op::round});
  }
  close();
  return first;
}

void ExpressionReader::close() {
  if (!take(")")) fail(at_, "a parenthesis is not closed", "')'", "");
}

Expression ExpressionReader::part(Exponents (ExpressionReader::*read)(Expression&)) {
  Expression e;
  skip_space();
  const std::size_t from = at_;
  top_ = 0;
  e.exps_ = (this->*read)(e);
  std::size_t to = at_;
  while (to > from && std::isspace(static_cast<unsigned char>(text_[to - 1])) != 0) --to;
  e.text_ = std::string(text_.substr(from, to - from));
  if (e.lone_slot() < 0) e.unit_ = {};
  return e;
}

Expression ExpressionReader::whole_expression() {
  Expression e = part(&ExpressionReader::either);
  if (!ended()) fail(at_, "the expression does not end here", "an operator or the end", "");
  return e;
}

void ExpressionReader::whole_constraint(Expression& left, Comparison& comparison, Expression& right) {
  left = part(&ExpressionReader::sum);
  skip_space();
  const std::size_t at = at_;
  const auto sign = take_sign();
  if (sign && *sign != Op::differ) {
    const std::string_view what = text_.substr(at, at_ - at);
    right = part(&ExpressionReader::sum);
    if (ended()) {
      same(left.exponents(), right.exponents(), at, what);
      comparison = *sign == Op::at_most    ? Comparison::at_most
                   : *sign == Op::at_least ? Comparison::at_least
                   : *sign == Op::less     ? Comparison::below
                   : *sign == Op::more     ? Comparison::above
                                           : Comparison::equal;
      return;
    }
  }
  // Not one comparison, so its truth.
  at_ = 0;
  left = part(&ExpressionReader::either);
  if (!left.truth())
    fail(at_, "a constraint compares two values", "<=, >=, <, >, == or !=", "e.g. ttft <= 500 ms");
  if (!ended())
    fail(at_, "the constraint does not end here", "'and', 'or' or the end",
         "give several constraints one by one");
  comparison = Comparison::at_least;
  right = Expression();
  right.text_ = "1";
  top_ = 0;
  push(right, {.op = Op::constant, .value = 1});
}

}  // namespace mlsysim
