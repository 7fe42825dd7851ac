#include "support/catch.hpp"

#include <mlsysim/report/table.hpp>

#include <mlsysim/units/unit.hpp>

#include <limits>

using namespace mlsysim;

namespace {

Table sample_table() {
  return {.schema = "mlsysim/table@1",
          .title = "sample",
          .columns = {{"name"}, {"bandwidth", "GB/s", "of the memory"}, {"note"}},
          .rows = {{"a", 3.35 * (unit::TB / unit::s), "plain"},
                   {"b, c", 0.1 * (unit::GB / unit::s), "says \"x|y\""},
                   {"d", Table::Cell(), ""}}};
}

}  // namespace

TEST_CASE("a table as text pads columns and puts numbers to the right", "[report]") {
  CHECK(render(sample_table(), {}) ==
        "name  bandwidth  note\n"
        "a     3.35 TB/s  plain\n"
        "b, c   100 MB/s  says \"x|y\"\n"
        "d\n");
}

TEST_CASE("a table as text rounds quantities and never counts", "[report]") {
  const Table t = {.schema = "s",
                   .columns = {{"context"}, {"share"}, {"time", "ms"}},
                   .rows = {{131072.0, 0.123456, 1.23456 * unit::ms}, {687401.0, 2.0, 1.0 * unit::ms}}};
  CHECK(render(t, {}) ==
        "context   share      time\n"
        " 131072  0.1235  1.235 ms\n"
        " 687401       2      1 ms\n");
}

TEST_CASE("a table as CSV quotes fields, names units and keeps numbers exact", "[report]") {
  CHECK(render(sample_table(), {.format = OutputFormat::csv}) ==
        "name,bandwidth [GB/s],note\n"
        "a,3350,plain\n"
        "\"b, c\",0.1,\"says \"\"x|y\"\"\"\n"
        "d,,\n");
  Table third = {.schema = "s", .columns = {{"x"}}, .rows = {{1.0 / 3}}};
  const auto csv = render(third, {.format = OutputFormat::csv});
  CHECK(std::stod(csv.substr(2)) == 1.0 / 3);
}

TEST_CASE("a table as Markdown escapes its separators", "[report]") {
  const auto text = render(sample_table(), {.format = OutputFormat::markdown});
  CHECK_THAT(text, Catch::Contains("## sample\n\n| name | bandwidth | note |\n| --- | --- | --- |\n"));
  CHECK_THAT(text, Catch::Contains("says \"x\\|y\""));
}

TEST_CASE("a table as JSON holds numbers in the column's unit, and null for what is no number", "[report]") {
  auto t = sample_table();
  t.rows.push_back({"e", Table::Cell(std::numeric_limits<double>::quiet_NaN(), dim::bandwidth::exps), ""});
  const auto text = render(t, {.format = OutputFormat::json});
  CHECK_THAT(text, Catch::Contains("\"schema\": \"mlsysim/table@1\""));
  CHECK_THAT(text, Catch::Contains("\"bandwidth\": 3350.0"));
  CHECK_THAT(text, Catch::Contains("\"bandwidth\": null"));
  CHECK_THAT(text, !Catch::Contains("nan"));
}

TEST_CASE("a column whose unit does not suit its cells is refused", "[report]") {
  Table t = {.schema = "s", .columns = {{"x", "GB"}}, .rows = {{1.0 * (unit::GB / unit::s)}}};
  CHECK_THROWS_AS(render(t, {.format = OutputFormat::csv}), DimensionError);
}

TEST_CASE("colours appear only where they are asked for", "[report]") {
  CHECK_THAT(render(sample_table(), {.colour = Colour::on}), Catch::Contains("\x1b[1m"));
  CHECK_THAT(render(sample_table(), {}), !Catch::Contains("\x1b"));
}
