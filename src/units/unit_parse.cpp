#include "detail/decimal.hpp"
#include "detail/unit_reader.hpp"

#include <mlsysim/units/unit_registry.hpp>

namespace mlsysim {

using detail::facts_of;
using detail::quoted;
using detail::UnitFault;

namespace {

constexpr std::size_t kLongest = 1000;

void check_length(std::string_view text, const Location& where) {
  if (text.size() > kLongest)
    throw UnitError(facts_of(UnitFault::text_too_long,
                             std::to_string(text.size()) + " characters beginning " + quoted(text),
                             "at most " + std::to_string(kLongest) + " characters", "", where));
}

/// Why a text does not begin with a number.
[[noreturn]] void refuse_start(std::string_view text, const Location& where) {
  std::string word;
  for (const char c : text.substr(0, 4))
    if (c != '+' && c != '-') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (word.starts_with("nan") || word.starts_with("inf"))
    throw UnitError(facts_of(UnitFault::number_form, quoted(text), "a finite number",
                             "leave the field out where the value is unknown or unbounded", where));
  throw UnitError(facts_of(UnitFault::no_number, quoted(text), "a number, then its unit",
                           "write for example '3.35 TB/s'", where));
}

/// Refuses what follows a number without being a unit.
void check_rest(std::string_view text, std::string_view number, std::string_view rest,
                const Location& where) {
  if (rest.empty()) return;
  const char c = rest[0];
  if (c == '_' || c == ',' || c == '\'')
    throw UnitError(facts_of(UnitFault::number_form, quoted(text),
                             "digits with a decimal point and no separators",
                             "write '1500' for 1,500 and '1.5' for 1,5", where));
  if ((c == 'x' || c == 'X') && (number == "0" || number == "-0" || number == "+0"))
    throw UnitError(facts_of(UnitFault::number_form, quoted(text), "a decimal number",
                             "hexadecimal numbers are not read", where));
  const auto gap = rest.find_first_not_of(" \t");
  const std::string_view next = rest.substr(gap);
  if (next[0] == '/')
    throw UnitError(facts_of(UnitFault::broken_expression, quoted(text), "a unit after the number",
                             "write '5 1/s' for a rate, and '0.75' for 3/4", where));
  const bool sign = next.size() > 1 && (next[0] == '+' || next[0] == '-');
  const char d = sign ? next[1] : next[0];
  if (!(d == '.' || (d >= '0' && d <= '9'))) return;
  // The one unit that begins with a digit is "1/s", and it needs a blank before it.
  const auto slash = next.find_first_not_of(" \t", 1);
  if (gap > 0 && next[0] == '1' && slash != std::string_view::npos && next[slash] == '/') return;
  throw UnitError(facts_of(UnitFault::two_numbers, quoted(text), "one number and one unit",
                           "write a range as two fields, and a product as one number", where));
}

}  // namespace

UnitExpr UnitRegistry::parse_unit(std::string_view text, const Location& where) const {
  check_length(text, where);
  text = detail::trimmed(text);
  Reader reader(*this, text, 0, where);
  reader.read();
  const auto [mul, div] = detail::factors(reader.scale);
  return {reader.exps, reader.scale, mul, div, reader.spelling()};
}

AnyQuantity UnitRegistry::parse(std::string_view text, const Location& where) const {
  check_length(text, where);
  text = detail::trimmed(text);
  if (text.empty())
    throw UnitError(facts_of(UnitFault::empty_text, "''", "a number, then its unit",
                             "write for example '3.35 TB/s'", where));
  const auto number = detail::scan_number(text);
  if (!number) refuse_start(text, where);
  check_rest(text, number->text, text.substr(number->text.size()), where);

  Reader reader(*this, text, number->text.size(), where);
  reader.read();
  const auto base = detail::scaled(*number, reader.scale);
  if (!base)
    throw UnitError(
        facts_of(UnitFault::out_of_range, quoted(text),
                 "a size between 1e-308 and 1e308 in " +
                     (reader.exps.dimensionless() ? std::string("all") : canonical_unit(reader.exps)),
                 "", where));

  AnyQuantity q;
  q.base_ = *base;
  q.exps_ = reader.exps;
  q.text_ = text;
  q.number_size_ = static_cast<std::uint16_t>(number->text.size());
  auto unit_at = number->text.size();
  while (unit_at < text.size() && detail::is_blank(text[unit_at])) ++unit_at;
  q.unit_at_ = static_cast<std::uint16_t>(unit_at);
  q.where_ = where;
  return q;
}

}  // namespace mlsysim
