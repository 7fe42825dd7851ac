#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>

#include "detail/pass_pieces.hpp"

#include <mlsysim/engine/detail/finite.hpp>
#include <mlsysim/engine/detail/pass_order.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim {
namespace {

using detail::Numbers;
using Cell = Table::Cell;

using detail::kTime;
constexpr Exponents kIntensity = Intensity<>::dimension::exps;
constexpr Exponents kRate = ComputeRate<>::dimension::exps;

std::string operator_words(const OperatorRow& row) {
  return row.pass == "forward" ? row.name : fmt::format("{} ({})", row.name, row.pass);
}

/// A roof of the device: arithmetic, or a memory or link that feeds it.
struct Roof {
  std::string name;
  double bandwidth = 0;  ///< B/s; 0 for a roof of arithmetic
  double rate = 0;       ///< FLOP/s
};

std::vector<Roof> roofs_of(const Scenario& scenario, const Device<>& d, const Links<>& links) {
  const double peak = d.compute.dense.base();
  std::vector<Roof> out{{"matrix arithmetic", 0, peak}};
  if (d.compute.vector.base() < peak) out.push_back({"other arithmetic", 0, d.compute.vector.base()});
  out.push_back({"memory", d.memory.bandwidth.base(), peak});
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  const auto& memory = r.hardware().memory;
  if (memory.sram_bandwidth) out.push_back({"on-chip memory", memory.sram_bandwidth->base(), peak});
  if (r.accelerators() > 1) out.push_back({"links", links.level1.bandwidth.base(), peak});
  if (d.host_link.bandwidth > Bandwidth<>()) out.push_back({"host link", d.host_link.bandwidth.base(), peak});
  return out;
}

PictureMark roof_lines(const std::vector<Roof>& roofs, double low, double high) {
  PictureMark m{.shape = MarkShape::line, .x = "intensity", .y = "rate", .series = "roof", .label = "label"};
  m.data = {.schema = "mlsysim/roofs@1",
            .title = "roofs",
            .columns = {{"roof"}, {"intensity", "FLOP/B"}, {"rate", "FLOP/s"}, {"label"}}};
  const auto add = [&](const Roof& roof, double intensity, double rate, std::string label) {
    m.data.rows.push_back({roof.name, Cell(intensity, kIntensity), Cell(rate, kRate), std::move(label)});
  };
  for (const auto& roof : roofs) {
    if (roof.bandwidth == 0) {
      add(roof, low, roof.rate, {});
      add(roof, high, roof.rate, {});
      continue;
    }
    const double ridge = roof.rate / roof.bandwidth;
    add(roof, low, low * roof.bandwidth, {});
    if (ridge > low) add(roof, std::min(ridge, high), std::min(ridge, high) * roof.bandwidth, {});
  }
  return m;
}

PictureMark operator_points(const std::vector<OperatorRow>& rows) {
  PictureMark m{
      .shape = MarkShape::point, .x = "intensity", .y = "rate", .series = "limit", .label = "operator"};
  m.data = {.schema = "mlsysim/roofline@1",
            .title = "operators",
            .columns = {{"operator"},
                        {"limit", "", "what limits the operator"},
                        {"intensity", "FLOP/B"},
                        {"rate", "FLOP/s", "attained"},
                        {"time", "us", "of all its executions"},
                        {"share", "", "of the pass"}}};
  for (const auto& row : rows) {
    if (!(row.work > 0) || !(row.traffic > 0)) continue;
    m.data.rows.push_back({operator_words(row), "limited by " + row.limit,
                           Cell(row.work / row.traffic, kIntensity), Cell(row.work / row.time, kRate),
                           Cell(row.time, kTime), row.share});
  }
  return m;
}

[[noreturn]] void nothing_listed(std::string_view metric) {
  throw InputError({.id = "mlsysim.picture.005",
                    .message = fmt::format("'{}' has no operators with work and traffic", metric),
                    .found = "none",
                    .expected = "one at least"});
}

}  // namespace

Picture roofline_picture(const Scenario& scenario, std::string_view asked) {
  const auto metric = detail::metric_or_main(scenario, asked);
  auto rows = operator_table(scenario, metric);
  auto points = operator_points(rows);
  if (points.data.rows.empty()) nothing_listed(metric);
  Notes quiet;
  const auto problem = settle(ResolvedScenario(scenario, quiet), quiet);
  const auto& device = std::visit([](const auto& p) -> const Device<>& { return p.device; }, problem);
  const auto& links = std::visit([](const auto& p) -> const Links<>& { return p.links; }, problem);
  const auto roofs = roofs_of(scenario, device, links);
  const double peak = device.compute.dense.base();
  double low = peak / device.memory.bandwidth.base() / 10, high = low * 100, least = peak;
  for (const auto& row : points.data.rows) {
    low = std::min(low, std::get<double>(row[2].value) / 1.5);
    high = std::max(high, std::get<double>(row[2].value) * 1.5);
    least = std::min(least, std::get<double>(row[3].value));
  }
  const auto unit = readable_unit(peak, kRate);
  const double scale = AnyQuantity::from_base(1, kRate).in(unit);
  Picture p{
      .kind = "roofline",
      .title = fmt::format("{}: roofline of {}", detail::subject_words(scenario), label_of(metric)),
      .description = fmt::format(
          "Attained arithmetic rate of {} operators over their arithmetic intensity, below the roofs of "
          "the device. The largest share of the time, {:.0f} %, has {}, limited by {}.",
          points.data.rows.size(), 100 * rows.front().share, operator_words(rows.front()),
          rows.front().limit),
      .x = {.title = "arithmetic intensity",
            .unit = "FLOP/B",
            .scale = Scale::logarithmic,
            .low = low,
            .high = high},
      .y = {.title = "rate",
            .unit = unit,
            .scale = Scale::logarithmic,
            .low = least * scale / 3,
            .high = peak * scale * 1.8},
      .sources = detail::device_sources(scenario),
      .notes = {"Roofs are data-sheet rates; links and the host link are roofs for bytes that cross them. "
                "Operators without arithmetic, such as collectives, are in the timeline."}};
  p.marks.push_back(std::move(points));
  p.marks.push_back(roof_lines(roofs, low, high));
  return p;
}

namespace {

/// Bars one after the other, and the whole. A part that the names do not cover is said to be one.
Picture stacked(const std::vector<std::pair<std::string, double>>& parts, double whole, const Exponents& exps,
                std::string axis, const std::string& whole_words) {
  const auto unit = readable_unit(whole, exps);
  PictureMark m{
      .shape = MarkShape::bar, .x = "from", .y = "part", .x_end = "to", .series = "is", .label = "label"};
  m.data = {
      .schema = "mlsysim/parts@1",
      .title = axis,
      .columns = {{"part"}, {"is"}, {"from", unit}, {"to", unit}, {"size", unit}, {"share"}, {"label"}}};
  Picture p{.x = {.title = std::move(axis), .unit = unit, .from_zero = true},
            .y = {.title = "part", .scale = Scale::category}};
  double at = 0;
  const auto add = [&](const std::string& name, const char* is, double from, double size) {
    if (std::find(p.y.categories.begin(), p.y.categories.end(), name) != p.y.categories.end()) return;
    p.y.categories.push_back(name);
    const double share = whole != 0 ? size / whole : 0;
    m.data.rows.push_back(
        {name, is, Cell(from, exps), Cell(from + size, exps), Cell(size, exps), share,
         fmt::format("{} ({:.1f} %)", pretty(AnyQuantity::from_base(size, exps), 3), 100 * share)});
  };
  for (const auto& [name, size] : parts) {
    add(name, "part", at, size);
    at += size;
  }
  if (std::abs(whole - at) > 1e-6 * std::abs(whole))
    add(whole > at ? "other" : "runs beside another", "part", at, whole - at);
  add(whole_words, "whole", 0, whole);
  p.marks.push_back(std::move(m));
  return p;
}

}  // namespace

Picture waterfall_picture(const Scenario& scenario, std::string_view asked) {
  const auto metric = detail::metric_or_main(scenario, asked);
  const Numbers numbers(scenario);
  const auto names = parts_of_time(metric);
  const auto whole = numbers.find(metric);
  if (names.empty() || !whole)
    throw LookupError({.id = "mlsysim.picture.006",
                       .message = fmt::format("'{}' has no parts that are times", metric),
                       .key = metric,
                       .expected = "ttft, itl, step_latency or latency, by mode"});
  detail::check_finite(metric, *whole, scenario);
  std::vector<std::pair<std::string, double>> parts;
  for (const auto& [number, words] : names)
    if (const auto x = numbers.find(number); x && *x > 0) parts.emplace_back(words, *x);
  auto p = stacked(parts, *whole, kTime, label_of(metric), "in all");
  p.kind = "waterfall";
  p.title = fmt::format("{}: parts of {}", detail::subject_words(scenario), label_of(metric));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  p.description = fmt::format("{} is {}; the largest part of it is {}.", label_of(metric),
                              pretty(AnyQuantity::from_base(*whole, kTime)),
                              parts.empty() ? "not known" : parts.front().first);
  p.sources = detail::device_sources(scenario);
  return p;
}

Picture memory_picture(const Scenario& scenario) {
  const auto card = SystemEvaluator::evaluate(scenario);
  const auto* used = card.feasibility.find("memory_used");
  const auto* capacity = card.feasibility.find("memory_capacity");
  std::vector<std::pair<std::string, double>> parts;
  for (const auto& m : card.memory) parts.emplace_back(label_of(m.name.view()), std::get<double>(m.value));
  const double whole = std::get<double>(used->value);
  auto p = stacked(parts, whole, used->exps, "memory of the fullest device", "used");
  auto& table = p.marks.front().data;
  const double room = std::get<double>(capacity->value);
  p.y.categories.emplace_back("capacity");
  table.rows.push_back({"capacity", "capacity", Cell(0.0, used->exps), Cell(room, used->exps),
                        Cell(room, used->exps), room / whole,
                        pretty(AnyQuantity::from_base(room, used->exps), 3)});
  p.kind = "memory";
  p.title = fmt::format("{}: memory of one device", detail::subject_words(scenario));
  p.description = card.feasibility.summary.str() + ".";
  p.sources = detail::device_sources(scenario);
  return p;
}

namespace {

Picture money_picture(const Scenario& scenario, std::string_view whole_name,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
  const Numbers numbers(scenario);
  const auto whole = numbers.find(whole_name);
  if (!whole)
    throw InputError({.id = "mlsysim.picture.007",
                      .message = fmt::format("nothing says what '{}' of this machine is", whole_name),
                      .found = "no price or power of the device",
                      .expected = "both",
                      .hint = "give --unit-cost, or a device whose figures the zoo has"});
  std::vector<std::pair<std::string, double>> parts;
  for (const auto& [number, words] : names)
    if (const auto x = numbers.find(number)) parts.emplace_back(words, *x);
  auto p = stacked(parts, *whole, numbers.field(whole_name)->exps, label_of(whole_name), "in all");
  const auto card = SystemEvaluator::evaluate(scenario);
  p.description = card.macro.summary.str() + ".";
  for (const auto& a : card.assumptions)
    if (const auto s = std::string(a.source.view()); a.name.view().find("price") != std::string_view::npos ||
                                                     a.name.view().find("carbon") != std::string_view::npos ||
                                                     a.name.view().find("cost") != std::string_view::npos)
      if (std::find(p.sources.begin(), p.sources.end(), s) == p.sources.end()) p.sources.push_back(s);
  return p;
}

}  // namespace

Picture costs_picture(const Scenario& scenario) {
  auto p =
      money_picture(scenario, "tco",
                    {{"capex", "devices"}, {"energy_cost", "electricity"}, {"maintenance", "maintenance"}});
  p.kind = "costs";
  p.title = fmt::format("{}: costs of {:g} days", detail::subject_words(scenario), scenario.duration_days);
  return p;
}

Picture carbon_picture(const Scenario& scenario) {
  auto p = money_picture(scenario, "carbon_footprint",
                         {{"operational_carbon", "electricity"}, {"embodied_carbon", "making the devices"}});
  p.kind = "carbon";
  p.title =
      fmt::format("{}: emissions of {:g} days", detail::subject_words(scenario), scenario.duration_days);
  return p;
}

}  // namespace mlsysim
