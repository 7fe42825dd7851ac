#include "support/catch.hpp"

#include <mlsysim/report/zoo_report.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

const Zoo& small() {
  static const Zoo base;
  static const Zoo zoo = load_text(
      "schema: mlsysim/hardware@1\n"
      "entries:\n"
      "- name: Alpha\n"
      "  title: First device\n"
      "  aliases: [A1]\n"
      "  compute: {dense: {fp16: 100 TFLOP/s}}\n"
      "  memory: {capacity: 80 GB, bandwidth: 2 TB/s}\n"
      "- name: Beta\n"
      "  title: Second device\n",
      "small.yaml", base);
  return zoo;
}

}  // namespace

TEST_CASE("a list of a kind shows main figures and leaves blanks where there are none", "[report]") {
  const auto table = zoo_table(small(), "hardware");
  REQUIRE(table.rows.size() == 2);
  const auto csv = render(table, {.format = OutputFormat::csv});
  CHECK_THAT(csv, Catch::Contains("Alpha,") && Catch::Contains(",100,fp16,80,2000,"));
  CHECK_THAT(csv, Catch::Contains("\nBeta,"));
}

TEST_CASE("a kind that there is not is refused with a near one", "[report]") {
  CHECK_THROWS_AS(zoo_table(small(), "hardwear"), LookupError);
  CHECK_THROWS_WITH(zoo_table(small(), "hardwear"), Catch::Contains("did you mean 'hardware'"));
  CHECK(zoo_table(small(), "models").rows.empty());
  CHECK(zoo_table(small(), "").rows.size() == 2);
}

TEST_CASE("a search prefers names, then titles, and falls back to near names", "[report]") {
  CHECK(search_zoo(small(), "alpha").size() == 1);
  CHECK(search_zoo(small(), "A1").front()->name == "Alpha");
  CHECK(search_zoo(small(), "device").size() == 2);
  CHECK(search_zoo(small(), "Bata").front()->name == "Beta");
  CHECK(search_zoo(small(), "nothing").empty());
}

TEST_CASE("an entry shows each figure as it was written", "[report]") {
  const Entry& entry = Zoo::entry_of(small().at<HardwareNode>("Alpha"));
  const auto text = render(small(), entry, {});
  for (const auto* part :
       {"Alpha (hardware)", "First device", "A1", "memory.bandwidth", "2 TB/s", "compute.dense.fp16"})
    CHECK_THAT(text, Catch::Contains(part));
  CHECK_THAT(render(small(), entry, {.format = OutputFormat::json}),
             Catch::Contains("\"base_value\": 2000000000000.0"));
  CHECK_THAT(render(small(), entry, {.format = OutputFormat::csv}),
             Catch::Contains("memory.bandwidth,2 TB/s,2e12,"));
}
