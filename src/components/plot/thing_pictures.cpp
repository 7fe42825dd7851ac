#include <mlsysim/plot/thing_pictures.hpp>

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/validation/validate.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace mlsysim {
namespace {

using Cell = Table::Cell;

/// Boxes with words, and lines between them.
struct Sketch {
  PictureMark boxes{.shape = MarkShape::bar,
                    .data = {.schema = "mlsysim/boxes@1",
                             .title = "boxes",
                             .columns = {{"name"}, {"is"}, {"x"}, {"x_end"}, {"y"}, {"y_end"}, {"label"}}},
                    .x = "x",
                    .y = "y",
                    .x_end = "x_end",
                    .y_end = "y_end",
                    .series = "is",
                    .label = "label"};
  PictureMark lines{.shape = MarkShape::rule,
                    .data = {.schema = "mlsysim/lines@1",
                             .title = "lines",
                             .columns = {{"from"}, {"to"}, {"x"}, {"x_end"}, {"y"}, {"y_end"}, {"label"}}},
                    .x = "x",
                    .y = "y",
                    .x_end = "x_end",
                    .y_end = "y_end",
                    .label = "label"};

  void box(std::string name, std::string_view is, double x, double x_end, double y, double y_end,
           std::string label) {
    boxes.data.rows.push_back({std::move(name), is, x, x_end, y, y_end, std::move(label)});
  }
  void line(std::string from, std::string to, double x, double y, double x_end, double y_end,
            std::string label = {}) {
    lines.data.rows.push_back({std::move(from), std::move(to), x, x_end, y, y_end, std::move(label)});
  }
  void into(Picture& p) {
    p.x.scale = p.y.scale = Scale::place;
    if (!lines.data.rows.empty()) p.marks.push_back(std::move(lines));
    p.marks.push_back(std::move(boxes));
  }
};

/// A network level that joins `peers` groups of the next level.
struct Join {
  std::string name, words;
  double peers = 1;
};

std::string words_of_level(const LinkLevel& l) {
  auto out =
      fmt::format("{}: {}", l.name, l.topology == LinkTopology::torus ? "axis of a torus" : "switched");
  if (l.bandwidth) out += fmt::format(", {} one way", pretty(AnyQuantity(*l.bandwidth), 3));
  if (l.latency) out += fmt::format(", {}", pretty(AnyQuantity(*l.latency), 3));
  if (l.oversubscription > 1) out += fmt::format(", {:g} to 1", l.oversubscription);
  return out;
}

Join inner_join(const Node& node) {
  Join j{"node", node.name, node.accelerators_per_node};
  if (!node.intra_node_topology.empty()) j.words += ": " + node.intra_node_topology;
  if (node.intra_node_bandwidth)
    j.words += fmt::format(", {} one way", pretty(AnyQuantity(*node.intra_node_bandwidth), 3));
  else if (node.accelerator != nullptr && node.accelerator->device_link.bandwidth)
    j.words += fmt::format(", {} one way", pretty(AnyQuantity(*node.accelerator->device_link.bandwidth), 3));
  return j;
}

Join outer_join(const Fleet& fleet) {
  Join j{"fabric", fleet.fabric != nullptr ? fleet.fabric->name : std::string("no network"), fleet.count};
  if (fleet.fabric == nullptr) return j;
  if (!fleet.fabric->topology.empty()) j.words += ": " + fleet.fabric->topology;
  if (fleet.fabric->bandwidth)
    j.words += fmt::format(", {} one way", pretty(AnyQuantity(*fleet.fabric->bandwidth), 3));
  if (fleet.fabric->latency) j.words += fmt::format(", {}", pretty(AnyQuantity(*fleet.fabric->latency), 3));
  if (fleet.fabric->oversubscription > 1)
    j.words += fmt::format(", {:g} to 1", fleet.fabric->oversubscription);
  return j;
}

/// From the outermost to the innermost.
std::vector<Join> joins_of(const Fleet& fleet) {
  std::vector<Join> out;
  if (fleet.count > 1) {
    if (fleet.levels.empty()) out.push_back(outer_join(fleet));
    for (auto l = fleet.levels.rbegin(); l != fleet.levels.rend(); ++l)
      out.push_back({l->name, words_of_level(*l), l->peers});
  }
  if (fleet.node->levels.empty()) out.push_back(inner_join(*fleet.node));
  for (auto l = fleet.node->levels.rbegin(); l != fleet.node->levels.rend(); ++l)
    out.push_back({l->name, words_of_level(*l), l->peers});
  return out;
}

void add_source(Picture& p, const Entry* entry) {
  if (entry == nullptr || entry->source.ref.empty()) return;
  if (std::find(p.sources.begin(), p.sources.end(), entry->source.ref) == p.sources.end())
    p.sources.push_back(entry->source.ref);
}

}  // namespace

Picture topology_picture(const Fleet& fleet) {
  constexpr std::size_t kMostBoxes = 8;
  const auto joins = joins_of(fleet);
  const auto& device = *fleet.node->accelerator;
  Sketch s;
  double top = 0, parent = 5;
  for (std::size_t k = 0; k < joins.size(); ++k) {
    const bool innermost = k + 1 == joins.size();
    s.box(joins[k].name, "network", 0, 10, top - 0.55, top, joins[k].words);
    if (k > 0) s.line(joins[k - 1].name, joins[k].name, parent, top + 0.6, parent, top);
    const auto all = static_cast<std::size_t>(joins[k].peers);
    const auto n = std::clamp<std::size_t>(all, 1, kMostBoxes);
    const double width = 10.0 / static_cast<double>(n), y = top - 1.2;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = width * static_cast<double>(i), middle = x + width / 2;
      const bool rest = all > n && i + 1 == n;
      const std::string what = innermost ? device.name : joins[k + 1].name;
      s.line(joins[k].name, what, middle, top - 0.55, middle, y);
      s.box(fmt::format("{} {}", what, i + 1), innermost ? "device" : "group", x + 0.06 * width,
            x + 0.94 * width, y - 0.6, y,
            rest ? fmt::format("... {} in all", all)
            : innermost && device.memory.capacity && n <= 4
                ? fmt::format("{}, {}", what, pretty(AnyQuantity(*device.memory.capacity), 3))
                : what);
      if (i == 0) parent = middle;
    }
    top = y - 1.2;
  }
  Picture p{.kind = "topology",
            .title = fmt::format("{}: {:g} x {}", fleet.name, fleet.total_accelerators(), device.name),
            .notes = {"Of each level one group is drawn out; bandwidth is one way and per port or device."}};
  p.description = "The machine from its outermost network to the device:";
  for (const auto& j : joins) p.description += fmt::format(" {:g} below {};", j.peers, j.words);
  p.description.back() = '.';
  s.into(p);
  add_source(p, fleet.entry);
  add_source(p, fleet.node->entry);
  if (fleet.fabric != nullptr) add_source(p, fleet.fabric->entry);
  add_source(p, device.entry);
  return p;
}

Picture layers_picture(const Workload& model, const Zoo& zoo, double context) {
  MemoryQuestion q;
  q.model = &model;
  q.context = context;
  const auto account = memory_account(q, conventions_of(zoo));
  constexpr Exponents kData = Data<>::dimension::exps;
  double largest = 0;
  for (const auto& i : account.items) largest = std::max(largest, i.bytes.base());
  const auto read_in = readable_unit(largest, kData);
  PictureMark m{
      .shape = MarkShape::bar, .x = "from", .y = "layer", .x_end = "to", .series = "part", .label = "label"};
  m.data = {.schema = "mlsysim/layers@1",
            .title = model.name,
            .columns = {
                {"layer"}, {"part"}, {"layers"}, {"weights"}, {"from", read_in}, {"to", read_in}, {"label"}}};
  Picture p{
      .kind = "layers",
      .title = fmt::format("{}: layers", model.name),
      .description = fmt::format("{} in all; bytes as stored, and the cache of one request of {:g} tokens.",
                                 pretty(AnyQuantity(account.parameters), 4), context),
      .x = {.title = "bytes", .unit = read_in, .from_zero = true},
      .y = {.title = "layer", .scale = Scale::category}};
  for (const auto& i : account.items) {
    if (i.part == MemoryPart::reserve || i.part == MemoryPart::margin || !(i.bytes > Data<>())) continue;
    auto name = fmt::format("{}: {}", name_of(i.part), i.what);
    while (std::find(p.y.categories.begin(), p.y.categories.end(), name) != p.y.categories.end()) name += " ";
    p.y.categories.push_back(name);
    std::string label = pretty(AnyQuantity(i.bytes), 3);
    if (i.layers > 0) label += fmt::format(", {:g} layers", i.layers);
    if (i.weights > Params<>()) label += ", " + pretty(AnyQuantity(i.weights), 3);
    m.data.rows.push_back({name, name_of(i.part), i.layers, i.weights / unit::param, Cell(0.0, kData),
                           Cell(i.bytes.base(), kData), std::move(label)});
  }
  p.marks.push_back(std::move(m));
  add_source(p, model.entry);
  p.notes = account.notes;
  return p;
}

namespace {

/// The first fields of an edge, and how many more there are.
std::string fields_text(const std::vector<std::string>& fields) {
  return fields.size() <= 2 ? fmt::format("{}", fmt::join(fields, ", "))
                            : fmt::format("{}, {} more", fields[0], fields.size() - 1);
}

}  // namespace

Picture pipeline_picture(const Pipeline& pipeline) {
  const auto graph = nlohmann::json::parse(pipeline.to_json());
  std::map<std::string, std::size_t> level;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> edges;  // from, to, fields
  for (const auto& given : graph.at("given")) level[given.get<std::string>()] = 0;
  for (const auto& stage : graph.at("stages")) {
    const auto name = stage.at("name").get<std::string>();
    std::size_t at = 1;
    for (const auto& input : stage.at("inputs")) {
      if (!input.contains("from") || !input.at("from").is_array()) continue;
      for (const auto& source : input.at("from")) {
        const bool given = source.contains("given");
        if (!given && !source.contains("stage")) continue;
        const auto from = source.at(given ? "given" : "stage").get<std::string>();
        at = std::max(at, level[from] + 1);
        edges[from][name].push_back(input.at("name").get<std::string>());
      }
    }
    level[name] = at;
  }
  std::map<std::size_t, std::vector<std::string>> columns;
  for (const auto& given : graph.at("given")) columns[0].push_back(given.get<std::string>());
  for (const auto& stage : graph.at("stages")) {
    const auto name = stage.at("name").get<std::string>();
    columns[level[name]].push_back(name);
  }
  Sketch s;
  std::map<std::string, std::pair<double, double>> place;
  for (const auto& [column, names] : columns)
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double x = 3.0 * static_cast<double>(column),
                   y = -(static_cast<double>(i) + 0.5) / static_cast<double>(names.size()) * 6;
      place[names[i]] = {x, y};
      s.box(names[i], column == 0 ? "given" : "stage", x, x + 1.9, y - 0.3, y + 0.3, names[i]);
    }
  for (const auto& [from, to] : edges)
    for (const auto& [name, fields] : to)
      s.line(from, name, place[from].first + 1.9, place[from].second, place[name].first, place[name].second,
             fields_text(fields));
  Picture p{.kind = "pipeline",
            .title = fmt::format("{}: {} stage{}", pipeline.name(), pipeline.size(),
                                 pipeline.size() == 1 ? "" : "s"),
            .description =
                fmt::format("{} given values feed {} stages; lines are named by the inputs that they meet.",
                            columns[0].size(), pipeline.size())};
  s.into(p);
  return p;
}

namespace {

/// Predicted over measured for the rows of tables that measure one dimension; nothing where no row is
/// predicted.
std::optional<Picture> accuracy_of(const std::vector<const TableResult*>& results, const Exponents& exps) {
  PictureMark m{.shape = MarkShape::point, .x = "measured", .y = "predicted", .series = "table"};
  double low = INFINITY, high = 0;
  Picture p{.kind = "accuracy", .title = "Predicted against measured"};
  for (const auto* r : results) {
    for (const auto& row : r->rows) {
      if (!(row.predicted > 0) || !(row.measured > 0)) continue;
      m.data.rows.push_back(
          {r->table->name, row.label, Cell(row.measured, exps), Cell(row.predicted, exps), row.error()});
      low = std::min({low, row.measured, row.predicted});
      high = std::max({high, row.measured, row.predicted});
    }
    p.description += fmt::format("{}: median error {:.1f} % over {} rows. ", r->table->name,
                                 100 * r->errors.median, r->errors.rows);
    p.sources.push_back(r->table->reference);
  }
  if (m.data.rows.empty()) return std::nullopt;
  const auto unit = readable_unit(std::sqrt(low * high), exps);
  m.data.schema = "mlsysim/accuracy@1";
  m.data.title = "rows";
  m.data.columns = {{"table"}, {"row"}, {"measured", unit}, {"predicted", unit}, {"error"}};
  PictureMark lines{
      .shape = MarkShape::rule, .x = "x", .y = "y", .x_end = "x_end", .y_end = "y_end", .label = "label"};
  lines.data = {.schema = "mlsysim/equality@1",
                .title = "equality and 20 % to each side",
                .columns = {{"x", unit}, {"y", unit}, {"x_end", unit}, {"y_end", unit}, {"label"}}};
  for (const auto& [share, words] :
       {std::pair(1.0, "equal"), std::pair(1.2, "+20 %"), std::pair(0.8, "-20 %")})
    lines.data.rows.push_back(
        {Cell(low, exps), Cell(low * share, exps), Cell(high, exps), Cell(high * share, exps), words});
  p.x = {.title = "measured", .unit = unit, .scale = Scale::logarithmic};
  p.y = {.title = "predicted", .unit = unit, .scale = Scale::logarithmic};
  p.marks.push_back(std::move(lines));
  p.marks.push_back(std::move(m));
  return p;
}

}  // namespace

std::vector<NamedPicture> accuracy_pictures(std::span<const TableResult> results) {
  std::vector<std::pair<Exponents, std::vector<const TableResult*>>>
      dimensions;  // in the order of the tables
  for (const auto& r : results) {
    if (r.rows.empty()) continue;
    const auto own = AnyQuantity::parse(fmt::format("1 {}", r.table->measurand->unit())).exponents();
    auto at = std::ranges::find(dimensions, own, [](const auto& d) { return d.first; });
    if (at == dimensions.end()) at = dimensions.insert(at, {own, {}});
    at->second.push_back(&r);
  }
  std::vector<NamedPicture> out;
  for (const auto& [exps, tables] : dimensions)
    if (auto p = accuracy_of(tables, exps)) {
      auto name = dimension_name(exps);
      name.resize(std::min(name.find(" ["), name.size()));
      if (dimensions.size() > 1) p->title += ": " + name;
      out.push_back({std::move(name), std::move(*p)});
    }
  if (out.empty())
    throw InputError({.id = "mlsysim.picture.012",
                      .message = "no row of these tables is predicted",
                      .found = "none",
                      .expected = "one at least"});
  return out;
}

}  // namespace mlsysim
