#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

std::string_view name_of(ValueKind kind) {
  static constexpr std::string_view names[] = {"quantity", "number", "flag", "text",
                                               "choice",   "object", "value"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

const FieldInfo* of_name(std::span<const FieldInfo> fields, std::string_view name) {
  for (const auto& f : fields)
    if (f.name == name) return &f;
  return nullptr;
}

/// Name of a device's parameter as that of a fleet's device, or the other way round; empty for a parameter
/// that no device has.
std::string other_name(std::string_view name) {
  constexpr std::string_view alone = "hardware.", in_fleet = "fleet.node.accelerator.";
  const auto seen_from = [&](std::string_view here, std::string_view there) {
    return std::string(there).append(name.substr(here.size()));
  };
  if (name.starts_with(alone)) return seen_from(alone, in_fleet);
  if (name.starts_with(in_fleet)) return seen_from(in_fleet, alone);
  return {};
}

/// Rates have a name for each format: "hardware.compute.dense" is the one that there is.
const FieldInfo* of_only_format(std::span<const FieldInfo> fields, std::string_view name) {
  if (!name.ends_with(".compute.dense") && !name.ends_with(".compute.vector")) return nullptr;
  const FieldInfo* found = nullptr;
  for (const auto& f : fields) {
    if (f.name.size() <= name.size() || !f.name.starts_with(name) || f.name[name.size()] != '.') continue;
    if (found != nullptr) return nullptr;
    found = &f;
  }
  return found;
}

}  // namespace

const FieldInfo* find_field(std::span<const FieldInfo> fields, std::string_view name) {
  if (const auto* found = of_name(fields, name)) return found;
  if (name.find('.') == std::string_view::npos) {
    const auto canonical = canonical_name(name);
    return canonical.empty() ? nullptr : of_name(fields, canonical);
  }
  if (const auto* found = of_only_format(fields, name)) return found;
  const auto other = other_name(name);
  if (other.empty()) return nullptr;
  if (const auto* found = of_name(fields, other)) return found;
  return of_only_format(fields, other);
}

namespace {

std::string kind_of(const Value& value) {
  if (std::holds_alternative<double>(value)) return fmt::format("the number {}", std::get<double>(value));
  if (std::holds_alternative<bool>(value)) return std::get<bool>(value) ? "true" : "false";
  if (std::holds_alternative<std::string>(value)) return "the text '" + std::get<std::string>(value) + "'";
  if (std::holds_alternative<ObjectRef>(value)) return fmt::format("a {}", std::get<ObjectRef>(value).type);
  if (const auto* h = std::get_if<HostRef>(&value); h != nullptr && *h) return "a " + (*h)->type();
  return "nothing";
}

std::string wanted(const FieldInfo& info) {
  if (info.kind == ValueKind::object) return fmt::format("a {}", info.object_type);
  if (info.kind == ValueKind::quantity)
    return fmt::format("a quantity in {} or a compatible unit", info.unit);
  return fmt::format("a {}", name_of(info.kind));
}

}  // namespace

void detail::wrong_kind(const FieldInfo& info, const Value& value) {
  throw InputError({.id = "mlsysim.table.001",
                    .message = fmt::format("input '{}' has the wrong kind", info.name),
                    .key = info.name,
                    .found = kind_of(value),
                    .expected = wanted(info)});
}

void detail::unknown_choice(const FieldInfo& info, const std::string& name) {
  const std::vector<std::string> names(info.choices.begin(), info.choices.end());
  throw LookupError({.id = "mlsysim.table.002",
                     .message = fmt::format("input '{}' has no choice '{}'", info.name, name),
                     .key = info.name,
                     .found = "'" + name + "'",
                     .expected = fmt::format("one of {}", fmt::join(info.choices, ", ")),
                     .hint = did_you_mean(name, names)});
}

const TableRow* TableInfo::row(std::string_view name) const {
  for (const auto& r : rows)
    if (r.name == name) return &r;
  return nullptr;
}

namespace {

/// Whether a value is what its type has without an initializer.
bool is_empty(const Value& value, const MemberType& type) {
  if (const auto* x = std::get_if<double>(&value)) return *x == 0;
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* text = std::get_if<std::string>(&value))
    return type.form == MemberForm::choice ? *text == type.choices.front() : text->empty();
  return std::holds_alternative<std::monostate>(value);
}

void append_fields(std::vector<FieldInfo>& out, const std::string& prefix, std::size_t base,
                   const TableInfo& table, const void* defaults) {
  for (const auto& row : table.rows) {
    const MemberType& type = *row.type;
    const void* member = row.in(defaults);
    const auto known = [&](std::string_view path) {
      return std::any_of(out.begin(), out.end(), [&](const FieldInfo& f) {
        return f.name.starts_with(path) && (f.name.size() == path.size() || f.name[path.size()] == '.');
      });
    };
    // A name without a path, unless another table of the same kind has it already.
    auto name = std::string(row.name);
    if (!row.top || known(name)) name = prefix + name;
    if (type.form == MemberForm::table) {
      append_fields(out, row.name.empty() ? prefix : name + ".", base + row.offset, type.table(), member);
      continue;
    }
    FieldInfo f;
    f.name = std::move(name);
    f.unit = row.unit;
    f.meaning = row.meaning;
    f.default_source = row.source;
    f.kind = type.kind;
    f.exps = type.exps;
    f.offset = base + row.offset;
    f.size = type.size;
    f.shared = row.shared && prefix.empty();
    f.nullable = type.form == MemberForm::maybe || (type.form == MemberForm::object && row.has_default);
    f.low = row.low;
    f.high = row.high;
    f.open_low = row.open_low;
    f.integral = row.integral;
    f.held = row.held;
    if (type.inner().form == MemberForm::object) f.object_type = type.inner().what;
    f.choices = type.inner().choices;
    f.get = type.get;
    f.set = type.set;
    f.default_value = type.get(member);
    // An initializer that differs from the empty value is a default; a default of zero says so in the table.
    f.required = !row.has_default && !f.nullable && is_empty(f.default_value, type);
    out.push_back(std::move(f));
  }
}

}  // namespace

std::vector<FieldInfo> detail::flattened(const TableInfo& table) {
  std::vector<FieldInfo> out;
  append_fields(out, "", 0, table, table.blank);
  return out;
}

std::string range_words(double low, double high, bool open_low, bool integral, std::string_view unit_name) {
  const auto unit = unit_name.empty() ? std::string() : fmt::format(" {}", unit_name);
  if (integral && high > kMostCount)
    return fmt::format("a whole number {} {:g}", low > -kUnbounded ? fmt::format("from {} to", low) : "up to",
                       kMostCount);
  if (low > -kUnbounded && high < kUnbounded) return fmt::format("a value in [{}, {}]{}", low, high, unit);
  if (high < kUnbounded) return fmt::format("at most {}{}", high, unit);
  if (low > -kUnbounded) return fmt::format("{} {}{}", open_low ? "more than" : "at least", low, unit);
  return {};
}

void check_range(const FieldInfo& field, double base) {
  const double shown = field.unit.empty() ? base : AnyQuantity::from_base(base, field.exps).in(field.unit);
  const bool below = field.open_low ? !(shown > field.low) : shown < field.low;
  const bool inside = std::isfinite(base) && !below && shown <= field.high &&
                      (!field.integral || std::fabs(base) <= kMostCount);
  const bool whole = !field.integral || base == std::floor(base);
  if (inside && whole) return;
  const std::string who = field.meaning.empty() ? fmt::format("input '{}'", field.name)
                                                : fmt::format("input '{}' ({})", field.name, field.meaning);
  if (inside)
    throw DomainError({.id = "mlsysim.table.004",
                       .message = who + " counts something",
                       .key = field.name,
                       .found = fmt::format("{}", base),
                       .expected = "a whole number",
                       .hint = fmt::format("{} or {}", std::floor(base), std::ceil(base))});
  const auto unit = field.unit.empty() ? std::string() : " " + std::string(field.unit);
  throw DomainError({.id = "mlsysim.table.003",
                     .message = who + " is out of range",
                     .key = field.name,
                     .found = fmt::format("{}{}", shown, unit),
                     .expected = std::isfinite(base) ? range_words(field.low, field.high, field.open_low,
                                                                   field.integral, field.unit)
                                                     : "a finite number"});
}

void check_ranges(std::span<const FieldInfo> fields, const void* object) {
  for (const auto& f : fields) {
    if (f.kind != ValueKind::number && f.kind != ValueKind::quantity) continue;
    const Value v = f.read(object);
    if (const auto* x = std::get_if<double>(&v)) check_range(f, *x);
  }
}

}  // namespace mlsysim
