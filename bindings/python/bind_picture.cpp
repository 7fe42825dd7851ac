/// Pictures: made from the scenario of an answer, or from columns.

#include "bind_picture.hpp"

#include "asked_scenario.hpp"
#include "keywords.hpp"
#include "values.hpp"

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/plot/answer_pictures.hpp>
#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

Picture tornado(const Scenario& scenario, std::string_view result) {
  return tornado_picture(sensitivity(subject_of(scenario), result.empty() ? main_time(scenario) : result));
}

Picture picture_of(const Scenario& s, const std::string& kind, const std::string& result) {
  if (kind == "waterfall") return waterfall_picture(s, result);
  if (kind == "roofline") return roofline_picture(s, result);
  if (kind == "timeline") return timeline_picture(s, result);
  if (kind == "schedule") return schedule_picture(s);
  if (kind == "memory") return memory_picture(s);
  if (kind == "memory-schedule") return memory_schedule_picture(s);
  if (kind == "memory-timeline") return memory_timeline_picture(s);
  if (kind == "costs") return costs_picture(s);
  if (kind == "carbon") return carbon_picture(s);
  if (kind == "tornado") return tornado(s, result);
  const std::vector<std::string> names{"waterfall", "roofline",        "timeline",        "schedule",
                                       "memory",    "memory-schedule", "memory-timeline", "costs",
                                       "carbon",    "tornado"};
  throw LookupError({.id = "mlsysim.python.240",
                     .message = "there is no such picture of a scorecard",
                     .key = kind,
                     .found = "'" + kind + "'",
                     .expected =
                         "waterfall, roofline, timeline, schedule, memory, memory-schedule, memory-timeline, "
                         "costs, carbon or tornado",
                     .hint = did_you_mean(kind, names)});
}

/// Points, and a line through those of one series, with titles that name the units.
Picture points_picture(const std::string& kind, const std::string& title, const std::string& description,
                       const std::pair<std::string, std::string>& axes, const std::vector<double>& x,
                       const std::vector<double>& y, const std::vector<std::string>& series,
                       const std::vector<std::string>& labels) {
  PictureMark points{.shape = MarkShape::point, .x = "x", .y = "y", .series = "series", .label = "label"};
  points.data = {.schema = "mlsysim/points@1",
                 .title = title,
                 .columns = {{"series"}, {"x", "", axes.first}, {"y", "", axes.second}, {"label"}}};
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i)
    points.data.rows.push_back({i < series.size() ? series[i] : axes.second, x[i], y[i],
                                i < labels.size() ? labels[i] : std::string()});
  auto line = points;
  line.shape = MarkShape::line;
  line.label.clear();
  const auto spread = [](const std::vector<double>& v) {
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    return !v.empty() && *low > 0 && *high / *low > 30 ? Scale::logarithmic : Scale::linear;
  };
  return {.kind = kind,
          .title = title,
          .description = description,
          .x = {.title = axes.first, .scale = spread(x)},
          .y = {.title = axes.second, .scale = spread(y)},
          .marks = {std::move(line), std::move(points)}};
}

}  // namespace

void bind_picture(py::module_& m) {
  py::class_<Picture, std::shared_ptr<Picture>>(m, "_Picture")
      .def_property_readonly("kind", [](const Picture& p) { return p.kind; })
      .def_property_readonly("title", [](const Picture& p) { return p.title; })
      .def_property_readonly("description", [](const Picture& p) { return p.description; })
      .def_property_readonly("sources", [](const Picture& p) { return p.sources; })
      .def("text", [](const Picture& p, std::size_t width) { return to_text(p, width); })
      .def("form", [](const Picture& p, const std::string& form) -> py::object {
        const auto chosen = choice_of<PictureForm>(form);
        if (!chosen)
          throw InputError({.id = "mlsysim.python.241",
                            .message = "there is no such form of a picture",
                            .found = "'" + form + "'",
                            .expected = "text, svg, png, pdf, html, vega, json or csv"});
        const auto bytes = render(p, *chosen);
        if (*chosen == PictureForm::png || *chosen == PictureForm::pdf) return py::bytes(bytes);
        return py::str(bytes);
      });
  m.def("_scenario_picture", [](const py::dict& values, const std::string& kind, const std::string& result) {
    const AskedScenario asked(values);
    const py::gil_scoped_release free;
    return std::make_shared<Picture>(picture_of(asked.scenario, kind, result));
  });
  m.def("_chrome_trace", [](const py::dict& values, const std::string& result) {
    const AskedScenario asked(values);
    const py::gil_scoped_release free;
    return chrome_trace(asked.scenario, result);
  });
  m.def("_report_page", [](const py::dict& values, const py::object& against, const std::string& form) {
    const AskedScenario asked(values);
    std::optional<AskedScenario> other;
    if (!against.is_none()) other.emplace(against.cast<py::dict>());
    const auto page = report_page(asked.scenario, other ? &other->scenario : nullptr);
    return form == "md" ? to_markdown(page) : to_html(page);
  });
  m.def("_points_picture", [](const std::string& kind, const std::string& title,
                              const std::string& description, const std::pair<std::string, std::string>& axes,
                              const std::vector<double>& x, const std::vector<double>& y,
                              const std::vector<std::string>& series,
                              const std::vector<std::string>& labels) {
    return std::make_shared<Picture>(points_picture(kind, title, description, axes, x, y, series, labels));
  });
}

}  // namespace mlsysim::python
