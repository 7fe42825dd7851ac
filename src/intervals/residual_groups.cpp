#include <mlsysim/intervals/residual_groups.hpp>

#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace mlsysim {
namespace {

/// Reads the groups of one document and keeps every fault.
class GroupReader {
 public:
  explicit GroupReader(const YamlDocument& document) : document_(document) {}

  std::vector<ResidualGroup> read(BandFactors* factors) {
    const auto& root = document_.root();
    if (const YamlValue* given = root.find("factors"); given != nullptr && factors != nullptr)
      for (const auto& distance : given->items) {
        auto& levels = factors->emplace_back();
        for (const auto& level : distance.items) levels.push_back(number(level));
        if (levels.size() != kIntervalLevels.size())
          fault(distance, "a distance has other levels", "one factor for each level");
      }
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
    struct Text {
      std::string_view name;
      std::string* text;
      bool optional = false;
    };
    auto& about = g.subject;
    const Text texts[] = {{"metric", &about.metric},           {"device", &about.device},
                          {"generation", &about.generation},   {"origin", &about.origin},
                          {"family", &about.family},           {"table", &g.table},
                          {"software", &about.software, true}, {"link", &about.link, true}};
    const std::pair<std::string_view, bool*> flags[] = {{"measured", &about.measured},
                                                        {"unmeasured", &g.unmeasured}};
    std::size_t known = 2;  // rows and residuals
    for (const auto& [name, text, optional] : texts)
      if (const YamlValue* v = item.find(name); v != nullptr) {
        *text = v->text;
        ++known;
      } else if (!optional) {
        fault(item, fmt::format("a group has no '{}'", name), "a text");
      }
    for (const auto& [name, flag] : flags)
      if (const YamlValue* v = item.find(name); v != nullptr) {
        *flag = v->text == "true";
        if (v->text != "true" && v->text != "false")
          fault(*v, fmt::format("'{}' is no flag", name), "true or false");
        ++known;
      }
    const YamlValue *rows = item.find("rows"), *residuals = item.find("residuals");
    if (rows == nullptr || residuals == nullptr || residuals->items.empty())
      fault(item, "a group has no rows or no residuals", "rows: N, residuals: [numbers]");
    if (item.pairs.size() > known)
      fault(item, "a group has keys that are not known",
            "metric, device, generation, origin, family, table, software, link, measured, unmeasured, rows, "
            "residuals");
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

void note_device(ErrorSubject& about, const HardwareNode* device) {
  if (device == nullptr) return;
  about.device = device->name;
  about.generation = device->device_class != nullptr ? device->device_class->name : std::string();
  bool own = false;
  const auto look = [&]<class Figures>(const Figures& figures) {
    for_each_field<Figures>([&](const auto& row) { own = own || (figures.*row.member).has_value(); });
  };
  look(device->efficiency);
  look(device->kernels);
  for (const auto name : {kProducts, kAttention, kCollectives})
    for (const auto& constants : standard_zoo().at<KernelFamily>(name).generations)
      own = own || measured_on(constants, *device);
  about.measured = own;
}

void note_engine(ErrorSubject& about, const ServingEngine& engine) {
  about.origin = about.software = engine.name;
  // A release or variant is called after what it extends: "vllm@0.12", "tensorrt_llm_cpp".
  for (const ServingEngine* e = engine.extends; e != nullptr && about.software.starts_with(e->name);
       e = e->extends)
    about.software = e->name;
}

std::string link_kind(const HardwareNode& device, const Node* node, double devices) {
  constexpr double usual = 8;
  if (!(devices > 1)) return {};
  const double joined =
      node == nullptr ? usual : node->domain_accelerators.value_or(node->accelerators_per_node);
  if (devices > joined) return "network";
  const bool bus = node != nullptr && !node->intra_node_topology.empty() ? node->intra_node_topology == "pcie"
                                                                         : !device.device_link.bandwidth;
  return bus ? "host bus" : "device link";
}

HardwareNode as_of_its_class(HardwareNode device) {
  device.efficiency = {};
  device.draw = {};
  device.kernels = {};
  device.tiles = {};
  device.collectives = {};
  device.entry = nullptr;  // on which nothing was measured
  device.same_die = nullptr;
  return device;
}

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

std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name, BandFactors* factors) {
  const auto document = YamlDocument::parse(std::move(text), std::move(name));
  return GroupReader(document).read(factors);
}

std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file, BandFactors* factors) {
  const auto document =
      YamlDocument::read(file.empty() ? zoo_directory() / "validation" / "residuals.yaml" : file);
  return GroupReader(document).read(factors);
}

std::string to_yaml(const std::vector<ResidualGroup>& groups) {
  std::string out = fmt::format(
      "# What predictions missed, by groups of measured rows, log(measured / predicted) of times:\n"
      "# mlsysim validate --write-residuals FILE\nschema: {}\nfactors:\n",
      kResidualsSchema);
  // Of the groups as they are read again.
  auto rounded = groups;
  for (auto& g : rounded)
    for (double& r : g.residuals) r = std::strtod(fmt::format("{:.3f}", r).c_str(), nullptr);
  const ErrorBook book(std::move(rounded));
  for (const auto& levels : book.factors()) out += fmt::format("- [{}]\n", fmt::join(levels, ", "));
  out += "groups:\n";
  for (const auto& g : groups) {
    std::string list;
    for (const double r : g.residuals)
      list += fmt::format("{}{:.3f}", list.empty() ? "" : ", ", r == 0 ? 0.0 : r);
    const auto& s = g.subject;
    std::string given;
    if (!s.software.empty()) given += fmt::format("software: {}, ", yaml_quoted(s.software));
    if (!s.link.empty()) given += fmt::format("link: {}, ", yaml_quoted(s.link));
    if (!s.measured) given += "measured: false, ";
    if (g.unmeasured) given += "unmeasured: true, ";
    out += fmt::format(
        "- {{metric: {}, device: {}, generation: {}, origin: {}, family: {}, table: {}, {}rows: {},\n"
        "   residuals: [{}]}}\n",
        s.metric, yaml_quoted(s.device), yaml_quoted(s.generation), yaml_quoted(s.origin),
        yaml_quoted(s.family), yaml_quoted(g.table), given, g.rows, list);
  }
  return out;
}

}  // namespace mlsysim
