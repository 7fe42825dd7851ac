// Curves and heat maps: every point of a small space.

#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/plot/answer_pictures.hpp>

#include "detail/pass_pieces.hpp"

#include <mlsysim/reflect/label.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim {
namespace {

using Cell = Table::Cell;
constexpr double kMostPoints = 20000;

[[noreturn]] void wrong_shape(const Space& space, std::string expected, std::string hint) {
  throw InputError({.id = "mlsysim.picture.010",
                    .message = "this picture needs another space",
                    .found = fmt::format("{} axes, {} points", space.axes().size(), space.size()),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

/// One point with what is shown of it.
struct Point {
  std::vector<std::size_t> rows;
  bool feasible = false;
  std::vector<double> shown{};
  std::string part{};  ///< the longest part of the time; empty where the subject has none
};

struct Points {
  std::vector<Point> points;
  Exponents exps{};
  std::string meaning;
};

/// Parts of a time, of which the longest is what binds.
std::vector<std::string> parts_of(const Subject& s, std::string_view result) {
  for (const std::string_view time :
       {result == "ttft" ? result : std::string_view("itl"), std::string_view("step_latency"),
        std::string_view("latency"), std::string_view("ttft")}) {
    std::vector<std::string> out;
    for (const auto& part : parts_of_time(time))
      if (find_field(s.entry.results, part.name) != nullptr) out.emplace_back(part.name);
    if (out.size() > 1 && find_field(s.entry.results, time) != nullptr) return out;
  }
  return {};
}

Points points_of(const Space& space, std::string_view result) {
  if (static_cast<double>(space.size()) > kMostPoints)
    wrong_shape(space, fmt::format("at most {:g} points", kMostPoints), "take fewer values of the axes");
  Points out;
  Question q;
  q.show = {std::string(result)};
  const auto& sample = space.sample();
  const auto parts = parts_of(sample, result);
  q.show.insert(q.show.end(), parts.begin(), parts.end());
  const ExpressionScope scope{sample.entry.inputs, sample.entry.results};
  out.exps = Expression::parse(q.show[0], scope).exponents();
  if (const auto* f = find_field(sample.entry.results, result)) out.meaning = f->meaning;
  visit_points(space, q, 0, space.size(), [&](const RowBlock& b) {
    for (std::size_t i = 0; i < b.points; ++i) {
      Point p{.rows = space.rows_at(b.first + i), .feasible = b.skipped.empty() && b.feasible[i] != 0};
      if (b.skipped.empty())
        for (const auto* column : b.shown) p.shown.push_back(column[i]);
      p.feasible = p.feasible && std::isfinite(p.shown[0]);
      for (std::size_t k = 0; p.feasible && k < parts.size(); ++k)
        if (p.part.empty() ||
            p.shown[k + 1] > p.shown[1 + static_cast<std::size_t>(
                                             std::find(parts.begin(), parts.end(), p.part) - parts.begin())])
          p.part = parts[k];
      out.points.push_back(std::move(p));
    }
  });
  return out;
}

double largest_of(const Points& all) {
  double out = 0;
  for (const auto& p : all.points)
    if (p.feasible) out = std::max(out, std::abs(p.shown[0]));
  return out;
}

std::string left_out(const Points& all) {
  const auto n =
      std::count_if(all.points.begin(), all.points.end(), [](const Point& p) { return !p.feasible; });
  return n == 0 ? std::string()
                : fmt::format("{} of {} points do not fit or are no plan, and are not drawn.", n,
                              all.points.size());
}

/// "decode_network" as words: "collectives".
std::string part_words(std::string_view name) {
  for (const std::string_view time : {"ttft", "itl", "step_latency", "latency"})
    for (const auto& part : parts_of_time(time))
      if (part.name == name) return std::string(part.words);
  return std::string(name);
}

void require_some(const Space& space, const Points& all) {
  if (std::none_of(all.points.begin(), all.points.end(), [](const Point& p) { return p.feasible; }))
    throw DomainError({.id = std::string(kNothingFits),
                       .message = "no point of the space fits, and there is nothing to draw",
                       .found = fmt::format("{} points that do not fit or are no plan", space.size()),
                       .expected = "one that fits",
                       .hint = "mlsysim sweep of the same words says of each point why it does not"});
}

}  // namespace

Picture curve_picture(const Space& space, std::string_view result) {
  const auto& axes = space.axes();
  std::size_t along = axes.size();
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].rows.empty() && axes[a].names.size() == 1) along = a;
  if (along == axes.size() || axes.size() > 2)
    wrong_shape(space, "one axis of numbers, and at most one beside it", "e.g. --axis batch_size=1..256*2");
  const auto all = points_of(space, result);
  require_some(space, all);
  const auto& axis = axes[along];
  const std::size_t other = axes.size() == 2 ? 1 - along : axes.size();
  const Exponents& xe = axis.numbers.exponents();
  const auto x = readable_unit(axis.number(axis.size() - 1), xe),
             y = readable_unit(largest_of(all), all.exps);
  PictureMark line{
      .shape = MarkShape::line, .x = "x", .y = "y", .series = other < axes.size() ? "choice" : ""};
  line.data = {.schema = "mlsysim/curve@1",
               .title = std::string(result),
               .columns = {{"choice"}, {"x", x, axis.title()}, {"y", y, std::string(result)}, {"longest"}}};
  PictureMark kinks{.shape = MarkShape::point, .x = "x", .y = "y", .label = "label"};
  kinks.data = {
      .schema = "mlsysim/kinks@1", .title = "kinks", .columns = {{"choice"}, {"x", x}, {"y", y}, {"label"}}};
  double low = INFINITY, high = 0;
  const std::size_t lines = other < axes.size() ? axes[other].size() : 1;
  for (std::size_t l = 0; l < lines; ++l) {
    const auto name = other < axes.size()
                          ? fmt::format("{} {}", label_of(axes[other].title()), axes[other].label(l))
                          : label_of(result);
    std::string before;
    for (const auto& p : all.points) {
      if (!p.feasible || (other < axes.size() && p.rows[other] != l)) continue;
      const double at = axis.number(p.rows[along]);
      line.data.rows.push_back({name, Cell(at, xe), Cell(p.shown[0], all.exps), p.part});
      low = std::min(low, p.shown[0]);
      high = std::max(high, p.shown[0]);
      if (!before.empty() && before != p.part)
        kinks.data.rows.push_back({name, Cell(at, xe), Cell(p.shown[0], all.exps),
                                   fmt::format("{} becomes the longest part", part_words(p.part))});
      before = p.part;
    }
  }
  const double first = axis.number(0), last = axis.number(axis.size() - 1);
  Picture p{
      .kind = "curve",
      .title =
          fmt::format("{}: {} over {}", space.problem().title(), label_of(result), label_of(axis.title())),
      .description = fmt::format(
          "{} from {} to {} as {} goes from {} to {}.", all.meaning.empty() ? label_of(result) : all.meaning,
          pretty(AnyQuantity::from_base(low, all.exps), 3), pretty(AnyQuantity::from_base(high, all.exps), 3),
          label_of(axis.title()), axis.label(0), axis.label(axis.size() - 1)),
      .x = {.title = label_of(axis.title()),
            .unit = x,
            .scale = first > 0 && last / first > 20 ? Scale::logarithmic : Scale::linear},
      .y = {.title = label_of(result),
            .unit = y,
            .scale = low > 0 && high / low > 30 ? Scale::logarithmic : Scale::linear},
      .sources = detail::assumed_sources(space.sample().assumptions)};
  if (auto note = left_out(all); !note.empty()) p.notes.push_back(std::move(note));
  p.marks.push_back(std::move(line));
  if (!kinks.data.rows.empty()) p.marks.push_back(std::move(kinks));
  return p;
}

Picture heat_map_picture(const Space& space, std::string_view result) {
  const auto& axes = space.axes();
  if (axes.size() != 2)
    wrong_shape(space, "two axes", "e.g. --axis batch_size=1..64*2 --axis tp_size=1,2,4,8");
  const auto all = points_of(space, result);
  require_some(space, all);
  // The longer axis runs from left to right.
  const std::size_t x = axes[0].size() >= axes[1].size() ? 0 : 1, y = 1 - x;
  const auto unit = readable_unit(largest_of(all), all.exps);
  PictureMark cells{
      .shape = MarkShape::cell, .x = "x", .y = "y", .label = "label", .amount = std::string(result)};
  cells.data = {
      .schema = "mlsysim/heat-map@1",
      .title = std::string(result),
      .columns = {
          {"x", "", axes[x].title()}, {"y", "", axes[y].title()}, {std::string(result), unit}, {"label"}}};
  Picture p{.kind = "heatmap",
            .title = fmt::format("{}: {} over {} and {}", space.problem().title(), label_of(result),
                                 label_of(axes[x].title()), label_of(axes[y].title())),
            .x = {.title = label_of(axes[x].title()), .scale = Scale::category},
            .y = {.title = label_of(axes[y].title()), .scale = Scale::category},
            .sources = detail::assumed_sources(space.sample().assumptions)};
  for (std::size_t i = 0; i < axes[x].size(); ++i) p.x.categories.push_back(axes[x].label(i));
  for (std::size_t i = 0; i < axes[y].size(); ++i) p.y.categories.push_back(axes[y].label(i));
  double low = INFINITY, high = -INFINITY;
  for (const auto& point : all.points) {
    const bool has = point.feasible;
    const double value = has ? point.shown[0] : 0;
    if (has) low = std::min(low, value), high = std::max(high, value);
    cells.data.rows.push_back(
        {p.x.categories[point.rows[x]], p.y.categories[point.rows[y]], has ? Cell(value, all.exps) : Cell(),
         has ? pretty(
                   AnyQuantity::from_base(value, all.exps).in(unit.empty() ? canonical_unit(all.exps) : unit),
                   3)
             : std::string()});
  }
  p.description = fmt::format(
      "{} from {} (light) to {} (dark).", all.meaning.empty() ? label_of(result) : all.meaning,
      pretty(AnyQuantity::from_base(low, all.exps), 3), pretty(AnyQuantity::from_base(high, all.exps), 3));
  if (!unit.empty()) p.notes.push_back(fmt::format("Numbers are in {}.", unit));
  if (auto note = left_out(all); !note.empty()) p.notes.push_back(note + " They are hatched.");
  p.marks.push_back(std::move(cells));
  return p;
}

}  // namespace mlsysim
