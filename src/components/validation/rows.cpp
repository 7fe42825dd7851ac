#include "detail/row_key.hpp"

#include <mlsysim/validation/measured_table.hpp>

#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

/// Why a row is not compared; empty where it is.
using Reason = std::string;

template <class T>
const void* entry_of(const Zoo& zoo, const std::string& name, const FieldInfo& field, const Location& where) {
  if (const T* found = zoo.find<T>(name)) return found;
  const auto names = zoo.names<T>();
  throw LookupError({.id = "mlsysim.validation.050",
                     .message = fmt::format("the zoo has no {} '{}'", field.object_type, name),
                     .key = field.name,
                     .found = fmt::format("'{}'", name),
                     .expected = fmt::format("the name of an entry ({})", field.object_type),
                     .hint = did_you_mean(name, names),
                     .where = where});
}

Value worded(const Zoo& zoo, const FieldInfo& f, const std::string& word, const Location& where) {
  switch (f.kind) {
    case ValueKind::flag:
      if (word == "true" || word == "false") return word == "true";
      throw InputError({.id = "mlsysim.validation.051",
                        .message = fmt::format("'{}' is neither true nor false", f.name),
                        .key = f.name,
                        .found = fmt::format("'{}'", word),
                        .expected = "true or false",
                        .where = where});
    case ValueKind::object: {
      const void* object = nullptr;
      (void)with_spec_type(f.object_type, [&]<class T>() { object = entry_of<T>(zoo, word, f, where); });
      return ObjectRef{object, f.object_type};
    }
    default:
      return word;
  }
}

class RowFiller {
 public:
  RowFiller(const MeasuredTable& table, const Zoo& zoo) : t_(table), zoo_(zoo) {
    for (const auto& f : t_.measurand->inputs())
      if (f.kind == ValueKind::number || f.kind == ValueKind::quantity)
        ranges_.push_back({&f, BaseRange::of(f)});
  }

  Reason excluded(std::size_t row) const {
    for (const auto& rule : t_.left_out) {
      if (rule.when && rule.when->at(t_.data, row).value_or(0) != 0) return rule.reason;
      if (rule.column && std::find(rule.words.begin(), rule.words.end(), t_.data.text(row, *rule.column)) !=
                             rule.words.end())
        return rule.reason;
    }
    return {};
  }
  Reason fill(std::size_t row, void* inputs) const {
    for (const auto& rule : t_.inputs)
      if (auto reason = fill(rule, row, inputs); !reason.empty()) return reason;
    for (const auto& [field, range] : ranges_) {
      const Value v = field->read(inputs);
      const auto* x = std::get_if<double>(&v);
      if (x == nullptr || range.holds(*x)) continue;
      throw DomainError(
          {.id = "mlsysim.validation.052",
           .message = fmt::format("'{}' ({}) is out of its range in this row", field->name, field->meaning),
           .key = field->name,
           .found = fmt::format("{}", *x),
           .expected = field->integral ? "a whole number in range" : "a number in range",
           .hint = "correct the mapping, or leave the row out with its reason",
           .where = t_.data.where(row, 0)});
    }
    return {};
  }

 private:
  Reason fill(const InputRule& rule, std::size_t row, void* inputs) const {
    const FieldInfo& f = *rule.field;
    if (rule.expression) {
      const auto x = rule.expression->at(t_.data, row);
      if (!x)
        return f.required ? fmt::format("the source does not state '{}'", rule.expression->text()) : Reason();
      f.write(inputs, f.unit.empty() ? *x : AnyQuantity::parse(fmt::format("1 {}", f.unit)).base() * *x);
      return {};
    }
    std::string word = rule.word;
    Location where{.file = t_.file.generic_string()};
    if (rule.column) {
      word = std::string(t_.data.text(row, *rule.column));
      where = t_.data.where(row, *rule.column);
      const auto ours = rule.words.find(word);
      if (ours != rule.words.end())
        word = ours->second;
      else if (!rule.otherwise.empty())
        return rule.otherwise;
      else if (!rule.words.empty())
        throw LookupError({.id = "mlsysim.validation.053",
                           .message = fmt::format("the mapping of '{}' does not know this word", f.name),
                           .key = f.name,
                           .found = fmt::format("'{}'", word),
                           .expected = "a word of its 'words'",
                           .hint = "add the word, or 'otherwise' with the reason for leaving such rows out",
                           .where = where});
      if (word.empty()) {
        if (ours != rule.words.end() || !f.required) return {};
        return fmt::format("the source does not state '{}'", t_.data.columns()[*rule.column]);
      }
    }
    if (f.kind == ValueKind::number || f.kind == ValueKind::quantity)
      f.write(inputs, AnyQuantity::parse(word).base());
    else
      f.write(inputs, worded(zoo_, f, word, where));
    return {};
  }

  const MeasuredTable& t_;
  const Zoo& zoo_;
  struct Range {
    const FieldInfo* field;
    BaseRange range;
  };
  std::vector<Range> ranges_;
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

std::string detail::row_key(const Measurand& measurand, const void* inputs,
                            std::span<const std::string_view> without) {
  std::string out;
  for (const auto& f : measurand.inputs()) {
    if (std::ranges::find(without, f.name) != without.end()) continue;
    const Value v = f.read(inputs);
    if (const auto* x = std::get_if<double>(&v))
      out += fmt::format("{};", *x);
    else if (const auto* s = std::get_if<std::string>(&v))
      out += *s + ";";
    else if (const auto* b = std::get_if<bool>(&v))
      out += *b ? "1;" : "0;";
    else if (const auto* o = std::get_if<ObjectRef>(&v))
      out += fmt::format("{};", o->object);
    else
      out += ";";
  }
  return out;
}

MeasuredRows rows_of(const MeasuredTable& t, const Zoo& zoo) {
  return detail::rows_with(t, zoo, t.median_of_repeats);
}

MeasuredRows detail::rows_with(const MeasuredTable& t, const Zoo& zoo, bool merged) {
  MeasuredRows out;
  if (t.measurand == nullptr) {
    out.left_out.push_back({t.unpredicted, t.data.rows()});
    return out;
  }
  const RowFiller filler(t, zoo);
  const auto leave = [&](const std::string& reason) {
    for (auto& l : out.left_out)
      if (l.reason == reason) {
        ++l.rows;
        return;
      }
    out.left_out.push_back({reason, 1});
  };
  std::map<std::string, std::size_t> seen;
  std::vector<std::vector<double>> repeats;
  for (std::size_t r = 0; r < t.data.rows(); ++r) {
    if (const auto reason = filler.excluded(r); !reason.empty()) {
      leave(reason);
      continue;
    }
    const auto value = t.measured->at(t.data, r);
    if (!value || !(*value > 0)) {
      leave(value ? "the measured value is not positive" : "the source states no value");
      continue;
    }
    auto inputs = t.measurand->blank();
    if (const auto reason = filler.fill(r, inputs.get()); !reason.empty()) {
      leave(reason);
      continue;
    }
    const double base = *value * t.unit_factor;
    if (merged) {
      const auto [at, fresh] = seen.emplace(detail::row_key(*t.measurand, inputs.get()), out.rows.size());
      if (!fresh) {
        repeats[at->second].push_back(base);
        continue;
      }
      repeats.push_back({base});
    }
    MeasuredRow row{.row = r, .measured = base, .inputs = std::move(inputs)};
    if (t.busy) row.busy = t.busy->at(t.data, r);
    for (const auto c : t.groups)
      row.group += fmt::format("{}{}", row.group.empty() ? "" : ", ", t.data.text(r, c));
    out.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    out.rows[i].repeats = repeats[i].size();
    out.rows[i].measured = median(repeats[i]);
  }
  return out;
}

}  // namespace mlsysim
