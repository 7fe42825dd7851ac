#include <mlsysim/intervals/residual_groups.hpp>

#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim {
namespace {

/// Reads the groups of one document and keeps every fault.
class GroupReader {
 public:
  explicit GroupReader(const YamlDocument& document) : document_(document) {}

  std::vector<ResidualGroup> read() {
    const auto& root = document_.root();
    const YamlValue *schema = root.find("schema"), *list = root.find("groups");
    if (schema == nullptr || schema->text != kResidualsSchema)
      fault(root, "the file of residuals has another schema", std::string(kResidualsSchema));
    std::vector<ResidualGroup> out;
    if (list == nullptr || list->kind != YamlValue::Kind::sequence)
      fault(root, "'groups' is missing", "a list of groups");
    else
      for (const auto& item : list->items) out.push_back(group(item));
    if (problems_.empty()) return out;
    const auto title = fmt::format("{}: {} problems", document_.file(), problems_.size());
    throw ErrorList({.id = "mlsysim.intervals.002", .message = title}, std::move(problems_));
  }

 private:
  void fault(const YamlValue& at, std::string message, std::string expected) {
    problems_.push_back(document_.placed({.id = "mlsysim.intervals.001",
                                          .message = std::move(message),
                                          .found = at.describe(),
                                          .expected = std::move(expected),
                                          .hint = "write it afresh: mlsysim validate --write-residuals FILE"},
                                         at));
  }
  double number(const YamlValue& v) {
    double out = 0;
    const auto* end = v.text.data() + v.text.size();
    const auto [stop, failed] = std::from_chars(v.text.data(), end, out);
    if (v.kind != YamlValue::Kind::scalar || failed != std::errc{} || stop != end || !std::isfinite(out))
      fault(v, "a residual or a count is not a number", "a finite number");
    return out;
  }
  ResidualGroup group(const YamlValue& item) {
    ResidualGroup g;
    const std::pair<std::string_view, std::string*> texts[] = {
        {"metric", &g.subject.metric}, {"device", &g.subject.device}, {"generation", &g.subject.generation},
        {"origin", &g.subject.origin}, {"family", &g.subject.family}, {"table", &g.table}};
    for (const auto& [name, text] : texts)
      if (const YamlValue* v = item.find(name); v != nullptr)
        *text = v->text;
      else
        fault(item, fmt::format("a group has no '{}'", name), "a text");
    const YamlValue *rows = item.find("rows"), *residuals = item.find("residuals");
    if (rows == nullptr || residuals == nullptr || residuals->items.empty())
      fault(item, "a group has no rows or no residuals", "rows: N, residuals: [numbers]");
    if (item.pairs.size() > std::size(texts) + 2)
      fault(item, "a group has keys that are not known",
            "metric, device, generation, origin, family, table, rows, residuals");
    if (rows != nullptr) g.rows = static_cast<std::size_t>(std::max(0.0, number(*rows)));
    if (residuals != nullptr)
      for (const auto& v : residuals->items) g.residuals.push_back(number(v));
    std::sort(g.residuals.begin(), g.residuals.end());
    return g;
  }

  const YamlDocument& document_;
  std::vector<ErrorFacts> problems_;
};

}  // namespace

std::vector<double> thinned(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  if (residuals.size() <= kMostResiduals) return residuals;
  std::vector<double> out;
  for (std::size_t i = 0; i < kMostResiduals; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(kMostResiduals) *
                      static_cast<double>(residuals.size());
    out.push_back(residuals[static_cast<std::size_t>(at)]);
  }
  return out;
}

std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name) {
  const auto document = YamlDocument::parse(std::move(text), std::move(name));
  return GroupReader(document).read();
}

std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file) {
  const auto document =
      YamlDocument::read(file.empty() ? zoo_directory() / "validation" / "residuals.yaml" : file);
  return GroupReader(document).read();
}

std::string to_yaml(const std::vector<ResidualGroup>& groups) {
  std::string out = fmt::format(
      "# What predictions missed, by groups of measured rows, log(measured / predicted) of times:\n"
      "# mlsysim validate --write-residuals FILE\nschema: {}\ngroups:\n",
      kResidualsSchema);
  for (const auto& g : groups) {
    std::string list;
    for (const double r : g.residuals)
      list += fmt::format("{}{:.3f}", list.empty() ? "" : ", ", r == 0 ? 0.0 : r);
    const auto& s = g.subject;
    out += fmt::format(
        "- {{metric: {}, device: {}, generation: {}, origin: {}, family: {}, table: {}, rows: {},\n"
        "   residuals: [{}]}}\n",
        s.metric, yaml_quoted(s.device), yaml_quoted(s.generation), yaml_quoted(s.origin),
        yaml_quoted(s.family), yaml_quoted(g.table), g.rows, list);
  }
  return out;
}

}  // namespace mlsysim
