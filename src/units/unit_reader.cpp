#include "detail/unit_reader.hpp"

#include "detail/decimal.hpp"
#include "detail/exponent_sum.hpp"

#include <utility>

namespace mlsysim {

using detail::quoted;
using detail::UnitFault;

void UnitRegistry::Reader::fail(UnitFault fault, std::string found, std::string expected, std::string hint,
                                std::size_t column) const {
  auto facts = facts_of(fault, std::move(found), std::move(expected), std::move(hint), where);
  // A caller who knows the place shows the source line; without one the text itself is the excerpt.
  const bool plain = whole.size() <= 60 && quoted(whole).substr(1, whole.size()) == whole;
  if (where.text().empty() && plain && column <= whole.size())
    facts.excerpt = "  " + std::string(whole) + "\n  " + std::string(column, ' ') + "^";
  throw UnitError(std::move(facts));
}

std::string_view UnitRegistry::Reader::word() {
  const std::size_t from = at;
  while (!done() && detail::continues_symbol(whole[at])) ++at;
  return whole.substr(from, at - from);
}

const UnitRegistry::Symbol& UnitRegistry::Reader::symbol() {
  const std::size_t from = at;
  const std::string_view first = word();
  const std::size_t after_first = at;
  skip_blanks();
  if (at > after_first && !done() && detail::starts_symbol(whole[at])) {
    const std::size_t second_at = at;
    const std::string_view second = word();
    std::string both(first);
    both += ' ';
    both += second;
    if (const Symbol* s = units.find(both)) return *s;  // "kg CO2e"
    both.erase(first.size(), 1);
    const Symbol* joined = units.find(both);
    const bool known = joined != nullptr && joined->kind != Kind::refused;
    fail(UnitFault::broken_expression, quoted(first) + " and " + quoted(second) + " with nothing between",
         "'*' or '/' between two units",
         second == "per" || first == "per" ? "write '/' for 'per'"
         : known ? "did you mean '" + (joined->kind == Kind::alias ? joined->note : joined->spelling) + "'?"
                 : "units are joined by '*' and '/'",
         second_at);
  }
  at = after_first;
  const Symbol* s = units.find(first);
  if (s == nullptr)
    fail(UnitFault::unknown_unit, quoted(first), "a unit of the table, e.g. 'GB', 'TFLOP/s', 'ms'",
         units.hint_for(first), from);
  if (s->kind == Kind::refused)
    fail(UnitFault::refused_unit, quoted(first), "a unit that reads one way only", s->note, from);
  return *s;
}

int UnitRegistry::Reader::power() {
  skip_blanks();
  if (peek() != '^') return 1;
  const std::size_t from = at++;
  skip_blanks();
  const bool negative = peek() == '-';
  if (peek() == '-' || peek() == '+') ++at;
  const std::size_t digits_at = at;
  int n = 0;
  for (; !done() && whole[at] >= '0' && whole[at] <= '9' && at - digits_at < 3; ++at)
    n = n * 10 + (whole[at] - '0');
  const bool closed = done() || detail::is_blank(whole[at]) || whole[at] == '*' || whole[at] == '/';
  if (at == digits_at || n == 0 || n > 127 || !closed)
    fail(UnitFault::bad_power, quoted(whole.substr(from, at + 1 - from)),
         "a whole number after '^', e.g. 's^2'", "", from);
  return negative ? -n : n;
}

void UnitRegistry::Reader::factor(int sign) {
  skip_blanks();
  if (done() || !detail::starts_symbol(whole[at])) {
    const bool bracket = peek() == '(' || peek() == ')';
    fail(UnitFault::broken_expression, done() ? "the end of the text" : quoted(whole.substr(at, 1)), "a unit",
         bracket ? "there are no parentheses: '/' binds the next factor only, as in 'FLOP/param/token'"
         : at > 0 && whole[at - 1] == '*' && peek() == '*' ? "write '^' for a power, as in 's^2'"
                                                           : "units are joined by '*' and '/', as in 'GB/s'",
         at);
  }
  const std::size_t from = at;
  const Symbol& s = symbol();
  const int p = sign * power();
  if (count == factors.size() || !detail::accumulate_exponents(exps, s.exps, p) ||
      !detail::accumulate(scale, s.scale, p))
    fail(UnitFault::too_large, quoted(whole),
         "at most 16 factors, exponents within 127, and a factor within 60 bits", "write it in smaller units",
         from);
  factors[count++] = {&s, p};
}

void UnitRegistry::Reader::reject_operator() {
  const char c = peek();
  fail(UnitFault::broken_expression, quoted(whole.substr(at, 1)), "'*', '/' or '^'",
       c == '(' || c == ')'
           ? "there are no parentheses: '/' binds the next factor only, as in 'FLOP/param/token'"
       : (c >= '0' && c <= '9') ? "a power is written with '^', as in 's^2'"
                                : "units are joined by '*' and '/', as in 'GB/s'",
       at);
}

void UnitRegistry::Reader::read() {
  skip_blanks();
  if (done()) return;
  int sign = 1;
  if (peek() == '1') {  // "1/s"
    ++at;
    skip_blanks();
    if (peek() != '/')
      fail(UnitFault::broken_expression, quoted(whole.substr(at, 1)),
           "'/' after the 1 of a unit such as '1/s'", "", at);
    ++at;
    sign = -1;
  }
  factor(sign);
  for (skip_blanks(); !done(); skip_blanks()) {
    if (peek() != '*' && peek() != '/') reject_operator();
    sign = whole[at++] == '/' ? -1 : 1;
    factor(sign);
  }
}

namespace {
struct Spelled {
  std::string_view symbol;
  int power;
};

/// Splits a canonical expression (no blanks, no aliases), each power times `outer`.
void split(std::string_view text, int outer, std::vector<Spelled>& out) {
  int sign = 1;
  if (text.starts_with("1/")) {
    sign = -1;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("*/"), text.size());
    auto part = text.substr(0, end);
    int power = 1;
    if (const auto hat = part.find('^'); hat != std::string_view::npos) {
      power = 0;
      for (const char c : part.substr(hat + 1)) power = power * 10 + (c - '0');
      part = part.substr(0, hat);
    }
    out.push_back({part, sign * power * outer});
    if (end == text.size()) break;
    sign = text[end] == '/' ? -1 : 1;
    text.remove_prefix(end + 1);
  }
}
}  // namespace

std::string UnitRegistry::Reader::spelling() const {
  std::vector<Spelled> all;
  for (std::size_t i = 0; i < count; ++i) {
    const Symbol& s = *factors[i].symbol;
    split(s.kind == Kind::alias ? s.note : s.spelling, factors[i].power, all);
  }
  std::string out;
  const auto write = [&](const Spelled& s, int power) {
    out += s.symbol;
    if (power > 1) out += '^' + std::to_string(power);
  };
  for (const auto& s : all) {
    if (s.power < 0) continue;
    if (!out.empty()) out += '*';
    write(s, s.power);
  }
  if (out.empty() && !all.empty()) out = "1";
  for (const auto& s : all) {
    if (s.power > 0) continue;
    out += '/';
    write(s, -s.power);
  }
  return out;
}

}  // namespace mlsysim
