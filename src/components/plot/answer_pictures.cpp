#include <mlsysim/plot/answer_pictures.hpp>

#include "detail/pass_pieces.hpp"

#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/detail/axis_words.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace mlsysim {
namespace {

using Cell = Table::Cell;

std::string quantity(double base, const Exponents& exps, int digits = 3) {
  return pretty(AnyQuantity::from_base(base, exps), digits);
}

[[noreturn]] void wrong(std::string message, std::string found, std::string expected, std::string hint = {}) {
  throw InputError({.id = "mlsysim.picture.009",
                    .message = std::move(message),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

}  // namespace

Picture tornado_picture(const SensitivityReport& r, std::size_t most) {
  const bool absolute = r.value == 0;
  const Exponents exps = absolute ? r.exps : Exponents{};
  double reach = 0;
  for (const auto& l : r.levers) reach = std::max(reach, l.reach());
  const auto unit = readable_unit(reach, exps);
  const auto change = absolute ? unit : std::string("%");
  PictureMark m{
      .shape = MarkShape::bar, .x = "from", .y = "name", .x_end = "to", .series = "move", .label = "label"};
  m.data = {
      .schema = "mlsysim/tornado@1",
      .title = r.result,
      .columns = {{"input"}, {"name"}, {"move"}, {"from", change}, {"to", change}, {"label"}, {"words"}}};
  const auto name = short_label(r.result);
  Picture p{
      .kind = "tornado",
      .title = fmt::format("{}: what moves {}", r.subject, name),
      .description = fmt::format("Change of {} when one input moves by {:g} % and the others stay.{}{}", name,
                                 100 * r.step, r.binding.empty() ? "" : " ", r.binding),
      .x = {.title = fmt::format("change of {}", name), .unit = change, .from_zero = true},
      .y = {.title = "input", .scale = Scale::category},
      .sources = detail::assumed_sources(r.assumptions),
      .notes = {fmt::format("{} = {}. Counts move to the next one.", name, quantity(r.value, r.exps, 4))}};
  for (const auto& l : r.levers) {
    if (p.y.categories.size() >= most || !(l.reach() > 0)) continue;
    p.y.categories.push_back(label_of(l.input));
    const auto bar = [&](const char* move, double to, double change_of) {
      if (!std::isfinite(change_of) || change_of == 0) return;
      m.data.rows.push_back({l.input, label_of(l.input), move, Cell(0.0, exps), Cell(change_of, exps),
                             fmt::format("{}{} at {}", change_of < 0 ? "-" : "+",
                                         r.change_text(std::abs(change_of), 2), quantity(to, l.exps)),
                             l.words});
    };
    bar("less", l.lower, l.at_lower);
    bar("more", l.upper, l.at_upper);
  }
  // Room for the words to the left of the longest bar.
  double low = 0, high = 0;
  for (const auto& l : r.levers)
    for (const double change_of : {l.at_lower, l.at_upper})
      if (std::isfinite(change_of)) low = std::min(low, change_of), high = std::max(high, change_of);
  const double to_unit = AnyQuantity::from_base(1, exps).in(change);
  p.x.low = (low - 0.3 * (high - low)) * to_unit;
  if (p.y.categories.empty()) wrong("nothing moves this result", r.result, "a lever with an effect");
  p.marks.push_back(std::move(m));
  p.marks.push_back({.shape = MarkShape::rule,
                     .data = {.schema = "mlsysim/zero@1",
                              .title = "no change",
                              .columns = {{"x"}},
                              .rows = {{Cell(0.0, exps)}}},
                     .x = "x"});
  return p;
}

Picture difference_picture(const DifferenceReport& r, std::size_t most) {
  const double largest = std::max(std::abs(r.at_from), std::abs(r.at_to));
  const auto unit = readable_unit(largest, r.exps);
  PictureMark m{
      .shape = MarkShape::bar, .x = "from", .y = "name", .x_end = "to", .series = "is", .label = "label"};
  m.data = {.schema = "mlsysim/difference-picture@1",
            .title = r.result,
            .columns = {{"figure"}, {"name"}, {"is"}, {"from", unit}, {"to", unit}, {"label"}}};
  const auto result = label_of(r.result);
  Picture p{.kind = "difference",
            .title = fmt::format("{} against {}: {}", r.to, r.from, result),
            .description =
                fmt::format("{} is {} with {} and {} with {}; the bars say which changed input makes "
                            "how much of the difference.",
                            result, quantity(r.at_from, r.exps), r.from, quantity(r.at_to, r.exps), r.to),
            .x = {.title = result, .unit = unit, .from_zero = true},
            .y = {.title = "input", .scale = Scale::category},
            .sources = detail::assumed_sources({}),
            .notes = {"Parts are Shapley values: the mean over all orders of the changes."}};
  const auto add = [&](const std::string& figure, const char* is, double from, double to) {
    const auto name = std::string_view(is) == "change" ? label_of(figure) : figure;
    if (std::find(p.y.categories.begin(), p.y.categories.end(), name) == p.y.categories.end())
      p.y.categories.push_back(name);
    m.data.rows.push_back({figure, name, is, Cell(from, r.exps), Cell(to, r.exps),
                           quantity(is[0] == 'c' ? to - from : to, r.exps)});
  };
  add(r.from + " (from)", "configuration", 0, r.at_from);
  m.data.rows.back().back() = quantity(r.at_from, r.exps);
  double at = r.at_from, rest = 0;
  for (std::size_t i = 0; i < r.terms.size(); ++i) {
    if (std::abs(r.terms[i].part) <= 1e-9 * largest) continue;
    if (i >= most) {
      rest += r.terms[i].part;
      continue;
    }
    add(r.terms[i].input, "change", at, at + r.terms[i].part);
    at += r.terms[i].part;
  }
  if (rest != 0) add(fmt::format("{} smaller", r.terms.size() - most), "change", at, at + rest);
  add(r.to + " (to)", "configuration", 0, r.at_to);
  m.data.rows.back().back() = quantity(r.at_to, r.exps);
  p.marks.push_back(std::move(m));
  return p;
}

Picture histogram_picture(const ExploreAnswer& answer) {
  if (!answer.histogram || answer.histogram->bins.empty())
    wrong("this answer has no histogram", answer.histogram ? "no feasible point" : "no expression",
          "feasible points", "mlsysim plot histogram ... RESULT --axis NAME=VALUES");
  const auto& h = *answer.histogram;
  const auto edge = [](int k) { return std::exp2(k / 4.0); };
  const auto unit = readable_unit(edge(h.bins.back().first + 1), h.exps);
  PictureMark m{.shape = MarkShape::bar, .x = "from", .y = "points", .x_end = "to"};
  m.data = {.schema = "mlsysim/histogram@1",
            .title = h.text,
            .columns = {{"from", unit}, {"to", unit}, {"points"}}};
  for (const auto& [k, count] : h.bins)
    m.data.rows.push_back({Cell(edge(k), h.exps), Cell(edge(k + 1), h.exps), count});
  Picture p{.kind = "histogram",
            .title = fmt::format("{}: {} over {:g} feasible points", answer.title, label_of(h.text),
                                 answer.feasible),
            .description =
                fmt::format("Number of feasible points by {}, in quarters of an octave.", label_of(h.text)),
            .x = {.title = label_of(h.text), .unit = unit, .scale = Scale::logarithmic},
            .y = {.title = "points", .from_zero = true},
            .marks = {std::move(m)},
            .sources = detail::assumed_sources(answer.assumptions)};
  if (h.zero_or_less > 0)
    p.notes.push_back(fmt::format("{:g} points at zero or less are not drawn.", h.zero_or_less));
  return p;
}

namespace {

using Columns = std::vector<Table::Column>;

/// The axis of machines, each of which has a front of its own; nothing where there is one machine.
std::optional<std::size_t> machine_axis(const ExploreAnswer& a) {
  const auto machines = std::ranges::find(a.axes, "hardware");
  if (machines == a.axes.end()) return std::nullopt;
  return static_cast<std::size_t>(machines - a.axes.begin());
}
/// The words of a point that color tells apart: its machine, else its value of the first of several axes.
std::string choice_of(const ExploreAnswer& a, const FoundPoint& f) {
  if (const auto machine = machine_axis(a)) return f.labels[*machine];
  if (f.labels.size() < 2) return "front";
  std::vector<std::string> words;
  detail::add_axis_values(a.axes[0], f.labels[0], words);
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Both sides of a point's interval, as a rule along each axis.
void add_bands(Picture& p, const ExploreAnswer& a, const FrontBeside& beside, const Columns& columns) {
  PictureMark along{.shape = MarkShape::rule, .x = "x", .y = "y", .x_end = "end", .series = "choice"},
      across{.shape = MarkShape::rule, .x = "x", .y = "y", .y_end = "end", .series = "choice"};
  for (std::size_t k = 0; k < 2; ++k) {
    auto& mark = k == 0 ? along : across;
    mark.data = {.schema = "mlsysim/front-bands@1",
                 .title = fmt::format("interval of {}", a.objectives[k].text),
                 .columns = {{"choice"}, columns[0], columns[1], {"end", columns[k].unit}}};
    for (std::size_t i = 0; i < a.front.size(); ++i) {
      if (!beside.bands[i]) continue;
      const auto& f = a.front[i];
      auto x = f.objectives[0], y = f.objectives[1];
      (k == 0 ? x : y) = beside.bands[i]->low[k];
      mark.data.rows.push_back({choice_of(a, f), Cell(x, a.exps[0]), Cell(y, a.exps[1]),
                                Cell(beside.bands[i]->high[k], a.exps[k])});
    }
  }
  if (along.data.rows.empty()) {
    p.notes.push_back("No table measures these objectives, so that the points have no intervals.");
    return;
  }
  p.notes.push_back(fmt::format("Rules hold {} % of what is measured.", beside.level));
  p.marks.push_back(std::move(along));
  p.marks.push_back(std::move(across));
}

void add_measured(Picture& p, const ExploreAnswer& a, const FrontBeside& beside, const Columns& columns) {
  if (beside.measured.empty()) {
    p.notes.push_back("The tables hold no measurement of this model on as many of these devices.");
    return;
  }
  PictureMark dots{.shape = MarkShape::point, .x = "x", .y = "y", .series = "choice"};
  dots.data = {.schema = "mlsysim/front-measured@1",
               .title = "measured",
               .columns = {{"choice"}, columns[0], columns[1], {"label"}}};
  for (const auto& m : beside.measured)
    dots.data.rows.push_back(
        {m.device + ", measured", Cell(m.at[0], a.exps[0]), Cell(m.at[1], a.exps[1]), m.label});
  p.notes.push_back(fmt::format(
      "{} measurements of engines on as many devices, with prompts, outputs and formats of their own.",
      beside.measured.size()));
  p.marks.push_back(std::move(dots));
}

}  // namespace

Picture front_picture(const ExploreAnswer& a, const FrontBeside& beside) {
  if (a.objectives.size() < 2)
    wrong("a front has two objectives", fmt::format("{}", a.objectives.size()), "two");
  if (a.front.empty())
    wrong("the front is empty", "no feasible point", "one at least", a.why_infeasible().reason);
  const auto largest = [&](std::size_t k) {
    double out = 0;
    for (const auto& f : a.front) out = std::max(out, std::abs(f.objectives[k]));
    return out;
  };
  const auto x = readable_unit(largest(0), a.exps[0]), y = readable_unit(largest(1), a.exps[1]);
  PictureMark points{.shape = MarkShape::point, .x = "x", .y = "y", .series = "choice", .label = "label"};
  const Columns columns{{"x", x, a.objectives[0].text}, {"y", y, a.objectives[1].text}};
  points.data = {.schema = "mlsysim/front@1",
                 .title = "front",
                 .columns = {{"index"}, {"choice"}, columns[0], columns[1], {"label"}}};
  auto sorted = a.front;
  std::stable_sort(sorted.begin(), sorted.end(), [](const FoundPoint& p, const FoundPoint& q) {
    return p.objectives[0] < q.objectives[0];
  });
  for (const auto& f : sorted) {
    std::vector<std::string> rest;
    for (std::size_t k = 0; k < f.labels.size(); ++k)
      if (f.labels.size() == 1 || k != machine_axis(a).value_or(0))
        detail::add_axis_values(a.axes[k], f.labels[k], rest);
    points.data.rows.push_back({static_cast<double>(f.index), choice_of(a, f),
                                Cell(f.objectives[0], a.exps[0]), Cell(f.objectives[1], a.exps[1]),
                                fmt::format("{}", fmt::join(rest, ", "))});
  }
  PictureMark line{.shape = MarkShape::line,
                   .data = points.data,
                   .x = "x",
                   .y = "y",
                   .series = machine_axis(a) ? "choice" : ""};
  const auto spread = [](double low, double high) { return low > 0 && high / low > 30; };
  const auto scale = [&](std::size_t k) {
    double low = largest(k);
    for (const auto& f : a.front) low = std::min(low, f.objectives[k]);
    return spread(low, largest(k)) ? Scale::logarithmic : Scale::linear;
  };
  const auto words = [&](std::size_t k) {
    return fmt::format("{} ({})", label_of(a.objectives[k].text),
                       a.objectives[k].goal == Goal::minimize ? "less is better" : "more is better");
  };
  Picture p{
      .kind = "pareto",
      .title = fmt::format("{}: {} against {}", a.title, label_of(a.objectives[1].text),
                           label_of(a.objectives[0].text)),
      .description = fmt::format("{} points of {:g} that no other beats in both objectives; {:g} points are "
                                 "feasible.",
                                 a.front.size(), a.total, a.feasible),
      .x = {.title = words(0), .unit = x, .scale = scale(0)},
      .y = {.title = words(1), .unit = y, .scale = scale(1)},
      .sources = detail::assumed_sources(a.assumptions)};
  if (a.objectives.size() > 2)
    p.notes.push_back("Further objectives are in the answer of `pareto`; the picture shows the first two.");
  p.marks.push_back(std::move(line));
  if (beside.level > 0) add_bands(p, a, beside, columns);
  p.marks.push_back(std::move(points));
  if (beside.measured_asked) add_measured(p, a, beside, columns);
  return p;
}

}  // namespace mlsysim
