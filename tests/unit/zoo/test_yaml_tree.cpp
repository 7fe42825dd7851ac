#include "support/catch.hpp"

#include "zoo/detail/yaml_tree.hpp"

using namespace mlsysim;
using namespace mlsysim::detail;

namespace {

SourceText text(std::string bytes) { return {"t.yaml", std::move(bytes)}; }

std::vector<ErrorFacts> faults_of(const std::string& bytes) {
  Problems problems;
  const auto tree = parse_yaml(text(bytes), problems);
  CHECK_FALSE(tree.has_value());
  return problems.all();
}

YamlTree good(const std::string& bytes) {
  Problems problems;
  auto tree = parse_yaml(text(bytes), problems);
  for (const auto& p : problems.all()) UNSCOPED_INFO(render(p));
  REQUIRE(tree.has_value());
  REQUIRE(tree->consistent());
  return *tree;
}

}  // namespace

TEST_CASE("a tree keeps order, quotes and places", "[zoo]") {
  const auto tree = good("b: 1\na: {x: 'two', y: [3, \"4\"]}\nz:\n");
  const NodeRef root(tree, 0);
  REQUIRE(root.is_map());
  std::vector<std::string> keys;
  root.for_each_pair([&](NodeRef key, NodeRef) { keys.emplace_back(key.text()); });
  CHECK(keys == std::vector<std::string>{"b", "a", "z"});
  const auto x = root.find("a")->find("x");
  REQUIRE(x);
  CHECK(x->text() == "two");
  CHECK(x->quoted());
  CHECK(x->place().line == 2);
  CHECK(x->place().column == 8);
  CHECK_FALSE(root.find("b")->quoted());
  CHECK(root.find("z")->kind() == NodeKind::null);
  std::vector<std::string> items;
  root.find("a")->find("y")->for_each_item([&](NodeRef item) { items.emplace_back(item.text()); });
  CHECK(items == std::vector<std::string>{"3", "4"});
  CHECK_FALSE(root.find("missing"));
}

TEST_CASE("numbers stay the text they were written as", "[zoo]") {
  const auto tree = good("a: 010\nb: 0x10\nc: 1e3\nd: 2026-03-06\n");
  CHECK(NodeRef(tree, 0).find("a")->text() == "010");
  CHECK(NodeRef(tree, 0).find("b")->text() == "0x10");
  CHECK(NodeRef(tree, 0).find("d")->text() == "2026-03-06");
}

TEST_CASE("a key that is given twice is refused with both places", "[zoo]") {
  const auto faults = faults_of("name: A\nother: 1\nname: B\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].id == "mlsysim.zoo.010");
  CHECK(faults[0].where.line == 3);
  CHECK(faults[0].where.column == 1);
  CHECK_THAT(faults[0].found, ContainsSubstring("t.yaml:1:1"));
  CHECK(faults[0].excerpt == "    3 | name: B\n      | ^");
}

TEST_CASE("every duplicate is reported, and the same key in another map is none", "[zoo]") {
  CHECK(faults_of("a: 1\na: 2\nb: {c: 1, c: 2}\n").size() == 2);
  good("a: {k: 1}\nb: {k: 1}\n");
}

TEST_CASE("what this YAML does not have is refused", "[zoo]") {
  CHECK(faults_of("a: &x 1\nb: 2\n")[0].id == "mlsysim.zoo.009");
  CHECK(faults_of("a: &x {k: 1}\n")[0].id == "mlsysim.zoo.009");
  CHECK(faults_of("a: &x 1\nb: *x\n")[0].id == "mlsysim.zoo.009");
  CHECK(faults_of("a: !!str 1\n")[0].id == "mlsysim.zoo.009");
  CHECK(faults_of("a: !mine {k: 1}\n")[0].id == "mlsysim.zoo.009");
  CHECK(faults_of("a: 1\n---\nb: 2\n")[0].id == "mlsysim.zoo.008");
  CHECK(faults_of("{a: 1}: 2\n")[0].id == "mlsysim.zoo.013");
  CHECK(faults_of("[a]: 2\n")[0].id == "mlsysim.zoo.013");
  CHECK(faults_of(": 2\n")[0].id == "mlsysim.zoo.013");
}

TEST_CASE("words that some readers take for booleans must be quoted", "[zoo]") {
  for (const std::string word : {"yes", "no", "NO", "on", "Off", "True", "FALSE", "y", "N"}) {
    const auto faults = faults_of("a: [" + word + "]\n");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].id == "mlsysim.zoo.011");
    CHECK(faults[0].where.column == 5);
    CHECK_THAT(faults[0].hint, ContainsSubstring("\"" + word + "\""));
    good("a: [\"" + word + "\"]\n");
  }
  good("a: true\nb: false\nnorway: 1\nn: 2\n");
}

TEST_CASE("broken YAML is reported with its place", "[zoo]") {
  const auto faults = faults_of("a: [1, 2\nb: 3\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].id == "mlsysim.zoo.007");
  CHECK(faults[0].where.line >= 1);
  CHECK_FALSE(faults[0].found.empty());
  CHECK(faults_of("\tindented: by tab\n")[0].id == "mlsysim.zoo.007");
}

TEST_CASE("nesting ends at 64 levels", "[zoo]") {
  const auto nested = [](int depth) {
    return "a: " + std::string(static_cast<std::size_t>(depth), '[') + "1" +
           std::string(static_cast<std::size_t>(depth), ']') + "\n";
  };
  good(nested(63));
  CHECK(faults_of(nested(64))[0].id == "mlsysim.zoo.012");
  CHECK(faults_of(nested(100000))[0].id == "mlsysim.zoo.012");
  CHECK_FALSE(faults_of("a: " + std::string(100000, '[')).empty());
}

TEST_CASE("a tree from outside is used only when it is consistent", "[zoo]") {
  const auto tree = good("a: {b: [1, 2], c: x}\nd: 3\n");
  // Every single change of an index, kind or size that breaks the structure must be noticed or be harmless:
  // the walk below touches all nodes and would run out of bounds under the sanitizers.
  int refused = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    for (const std::uint32_t value : {0u, 1u, 2u, 5u, 1000u, 0xFFFFFFFFu}) {
      for (int part = 0; part < 4; ++part) {
        YamlParts parts{{tree.nodes.begin(), tree.nodes.end()}, std::string(tree.pool)};
        auto& n = parts.nodes[i];
        if (part == 0) n.end = value;
        if (part == 1) n.text = value;
        if (part == 2) n.size = value;
        if (part == 3) n.kind = static_cast<NodeKind>(value & 7u);
        const auto broken = std::move(parts).tree();
        if (!broken.consistent()) {
          ++refused;
          continue;
        }
        std::size_t seen = 0;
        const auto walk = [&](auto&& self, NodeRef node) -> void {
          seen += node.is_scalar() ? node.text().size() + 1 : 1;
          if (node.is_map()) node.for_each_pair([&](NodeRef k, NodeRef v) { self(self, k), self(self, v); });
          if (node.is_sequence()) node.for_each_item([&](NodeRef item) { self(self, item); });
        };
        walk(walk, NodeRef(broken, 0));
        CHECK(seen > 0);
      }
    }
  }
  CHECK(refused > 100);
  CHECK_FALSE(YamlTree{}.consistent());
}
