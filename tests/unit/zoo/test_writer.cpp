#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include <mlsysim/zoo/writer.hpp>

using namespace mlsysim;

TEST_CASE("every entry of the shipped zoo survives load, save, load byte for byte", "[zoo]") {
  const Zoo& zoo = zoo_test::shipped();
  REQUIRE(zoo.entries().size() > 600);
  for (const Entry* entry : zoo.entries()) {
    const auto first = to_yaml(zoo, *entry);
    INFO(first);
    const Zoo again = load_text(first, "again.yaml", zoo);
    REQUIRE(again.entries().size() == 1);
    const Entry& copy = *again.entries().front();
    if (to_yaml(again, copy) != first) FAIL_CHECK(to_yaml(again, copy));
    // Nothing was lost on the way: the same figures with the same bits, texts and sources.
    REQUIRE(copy.figures.size() == entry->figures.size());
    for (std::size_t i = 0; i < copy.figures.size(); ++i) {
      const auto &a = copy.figures[i], &b = entry->figures[i];
      if (a.path != b.path || a.base != b.base || a.authored != b.authored || a.low != b.low ||
          a.high != b.high)
        FAIL_CHECK(b.path << " " << b.authored);
      if (copy.source_of(a.path).ref != entry->source_of(b.path).ref) FAIL_CHECK(b.path << " source");
    }
    CHECK(copy.aliases == entry->aliases);
    CHECK(copy.title == entry->title);
    CHECK(copy.decisions.size() == entry->decisions.size());
  }
}

TEST_CASE("the canonical form is in the order of the field table, defaults left out", "[zoo]") {
  const auto& x = zoo_test::small_base().at<HardwareNode>("X1");
  CHECK(to_yaml(x) ==
        "schema: mlsysim/hardware@1\n"
        "entries:\n"
        "- name: X1\n"
        "  aliases: [X-One]\n"
        "  origin: added\n"
        "  source:\n"
        "    kind: datasheet\n"
        "    ref: some-datasheet\n"
        "    verified: 2026-03-06\n"
        "  compute:\n"
        "    dense:\n"
        "      fp16: 100 TFLOP/s\n"
        "  memory:\n"
        "    capacity: 80 GB\n"
        "    bandwidth: 2 TB/s\n");
}

TEST_CASE("a figure that was changed is written exactly and loses its old text", "[zoo]") {
  auto x = zoo_test::small_base().at<HardwareNode>("X1");
  x.memory.capacity = Data<>::from_base(80e9 / 3);
  const auto text = to_yaml(x);
  CHECK_THAT(text, !ContainsSubstring("80 GB"));
  const Zoo again = load_text(text, "again.yaml", zoo_test::small_base());
  CHECK(again.only<HardwareNode>().memory.capacity->base() == 80e9 / 3);
}

TEST_CASE("a number between quotes is written without what stands around it", "[zoo]") {
  const Zoo zoo = load_text(
      "schema: mlsysim/price@1\nentries:\n- name: cloud.electricity\n"
      "  value: \" 0.12\\nUSD/kWh\"\n  year: '2024 '\n",
      "own.yaml", standard_zoo());
  const auto first = to_yaml(zoo, *zoo.entries().front());
  CHECK(first.find("value: 0.12 USD/kWh\n") != std::string::npos);
  CHECK(first.find("year: 2024\n") != std::string::npos);
  const Zoo again = load_text(first, "again.yaml", standard_zoo());
  CHECK(to_yaml(again, *again.entries().front()) == first);
}

TEST_CASE("a device made by hand is written and read back", "[zoo]") {
  HardwareNode h;
  h.name = "Hand made: 1";
  h.vendor = "no";
  h.compute.dense[Precision::bf16] = ComputeRate<>::from_base(1.5e15);
  h.memory.capacity = Data<>::from_base(5e9);
  h.partition_profiles.push_back({.name = "half", .memory = Data<>::from_base(1e9)});
  const auto text = to_yaml(h);
  const Zoo zoo = load_text(text, "again.yaml", zoo_test::small_base());
  const auto& back = zoo.only<HardwareNode>();
  CHECK(back.name == h.name);
  CHECK(back.vendor == "no");
  CHECK(back.compute.dense[Precision::bf16]->base() == 1.5e15);
  CHECK(back.memory.capacity->base() == 5e9);
  REQUIRE(back.partition_profiles.size() == 1);
  CHECK(back.partition_profiles[0].memory->base() == 1e9);
}

TEST_CASE("scalars are quoted exactly where YAML needs it", "[zoo]") {
  CHECK(yaml_scalar("NVIDIA H100 80GB") == "NVIDIA H100 80GB");
  CHECK(yaml_scalar("2 x EPYC (96 cores)") == "2 x EPYC (96 cores)");
  CHECK(yaml_scalar("no") == "\"no\"");
  CHECK(yaml_scalar("True") == "\"True\"");
  CHECK(yaml_scalar("null") == "\"null\"");
  CHECK(yaml_scalar("a: b") == "\"a: b\"");
  CHECK(yaml_scalar("a #b") == "\"a #b\"");
  CHECK(yaml_scalar("- a") == "\"- a\"");
  CHECK(yaml_scalar("a, b") == "\"a, b\"");
  CHECK(yaml_scalar("say \"x\"\\\n") == "\"say \\\"x\\\"\\\\\\n\"");
  CHECK(yaml_scalar("") == "\"\"");
  CHECK(yaml_scalar(" a") == "\" a\"");
  CHECK(yaml_scalar("2026-03-06") == "\"2026-03-06\"");
}
