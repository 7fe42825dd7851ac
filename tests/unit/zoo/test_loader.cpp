#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include <cstdlib>

using namespace mlsysim;
using zoo_test::Folder;

namespace {

/// Sets MLSYSIM_ZOO_PATH for the time of a case.
class ZooPath {
 public:
  explicit ZooPath(const std::string& value) {
    if (const char* old = std::getenv("MLSYSIM_ZOO_PATH")) {
      old_ = old;
      was_set_ = true;
    }
    ::setenv("MLSYSIM_ZOO_PATH", value.c_str(), 1);
  }
  ~ZooPath() {
    if (was_set_)
      ::setenv("MLSYSIM_ZOO_PATH", old_.c_str(), 1);
    else
      ::unsetenv("MLSYSIM_ZOO_PATH");
  }

 private:
  std::string old_;
  bool was_set_ = false;
};

std::string user_device(const std::string& name) {
  return "schema: mlsysim/hardware@1\nentries:\n- name: " + name +
         "\n  compute: {dense: {fp16: 7 TFLOP/s}}\n";
}

/// A shipped zoo of one device.
void make_zoo(const Folder& folder) {
  folder.write("references.yaml", zoo_test::kReferences);
  folder.write("catalogue.yaml", "schema: mlsysim/convention@1\nentries: []\n");
  folder.write("sub/hardware.yaml", zoo_test::kDevice);
}

}  // namespace

TEST_CASE("figures arrive with value, text, source and place", "[zoo]") {
  const Zoo& zoo = zoo_test::small_base();
  const auto& x = zoo.at<HardwareNode>("X1");
  CHECK(&zoo.at<HardwareNode>("X-One") == &x);
  CHECK(x.memory.capacity->base() == 80e9);
  CHECK(x.compute.dense[Precision::fp16]->base() == 100e12);
  const Entry& entry = Zoo::entry_of(x);
  const Figure* figure = entry.figure("memory.bandwidth");
  REQUIRE(figure != nullptr);
  CHECK(figure->authored == "2 TB/s");
  CHECK(figure->base == 2e12);
  CHECK(figure->where.line == 7);
  CHECK(entry.source_of("memory.bandwidth").ref == "some-datasheet");
  CHECK(entry.source_of("memory.bandwidth").verified == "2026-03-06");
  CHECK(zoo.reference("some-datasheet").text == "Some datasheet");
}

TEST_CASE("a figure's own source, range and note are kept", "[zoo]") {
  const Zoo zoo = load_text(
      "schema: mlsysim/hardware@1\nentries:\n- name: Q1\n"
      "  unit_cost: {value: 5 kUSD, kind: estimate, ref: some-datasheet, recorded: 2026-01-02, note: a "
      "guess, range: [4 kUSD, 9 kUSD]}\n"
      "  power: {tdp: {value: 300 W, note: with fans}}\n",
      "mine.yaml", zoo_test::small_base());
  const Entry& e = Zoo::entry_of(zoo.only<HardwareNode>());
  const Figure& cost = *e.figure("unit_cost");
  CHECK(cost.low == 4000);
  CHECK(cost.high == 9000);
  REQUIRE(cost.own);
  CHECK(cost.own->kind == SourceKind::estimate);
  CHECK(cost.own->note == "a guess");
  CHECK(cost.own->recorded == "2026-01-02");
  CHECK(e.source_of("power.tdp").note == "with fans");
  CHECK(e.source.kind == SourceKind::illustrative);  // the user's file gives none, and says so
  CHECK_THAT(e.source.note, ContainsSubstring("no source"));
  CHECK(e.origin == "user");
}

TEST_CASE("a file of the user refers to entries of the base", "[zoo]") {
  const Zoo& base = zoo_test::small_base();
  const Zoo zoo = load_text(
      "schema: mlsysim/node@1\nentries:\n- name: N1\n  accelerator: X-One\n  accelerators_per_node: 4\n",
      "n.yaml", base);
  CHECK(zoo.only<Node>().accelerator == &base.at<HardwareNode>("X1"));
}

TEST_CASE("links are settled whatever the order of the files", "[zoo]") {
  const Folder folder;
  folder.write("a_nodes.yaml",
               "schema: mlsysim/node@1\nentries:\n- name: N1\n  accelerator: X1\n  accelerators_per_node: 8\n"
               "  source: {kind: datasheet, ref: some-datasheet, verified: 2026-03-06}\n");
  make_zoo(folder);
  const Zoo zoo = load_zoo({.directory = folder.path(), .environment = ZooEnvironment::ignore});
  CHECK(zoo.at<Node>("N1").accelerator == &zoo.at<HardwareNode>("X1"));
}

TEST_CASE("a shipped entry needs a source", "[zoo]") {
  const Folder folder;
  make_zoo(folder);
  folder.write("bare.yaml", user_device("Bare"));
  try {
    (void)load_zoo({.directory = folder.path(), .environment = ZooEnvironment::ignore});
    FAIL("no error");
  } catch (const ErrorList& list) {
    REQUIRE(list.problems().size() == 1);
    CHECK(list.problems()[0].id == "mlsysim.zoo.040");
    CHECK_THAT(list.problems()[0].message, ContainsSubstring("'Bare' has no source"));
  }
}

TEST_CASE("files and folders of the user are added, and shadow nothing", "[zoo]") {
  const Folder shipped, mine;
  make_zoo(shipped);
  const auto file = mine.write("one.yaml", user_device("Mine1"));
  mine.write("folder/two.yml", user_device("Mine2"));
  const LoadOptions options{.directory = shipped.path(),
                            .additional = {file, mine.path() / "folder"},
                            .environment = ZooEnvironment::ignore};
  const Zoo zoo = load_zoo(options);
  CHECK(zoo.names<HardwareNode>() == std::vector<std::string>{"X1", "Mine1", "Mine2"});

  mine.write("one.yaml", user_device("X1"));
  try {
    (void)load_zoo(options);
    FAIL("an entry was shadowed");
  } catch (const ErrorList& list) {
    REQUIRE(list.problems().size() == 1);
    CHECK(list.problems()[0].id == "mlsysim.zoo.046");
    CHECK_THAT(list.problems()[0].found, ContainsSubstring("hardware.yaml:3"));
    CHECK_THAT(list.problems()[0].hint, ContainsSubstring("shadows"));
  }
  mine.write("one.yaml", user_device("X-One"));  // an alias of the shipped entry is as taken as its name
  CHECK_THROWS_AS(load_zoo(options), ErrorList);
}

TEST_CASE("a missing file of the user is an error, not an empty zoo", "[zoo]") {
  const Folder shipped;
  make_zoo(shipped);
  CHECK_THROWS_WITH(load_zoo({.directory = shipped.path(),
                              .additional = {shipped.path() / "no.yaml"},
                              .environment = ZooEnvironment::ignore}),
                    ContainsSubstring("mlsysim.zoo.001"));
  CHECK_THROWS_AS(load_file(shipped.path() / "no.yaml", zoo_test::small_base()), InputError);
}

TEST_CASE("MLSYSIM_ZOO_PATH replaces the shipped zoo by its first folder and adds the others", "[zoo]") {
  const Folder shipped, mine;
  make_zoo(shipped);
  mine.write("one.yaml", user_device("Mine1"));
  const ZooPath path(shipped.path().string() + "::" + mine.path().string());
  CHECK(zoo_directory() == shipped.path());
  CHECK(load_zoo().names<HardwareNode>() == std::vector<std::string>{"X1", "Mine1"});
  CHECK(load_zoo({.environment = ZooEnvironment::ignore}).names<HardwareNode>() ==
        std::vector<std::string>{"X1"});
}

TEST_CASE("folders without references only add to the zoo that is named", "[zoo]") {
  const Folder shipped, mine;
  make_zoo(shipped);
  mine.write("one.yaml", user_device("Mine1"));
  const ZooPath path(mine.path().string());
  CHECK(load_zoo({.directory = shipped.path()}).names<HardwareNode>() ==
        std::vector<std::string>{"X1", "Mine1"});
}

TEST_CASE("lint gives what load_zoo throws, and warns of units and sources", "[zoo]") {
  const Folder shipped, mine;
  make_zoo(shipped);
  const auto file = mine.write(
      "one.yaml", "schema: mlsysim/hardware@1\nentries:\n- name: M\n  host_link: {bandwidth: 400 Gbps}\n");
  const LoadOptions options{
      .directory = shipped.path(), .additional = {file}, .environment = ZooEnvironment::ignore};
  const auto report = lint(options);
  CHECK(report.problems.empty());
  REQUIRE(report.warnings.size() == 2);
  CHECK(report.warnings[0].id == "mlsysim.zoo.060");
  CHECK_THAT(report.warnings[0].found, ContainsSubstring("Gbps"));
  CHECK_THAT(report.warnings[0].expected, ContainsSubstring("Gbit/s"));
  CHECK(report.warnings[1].id == "mlsysim.zoo.062");

  mine.write("one.yaml", "schema: mlsysim/hardware@1\nentries:\n- name: M\n  host_link: {bandwidth: 400}\n");
  CHECK(lint(options).problems.size() == 1);
}

TEST_CASE("lint says which figure was measured on another device", "[zoo]") {
  for (const auto& w : lint({.environment = ZooEnvironment::ignore}).warnings) {
    INFO(w.message << ": " << w.key);
    CHECK(w.id != "mlsysim.zoo.063");
  }
  // The same fit stated of a device of one's own; then with the die that both have.
  const Folder mine;
  const auto of = [&](const char* more) {
    const auto file = mine.write(
        "one.yaml",
        std::string(
            "schema: mlsysim/hardware@1\nentries:\n- name: M\n  kernels:\n    launch: {value: 2.6 us, "
            "kind: fit, ref: aiconfigurator-gemm-h100, recorded: 2026-11-23") +
            more + "}\n");
    std::size_t borrowed = 0;
    for (const auto& w : lint({.additional = {file}, .environment = ZooEnvironment::ignore}).warnings)
      borrowed += w.id == "mlsysim.zoo.063" && w.key == "kernels.launch";
    return borrowed;
  };
  CHECK(of("") == 1);
  CHECK(of(", same_die: H100") == 0);
  CHECK(of(", same_die: A100") == 1);
}

TEST_CASE("a class that is like itself, and a part of a part, are refused", "[zoo]") {
  const Folder mine;
  const auto refused = [&](const std::string& text) {
    const auto file = mine.write("one.yaml", text);
    return lint({.additional = {file}, .environment = ZooEnvironment::ignore}).problems.size();
  };
  CHECK(refused("schema: mlsysim/device_class@1\nentries:\n- {name: a, like: b}\n- {name: b, like: a}\n") ==
        2);
  CHECK(refused("schema: mlsysim/device_class@1\nentries:\n- {name: a, like: gpu}\n") == 0);
  CHECK(refused("schema: mlsysim/hardware@1\nentries:\n- {name: M, part: GB200_NVL72}\n") == 1);
}

TEST_CASE("a zoo that was moved keeps its addresses", "[zoo]") {
  const Folder shipped;
  make_zoo(shipped);
  Zoo first = load_zoo({.directory = shipped.path(), .environment = ZooEnvironment::ignore});
  const HardwareNode* x = &first.at<HardwareNode>("X1");
  const Zoo second = std::move(first);
  CHECK(&second.at<HardwareNode>("X1") == x);
  CHECK(x->entry == second.entries()[0]);
}
