#include "ops/regression/budget_text.hpp"

#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

constexpr Fault kSelector{
    .id = "mlsysim.ci.008",
    .message = "a budget says in no way that is known which cells it is for",
    .expected =
        "for LABEL=~\"PATTERN\" or LABEL=\"VALUE\", LABEL one of model, hardware, precision, pipeline, cell",
    .hint = "e.g. itl <= 50 ms for model=~\"Llama.*\", hardware=\"H100\""};

std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(".[]{}()*+?^$|\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// One LABEL=~"PATTERN"; what follows it stays in `rest`.
std::pair<std::string, std::string> selector(std::string_view& rest, std::string_view whole,
                                             const Location& where) {
  const auto equals = rest.find('=');
  if (equals == std::string_view::npos)
    throw InputError(kSelector.with({.found = fmt::format("'{}'", whole), .where = where}));
  const auto label = std::string(trimmed(rest.substr(0, equals)));
  if (!MatrixCell{}.label(label))
    throw InputError(kSelector.with({.found = fmt::format("'{}'", whole), .where = where}));
  const bool pattern = equals + 1 < rest.size() && rest[equals + 1] == '~';
  rest.remove_prefix(equals + (pattern ? 2 : 1));
  rest = trimmed(rest);
  if (rest.empty() || rest.front() != '"')
    throw InputError(kSelector.with({.found = fmt::format("'{}'", whole), .where = where}));
  const auto end = rest.find('"', 1);
  if (end == std::string_view::npos)
    throw InputError(kSelector.with({.found = fmt::format("'{}'", whole), .where = where}));
  const auto value = std::string(rest.substr(1, end - 1));
  rest = trimmed(rest.substr(end + 1));
  if (!rest.empty() && rest.front() != ',')
    throw InputError(kSelector.with({.found = fmt::format("'{}'", whole), .where = where}));
  if (!rest.empty()) rest = trimmed(rest.substr(1));
  auto expression = pattern ? value : literal(value);
  (void)cell_pattern(expression, where);
  return {label, std::move(expression)};
}

}  // namespace

std::regex cell_pattern(const std::string& text, const Location& where) {
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw InputError({.id = "mlsysim.ci.009",
                      .message = "a pattern is no regular expression",
                      .found = fmt::format("'{}': {}", text, error.what()),
                      .expected = "an expression of whole names, e.g. Llama.*",
                      .hint = "write \\ before brackets and dots that are meant as such",
                      .where = where});
  }
}

CellBudget read_budget(std::string_view text, const Location& where) {
  CellBudget out{.text = std::string(text), .constraint = std::string(text), .only = {}, .where = where};
  const auto at = text.find(" for ");
  if (at == std::string_view::npos) return out;
  out.constraint = std::string(trimmed(text.substr(0, at)));
  auto rest = trimmed(text.substr(at + 5));
  if (rest.empty()) throw InputError(kSelector.with({.found = fmt::format("'{}'", text), .where = where}));
  while (!rest.empty()) out.only.push_back(selector(rest, text, where));
  return out;
}

bool applies(const CellBudget& budget, const MatrixCell& cell) {
  return std::all_of(budget.only.begin(), budget.only.end(), [&](const auto& one) {
    return std::regex_match(cell.label(one.first).value_or(""), std::regex(one.second));
  });
}

}  // namespace mlsysim::detail
