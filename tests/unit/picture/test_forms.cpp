// One description, many forms: what they must all hold.
#include "support/catch.hpp"

#include <mlsysim/picture/render.hpp>

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
