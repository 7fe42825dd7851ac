#include "detail/definition_reader.hpp"

#include "detail/result_text.hpp"

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace mlsysim::detail {
namespace {

constexpr std::string_view kDefinitionSchema = "mlsysim/validation@1";

/// Collects every fault of one definition.
class Reader {
 public:
  Reader(const YamlDocument& document, const std::function<CsvTable(const std::string&)>& open)
      : doc_(document), open_(open) {}

  MeasuredTable run() {
    const auto& root = doc_.root();
    if (root.kind != YamlValue::Kind::map) {
      fault(root, "the definition of a table is not a map", root.describe(),
            "keys such as 'title' and 'data'", "");
      raise();
    }
    known(root, {"schema",    "title",       "data",      "source",   "note",   "definitions", "measurand",
                 "measured",  "inputs",      "derived",   "left_out", "groups", "labels",      "repeats",
                 "tolerance", "unpredicted", "sample_of", "busy",     "join",   "aim"});
    if (word(root, "schema") != kDefinitionSchema)
      fault(root, "the definition has another schema", word(root, "schema"), std::string(kDefinitionSchema),
            "begin with 'schema: mlsysim/validation@1'");
    t_.title = word(root, "title");
    t_.note = word(root, "note", Need::optional);
    source(root);
    const auto data = word(root, "data");
    raise();
    t_.data = open_(data);
    if (const YamlValue* v = root.find("sample_of")) sample_of(*v);
    if (const YamlValue* v = root.find("join")) join(*v);
    raise();
    if (const YamlValue* v = root.find("derived")) derived(*v);
    t_.unpredicted = word(root, "unpredicted", Need::optional);
    columns(root, "labels", t_.labels);
    if (t_.unpredicted.empty()) compared(root);
    raise();
    return std::move(t_);
  }

 private:
  enum class Need : std::uint8_t { required, optional };

  void fault(const YamlValue& at, std::string message, std::string found, std::string expected,
             std::string hint) {
    problems_.push_back(doc_.placed({.id = "mlsysim.validation.040",
                                     .message = std::move(message),
                                     .found = std::move(found),
                                     .expected = std::move(expected),
                                     .hint = std::move(hint)},
                                    at));
  }
  void raise() {
    if (problems_.empty()) return;
    const auto title = fmt::format("{}: {} problems", doc_.file(), problems_.size());
    throw ErrorList({.id = "mlsysim.validation.041", .message = title}, std::move(problems_));
  }
  /// Faults of parts that throw by themselves are collected as well.
  template <class F> void attempt(const YamlValue& at, F&& f) {
    try {
      f();
    } catch (const ErrorList&) {
      throw;
    } catch (const Error& error) {
      problems_.push_back(error.facts().where.line > 0 ? error.facts() : doc_.placed(error.facts(), at));
    }
  }
  void known(const YamlValue& map, std::vector<std::string> names) {
    for (const auto& [key, value] : map.pairs)
      if (std::find(names.begin(), names.end(), key.text) == names.end())
        fault(key, fmt::format("the key '{}' is not known here", key.text), "'" + key.text + "'",
              fmt::format("one of {}", fmt::join(names, ", ")), did_you_mean(key.text, names));
  }
  std::string word(const YamlValue& map, std::string_view key, Need need = Need::required) {
    const YamlValue* v = map.find(key);
    if (v != nullptr && v->kind == YamlValue::Kind::scalar && !v->text.empty()) return v->text;
    if (v != nullptr)
      fault(*v, fmt::format("'{}' is not a text", key), v->describe(), "a text that is not empty", "");
    else if (need == Need::required)
      fault(map, fmt::format("'{}' is missing", key), "nothing", fmt::format("a key '{}'", key), "add it");
    return {};
  }
  std::vector<std::string> words(const YamlValue& list, std::string_view key) {
    std::vector<std::string> out;
    if (list.kind != YamlValue::Kind::sequence)
      fault(list, fmt::format("'{}' is not a list", key), list.describe(), "a list of words", "write [a, b]");
    for (const auto& item : list.items)
      out.push_back(item.kind == YamlValue::Kind::null ? std::string() : item.text);
    return out;
  }
  void columns(const YamlValue& root, std::string_view key, std::vector<std::size_t>& out) {
    const YamlValue* list = root.find(key);
    if (list == nullptr) return;
    for (const auto& name : words(*list, key))
      attempt(*list, [&] { out.push_back(t_.data.column(name, list->where)); });
  }
  /// Columns of a second file, found by columns that both have.
  void join(const YamlValue& map) {
    if (map.kind != YamlValue::Kind::map) {
      fault(map, "'join' is not a map", map.describe(), "{data: a file, by: [columns], columns: [columns]}",
            "");
      return;
    }
    known(map, {"data", "by", "columns"});
    const auto data = word(map, "data");
    std::array<std::vector<std::string>, 2> names;
    constexpr std::array<std::string_view, 2> keys{"by", "columns"};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const YamlValue* list = map.find(keys[i]);
      if (list != nullptr) names[i] = words(*list, keys[i]);
      if (names[i].empty())
        fault(list == nullptr ? map : *list, fmt::format("'{}' names no column", keys[i]), "nothing",
              "a list of columns", "write [a, b]");
    }
    if (!problems_.empty()) return;
    attempt(map, [&] {
      CsvTable other = open_(data);
      std::vector<std::size_t> here, there, taken;
      for (const auto& name : names[0]) {
        here.push_back(t_.data.column(name, map.where));
        there.push_back(other.column(name, map.where));
      }
      for (const auto& name : names[1]) taken.push_back(other.column(name, map.where));
      t_.data.join(std::move(other), here, there, taken);
    });
  }
  /// Columns that the source does not have, each from one that it has.
  void derived(const YamlValue& map) {
    if (map.kind != YamlValue::Kind::map) {
      fault(map, "'derived' is not a map", map.describe(),
            "a map of new columns: {column: ..., words: {theirs: ours}, otherwise: a word}", "");
      return;
    }
    for (const auto& [key, value] : map.pairs)
      attempt(value, [&, &name = key.text, &rule = value] {
        known(rule, {"column", "words", "otherwise"});
        const auto& there = t_.data.columns();
        if (std::find(there.begin(), there.end(), name) != there.end())
          fault(rule, fmt::format("the source has the column '{}' itself", name), "'" + name + "'",
                "a name that no column has", "name the derived column otherwise");
        std::vector<std::size_t> from;
        const YamlValue* columns = rule.find("column");
        if (columns != nullptr && columns->kind == YamlValue::Kind::sequence)
          for (const auto& item : columns->items) from.push_back(t_.data.column(item.text, item.where));
        else
          from.push_back(t_.data.column(word(rule, "column"), rule.where));
        std::map<std::string, std::string> words;
        if (const YamlValue* list = rule.find("words"))
          for (const auto& [theirs, ours] : list->pairs) words.emplace(theirs.text, ours.text);
        std::optional<std::string> otherwise;
        if (const YamlValue* v = rule.find("otherwise")) otherwise = v->text;
        if (from.size() > 1 && !otherwise)
          fault(rule, fmt::format("'{}' is made of several columns", name), "no 'otherwise'",
                "'otherwise': a word for all others", "add it, also where no row needs it");
        t_.data.derive(name, from, std::move(words), std::move(otherwise));
      });
  }
  void source(const YamlValue& root) {
    const YamlValue* s = root.find("source");
    if (s == nullptr || s->kind != YamlValue::Kind::map) {
      fault(s == nullptr ? root : *s, "the table has no source", s == nullptr ? "nothing" : s->describe(),
            "source: {kind: measured, ref: a key of references.yaml, recorded: a date}",
            "say where the figures come from");
      return;
    }
    known(*s, {"kind", "ref", "recorded", "verified", "licence", "hardware", "software", "note"});
    if (const auto kind = word(*s, "kind"); !kind.empty() && !choice_of<SourceKind>(kind)) {
      const std::vector<std::string> names(Choices<SourceKind>::names.begin(),
                                           Choices<SourceKind>::names.end());
      fault(*s->find("kind"), "'source.kind' has no such choice", "'" + kind + "'",
            fmt::format("one of {}", fmt::join(names, ", ")), did_you_mean(kind, names));
    }
    t_.reference = word(*s, "ref");
    t_.licence = word(*s, "licence", Need::optional);
    const YamlValue *recorded = s->find("recorded"), *verified = s->find("verified");
    if ((recorded == nullptr) == (verified == nullptr))
      fault(*s, "'source' needs one date",
            recorded != nullptr ? "both 'recorded' and 'verified'" : "neither 'recorded' nor 'verified'",
            "recorded: when the figures were entered, or verified: when the source was last read",
            "write, e.g., recorded: 2026-03-06");
    for (const YamlValue* date : {recorded, verified})
      if (date != nullptr && !valid_date(date->text))
        fault(*date, "this is no date", date->describe(), "a date of the calendar, YYYY-MM-DD",
              "write, e.g., 2026-03-06");
  }
  ColumnExpression expression(const YamlValue& v) {
    if (v.kind != YamlValue::Kind::scalar)
      throw InputError({.id = "mlsysim.validation.042",
                        .message = "this is no expression",
                        .found = v.describe(),
                        .expected = "a number or an expression over columns",
                        .where = v.where});
    return ColumnExpression::parse(v.text, t_.data, v.where);
  }

  void compared(const YamlValue& root) {
    const auto name = word(root, "measurand");
    if (name.empty()) return;
    attempt(*root.find("measurand"), [&] { t_.measurand = &measurand(name); });
    if (t_.measurand == nullptr) return;
    measured(root);
    if (const YamlValue* list = root.find("inputs"); list != nullptr && list->kind == YamlValue::Kind::map) {
      for (const auto& pair : list->pairs) attempt(pair.value, [&] { input(pair.key, pair.value); });
    } else {
      fault(list == nullptr ? root : *list, "'inputs' is missing", "nothing",
            "a map of inputs and where they come from", "");
    }
    for (const auto& f : t_.measurand->inputs()) {
      const bool given =
          std::any_of(t_.inputs.begin(), t_.inputs.end(), [&](const InputRule& r) { return r.field == &f; });
      if (f.required && !given)
        fault(root, fmt::format("the input '{}' ({}) of '{}' is missing", f.name, f.meaning, name), "nothing",
              fmt::format("a line '{}: ...' under 'inputs'", f.name), "");
    }
    if (const YamlValue* list = root.find("left_out")) {
      if (list->kind != YamlValue::Kind::sequence)
        fault(*list, "'left_out' is not a list", list->describe(), "a list of rules",
              "write - {when: a condition, reason: a text}");
      for (const auto& item : list->items) attempt(item, [&] { leave_out(item); });
    }
    columns(root, "groups", t_.groups);
    if (const YamlValue* v = root.find("busy")) attempt(*v, [&] { t_.busy = expression(*v); });
    if (const YamlValue* v = root.find("repeats")) {
      t_.median_of_repeats = v->text == "median";
      if (!t_.median_of_repeats) fault(*v, "'repeats' has no such choice", v->describe(), "median", "");
    }
    share(root, "tolerance", t_.tolerance);
    share(root, "aim", t_.aim);
  }
  void measured(const YamlValue& root) {
    const YamlValue* m = root.find("measured");
    if (m == nullptr || m->kind != YamlValue::Kind::map) {
      fault(m == nullptr ? root : *m, "'measured' is missing", "nothing",
            "measured: {value: an expression, unit: a unit}", "");
      return;
    }
    known(*m, {"value", "unit"});
    if (const YamlValue* v = m->find("value"))
      attempt(*v, [&] { t_.measured = expression(*v); });
    else
      fault(*m, "'measured.value' is missing", "nothing", "an expression over columns", "");
    attempt(*m, [&] {
      const auto unit = word(*m, "unit", Need::optional);
      t_.unit_factor = unit_factor(*t_.measurand, unit, "measured.unit");
    });
  }
  void input(const YamlValue& key, const YamlValue& value) {
    const FieldInfo* f = find_field(t_.measurand->inputs(), key.text);
    if (f == nullptr) {
      std::vector<std::string> names;
      for (const auto& i : t_.measurand->inputs()) names.push_back(i.name);
      fault(key, fmt::format("'{}' is no input of '{}'", key.text, t_.measurand->name()),
            "'" + key.text + "'", fmt::format("one of {}", fmt::join(names, ", ")),
            did_you_mean(key.text, names));
      return;
    }
    InputRule rule{.field = f};
    const bool number = f->kind == ValueKind::number || f->kind == ValueKind::quantity;
    if (value.kind == YamlValue::Kind::map) {
      known(value, {"column", "words", "otherwise"});
      rule.column = t_.data.column(word(value, "column"), value.where);
      if (const YamlValue* map = value.find("words"))
        for (const auto& [from, to] : map->pairs) rule.words.emplace(from.text, to.text);
      rule.otherwise = word(value, "otherwise", Need::optional);
    } else if (number) {
      rule.expression = expression(value);
    } else if (value.kind == YamlValue::Kind::scalar) {
      rule.word = value.text;
    } else {
      fault(value, fmt::format("'{}' cannot be read", key.text), value.describe(),
            "a word, an expression or a map with 'column'", "");
    }
    t_.inputs.push_back(std::move(rule));
  }
  void share(const YamlValue& root, std::string_view key, double& to) {
    const YamlValue* v = root.find(key);
    if (v == nullptr) return;
    const auto* end = v->text.data() + v->text.size();
    const auto [stop, failed] = std::from_chars(v->text.data(), end, to);
    if (failed != std::errc{} || stop != end || !(to >= 0 && to <= 1))
      fault(*v, fmt::format("'{}' is not a share", key), v->describe(), "a number from 0 to 1", "");
  }
  void sample_of(const YamlValue& v) {
    const auto* end = v.text.data() + v.text.size();
    const auto [stop, failed] = std::from_chars(v.text.data(), end, t_.sample_of);
    if (failed != std::errc{} || stop != end || t_.sample_of == 0)
      fault(v, "'sample_of' is not a count", v.describe(), "the records of the whole table, e.g. 11975", "");
  }
  void leave_out(const YamlValue& item) {
    LeaveOutRule rule;
    known(item, {"when", "column", "is", "reason"});
    rule.reason = word(item, "reason");
    const YamlValue *when = item.find("when"), *column = item.find("column"), *is = item.find("is");
    if ((column == nullptr) != (is == nullptr)) {
      fault(item, "'column' and 'is' belong together",
            column != nullptr ? "'column' without 'is'" : "'is' without 'column'", "both, or 'when' alone",
            "write - {column: a column, is: [a word], reason: a text}");
      return;
    }
    if ((when == nullptr) == (column == nullptr)) {
      fault(item, when == nullptr ? "the rule leaves out nothing" : "the rule has two conditions",
            when == nullptr ? "neither 'when' nor 'column' and 'is'" : "'when' beside 'column' and 'is'",
            "one of them", when == nullptr ? "" : "make two rules of it");
      return;
    }
    if (when != nullptr) rule.when = expression(*when);
    if (is != nullptr) {
      rule.column = t_.data.column(word(item, "column"), item.where);
      rule.words = words(*is, "is");
      if (is->kind == YamlValue::Kind::sequence && rule.words.empty())
        fault(*is, "'is' names no word", "an empty list", "a list of words", "");
    }
    t_.left_out.push_back(std::move(rule));
  }

  const YamlDocument& doc_;
  const std::function<CsvTable(const std::string&)>& open_;
  std::vector<ErrorFacts> problems_;
  MeasuredTable t_;
};

}  // namespace

MeasuredTable read_definition(const YamlDocument& document,
                              const std::function<CsvTable(const std::string&)>& open) {
  return Reader(document, open).run();
}

double unit_factor(const Measurand& measurand, std::string_view unit, std::string key,
                   const Location& where) {
  const auto one = AnyQuantity::parse(unit.empty() ? "1" : fmt::format("1 {}", unit));
  if (one.exponents() == exponents_of(measurand)) return one.base();
  throw DimensionError(
      {.id = "mlsysim.validation.043",
       .message = "the measured unit does not suit the measurand",
       .key = std::move(key),
       .found = unit.empty() ? "no unit" : fmt::format("{}", unit),
       .expected = measurand.unit().empty() ? "no unit" : fmt::format("a unit like {}", measurand.unit()),
       .where = where});
}

}  // namespace mlsysim::detail
