#include <mlsysim/ops/regression/matrix.hpp>

#include "ops/regression/budget_text.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/detail/yaml_faults.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <set>

namespace mlsysim {
namespace {

using Kind = YamlValue::Kind;

constexpr std::size_t kMostCells = 100'000;

/// A whole number of a text; nothing where it is none.
std::optional<std::size_t> count_of(const std::string& text) {
  std::size_t out = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
  return bad == std::errc{} && end == text.data() + text.size() && out > 0 ? std::optional(out)
                                                                           : std::nullopt;
}

/// Models of a list in the form of a model hub: [{"id": "meta-llama/Llama-3.1-8B", "downloads": 12}, ...], or
/// of ids alone. Each model counts once.
struct HubModel {
  std::string name;
  double downloads = 0;
};
std::vector<HubModel> hub_models(const std::filesystem::path& file) {
  const auto bytes = files::read(file, "a list of models in JSON", 64U << 20);
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  std::vector<HubModel> out;
  std::set<std::string> once;
  const auto add = [&](const nlohmann::json& id, double downloads) {
    if (!id.is_string() || !once.insert(id.get<std::string>()).second) return;
    out.push_back({id.get<std::string>(), downloads});
  };
  if (json.is_array())
    for (const auto& row : json) {
      add(row, 0);
      if (!row.is_object()) continue;
      const auto id = row.contains("id") ? row.find("id") : row.find("modelId");
      const auto n = row.find("downloads");
      if (id != row.end()) add(*id, n != row.end() && n->is_number() ? n->get<double>() : 0);
    }
  if (out.empty())
    throw InputError({.id = "mlsysim.ci.001",
                      .message = fmt::format("{} is no list of models", file.string()),
                      .found = json.is_discarded() ? "no JSON" : "no entry with an id",
                      .expected = "[\"...\"] or [{\"id\": \"...\", \"downloads\": 12}, ...]",
                      .hint = "take the answer of the hub's /api/models"});
  return out;
}

/// Where the records of a model lie: beside the matrix, with the name of the model where it says {model}.
std::filesystem::path records_of(const std::filesystem::path& records, const std::string& model,
                                 const std::filesystem::path& folder) {
  constexpr std::string_view place = "{model}";
  auto text = records.string();
  if (text.empty()) return {};
  if (const auto at = text.find(place); at != std::string::npos) {
    auto file = model;  // a hub's id as hubs and mlsysim.dynamo_export name files: organization--name
    const auto slash = file.find('/');
    if (slash != std::string::npos && !std::filesystem::exists(model)) file.replace(slash, 1, "--");
    text.replace(at, place.size(), file);
  }
  return folder / text;  // an absolute path stays as it is
}

/// Reads the parts of one matrix.
class MatrixReader {
 public:
  MatrixReader(const YamlDocument& document, const Zoo& zoo, const std::filesystem::path& file)
      : faults_(document, "a matrix", {"mlsysim.ci.002", "mlsysim.ci.003", "mlsysim.ci.004"}),
        root_(document.root()),
        zoo_(zoo) {
    out_.file = file;
  }

  CiMatrix read() {
    static const std::vector<std::string> known{"version", "models",  "hardware", "precision", "pipelines",
                                                "exclude", "metrics", "budgets",  "baseline",  "fleet"};
    if (!faults_.is_map(root_, "the file", "a map with models, hardware, pipelines and metrics"))
      faults_.raise();
    faults_.only(root_, "", known);
    if (const auto* v = faults_.need(root_, "version", "version: \"1\""); v != nullptr && v->text != "1")
      faults_.wrong(*v, "version", "\"1\"");
    models();
    names("hardware", "hardware: [H100, A100]", hardware_);
    if (root_.find("precision") != nullptr) names("precision", "precision: [bf16]", precision_);
    if (precision_.empty()) precision_.emplace_back("default");
    pipelines();
    metrics();
    budgets();
    fleet();
    baseline();
    exclusions();
    faults_.raise();
    combine();
    faults_.raise();
    return std::move(out_);
  }

 private:
  void names(std::string_view key, std::string_view example, std::vector<std::string>& to) {
    if (const auto* v = faults_.need(root_, key, example)) to = faults_.texts(*v, key);
    const std::set<std::string> once(to.begin(), to.end());
    if (once.size() != to.size()) faults_.wrong(*root_.find(key), key, "each name once");
  }

  void models() {
    const auto* v = faults_.need(root_, "models", "models: [Llama3_8B]");
    if (v == nullptr) return;
    if (v->kind != Kind::map) return names("models", "models: [Llama3_8B]", models_);
    static const std::vector<std::string> known{"top", "by", "family", "list"};
    faults_.only(*v, "models", known);
    const auto* top = faults_.need(*v, "top", "top: 5");
    const auto count = top != nullptr ? count_of(top->text) : std::nullopt;
    if (top != nullptr && !count) faults_.wrong(*top, "models.top", "a whole number above 0");
    const auto* list = v->find("list");
    const auto* by = v->find("by");
    const std::string order = by != nullptr ? by->text : list != nullptr ? "downloads" : "parameters";
    if (order != "parameters" && order != "name" && (order != "downloads" || list == nullptr))
      faults_.wrong(*(by != nullptr ? by : v), "models.by",
                    "parameters or name, or downloads where there is a list");
    std::vector<std::string> family;
    if (const auto* f = v->find("family")) family = faults_.texts(*f, "models.family");
    if (faults_.any()) return;
    faults_.collect(*v, [&] { choose(list, order, family, count.value_or(1)); });
  }

  void choose(const YamlValue* list, const std::string& order, const std::vector<std::string>& family,
              std::size_t count) {
    struct Found {
      double rank;
      std::string name;
      std::vector<std::string> notes;
    };
    std::vector<Found> found;
    const auto consider = [&](const Workload& w, HubModel named, std::vector<std::string> notes) {
      if (!family.empty() && std::find(family.begin(), family.end(), w.category) == family.end()) return;
      const double rank = order == "downloads" ? named.downloads
                          : order == "name"    ? 0.0
                                               : w.parameters.value_or(Params<>()).base();
      found.push_back({rank, std::move(named.name), std::move(notes)});
    };
    if (list != nullptr) {
      const auto path = out_.file.parent_path() / list->text;
      for (auto& m : hub_models(path)) {
        auto named = detail::model_of(m.name, zoo_);
        if (const auto* w = zoo_.find<Workload>(named.entry); w != nullptr)
          consider(*w, std::move(m), std::move(named.notes));
        else
          out_.notes.push_back(fmt::format("{} names {}, which the zoo does not have", list->text, m.name));
      }
    } else {
      for (const auto* w : zoo_.all<Workload>()) consider(*w, {w->name}, {});
    }
    // A list that states no downloads keeps its order.
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
      return a.rank != b.rank ? a.rank > b.rank : order != "downloads" && a.name < b.name;
    });
    if (found.empty())
      throw InputError({.id = "mlsysim.ci.005",
                        .message = "no model is chosen",
                        .found = family.empty() ? "no model of the zoo"
                                                : fmt::format("none in {}", fmt::join(family, ", ")),
                        .expected = "a family that the zoo has",
                        .hint = "mlsysim zoo list model shows families"});
    found.resize(std::min(found.size(), count));
    for (auto& f : found) {
      models_.push_back(std::move(f.name));
      out_.notes.insert(out_.notes.end(), f.notes.begin(), f.notes.end());
    }
  }

  void pipelines() {
    const auto* v = faults_.need(root_, "pipelines", "pipelines: {serve: {batch_size: 16}}");
    if (v == nullptr || !faults_.is_map(*v, "pipelines", "a map of names")) return;
    for (const auto& [name, body] : v->pairs) {
      MatrixCell p{.pipeline = name.text};
      const auto path = "pipelines." + name.text;
      if (body.kind != Kind::null && !faults_.is_map(body, path, "a map of inputs")) continue;
      for (const auto& [key, value] : body.pairs) {
        if (!faults_.is_text(value, path + "." + key.text, "one value")) continue;
        if (key.text == "resolver")
          p.resolver = value.text;
        else if (key.text == "records")
          p.records = value.text;
        else
          p.fields[key.text] = value.text;
        for (const std::string_view axis : {"workload", "model", "hardware", "precision"})
          if (key.text == axis && (axis != "precision" || root_.find("precision") != nullptr))
            faults_.add(key,
                        {.id = "mlsysim.ci.006",
                         .message = fmt::format("the pipeline '{}' sets what the matrix varies", name.text),
                         .key = key.text,
                         .found = fmt::format("'{}'", key.text),
                         .expected = "inputs that no axis has",
                         .hint = "put it into models, hardware or precision"});
      }
      if (!p.records.empty() && !p.resolver.empty() && p.resolver != "CompilationModel")
        faults_.wrong(body, path + ".resolver", "CompilationModel where there are records");
      if (!p.resolver.empty() && ResolverRegistry::standard().find(p.resolver) == nullptr)
        faults_.add(body, {.id = "mlsysim.ci.007",
                           .message = fmt::format("there is no resolver '{}'", p.resolver),
                           .key = path,
                           .found = fmt::format("'{}'", p.resolver),
                           .expected = "a resolver",
                           .hint = did_you_mean(p.resolver, ResolverRegistry::standard().names())});
      pipelines_.push_back(std::move(p));
    }
  }

  void metrics() {
    const auto* v = faults_.need(root_, "metrics", "metrics: {itl: {relative: 1 %}}");
    if (v == nullptr) return;
    if (v->kind == Kind::sequence) {
      for (const auto& item : v->items)
        if (faults_.is_text(item, "metrics", "names"))
          out_.metrics.push_back({.name = item.text, .where = item.where});
      return;
    }
    if (!faults_.is_map(*v, "metrics", "a list of names, or a map from names to tolerances")) return;
    static const std::vector<std::string> known{"relative", "absolute", "better"};
    for (const auto& [name, body] : v->pairs) {
      WatchedMetric m{.name = name.text, .where = name.where};
      const auto path = "metrics." + name.text;
      if (body.kind != Kind::null && !faults_.is_map(body, path, "a map of tolerances")) continue;
      faults_.only(body, path, known);
      for (const auto& pair : body.pairs) {
        const auto& key = pair.key;
        const auto& value = pair.value;
        if (!faults_.is_text(value, path + "." + key.text, "one value")) continue;
        if (key.text == "better") {
          m.better = choice_of<Better>(value.text);
          if (!m.better) faults_.wrong(value, path + ".better", "lower, higher or neither");
          continue;
        }
        faults_.collect(value, [&] {
          const auto q = AnyQuantity::parse(value.text, value.where);
          if (key.text == "absolute") m.absolute = q;
          if (key.text != "relative") return;
          m.relative = q.as<dim::none>();
          if (!(m.relative >= 0)) faults_.wrong(value, path + ".relative", "0 or more, such as 1 %");
        });
      }
      out_.metrics.push_back(std::move(m));
    }
  }

  void budgets() {
    const auto* v = root_.find("budgets");
    if (v == nullptr || !faults_.is_list(*v, "budgets", "a list of budgets")) return;
    for (const auto& item : v->items)
      if (faults_.is_text(item, "budgets", "a budget such as 'itl <= 30 ms'"))
        faults_.collect(item, [&] { out_.budgets.push_back(detail::read_budget(item.text, item.where)); });
  }

  void fleet() {
    const auto* v = root_.find("fleet");
    if (v == nullptr || !faults_.is_map(*v, "fleet", "a map with accelerators and device_hour")) return;
    static const std::vector<std::string> known{"accelerators", "device_hour"};
    faults_.only(*v, "fleet", known);
    FleetPrice price;
    if (const auto* n = faults_.need(*v, "accelerators", "accelerators: 512"))
      faults_.collect(*n,
                      [&] { price.accelerators = AnyQuantity::parse(n->text, n->where).as<dim::none>(); });
    if (const auto* p = faults_.need(*v, "device_hour", "device_hour: 2 USD"))
      faults_.collect(*p,
                      [&] { price.device_hour = AnyQuantity::parse(p->text, p->where).as<dim::money>(); });
    out_.fleet = price;
  }

  void baseline() {
    const auto* v = root_.find("baseline");
    if (v != nullptr && !faults_.is_text(*v, "baseline", "a path")) return;
    out_.baseline =
        out_.file.parent_path() / (v != nullptr ? v->text : out_.file.stem().string() + ".baseline.yaml");
  }

  void exclusions() {
    if (const auto* v = root_.find("exclude"))
      for (const auto& text : faults_.texts(*v, "exclude"))
        faults_.collect(*v, [&] { exclude_.push_back(detail::cell_pattern(text, v->where)); });
  }

  void combine() {
    if (models_.size() * hardware_.size() * precision_.size() * pipelines_.size() > kMostCells)
      return faults_.wrong(root_, "the matrix", fmt::format("at most {} cells", kMostCells));
    for (const auto& model : models_)
      for (const auto& hardware : hardware_)
        for (const auto& precision : precision_)
          for (auto cell : pipelines_) {
            cell.model = model;
            cell.hardware = hardware;
            cell.precision = precision;
            cell.records = records_of(cell.records, model, out_.file.parent_path());
            const auto name = cell.name();
            if (std::none_of(exclude_.begin(), exclude_.end(),
                             [&](const std::regex& r) { return std::regex_match(name, r); }))
              out_.cells.push_back(std::move(cell));
          }
    if (out_.cells.empty()) faults_.wrong(root_, "the matrix", "at least one cell");
  }

  detail::YamlFaults faults_;
  const YamlValue& root_;
  const Zoo& zoo_;
  CiMatrix out_;
  std::vector<std::string> models_, hardware_, precision_;
  std::vector<MatrixCell> pipelines_;
  std::vector<std::regex> exclude_;
};

}  // namespace

std::string MatrixCell::name() const {
  return fmt::format("{}/{}/{}/{}", model, hardware, precision, pipeline);
}

std::optional<std::string> MatrixCell::label(std::string_view label) const {
  if (label == "model") return model;
  if (label == "hardware") return hardware;
  if (label == "precision") return precision;
  if (label == "pipeline") return pipeline;
  if (label == "cell") return name();
  return std::nullopt;
}

CiMatrix read_matrix(const std::filesystem::path& file, const Zoo& zoo) {
  const auto document = YamlDocument::read(file);
  return MatrixReader(document, zoo, file).read();
}

}  // namespace mlsysim
