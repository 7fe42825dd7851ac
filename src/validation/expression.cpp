#include <mlsysim/validation/expression.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace mlsysim {

/// Recursive descent into postfix code; every level of precedence is one function.
class ExpressionParser {
 public:
  using Code = ColumnExpression::Code;
  ExpressionParser(ColumnExpression& out, const CsvTable& table) : out_(out), table_(table), text_(out.text_) {}

  void run() {
    either();
    if (!end()) refuse(fmt::format("'{}'", text_.substr(at_)), "an operator or the end of the expression");
  }

 private:
  static constexpr int kDeepest = 64;

  [[noreturn]] void refuse(std::string found, std::string expected) const {
    Location where = out_.where_;
    if (where.column > 0) where.column += static_cast<int>(at_);
    throw InputError({.id = "mlsysim.validation.010",
                      .message = fmt::format("the expression '{}' cannot be read", text_),
                      .key = std::string(text_),
                      .found = fmt::format("{} at character {}", found, at_ + 1),
                      .expected = std::move(expected),
                      .hint = "names are columns of the table; operators are or and == != < <= > >= + - * /",
                      .where = where});
  }
  bool end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  bool take(std::string_view token) {
    if (end() || !text_.substr(at_).starts_with(token)) return false;
    const auto after = at_ + token.size();
    if (letter(token.back()) && after < text_.size() && (letter(text_[after]) || digit(text_[after]))) return false;
    at_ = after;
    return true;
  }
  void emit(Code code, double number = 0, std::size_t column = 0) { out_.steps_.push_back({code, number, column}); }

  void either() {
    if (++depth_ > kDeepest) refuse("a deeper nesting", fmt::format("at most {} levels", kDeepest));
    both();
    while (take("or")) both(), emit(Code::either);
    --depth_;
  }
  void both() {
    comparison();
    while (take("and")) comparison(), emit(Code::both);
  }
  void comparison() {
    sum();
    static constexpr std::array<std::pair<std::string_view, Code>, 6> signs{{{"==", Code::equal}, {"!=", Code::differ},
        {"<=", Code::at_most}, {">=", Code::at_least}, {"<", Code::less}, {">", Code::more}}};
    for (const auto& [sign, code] : signs)
      if (take(sign)) {
        sum();
        emit(code);
        return;
      }
  }
  void sum() {
    product();
    for (;;) {
      if (take("+")) product(), emit(Code::add);
      else if (take("-")) product(), emit(Code::subtract);
      else return;
    }
  }
  void product() {
    unary();
    for (;;) {
      if (take("*")) unary(), emit(Code::multiply);
      else if (take("/")) unary(), emit(Code::divide);
      else return;
    }
  }
  void unary() {
    bool minus = false;
    while (take("-")) minus = !minus;
    primary();
    if (minus) emit(Code::negate);
  }
  void primary() {
    if (end()) refuse("the end", "a number, a column or '('");
    if (take("(")) {
      either();
      close();
    } else if (digit(text_[at_]) || text_[at_] == '.') {
      double x = 0;
      const auto [stop, failed] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), x);
      if (failed != std::errc{} || !std::isfinite(x)) refuse(fmt::format("'{}'", text_.substr(at_)), "a number");
      at_ = static_cast<std::size_t>(stop - text_.data());
      emit(Code::number, x);
    } else if (letter(text_[at_])) {
      name();
    } else {
      refuse(fmt::format("'{}'", text_[at_]), "a number, a column or '('");
    }
  }
  void close() {
    if (!take(")")) refuse(end() ? "the end" : fmt::format("'{}'", text_[at_]), "')'");
  }
  void name() {
    const auto begin = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
    const auto word = text_.substr(begin, at_ - begin);
    if (!take("(")) return emit(Code::column, 0, table_.column(word, out_.where_));
    static constexpr std::array<std::pair<std::string_view, Code>, 4> one{
        {{"ceil", Code::ceil}, {"floor", Code::floor}, {"round", Code::round}, {"log2", Code::log2}}};
    for (const auto& [function, code] : one)
      if (word == function) {
        either();
        close();
        return emit(code);
      }
    if (word == "min" || word == "max") {
      either();
      if (!take(",")) refuse(end() ? "the end" : fmt::format("'{}'", text_[at_]), "',' and a second value");
      either();
      close();
      return emit(word == "min" ? Code::min : Code::max);
    }
    if (word == "given") {
      end();
      const auto from = at_;
      while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
      const auto column = table_.column(text_.substr(from, at_ - from), out_.where_);
      close();
      return emit(Code::given, 0, column);
    }
    at_ = begin;
    refuse(fmt::format("the function '{}'", word), "min, max, ceil, floor, round, log2 or given");
  }

  ColumnExpression& out_;
  const CsvTable& table_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

ColumnExpression ColumnExpression::parse(std::string_view text, const CsvTable& table, const Location& where) {
  ColumnExpression e;
  e.text_ = std::string(text);
  e.where_ = where;
  ExpressionParser(e, table).run();
  return e;
}

ColumnExpression ColumnExpression::of_column(const CsvTable& table, std::size_t column) {
  ColumnExpression e;
  e.text_ = table.columns()[column];
  e.steps_.push_back({Code::column, 0, column});
  return e;
}

std::optional<double> ColumnExpression::at(const CsvTable& table, std::size_t row) const {
  std::vector<double> stack;
  stack.reserve(8);
  for (const Step& s : steps_) {
    if (s.code == Code::number) stack.push_back(s.number);
    else if (s.code == Code::given) stack.push_back(table.text(row, s.column).empty() ? 0 : 1);
    else if (s.code == Code::column) {
      if (table.text(row, s.column).empty()) return std::nullopt;
      stack.push_back(table.number(row, s.column));
    } else if (s.code <= Code::log2) {
      double& x = stack.back();
      x = s.code == Code::negate ? -x : s.code == Code::ceil ? std::ceil(x) : s.code == Code::floor ? std::floor(x)
          : s.code == Code::round ? std::round(x) : std::log2(x);
    } else {
      const double b = stack.back();
      stack.pop_back();
      double& a = stack.back();
      switch (s.code) {
        case Code::add: a += b; break;
        case Code::subtract: a -= b; break;
        case Code::multiply: a *= b; break;
        case Code::divide: a /= b; break;
        case Code::min: a = std::min(a, b); break;
        case Code::max: a = std::max(a, b); break;
        case Code::equal: a = a == b; break;
        case Code::differ: a = a != b; break;
        case Code::less: a = a < b; break;
        case Code::at_most: a = a <= b; break;
        case Code::more: a = a > b; break;
        case Code::at_least: a = a >= b; break;
        case Code::both: a = a != 0 && b != 0; break;
        default: a = a != 0 || b != 0; break;
      }
    }
  }
  if (std::isfinite(stack.back())) return stack.back();
  throw InputError({.id = "mlsysim.validation.011",
                    .message = fmt::format("'{}' is not finite in this row", text_),
                    .key = text_,
                    .found = fmt::format("{}", stack.back()),
                    .expected = "a finite number",
                    .hint = "leave the row out, or correct the expression",
                    .where = table.where(row, 0)});
}

std::vector<std::size_t> ColumnExpression::columns() const {
  std::vector<std::size_t> out;
  for (const Step& s : steps_)
    if ((s.code == Code::column || s.code == Code::given) && std::find(out.begin(), out.end(), s.column) == out.end())
      out.push_back(s.column);
  return out;
}

}  // namespace mlsysim
