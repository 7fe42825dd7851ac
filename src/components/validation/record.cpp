#include <mlsysim/validation/record.hpp>

#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::string_view kRecordSchema = "mlsysim/validation-record@1";

double rounded(double share) { return std::round(share * 1e4) / 1e4; }

ErrorFacts fault(const YamlDocument& document, const YamlValue& at, std::string message,
                 std::string expected) {
  return document.placed({.id = "mlsysim.validation.070",
                          .message = std::move(message),
                          .found = at.describe(),
                          .expected = std::move(expected),
                          .hint = "write the record afresh: mlsysim validate --write-record"},
                         at);
}

ErrorStatistics read_entry(const YamlDocument& document, const YamlValue& map,
                           std::vector<ErrorFacts>& problems) {
  ErrorStatistics s;
  double rows = 0;
  const std::pair<std::string_view, double*> fields[] = {{"rows", &rows},   {"median", &s.median},
                                                         {"mean", &s.mean}, {"p90", &s.p90},
                                                         {"max", &s.max},   {"bias", &s.bias}};
  for (const auto& [name, slot] : fields) {
    const YamlValue* v = map.find(name);
    if (v == nullptr) {
      problems.push_back(fault(document, map, fmt::format("'{}' is missing", name), "a number"));
      continue;
    }
    const auto* end = v->text.data() + v->text.size();
    const auto [stop, failed] = std::from_chars(v->text.data(), end, *slot);
    if (failed != std::errc{} || stop != end || !std::isfinite(*slot))
      problems.push_back(fault(document, *v, fmt::format("'{}' is not a number", name), "a number"));
  }
  if (map.pairs.size() > std::size(fields))
    problems.push_back(
        fault(document, map, "there are keys that are not known", "rows, median, mean, p90, max, bias"));
  s.rows = rows >= 0 ? static_cast<std::size_t>(rows) : 0;
  return s;
}

/// A whole table and the sample of it that ships are recorded apart.
constexpr std::string_view kWhole = "@whole";

std::string record_key(const MeasuredTable& table) {
  return table.sample_of > 0 && table.whole ? fmt::format("{}{}", table.name, kWhole) : table.name;
}

}  // namespace

std::string table_of_entry(std::string_view entry) {
  return std::string(entry.substr(0, entry.size() - (entry.ends_with(kWhole) ? kWhole.size() : 0)));
}

ErrorRecord read_record(const std::filesystem::path& file) {
  const auto document =
      YamlDocument::read(file.empty() ? zoo_directory() / "validation" / "record.yaml" : file);
  const auto& root = document.root();
  std::vector<ErrorFacts> problems;
  ErrorRecord out;
  const YamlValue *schema = root.find("schema"), *tables = root.find("tables");
  if (schema == nullptr || schema->text != kRecordSchema)
    problems.push_back(fault(document, root, "the record has another schema", std::string(kRecordSchema)));
  if (tables == nullptr || tables->kind != YamlValue::Kind::map)
    problems.push_back(fault(document, root, "'tables' is missing", "a map of tables"));
  else
    for (const auto& [name, entry] : tables->pairs) out[name.text] = read_entry(document, entry, problems);
  if (problems.empty()) return out;
  const auto title = fmt::format("{}: {} problems", document.file(), problems.size());
  throw ErrorList({.id = "mlsysim.validation.071", .message = title}, std::move(problems));
}

ErrorRecord record_of(std::span<const TableResult> results) {
  ErrorRecord out;
  for (const auto& r : results) {
    if (r.table->measurand == nullptr) continue;
    auto e = r.errors;
    for (double* x : {&e.median, &e.mean, &e.p90, &e.max, &e.bias}) *x = rounded(*x);
    out[record_key(*r.table)] = e;
  }
  return out;
}

std::string to_yaml(const ErrorRecord& record) {
  std::string out = fmt::format(
      "# Errors of the predictions when this record was written: mlsysim validate --write-record\nschema: "
      "{}\ntables:\n",
      kRecordSchema);
  for (const auto& [name, e] : record)
    out += fmt::format("  {}: {{rows: {}, median: {}, mean: {}, p90: {}, max: {}, bias: {}}}\n", name, e.rows,
                       e.median, e.mean, e.p90, e.max, e.bias);
  return out;
}

std::vector<Regression> regressions(const ErrorRecord& record, std::span<const TableResult> results,
                                    RecordScope scope) {
  std::vector<Regression> out;
  if (scope == RecordScope::all_tables)
    for (const auto& [name, e] : record) {
      const std::string known = table_of_entry(name);
      const bool found = std::ranges::any_of(results, [&](const TableResult& r) {
        return r.table->name == known && r.table->measurand != nullptr;
      });
      if (!found)
        out.push_back({name, "rows, the table is not compared any more", static_cast<double>(e.rows), 0, 0});
    }
  for (const auto& r : results) {
    if (r.table->measurand == nullptr) continue;
    const auto known = record.find(record_key(*r.table));
    if (known == record.end()) {
      out.push_back({r.table->name, "not in the record", 0, r.errors.mean, 0});
      continue;
    }
    const auto& e = known->second;
    if (r.errors.rows < e.rows)
      out.push_back(
          {r.table->name, "rows", static_cast<double>(e.rows), static_cast<double>(r.errors.rows), 0});
    const auto worse = [&](const char* what, double recorded, double found) {
      if (found > recorded + r.table->tolerance + 5e-5)
        out.push_back({r.table->name, what, recorded, found, r.table->tolerance});
    };
    worse("median", e.median, r.errors.median);
    worse("mean", e.mean, r.errors.mean);
  }
  return out;
}

}  // namespace mlsysim
