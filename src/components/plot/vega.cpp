// A picture as a Vega-Lite specification with its data: each mark is a layer with a table of its own.

#include "detail/json.hpp"
#include "detail/scale.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using Json = detail::PictureJson;

/// A field name in Vega-Lite: dots and brackets mean something there.
std::string field_name(std::string_view column) {
  std::string out(column);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '.' || c == '[' || c == ']' || c == '\\'; }, '_');
  return out;
}

std::string heading(const PictureAxis& axis) {
  return axis.unit.empty() ? axis.title : axis.title + " [" + axis.unit + "]";
}

/// The unit in which a column is read: that of the axis along which it runs, else its own.
std::string unit_of(const Picture& p, const PictureMark& m, const Table::Column& column) {
  const auto along = [&](const PictureAxis& axis) {
    return axis.scale == Scale::category ? column.unit : axis.unit;
  };
  if (column.name == m.x || column.name == m.x_end) return along(p.x);
  if (column.name == m.y || column.name == m.y_end) return along(p.y);
  return column.unit;
}

Json values_of(const Picture& p, const PictureMark& m) {
  Json out = Json::array();
  for (const auto& row : m.data.rows) {
    Json line = Json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto& column = m.data.columns[c];
      const bool named = (column.name == m.x && p.x.scale == Scale::category) ||
                         (column.name == m.y && p.y.scale == Scale::category) || column.name == m.series;
      line[field_name(column.name)] =
          named ? Json(words_of(row[c])) : detail::json_of(row[c], unit_of(p, m, column));
    }
    out.push_back(std::move(line));
  }
  return out;
}

Json channel_of(const PictureAxis& axis, const std::string& column) {
  if (axis.scale == Scale::category)
    return {{"field", field_name(column)},
            {"type", "nominal"},
            {"sort", axis.categories},
            {"scale", {{"domain", axis.categories}}},
            {"title", heading(axis)}};
  Json scale = {{"type", axis.scale == Scale::logarithmic ? "log" : "linear"}};
  if (axis.scale != Scale::logarithmic) scale["zero"] = axis.from_zero;
  Json out{{"field", field_name(column)}, {"type", "quantitative"}, {"title", heading(axis)}};
  if (axis.low && axis.high) scale["domain"] = {*axis.low, *axis.high};
  out["scale"] = std::move(scale);
  if (axis.scale == Scale::place) out["axis"] = nullptr;
  return out;
}

std::string_view shape_name(MarkShape shape) { return shape == MarkShape::cell ? "rect" : name_of(shape); }

Json encoding_of(const Picture& p, const PictureMark& m, const std::vector<std::string>& series) {
  Json e = Json::object();
  const auto put = [&](const char* channel, const PictureAxis& axis, const std::string& column) {
    if (!column.empty()) e[channel] = channel_of(axis, column);
  };
  put("x", p.x, m.x);
  put("y", p.y, m.y);
  if (!m.x_end.empty()) e["x2"] = {{"field", field_name(m.x_end)}};
  if (!m.y_end.empty()) e["y2"] = {{"field", field_name(m.y_end)}};
  if (m.shape == MarkShape::bar && m.y_end.empty() && p.y.scale != Scale::category) e["y2"] = {{"datum", 0}};
  if (!m.series.empty()) {
    Json colours = Json::array();
    for (std::size_t s = 0; s < series.size(); ++s) colours.push_back(series_colours()[s % 8]);
    const Json by{{"field", field_name(m.series)},
                  {"type", "nominal"},
                  {"sort", series},
                  {"scale", {{"domain", series}, {"range", colours}}},
                  {"title", nullptr}};
    e["color"] = by;
    Json other = by;
    other["scale"] = {{"domain", series}};
    if (m.shape == MarkShape::point) e["shape"] = other;
    if (m.shape == MarkShape::line) e["strokeDash"] = other;
  }
  if (!m.amount.empty())
    e["color"] = {
        {"field", field_name(m.amount)}, {"type", "quantitative"}, {"scale", {{"scheme", "greys"}}}};
  if (m.shape == MarkShape::text && !m.label.empty())
    e["text"] = {{"field", field_name(m.label)}, {"type", "nominal"}};
  Json tooltip = Json::array();
  for (const auto& column : m.data.columns) {
    const auto unit = unit_of(p, m, column);
    tooltip.push_back({{"field", field_name(column.name)},
                       {"title", unit.empty() ? column.name : column.name + " [" + unit + "]"}});
  }
  e["tooltip"] = std::move(tooltip);
  return e;
}

}  // namespace

std::string to_vega(const Picture& picture) {
  check(picture);
  const auto series = detail::series_of(picture);
  Json layers = Json::array();
  for (const auto& mark : picture.marks) {
    const Json data{{"values", values_of(picture, mark)}};
    layers.push_back({{"data", data},
                      {"mark", {{"type", shape_name(mark.shape)}}},
                      {"encoding", encoding_of(picture, mark, series)}});
    if (mark.label.empty() || mark.shape == MarkShape::text || mark.x.empty() || mark.y.empty()) continue;
    // The labels of marks of another shape are a layer of words.
    PictureMark words = mark;
    words.shape = MarkShape::text;
    words.series.clear();
    words.amount.clear();
    words.x_end.clear();
    words.y_end.clear();
    layers.push_back({{"data", data},
                      {"mark", {{"type", "text"}, {"align", "left"}, {"dx", 6}}},
                      {"encoding", encoding_of(picture, words, series)}});
  }
  Json subtitle = picture.notes;
  std::string sources;
  for (const auto& s : picture.sources) sources += (sources.empty() ? "Sources: " : "; ") + s;
  if (!sources.empty()) subtitle.push_back(sources);
  const Json spec{{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                  {"title", {{"text", picture.title}, {"subtitle", subtitle}, {"anchor", "start"}}},
                  {"description", picture.description},
                  {"usermeta", {{"generator", "mlsysim"}, {"kind", picture.kind}}},
                  {"width", 640},
                  {"height", picture.y.scale == Scale::category ? Json{{"step", 24}} : Json(330)},
                  {"layer", layers}};
  return detail::json_document(spec);
}

}  // namespace mlsysim
