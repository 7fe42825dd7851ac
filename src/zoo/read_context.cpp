#include "detail/read_table.hpp"

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim::detail {

void ReadContext::fault(ZooFault id, NodeRef at, ErrorFacts facts) const {
  problems.add(id, *source, at.place(), std::move(facts));
}

const Reference* ReadContext::find_reference(std::string_view key) const {
  if (const auto* r = zoo.find_reference(key)) return r;
  return base == nullptr ? nullptr : base->find_reference(key);
}

bool expect_kind(ReadContext& ctx, NodeRef node, NodeKind kind, const std::string& path,
                 std::string_view example) {
  if (node.kind() == kind) return true;
  const std::string_view wanted = kind == NodeKind::map        ? "a map"
                                  : kind == NodeKind::sequence ? "a list"
                                                               : "a single value";
  ctx.fault(ZooFault::wrong_shape, node,
            {.message = fmt::format("'{}' has the wrong form", path),
             .key = path,
             .found = node.describe(),
             .expected = fmt::format("{} such as {}", wanted, example),
             .hint = node.kind() == NodeKind::null ? "leave the key out where the figure is not known" : ""});
  return false;
}

namespace {

/// How a key is written that belongs into a part of a table: "power: {tdp: ...}"; empty where no part has it.
std::string deeper(const TableInfo& table, std::string_view key) {
  for (const auto& row : table.rows) {
    const auto& type = row.type->inner();
    if (type.form != MemberForm::table) continue;
    const TableInfo& part = type.table();
    const auto inside = part.row(key) != nullptr ? fmt::format("{}: ...", key) : deeper(part, key);
    if (!inside.empty()) return fmt::format("{}: {{{}}}", row.name, inside);
  }
  return {};
}

}  // namespace

void refuse_unknown_keys(ReadContext& ctx, NodeRef map, const std::string& prefix,
                         std::span<const std::string> known, const TableInfo* table) {
  map.for_each_pair([&](NodeRef key, NodeRef) {
    for (const auto& k : known)
      if (k == key.text()) return;
    auto near = table != nullptr ? deeper(*table, key.text()) : std::string();
    near = near.empty() ? did_you_mean(key.text(), known) : fmt::format("write {}", near);
    const std::string name = prefix + std::string(key.text());
    ctx.fault(ZooFault::unknown_key, key,
              {.message = fmt::format("unknown key {}", quoted_text(name)),
               .key = name,
               .found = quoted_text(key.text()),
               .expected = fmt::format("one of {}", fmt::join(known, ", ")),
               .hint = near.empty() ? "remove it, or keep it as a comment" : std::move(near)});
  });
}

void report_missing(ReadContext& ctx, NodeRef map, const std::string& prefix, std::string_view name,
                    std::string_view meaning, std::string_view unit) {
  ctx.fault(ZooFault::missing_key, map,
            {.message = fmt::format("'{}{}' is missing", prefix, name),
             .key = prefix + std::string(name),
             .found = "no such key",
             .expected = fmt::format("{}{}", meaning, unit.empty() ? "" : fmt::format(" [{}]", unit)),
             .hint = fmt::format("add '{}: {}'", name, unit.empty() ? "..." : fmt::format("... {}", unit))});
}

std::optional<std::string> read_text(ReadContext& ctx, NodeRef node, const std::string& path) {
  if (!expect_kind(ctx, node, NodeKind::scalar, path, "a word or a sentence")) return std::nullopt;
  if (node.text().find_first_not_of(" \t\r\n") != std::string_view::npos) return std::string(node.text());
  ctx.fault(ZooFault::not_a_text, node,
            {.message = fmt::format("'{}' is empty", path),
             .key = path,
             .found = "an empty text",
             .expected = "a text",
             .hint = "leave the key out where nothing is known"});
  return std::nullopt;
}

std::optional<bool> read_flag(ReadContext& ctx, NodeRef node, const std::string& path) {
  if (!expect_kind(ctx, node, NodeKind::scalar, path, "true or false")) return std::nullopt;
  if (node.is_plain() && node.text() == "true") return true;
  if (node.is_plain() && node.text() == "false") return false;
  ctx.fault(ZooFault::not_a_flag, node,
            {.message = fmt::format("'{}' is a yes-or-no", path),
             .key = path,
             .found = node.describe(),
             .expected = "true or false",
             .hint = "write it without quotes"});
  return std::nullopt;
}

std::optional<std::size_t> read_choice(ReadContext& ctx, NodeRef node, const std::string& path,
                                       std::string_view what, std::span<const std::string_view> choices) {
  if (!expect_kind(ctx, node, NodeKind::scalar, path, choices.front())) return std::nullopt;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == node.text()) return i;
  const std::vector<std::string> names(choices.begin(), choices.end());
  ctx.fault(ZooFault::unknown_choice, node,
            {.message = fmt::format("'{}' is no {} that there is", path, what),
             .key = path,
             .found = node.describe(),
             .expected = fmt::format("one of {}", fmt::join(choices, ", ")),
             .hint = did_you_mean(node.text(), names)});
  return std::nullopt;
}

std::optional<double> strict_number(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t whole = i;
  while (i < text.size() && digit(text[i])) ++i;
  if (i == whole || (i - whole > 1 && text[whole] == '0')) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    const std::size_t fraction = ++i;
    while (i < text.size() && digit(text[i])) ++i;
    if (i == fraction) return std::nullopt;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    const std::size_t exponent = i;
    while (i < text.size() && digit(text[i])) ++i;
    if (i == exponent) return std::nullopt;
  }
  if (i != text.size()) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

namespace {

std::string example_of(const NumberRule& rule) {
  if (rule.dimension == NumberRule::Dimension::any) return "'80 GB'";
  return rule.unit.empty() ? "80" : fmt::format("'80 {}'", rule.unit);
}

/// The number of a scalar node in the right dimension; its range is checked elsewhere.
std::optional<AnyQuantity> read_number(ReadContext& ctx, NodeRef node, const std::string& path,
                                       const NumberRule& rule) {
  if (!expect_kind(ctx, node, NodeKind::scalar, path, example_of(rule))) return std::nullopt;
  const auto text = node.text();
  const bool any = rule.dimension == NumberRule::Dimension::any;
  const bool count = !any && rule.exps.dimensionless();
  const auto plain = strict_number(text);
  if (plain && (count || any)) {
    if (node.quoted()) {
      ctx.fault(ZooFault::not_a_number, node,
                {.message = fmt::format("'{}' is a number", path),
                 .key = path,
                 .found = node.describe(),
                 .expected = "a number without quotes",
                 .hint = "remove the quotes"});
      return std::nullopt;
    }
    return AnyQuantity(*plain);
  }
  if (plain) {
    ctx.fault(ZooFault::missing_unit, node,
              {.message = fmt::format("'{}' ({}) needs a unit", path, rule.meaning),
               .key = path,
               .found = quoted_text(text),
               .expected = fmt::format("a quantity such as '{} {}'", text, rule.unit),
               .hint = fmt::format("its dimension is {}", dimension_name(rule.exps))});
    return std::nullopt;
  }
  try {
    // 0132 is decimal to some readers and octal to others; a text of digits alone is not given to the unit
    // reader.
    const bool digits_only = text.find_first_not_of("0123456789+-.eE_xX") == std::string_view::npos;
    if (digits_only && (count || any))
      throw UnitError({.id = std::string(id_of(ZooFault::not_a_number)),
                       .message = "this form of number is not read",
                       .found = quoted_text(text),
                       .expected = "a finite decimal number",
                       .hint = "write it without leading zeros, underscores and hexadecimal digits"});
    auto q = UnitRegistry::standard().parse(text);
    if (any || q.exponents() == rule.exps) return q;
    ctx.fault(count ? ZooFault::not_a_number : ZooFault::bad_quantity, node,
              {.message = fmt::format("'{}' ({}) has the wrong dimension", path, rule.meaning),
               .key = path,
               .found = fmt::format("{}, which is {}", quoted_text(text), dimension_name(q.exponents())),
               .expected = count ? "a plain number" : fmt::format("{}", dimension_name(rule.exps)),
               .hint = count ? "leave the unit out"
                             : fmt::format("write it in {} or a compatible unit", rule.unit)});
  } catch (const Error& error) {
    ErrorFacts facts = error.facts();
    if (count) {
      ctx.fault(ZooFault::not_a_number, node,
                {.message = fmt::format("'{}' ({}) is a number", path, rule.meaning),
                 .key = path,
                 .found = node.describe(),
                 .expected = "a finite decimal number such as 80, 0.5 or 1.5e9",
                 .hint = facts.hint});
      return std::nullopt;
    }
    facts.message = fmt::format("'{}' ({}): {}", path, rule.meaning, facts.message);
    facts.key = path;
    ctx.problems.add(placed(std::move(facts), *ctx.source, node.place()));
  }
  return std::nullopt;
}

bool check_range(ReadContext& ctx, NodeRef node, const std::string& path, const NumberRule& rule,
                 const AnyQuantity& q) {
  // Within this range, results computed from a number and their inverses fit into a double.
  constexpr double least = 1e-100, most = 1e100;
  const double size = std::fabs(q.base());
  const bool far = size != 0 && (size < least || size > most);
  // A plain number may count something.
  const bool plain = rule.dimension == NumberRule::Dimension::fixed && rule.exps.dimensionless();
  const double high = plain ? std::min(rule.high, kMostCount) : rule.high;
  // Zero is zero in every unit; other limits are stated in the display unit.
  const bool only_sign = rule.low == 0 && high >= kUnbounded;
  const bool in_base = only_sign || rule.unit.empty() || (rule.low <= -kUnbounded && high >= kUnbounded);
  const double shown = in_base ? q.base() : q.in(rule.unit);
  const bool below = rule.open_low ? !(shown > rule.low) : shown < rule.low;
  if (!below && !far && shown <= high) return true;
  const auto range =
      far && !below && shown <= high
          ? fmt::format("0, or a number between {:g} and {:g} in base units", least, most)
          : range_words(rule.low, shown > high ? high : rule.high, rule.open_low, false, rule.unit);
  ctx.fault(ZooFault::out_of_range, node,
            {.message = fmt::format("'{}' ({}) is out of range", path, rule.meaning),
             .key = path,
             .found = quoted_text(node.text()),
             .expected = range,
             .hint = "check sign, unit and decimal point"});
  return false;
}

void read_range(ReadContext& ctx, NodeRef node, const std::string& path, const NumberRule& rule,
                Figure& figure) {
  std::vector<NodeRef> ends;
  if (node.is_sequence()) node.for_each_item([&](NodeRef item) { ends.push_back(item); });
  if (ends.size() != 2) {
    ctx.fault(ZooFault::bad_range, node,
              {.message = fmt::format("the range of '{}' is malformed", path),
               .key = path,
               .found = node.is_sequence() ? fmt::format("a list of {}", ends.size()) : node.describe(),
               .expected = fmt::format("a list of two, e.g. [{0}, {0}]", example_of(rule)),
               .hint = "write the lower and the upper end"});
    return;
  }
  const auto low = read_number(ctx, ends[0], path + ".range[0]", rule);
  const auto high = read_number(ctx, ends[1], path + ".range[1]", rule);
  if (!low || !high) return;
  figure.low = low->base();
  figure.high = high->base();
  if (low->exponents() == high->exponents() && *figure.low <= figure.base && figure.base <= *figure.high)
    return;
  ctx.fault(ZooFault::bad_range, node,
            {.message = fmt::format("the range of '{}' does not hold its value", path),
             .key = path,
             .found = fmt::format("{} outside [{}, {}]", quoted_text(figure.authored), ends[0].text(),
                                  ends[1].text()),
             .expected = "lower end <= value <= upper end",
             .hint = "swap the ends, or correct one of the three"});
}

/// A number as it is written on one line: between quotes it may have blanks and breaks.
std::string in_one_line(std::string_view text) {
  std::string out(trimmed(text));
  std::replace_if(out.begin(), out.end(), is_blank, ' ');
  return out;
}

}  // namespace

std::optional<AnyQuantity> read_figure(ReadContext& ctx, NodeRef node, const std::string& path,
                                       const NumberRule& rule) {
  Figure figure;
  figure.path = path;
  std::optional<NodeRef> value = node;
  if (node.is_map()) {
    static const std::vector<std::string> known{"value",    "range", "kind",    "ref",    "verified",
                                                "recorded", "note",  "formula", "spread", "same_die"};
    refuse_unknown_keys(ctx, node, path + ".", known);
    value = node.find("value");
    if (!value) {
      report_missing(ctx, node, path + ".", "value", rule.meaning, rule.unit);
      return std::nullopt;
    }
  }
  auto q = read_number(ctx, *value, path, rule);
  if (!q || !check_range(ctx, *value, path, rule, *q)) return std::nullopt;
  figure.authored = in_one_line(value->text());
  figure.base = q->base();
  const auto [line, column] = value->place();
  figure.where = {ctx.source->file, static_cast<int>(line), static_cast<int>(column)};
  if (node.is_map()) {
    const auto range = node.find("range");
    if (range) read_range(ctx, *range, path, rule, figure);
    if (node.find("kind")) {
      figure.own = read_source_keys(ctx, node, path, SourceOf::figure);
      if (figure.own && figure.own->kind == SourceKind::estimate && !range && !figure.own->spread)
        ctx.fault(ZooFault::no_range, node,
                  {.message = fmt::format("the estimate '{}' has no range", path),
                   .key = path,
                   .found = "a value alone",
                   .expected = "range: [low, high], or spread: 30 %",
                   .hint = "say how far off it may be"});
    } else {
      for (const auto* key : {"ref", "verified", "recorded", "formula", "spread", "same_die"})
        if (const auto lone = node.find(key))
          ctx.fault(ZooFault::missing_source, *lone,
                    {.message = fmt::format("'{}' has part of a source", path),
                     .key = path,
                     .found = fmt::format("'{}' without 'kind'", key),
                     .expected = "kind: datasheet, measured, ...",
                     .hint = fmt::format("one of {}", fmt::join(Choices<SourceKind>::names, ", "))});
      if (const auto note = node.find("note")) {
        figure.own = ctx.entry.source;
        if (auto text = read_text(ctx, *note, path + ".note")) figure.own->note = std::move(*text);
      }
    }
  }
  ctx.entry.figures.push_back(std::move(figure));
  return q;
}

}  // namespace mlsysim::detail
