#include "support/catch.hpp"

#include <mlsysim/specs/zoo.hpp>

using namespace mlsysim;

namespace {

Entry entry(const std::string& name, std::vector<std::string> aliases = {}) {
  return {.kind = "hardware", .name = name, .aliases = std::move(aliases), .where = {"f.yaml", 3, 1}};
}

}  // namespace

TEST_CASE("specs are found by exact name and alias only", "[spec]") {
  Zoo zoo;
  const HardwareNode& h = zoo.add(HardwareNode{}, entry("H100", {"H100_SXM"}));
  CHECK(h.name == "H100");
  CHECK(&zoo.at<HardwareNode>("H100") == &h);
  CHECK(zoo.find<HardwareNode>("H100_SXM") == &h);
  CHECK(zoo.find<HardwareNode>("h100") == nullptr);
  CHECK(zoo.find<Workload>("H100") == nullptr);
  CHECK(&Zoo::entry_of(h) == zoo.entries()[0]);
}

TEST_CASE("an unknown name gets near misses and a way to list all", "[spec]") {
  Zoo zoo;
  zoo.add(HardwareNode{}, entry("H100"));
  zoo.add(HardwareNode{}, entry("A100"));
  try {
    (void)zoo.at<HardwareNode>("H10O");
    FAIL("no error");
  } catch (const LookupError& error) {
    CHECK(error.id() == "mlsysim.spec.001");
    CHECK_THAT(error.what(), ContainsSubstring("no hardware named 'H10O'"));
    CHECK_THAT(error.what(), ContainsSubstring("'H100'"));
    CHECK_THAT(error.what(), ContainsSubstring("mlsysim zoo list hardware"));
    CHECK_THAT(error.facts().expected, ContainsSubstring("2 entries"));
  }
}

TEST_CASE("taken names and ambiguous aliases are refused and change nothing", "[spec]") {
  Zoo zoo;
  zoo.add(HardwareNode{}, entry("A", {"a1"}));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("A")),
                    ContainsSubstring("mlsysim.spec.003") && ContainsSubstring("f.yaml:3"));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("a1")), ContainsSubstring("mlsysim.spec.004"));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("B", {"A"})), ContainsSubstring("alias 'A'"));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("B", {"a1"})), ContainsSubstring("alias 'a1'"));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("B", {"b", "b"})), ContainsSubstring("given twice"));
  CHECK_THROWS_WITH(zoo.add(HardwareNode{}, entry("B", {"B"})), ContainsSubstring("given twice"));
  CHECK(zoo.names<HardwareNode>() == std::vector<std::string>{"A"});
  CHECK(zoo.entries().size() == 1);
  zoo.add(Workload{}, entry("A"));  // another type, another namespace
  CHECK(zoo.entries().size() == 2);
}

TEST_CASE("addresses stay while a zoo grows and moves", "[spec]") {
  Zoo zoo;
  const HardwareNode* first = &zoo.add(HardwareNode{}, entry("first"));
  for (int i = 0; i < 1000; ++i) zoo.add(HardwareNode{}, entry("h" + std::to_string(i)));
  CHECK(&zoo.at<HardwareNode>("first") == first);
  Zoo moved = std::move(zoo);
  CHECK(&moved.at<HardwareNode>("first") == first);
  CHECK(moved.all<HardwareNode>().size() == 1001);
  CHECK(moved.all<HardwareNode>()[1]->name == "h0");
  static_assert(!std::is_copy_constructible_v<Zoo> && std::is_nothrow_move_constructible_v<Zoo>);
}

TEST_CASE("names are told without reading what was deferred", "[spec]") {
  Zoo zoo;
  int read = 0;
  for (const std::string name : {"A", "B"})
    zoo.defer<HardwareNode>(entry(name, {name + "1"}), [&read, name](Zoo& z) {
      if (z.is_read<HardwareNode>(name)) return;
      ++read;
      z.add(HardwareNode{}, entry(name, {name + "1"}));
    });
  CHECK(zoo.names<HardwareNode>() == std::vector<std::string>{"A", "B"});
  CHECK(read == 0);
  CHECK(zoo.at<HardwareNode>("B1").name == "B");
  CHECK(read == 1);
  CHECK(zoo.all<HardwareNode>().size() == 2);
  CHECK(read == 2);
}

TEST_CASE("only is for zoos of a single entry", "[spec]") {
  Zoo zoo;
  CHECK_THROWS_WITH(zoo.only<HardwareNode>(), ContainsSubstring("found none"));
  zoo.add(HardwareNode{}, entry("A"));
  CHECK(zoo.only<HardwareNode>().name == "A");
  zoo.add(HardwareNode{}, entry("B"));
  CHECK_THROWS_WITH(zoo.only<HardwareNode>(), ContainsSubstring("A, B"));
}

TEST_CASE("references are found by key and given once", "[spec]") {
  Zoo zoo;
  zoo.add_reference({"shannon1948", "A mathematical theory", ""});
  CHECK(zoo.reference("shannon1948").text == "A mathematical theory");
  CHECK_THROWS_WITH(zoo.reference("shannon1984"), ContainsSubstring("did you mean 'shannon1948'"));
  CHECK_THROWS_AS(zoo.add_reference({"shannon1948", "again", ""}), InputError);
}

TEST_CASE("a spec made by hand has no entry", "[spec]") {
  HardwareNode h;
  h.name = "Mine";
  CHECK_THROWS_WITH(Zoo::entry_of(h), ContainsSubstring("'Mine' is not from the zoo"));
}
