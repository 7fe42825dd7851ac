#include <mlsysim/validation/measured_table.hpp>

#include "detail/definition_reader.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace mlsysim {
namespace {

namespace fs = std::filesystem;

fs::path folder_or_shipped(const fs::path& folder) {
  return folder.empty() ? zoo_directory() / "validation" : folder;
}

/// These hold results and checks, not tables.
bool is_table(const std::string& name) {
  return name != "record" && name != "calibrations" && name != "residuals";
}

/// The schema that a YAML file names in its first lines; empty without one.
std::string schema_of(const fs::path& file) {
  std::string head, schema;
  (void)files::read_pieces(file, 4096, [&](std::string_view piece) { head += piece; });
  std::istringstream lines(head);
  for (std::string line; schema.empty() && std::getline(lines, line);)
    if (line.starts_with("schema:")) {
      const auto first = line.find_first_not_of(" \"'", 7), last = line.find_last_not_of(" \"'\r");
      if (first != std::string::npos) schema = line.substr(first, last + 1 - first);
    }
  return schema;
}

/// Whether a file is of another kind of ours. One without a schema is a definition with a fault.
bool holds_other(const fs::path& file) {
  const auto schema = schema_of(file);
  return schema.starts_with("mlsysim/") && !schema.starts_with("mlsysim/validation@");
}

/// Names of YAML files below a folder, with those of other kinds or only those.
std::vector<std::string> names_below(const fs::path& root, bool others) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(root, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().extension() != ".yaml") continue;
    auto name = it->path().lexically_relative(root).replace_extension().generic_string();
    if (is_table(name) && holds_other(it->path()) == others) names.push_back(std::move(name));
  }
  if (failed)
    throw InputError({.id = "mlsysim.validation.030",
                      .message = "the folder of measured tables cannot be read",
                      .key = root.generic_string(),
                      .found = failed.message(),
                      .expected = "a readable folder",
                      .hint = "install mlsysim with its data, or name the folder",
                      .where = {.file = root.generic_string()}});
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string MeasuredTable::label(std::size_t row) const {
  std::string out;
  for (const auto c : labels) {
    const auto text = data.text(row, c);
    if (!text.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", data.columns()[c], text);
  }
  return out.empty() ? fmt::format("line {}", data.where(row, 0).line) : out;
}

std::vector<std::string> table_names(const fs::path& folder) {
  return names_below(folder_or_shipped(folder), false);
}

std::vector<std::string> files_of_other_kinds(const fs::path& folder) { return names_below(folder, true); }

fs::path whole_tables() {
  const char* value = files::secure() ? nullptr : std::getenv("MLSYSIM_TABLES");
  return value == nullptr ? "" : value;
}

MeasuredTable load_table(const std::string& name, const fs::path& folder, const fs::path& data) {
  const auto root = folder_or_shipped(folder);
  const auto names = table_names(root);
  std::vector<std::string> found;
  for (const auto& n : names)
    if (n == name || n.substr(n.rfind('/') + 1) == name) found.push_back(n);
  if (found.size() != 1)
    throw LookupError(
        {.id = "mlsysim.validation.031",
         .message = found.empty() ? fmt::format("there is no table '{}'", name)
                                  : fmt::format("'{}' is the name of several tables", name),
         .key = name,
         .found = found.empty() ? fmt::format("'{}'", name) : fmt::format("{}", fmt::join(found, ", ")),
         .expected = "the name of a table, as mlsysim validate --list shows it",
         .hint = name.ends_with(".csv") ? "name the definition beside it, a YAML file with 'data: ...'"
                                        : did_you_mean(name, names)});
  auto table = load_table_file(root / (found.front() + ".yaml"), data);
  table.name = found.front();
  table.topic = found.front().substr(0, found.front().find('/'));
  return table;
}

MeasuredTable load_table_file(const fs::path& definition, const fs::path& data) {
  const auto document = YamlDocument::read(definition);
  const bool sampled = document.root().find("sample_of") != nullptr;
  bool replaced = false;
  auto table = detail::read_definition(document, [&](const std::string& file) {
    const auto beside = definition.parent_path() / file;
    const auto all = data / definition.parent_path().filename() / file;
    std::error_code failed;
    const bool whole = sampled && !data.empty() && fs::is_regular_file(all, failed);
    replaced = replaced || whole;
    return CsvTable::read(whole ? all : beside);
  });
  table.whole = table.sample_of == 0 || replaced;
  table.name = definition.stem().generic_string();
  table.file = definition;
  return table;
}

MeasuredTable parse_table(std::string definition, const std::string& name, CsvTable data) {
  auto table = detail::read_definition(YamlDocument::parse(std::move(definition), name),
                                       [&](const std::string&) { return std::move(data); });
  table.name = name;
  return table;
}

}  // namespace mlsysim
