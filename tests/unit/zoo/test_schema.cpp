#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include "zoo/detail/problems.hpp"
#include "zoo/detail/yaml_tree.hpp"
#include "zoo/detail/zoo_cache.hpp"

#include <mlsysim/zoo/schema.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <regex>

using namespace mlsysim;
using namespace mlsysim::detail;
using nlohmann::json;

namespace {

/// A small validator of the parts of draft-07 that the schemas use; gives the first fault.
class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  std::string check(const json& schema, NodeRef node, const std::string& path) {
    if (schema.contains("$ref")) {
      const auto name = schema["$ref"].get<std::string>();
      return check(root_.at(json::json_pointer(name.substr(1))), node, path);
    }
    if (schema.contains("anyOf")) {
      std::string all;
      for (const auto& option : schema["anyOf"]) {
        const auto fault = check(option, node, path);
        if (fault.empty()) return {};
        all += fault + "; ";
      }
      return all;
    }
    if (schema.contains("const"))
      return node.text() == schema["const"].get<std::string>() ? "" : path + ": const";
    if (schema.contains("enum")) {
      for (const auto& value : schema["enum"])
        if (value.get<std::string>() == node.text()) return {};
      return path + ": enum";
    }
    return check_type(schema, node, path);
  }

 private:
  static bool is_number(NodeRef node) {
    // Made once: with a sanitizer, making it for each value took most of the time of this program.
    static const std::regex form(R"([+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?)");
    return node.is_plain() && std::regex_match(std::string(node.text()), form);
  }
  static bool has_type(const std::string& type, NodeRef node) {
    if (type == "object") return node.is_map();
    if (type == "array") return node.is_sequence();
    if (type == "number") return is_number(node);
    if (type == "boolean") return node.is_plain() && (node.text() == "true" || node.text() == "false");
    return node.is_scalar() && !is_number(node);
  }
  std::string check_type(const json& schema, NodeRef node, const std::string& path) {
    const auto& type = schema["type"];
    bool matches = false;
    if (type.is_string())
      matches = has_type(type, node);
    else
      for (const auto& t : type) matches = matches || has_type(t, node);
    if (!matches) return path + ": type";
    if (schema.contains("pattern") &&
        !std::regex_search(std::string(node.text()), std::regex(schema["pattern"].get<std::string>())))
      return path + ": pattern";
    if (node.is_scalar() && is_number(node)) {
      const double value = std::stod(std::string(node.text()));
      if (schema.contains("minimum") && value < schema["minimum"].get<double>()) return path + ": minimum";
      if (schema.contains("maximum") && value > schema["maximum"].get<double>()) return path + ": maximum";
      if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"].get<double>())
        return path + ": exclusiveMinimum";
    }
    std::string fault;
    if (node.is_sequence() && schema.contains("items"))
      node.for_each_item([&](NodeRef item) {
        if (fault.empty()) fault = check(schema["items"], item, path + "[]");
      });
    if (node.is_map()) {
      if (schema.contains("required"))
        for (const auto& key : schema["required"])
          if (!node.find(key.get<std::string>())) return path + ": misses " + key.get<std::string>();
      node.for_each_pair([&](NodeRef key, NodeRef value) {
        if (!fault.empty()) return;
        const std::string name(key.text());
        if (schema.contains("properties") && schema["properties"].contains(name))
          fault = check(schema["properties"][name], value, path + "." + name);
        else if (schema.value("additionalProperties", true) == false)
          fault = path + ": unknown " + name;
      });
    }
    return fault;
  }
  const json& root_;
};

std::string validate(const std::string& kind, const std::string& yaml) {
  Problems problems;
  const auto tree = parse_yaml({"t.yaml", yaml}, problems);
  REQUIRE(tree);
  const auto schema = json::parse(json_schema(kind));
  return Validator(schema).check(schema, NodeRef(*tree, 0), "");
}

}  // namespace

TEST_CASE("every kind has a schema with its title, and an unknown kind is an error", "[zoo]") {
  for (const auto& kind : zoo_kinds()) {
    const auto schema = json::parse(json_schema(kind));
    CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
    CHECK_THAT(schema["title"].get<std::string>(), ContainsSubstring("mlsysim/" + kind + "@"));
    CHECK(schema["properties"]["entries"]["items"]["properties"].size() >= 3);
  }
  CHECK_THROWS_WITH(json_schema("hardwear"), ContainsSubstring("did you mean 'hardware'"));
}

TEST_CASE("every shipped file is valid under the schema of its kind", "[zoo]") {
  std::map<std::string, json> schemas;
  for (const auto& name : yaml_files(zoo_test::source_zoo())) {
    Problems problems;
    const auto source = read_source(zoo_test::source_zoo() / name);
    const auto tree = parse_yaml(source, problems);
    REQUIRE(tree);
    const std::string line(NodeRef(*tree, 0).find("schema")->text());
    const auto kind = line.substr(8, line.find('@') - 8);
    if (!schemas.contains(kind)) schemas[kind] = json::parse(json_schema(kind));
    INFO(name);
    CHECK(Validator(schemas[kind]).check(schemas[kind], NodeRef(*tree, 0), "") == "");
  }
}

TEST_CASE("the schema refuses what the loader refuses", "[zoo]") {
  const std::string head = "schema: mlsysim/hardware@1\nentries:\n- name: X\n";
  CHECK(validate("hardware", head + "  memory: {capacity: 80 GB}\n") == "");
  CHECK(validate("hardware", head + "  memory: {capacity: 80}\n") != "");
  CHECK(validate("hardware", head + "  memory: {capcity: 80 GB}\n") == ".entries[].memory: unknown capcity");
  CHECK(validate("hardware", head + "  release_year: 1000\n") != "");
  CHECK(validate("hardware", head + "  compute: {default_precision: fp61}\n") ==
        ".entries[].compute.default_precision: enum");
  CHECK(validate("hardware", "schema: mlsysim/hardware@1\nentries:\n- title: X\n") ==
        ".entries[]: misses name");
  CHECK(validate("hardware", "schema: mlsysim/hardware@2\nentries: []\n") == ".schema: const");
  CHECK(
      validate(
          "model",
          "schema: mlsysim/model@2\nentries:\n- {name: M, architecture: decoder, stacks: [{biases: 1}]}\n") !=
      "");
}

TEST_CASE("descriptions carry unit, range and default", "[zoo]") {
  const auto schema = json::parse(json_schema("node"));
  const auto& p = schema["properties"]["entries"]["items"]["properties"];
  CHECK(p["intra_node_bandwidth"]["description"] == "one way, per accelerator [GB/s], > 0");
  CHECK(p["accelerators_per_node"]["description"] == "devices in the node, >= 1");
  const auto hardware = json::parse(json_schema("hardware"));
  const auto& compute = hardware["properties"]["entries"]["items"]["properties"]["compute"]["properties"];
  CHECK(compute["default_precision"]["default"] == "fp16");
}
