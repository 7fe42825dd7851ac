#include "support/catch.hpp"

#include "zoo/detail/gather.hpp"

using namespace mlsysim;
using namespace mlsysim::detail;

namespace {

/// Version 0 called the memory's capacity "size".
YamlTree from_zero(const YamlTree& tree, MigrationLog&) {
  return rename_key(tree, "memory.size", "capacity");
}

const std::string kOld =
    "schema: mlsysim/hardware@0\nentries:\n- name: Old\n  memory: {size: 16 GB, bandwidth: 1 TB/s}\n";

}  // namespace

TEST_CASE("an older file is migrated step by step before it is read", "[zoo]") {
  const Zoo base;
  const Migration table[] = {{"hardware", 0, &from_zero}};
  const auto out = gather_text({"old.yaml", kOld}, &base, table);
  for (const auto& p : out.problems.all()) UNSCOPED_INFO(render(p));
  REQUIRE(out.problems.empty());
  CHECK(out.zoo.at<HardwareNode>("Old").memory.capacity->base() == 16e9);
  CHECK(out.zoo.at<HardwareNode>("Old").entry->figure("memory.capacity")->where.line == 4);
}

TEST_CASE("without a step from its version a file is refused", "[zoo]") {
  const Zoo base;
  const Migration other[] = {{"model", 0, &from_zero}};
  for (const auto& table : {MigrationTable{}, MigrationTable{other}}) {
    const auto out = gather_text({"old.yaml", kOld}, &base, table);
    REQUIRE(out.problems.size() == 1);
    CHECK(out.problems.all()[0].id == "mlsysim.zoo.023");
  }
}

TEST_CASE("the shipped table only steps between versions that exist", "[zoo]") {
  for (const auto& step : shipped_migrations()) CHECK(step.from >= 0);
  CHECK(shipped_migrations().size() == 1);  // models, from sizes of one transformer to stacks of layers
}

TEST_CASE("renaming a key keeps the tree consistent and leaves the rest alone", "[zoo]") {
  Problems problems;
  const SourceText source{
      "t.yaml", "schema: mlsysim/hardware@1\nentries:\n- {size: 1, memory: {size: 2}}\n- {memory: 5}\n"};
  const auto tree = parse_yaml(source, problems);
  REQUIRE(tree);
  const auto renamed = rename_key(*tree, "memory.size", "capacity");
  CHECK(renamed.consistent());
  std::vector<NodeRef> entries;
  NodeRef(renamed, 0).find("entries")->for_each_item([&](NodeRef e) { entries.push_back(e); });
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].find("size")->text() == "1");
  CHECK(entries[0].find("memory")->find("capacity")->text() == "2");
  CHECK_FALSE(entries[0].find("memory")->find("size"));
  CHECK(entries[1].find("memory")->text() == "5");
}
