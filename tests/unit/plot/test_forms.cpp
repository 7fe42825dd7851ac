// One description, many forms: what they must all hold.
#include "support/catch.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/standard_units.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

using namespace mlsysim;

namespace {

/// Two bars at categories, one of which has a name that would be markup.
Picture bars() {
  PictureMark m{
      .shape = MarkShape::bar, .x = "from", .y = "part", .x_end = "to", .series = "is", .label = "label"};
  const auto time = Time<>::dimension::exps;
  m.data = {.schema = "test@1",
            .title = "parts",
            .columns = {{"part"}, {"is"}, {"from", "ms"}, {"to", "ms"}, {"label"}},
            .rows = {{"<script>alert(1)</script>", "part", Table::Cell(0.0, time), Table::Cell(0.012, time),
                      "a & b"},
                     {"rest", "whole", Table::Cell(0.012, time), Table::Cell(0.02, time), "c"}}};
  return {
      .kind = "test",
      .title = "Parts of a \"time\"",
      .description = "Two parts.",
      .x = {.title = "time", .unit = "ms", .from_zero = true},
      .y = {.title = "part", .scale = Scale::category, .categories = {"<script>alert(1)</script>", "rest"}},
      .marks = {std::move(m)},
      .sources = {"a source"}};
}

double luminance(std::string_view colour) {
  double out = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (int i = 0; i < 3; ++i) {
    const double c =
        std::stoi(std::string(colour.substr(1 + 2 * static_cast<std::size_t>(i), 2)), nullptr, 16) / 255.0;
    out += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return out;
}
/// Contrast to white, WCAG 2.2, 1.4.3.
double contrast(std::string_view colour) { return 1.05 / (luminance(colour) + 0.05); }

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("colours stand out from white and words can be read", "[picture]") {
  REQUIRE(contrast("#000000") == Approx(21));
  for (const auto colour : series_colours()) CHECK(contrast(colour) >= 3.0);
  for (const auto colour : kTextColours) CHECK(contrast(colour) >= 4.5);
}

TEST_CASE("an SVG says what it shows, and names of users are shown, not run", "[picture]") {
  const auto svg = to_svg(bars());
  CHECK(svg.find("<title>Parts of a &quot;time&quot;</title>") != std::string::npos);
  CHECK(svg.find("<desc>Two parts.</desc>") != std::string::npos);
  CHECK(svg.find("Sources: a source") != std::string::npos);
  CHECK(svg.find("time [ms]") != std::string::npos);
  CHECK(count(svg, "<script") == 0);
  CHECK(svg.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(svg.find("&amp;lt;") == std::string::npos);  // escaped once
  CHECK(count(svg, "url(#h1)") >= 1);                // the second series has a hatch of its own
  CHECK(to_svg(bars()) == svg);
}

TEST_CASE("a page runs nothing and fetches nothing", "[picture]") {
  const auto page = to_html(bars());
  CHECK(count(page, "<script") == 0);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(count(page, "src=") == 0);
  CHECK(count(page, "<link") == 0);
}

TEST_CASE("the Vega-Lite specification holds the numbers in the unit of the axis", "[picture]") {
  const auto spec = nlohmann::json::parse(to_vega(bars()));
  const auto& values = spec.at("layer")[0].at("data").at("values");
  CHECK(values[0].at("to") == 12.0);
  CHECK(values[1].at("from") == 12.0);
  CHECK(spec.at("layer")[0].at("encoding").at("x").at("title") == "time [ms]");
  CHECK(spec.at("layer")[0].at("mark").at("type") == "bar");
}

TEST_CASE("characters have the lengths of the bars", "[picture]") {
  const auto text = to_text(bars());
  // 12 of 20 ms and 8 of 20 ms.
  CHECK(count(text, "█") == Approx(1.5 * static_cast<double>(count(text, "▒"))).margin(3));
  CHECK(text.find("rest") != std::string::npos);
}

TEST_CASE("a description that cannot be drawn is refused", "[picture]") {
  auto p = bars();
  p.marks[0].x = "form";
  CHECK_THROWS_WITH(to_svg(p), Catch::Contains("no column 'form'") && Catch::Contains("from"));
  p = bars();
  p.y.categories.pop_back();
  CHECK_THROWS_AS(to_svg(p), InputError);
  p = bars();
  p.x.unit = "GB";
  CHECK_THROWS_AS(to_svg(p), DimensionError);
  p = bars();
  p.title.clear();
  CHECK_THROWS_AS(to_svg(p), InputError);
}

namespace {

Table::Cell at(double place) { return place; }

/// Two boxes that a line joins from side to side; the words of one are given.
Picture sketch(const std::string& words) {
  PictureMark boxes{
      .shape = MarkShape::bar, .x = "x", .y = "y", .x_end = "x_end", .y_end = "y_end", .label = "label"};
  boxes.data = {.schema = "test@1",
                .title = "boxes",
                .columns = {{"name"}, {"is"}, {"x"}, {"x_end"}, {"y"}, {"y_end"}, {"label"}},
                .rows = {{"first", "given", at(0), at(1), at(-0.6), at(0), "first"},
                         {"second", "stage", at(3), at(4), at(-1.6), at(-1), words}}};
  PictureMark lines{
      .shape = MarkShape::rule, .x = "x", .y = "y", .x_end = "x_end", .y_end = "y_end", .label = "label"};
  lines.data = {.schema = "test@1",
                .title = "lines",
                .columns = {{"from"}, {"to"}, {"x"}, {"x_end"}, {"y"}, {"y_end"}, {"label"}},
                .rows = {{"first", "second", at(1), at(3), at(-0.3), at(-1.3), "tokens"}}};
  Picture p{.kind = "test",
            .title = "Two boxes",
            .description = "One feeds the other.",
            .marks = {std::move(lines), std::move(boxes)}};
  p.x.scale = p.y.scale = Scale::place;
  return p;
}

/// Two lines of two series over the same range, and a point with words.
Picture two_lines() {
  PictureMark m{.shape = MarkShape::line, .x = "x", .y = "y", .series = "which"};
  m.data = {
      .schema = "test@1",
      .title = "lines",
      .columns = {{"which"}, {"x"}, {"y"}},
      .rows = {
          {"low", at(0), at(1)}, {"low", at(10), at(1)}, {"high", at(0), at(5)}, {"high", at(10), at(5)}}};
  PictureMark kink{.shape = MarkShape::point, .x = "x", .y = "y", .label = "label"};
  kink.data = {.schema = "test@1",
               .title = "kinks",
               .columns = {{"x"}, {"y"}, {"label"}},
               .rows = {{at(4), at(3), "memory becomes the longest part"}}};
  return {.kind = "test",
          .title = "Two lines",
          .description = "One above the other.",
          .x = {.title = "x"},
          .y = {.title = "y", .from_zero = true},
          .marks = {std::move(m), std::move(kink)},
          .sources = {"a source"}};
}

}  // namespace

TEST_CASE("boxes and the lines between them are drawn in characters, and words without room are listed",
          "[picture]") {
  const auto text = to_text(sketch("second"), 60);
  INFO(text);
  CHECK(count(text, "┌") == 2);
  CHECK(count(text, "└") == 3);  // of the boxes, and where the line comes down beside the second
  CHECK(count(text, "┤") == 1);  // where it meets it
  const auto first = text.find("first"), second = text.find("second"), words = text.find("tokens");
  CHECK(first < second);
  CHECK(words != std::string::npos);
  CHECK(text.find("x_end") == std::string::npos);
  const std::string odd = "words that are longer than the box which they are written into";
  const auto listed = to_text(sketch(odd), 60);
  CHECK(listed.find("[second]  " + odd) != std::string::npos);
  CHECK(listed.find("…") != std::string::npos);
}

TEST_CASE("lines of several series have signs of their own, and points their words", "[picture]") {
  const auto text = to_text(two_lines());
  INFO(text);
  CHECK(text.find("· low") != std::string::npos);
  CHECK(text.find("- high") != std::string::npos);
  CHECK(count(text, "·") > 30);
  CHECK(count(text, "-") > 30);
  CHECK(text.find("● memory becomes the longest part") != std::string::npos);
}

TEST_CASE("words of a bar may hold commas", "[picture]") {
  auto p = bars();
  p.marks[0].data.rows[1][4] = "58 GB, 48 layers, 29 Gparam";
  CHECK(to_text(p).find("58 GB, 48 layers, 29 Gparam") != std::string::npos);
}

TEST_CASE("each cell of a table with a choice is shown once, with or without a text behind", "[picture]") {
  ChoiceTable c{.table = {.schema = "s@1", .title = "t", .columns = {{"kind"}, {"place"}, {"text"}}},
                .by = "kind",
                .behind = ""};
  c.table.rows = {{std::string("one"), std::string("here"), std::string("words of one")},
                  {std::string("two"), std::string("there"), std::string("words of two")}};
  const auto cells = [&c] {
    const auto html =
        to_html(ReportPage{.title = "t", .answer = "a", .parts = {{.heading = "h", .choices = {c}}}});
    const auto from = html.find("<tbody>");
    return html.substr(from, html.find("</tbody>", from) - from);
  };
  CHECK(cells() ==
        "<tbody>\n<tr class=\"c0\"><td>one</td><td>here</td><td>words of one</td></tr>\n"
        "<tr class=\"c1\"><td>two</td><td>there</td><td>words of two</td></tr>\n");
  c.behind = "text";
  CHECK(cells() ==
        "<tbody>\n<tr class=\"c0\"><td>one</td><td><details><summary>here</summary><pre>words of "
        "one</pre></details></td></tr>\n"
        "<tr class=\"c1\"><td>two</td><td><details><summary>there</summary><pre>words of "
        "two</pre></details></td></tr>\n");
}

TEST_CASE("a PNG is an image, or says what is missing", "[picture]") {
  try {
    const auto png = drawn_by_librsvg(bars(), PictureForm::png);
    REQUIRE(png.size() > 33);
    CHECK(png.substr(1, 3) == "PNG");
    const auto number = [&](std::size_t from) {
      return 256 * static_cast<unsigned char>(png[from + 2]) + static_cast<unsigned char>(png[from + 3]);
    };
    const auto svg = to_svg(bars());
    CHECK(number(16) == 2 * std::stoi(svg.substr(svg.find("width=\"") + 7)));
  } catch (const SolverError& e) {
    CHECK(e.facts().hint.find("librsvg2-2") != std::string::npos);
  }
}
