#include <mlsysim/units/detail/markup.hpp>
#include <mlsysim/validation/report.hpp>

#include "detail/result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kSize = 320, kMargin = 40;
constexpr std::size_t kMostPoints = 2000;  // a plot of more is no clearer

/// Predicted over measured on logarithmic axes; the lines are equality and 20 % to each side.
std::string plot(const TableResult& r) {
  if (r.rows.empty()) return {};
  double low = 1e300, high = 0;
  for (const auto& row : r.rows)
    for (const double x : {row.measured, row.predicted})
      if (x > 0) low = std::min(low, x), high = std::max(high, x);
  const double from = std::log10(low) - 0.05, to = std::max(std::log10(high) + 0.05, from + 0.2);
  const auto place = [&](double x) {
    return kMargin + (std::log10(x) - from) / (to - from) * (kSize - 2 * kMargin);
  };
  std::string out = fmt::format(
      "<svg width=\"{0}\" height=\"{0}\" role=\"img\" aria-label=\"predicted against measured, {1}\">", kSize,
      detail::markup_escaped(r.table->name));
  const double a = kMargin, b = kSize - kMargin;
  out += fmt::format("<rect x=\"{0}\" y=\"{0}\" width=\"{1}\" height=\"{1}\" class=\"frame\"/>", a, b - a);
  for (const double share : {0.8, 1.0, 1.2}) {
    const double shift = std::log10(share) / (to - from) * (b - a);
    const double x1 = shift < 0 ? a - shift : a, y1 = kSize - (shift < 0 ? a : a + shift);
    const double x2 = shift < 0 ? b : b - shift, y2 = kSize - (shift < 0 ? b + shift : b);
    out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1,
                       x2, y2, share == 1.0 ? "equal" : "band");
  }
  const std::size_t step = (r.rows.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < r.rows.size(); i += step)
    if (r.rows[i].predicted > 0)
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\"/>", place(r.rows[i].measured),
                         kSize - place(r.rows[i].predicted));
  out += fmt::format("<text x=\"{}\" y=\"{}\">measured, {} to {}</text>", a, kSize - 12,
                     detail::markup_escaped(detail::shown(low, *r.table)),
                     detail::markup_escaped(detail::shown(high, *r.table)));
  out += fmt::format("<text x=\"12\" y=\"{0}\" transform=\"rotate(-90 12 {0})\">predicted</text></svg>\n", b);
  if (step > 1) out += fmt::format("<p>every {}th point</p>\n", step);
  return out;
}

}  // namespace

std::string render_html(std::span<const TableResult> results) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mlsysim: predictions against "
      "measurements</title>\n"
      "<style>body{font:14px "
      "sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse}td,th{padding:2px "
      "8px;text-align:right}"
      "td:first-child,th:first-child{text-align:left}.frame{fill:none;stroke:#999}.equal{stroke:#000}.band{"
      "stroke:#bbb;stroke-dasharray:3}"
      "circle{fill:#06c;fill-opacity:.4}text{font-size:11px}</style></head><body>\n<h1>Predictions against "
      "measurements</h1>\n"
      "<table><tr><th>table</th><th>rows</th><th>left "
      "out</th><th>median</th><th>mean</th><th>p90</th><th>max</th><th>bias</th>"
      "<th>textbook median</th><th>roofline median</th></tr>\n";
  for (const auto& r : results) {
    const auto& e = r.errors;
    out += fmt::format("<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}</td>",
                       detail::markup_escaped(r.table->name), e.rows, detail::left_out_rows(r));
    if (e.rows > 0)
      out += fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
                         detail::percent(e.median), detail::percent(e.mean), detail::percent(e.p90),
                         detail::percent(e.max), detail::percent(e.bias, true),
                         detail::percent_of(r.textbook.median, r.textbook, r),
                         detail::percent_of(r.roofline.median, r.roofline, r));
    out += "</tr>\n";
  }
  out += "</table>\n";
  for (const auto& r : results) {
    out += fmt::format("<h2 id=\"{0}\">{0}</h2>\n<p>{1}</p>\n{2}", detail::markup_escaped(r.table->name),
                       detail::markup_escaped(r.table->title), plot(r));
    if (!r.left_out.empty()) out += "<ul>";
    for (const auto& l : r.left_out)
      out += fmt::format("<li>{} rows left out: {}</li>", l.rows, detail::markup_escaped(l.reason));
    if (!r.left_out.empty()) out += "</ul>\n";
    if (r.worst.empty()) continue;
    out +=
        "<table><tr><th>worst "
        "rows</th><th>measured</th><th>predicted</th><th>error</th><th>terms</th></tr>\n";
    for (const auto& w : r.worst)
      out += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          detail::markup_escaped(w.label), detail::markup_escaped(detail::shown(w.measured, *r.table)),
          detail::markup_escaped(detail::shown(w.predicted, *r.table)), detail::percent(w.error(), true),
          detail::markup_escaped(detail::terms_text(w, *r.table)));
    out += "</table>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace mlsysim
