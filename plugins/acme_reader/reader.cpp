// A reader of programs and a writer of figures. The importer's format is an ending, so that a path with it
// may stand wherever a model is named: `mlsysim eval net.acmeops H100`. A file is lines of
//   product NAME ROWS COLUMNS DEPTH [TIMES]
//   pointwise NAME VALUES [TIMES]
// and comments that begin with '#'.
#include <mlsysim/plugin/mlsysim_plugin.hpp>

#include <fmt/format.h>

#include <ctime>
#include <sstream>
#include <string>

namespace {

using namespace mlsysim;

std::string record(std::string_view file, int number, const std::string& line) {
  std::istringstream in(line);
  std::string kind, name;
  double a = 0, b = 0, c = 0, times = 1;
  in >> kind >> name >> a;
  if (kind == "product") in >> b >> c;
  const bool complete = !in.fail() && (kind == "product" || kind == "pointwise");
  if (complete && !(in >> times)) times = 1;
  const bool positive = a >= 1 && times >= 1 && (kind == "pointwise" || (b >= 1 && c >= 1));
  if (!complete || !positive ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_/.0123456789") != std::string::npos)
    throw InputError("acme_reader.001", "a line is no operator", "", "'" + line + "'",
                     "product NAME ROWS COLUMNS DEPTH [TIMES], or pointwise NAME VALUES [TIMES]",
                     "write one operator on a line, sizes as whole numbers above zero",
                     {std::string(file), number});
  if (kind == "product")
    return fmt::format(
        "  - {{path: {}, op: product, times: {}, rows: {}, columns: {}, depth: {}, reads: {}, writes: {}, "
        "weights: {}, stored: {}, weighted: true}}\n",
        name, times, a, b, c, a * c, a * b, b * c, b * c);
  return fmt::format("  - {{path: {}, op: pointwise, times: {}, flops: {}, reads: {}, writes: {}}}\n", name,
                     times, a, a, a);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

/// A name that the zoo takes, from the name of the file.
std::string entry_name(std::string_view file) {
  std::string name(file.substr(file.find_last_of('/') + 1));
  name.resize(name.find('.'));
  for (auto& c : name)
    if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z')) c = '_';
  return "Acme_" + name;
}

std::string import_ops(std::string_view file, std::string_view bytes) {
  std::string out = "schema: mlsysim/model@2\nentries:\n- name: " + entry_name(file) +
                    "\n  origin: user\n  source: {kind: secondary, recorded: " + today() +
                    ", note: a list of operators}\n"
                    "  category: program\n  architecture: program\n  operators:\n";
  std::istringstream in{std::string(bytes)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number)
    if (!line.empty() && line.front() != '#') out += record(file, number, line);
  return out;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string export_csv(const MlsObject* object) {
  std::string out = "path,value,unit\n";
  for (const auto& f : plugin::sdk::figures(object)) {
    if (f.kind == MLS_OBJECT) continue;
    const auto value = f.kind == MLS_NUMBER ? format_exact(f.number)
                       : f.kind == MLS_FLAG ? std::string(f.flag ? "true" : "false")
                                            : f.text;
    out += quoted(f.path) + "," + quoted(value) + "," + (f.kind == MLS_NUMBER ? f.text : "") + "\n";
  }
  return out;
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "acme-reader",
                 .space = "acme_reader",
                 .version = "1.0.0",
                 .summary = "Programs from .acmeops files, entries as CSV",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE})) {
  plugin.importer("Ops", "A program from a list of operators", ".acmeops", &import_ops);
  plugin.exporter("FiguresCsv", "Every figure of an entry in base units", "csv", &export_csv);
}
