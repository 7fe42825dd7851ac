#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

using namespace mlsysim;

namespace {

std::vector<ErrorFacts> problems_of(const std::string& text) {
  try {
    (void)load_text(text, "mine.yaml", zoo_test::small_base());
  } catch (const ErrorList& list) {
    CHECK_THAT(std::string(list.what()), ContainsSubstring("mine.yaml"));
    return list.problems();
  }
  FAIL("no error for\n" << text);
  return {};
}

struct Bad {
  std::string body;  ///< keys of an entry of kind hardware, two blanks deep
  std::string id;
  std::vector<std::string> parts;  ///< of the rendered problem
};

const std::string kHead = "schema: mlsysim/hardware@1\nentries:\n- name: Q1\n";

}  // namespace

TEST_CASE("each mistake in an entry is reported with found, expected, place and advice", "[zoo]") {
  const std::vector<Bad> cases{
      {"memory: {capacity: 80}",
       "mlsysim.zoo.032",
       {"mine.yaml:4:22", "memory.capacity", "found '80'", "a quantity such as '80 GiB'", "data"}},
      {"memory: {capacity: 80 GB/s}", "mlsysim.zoo.033", {"'80 GB/s'", "bandwidth", "expected data", "GiB"}},
      {"memory: {capacity: -80 GB}", "mlsysim.zoo.035", {"'-80 GB'", "more than 0 GiB"}},
      {"memory: {capacity: 0 GB}", "mlsysim.zoo.035", {"more than 0"}},
      {"memory: {capacity: 80 gigs}", "mlsysim.unit.006", {"memory.capacity", "80 gigs"}},
      {"memory: {capacity: .inf}", "mlsysim.unit.002", {"memory.capacity"}},
      {"memory: {capacity: nan GB}", "mlsysim.unit.003", {"memory.capacity"}},
      {"memory: {capacity: [80 GB]}", "mlsysim.zoo.024", {"found a list", "a single value"}},
      {"memory: {capacity: }", "mlsysim.zoo.024", {"found nothing", "leave the key out"}},
      {"memory: 80 GB", "mlsysim.zoo.024", {"'memory' has the wrong form", "expected a map"}},
      {"memory: {capcity: 80 GB}",
       "mlsysim.zoo.030",
       {"unknown key 'memory.capcity'", "did you mean 'capacity'"}},
      {"tdp: 700 W", "mlsysim.zoo.030", {"unknown key 'tdp'", "power: {tdp: ...}"}},
      {"memroy: {capacity: 80 GB}", "mlsysim.zoo.030", {"did you mean 'memory'"}},
      {"compute: {dense: {fp61: 1 TFLOP/s}}", "mlsysim.zoo.030", {"'compute.dense.fp61'", "fp16"}},
      {"compute: {dense: {fp16: 1 TB/s}}", "mlsysim.zoo.033", {"compute.dense.fp16", "'1 TB/s'"}},
      {"compute: {dense: {fp16: 0 TFLOP/s}}", "mlsysim.zoo.035", {"more than 0"}},
      {"compute: {default_precision: fp61}", "mlsysim.zoo.036", {"precision", "one of fp64", "did you mean"}},
      {"compute: {units: many}", "mlsysim.zoo.034", {"'many'", "decimal number"}},
      {"compute: {units: '132'}", "mlsysim.zoo.034", {"in quotes", "remove the quotes"}},
      {"compute: {units: 0132}", "mlsysim.zoo.034", {"'0132'"}},
      {"compute: {units: 0x84}", "mlsysim.zoo.034", {"'0x84'"}},
      {"compute: {units: 1_000}", "mlsysim.zoo.034", {"'1_000'"}},
      {"compute: {units: 5 GB}", "mlsysim.zoo.034", {"a plain number", "leave the unit out"}},
      {"compute: {units: 1e400}", "mlsysim.zoo.034", {"finite"}},
      {"release_year: 24", "mlsysim.zoo.035", {"[1970, 2100]"}},
      {"efficiency: {matrix: 1.2}", "mlsysim.zoo.035", {"[0.001, 1]", "'1.2'"}},
      {"vendor: ''", "mlsysim.zoo.038", {"'vendor' is empty"}},
      {"partition_profiles: {name: a}", "mlsysim.zoo.024", {"found a map", "a list"}},
      {"partition_profiles: [{memory: 10 GiB}]",
       "mlsysim.zoo.031",
       {"'partition_profiles[0].name' is missing"}},
      {"aliases: X9", "mlsysim.zoo.024", {"'aliases'", "a list"}},
      {"aliases: [Q1]", "mlsysim.zoo.046", {"the alias 'Q1'", "given twice"}},
      {"source: {kind: hearsay, note: words, recorded: 2026-01-01}",
       "mlsysim.zoo.036",
       {"source.kind", "one of datasheet"}},
      {"source: {kind: datasheet, ref: some-datasheet}",
       "mlsysim.zoo.041",
       {"neither 'verified' nor 'recorded'"}},
      {"source: {kind: datasheet, ref: some-datasheet, verified: 2026-01-01, recorded: 2026-01-01}",
       "mlsysim.zoo.041",
       {"both 'verified' and 'recorded'"}},
      {"source: {kind: datasheet, ref: some-datasheet, verified: 2026-02-30}",
       "mlsysim.zoo.041",
       {"'2026-02-30'", "YYYY-MM-DD"}},
      {"source: {kind: datasheet, ref: some-datashet, verified: 2026-02-03}",
       "mlsysim.zoo.042",
       {"'some-datashet'", "did you mean 'some-datasheet'"}},
      {"source: {kind: datasheet, verified: 2026-02-03}",
       "mlsysim.zoo.042",
       {"'source' cites nothing", "without 'ref'"}},
      {"source: {kind: derived, ref: some-datasheet, recorded: 2026-02-03}",
       "mlsysim.zoo.044",
       {"no formula"}},
      {"source: {kind: estimate, note: a guess, recorded: 2026-02-03}\n  unit_cost: 5 USD",
       "mlsysim.zoo.043",
       {"estimate 'Q1' has no range", "unit_cost: 5 USD"}},
      {"unit_cost: {value: 5 USD, kind: estimate, note: a guess, recorded: 2026-02-03}",
       "mlsysim.zoo.043",
       {"estimate 'unit_cost' has no range"}},
      {"unit_cost: {value: 5 USD, range: [6 USD, 7 USD]}",
       "mlsysim.zoo.045",
       {"does not hold its value", "[6 USD, 7 USD]"}},
      {"unit_cost: {value: 5 USD, range: [7 USD, 4 USD]}", "mlsysim.zoo.045", {"lower end <= value"}},
      {"unit_cost: {value: 5 USD, range: 4 USD}", "mlsysim.zoo.045", {"malformed"}},
      {"unit_cost: {value: 5 USD, range: [4 USD]}", "mlsysim.zoo.045", {"a list of 1"}},
      {"unit_cost: {kind: estimate}", "mlsysim.zoo.031", {"'unit_cost.value' is missing"}},
      {"unit_cost: {value: 5 USD, ref: some-datasheet}", "mlsysim.zoo.040", {"'ref' without 'kind'"}},
      {"unit_cost: {value: 5 USD, sauce: x}", "mlsysim.zoo.030", {"unit_cost.sauce"}},
      {"decisions: [{field: a, took: guess, why: w}]", "mlsysim.zoo.036", {"decisions[0].took"}},
      {"decisions: [{field: a, took: both}]", "mlsysim.zoo.031", {"'decisions[0].why' is missing"}},
  };
  for (const auto& bad : cases) {
    INFO(bad.body);
    const auto problems = problems_of(kHead + "  " + bad.body + "\n");
    const auto text = render(problems.front());
    INFO(text);
    CHECK(problems.size() == 1);
    CHECK(problems.front().id == bad.id);
    CHECK(problems.front().where.file == "mine.yaml");
    CHECK(problems.front().where.line >= 1);
    CHECK(problems.front().excerpt.find('^') != std::string::npos);
    CHECK_FALSE(problems.front().found.empty());
    for (const auto& part : bad.parts) CHECK_THAT(text, ContainsSubstring(part));
  }
}

TEST_CASE("all problems of a file come at once", "[zoo]") {
  const auto problems = problems_of(kHead +
                                    "  memory: {capacity: 80, bandwidth: fast}\n"
                                    "  vendr: me\n"
                                    "- title: nameless\n"
                                    "- name: Z\n"
                                    "  release_year: 3000\n");
  REQUIRE(problems.size() == 5);
  CHECK(problems[0].where.line == 4);
  CHECK(problems[1].where.line == 4);
  CHECK(problems[2].where.line == 5);
  CHECK(problems[3].where.line == 6);
  CHECK(problems[4].where.line == 8);
}

TEST_CASE("the schema line is checked first", "[zoo]") {
  const auto first = [](const std::string& text) { return problems_of(text).front(); };
  CHECK(first("entries: []\n").id == "mlsysim.zoo.020");
  CHECK(first("- a\n").id == "mlsysim.zoo.020");
  CHECK(first("just words\n").id == "mlsysim.zoo.020");
  CHECK(first("schema: hardware\nentries: []\n").id == "mlsysim.zoo.020");
  CHECK(first("schema: mlsysim/hardware@one\nentries: []\n").id == "mlsysim.zoo.020");
  CHECK(first("schema: mlsysim/hardware@-1\nentries: []\n").id == "mlsysim.zoo.020");
  const auto unknown = first("schema: mlsysim/hardwear@1\nentries: []\n");
  CHECK(unknown.id == "mlsysim.zoo.021");
  CHECK_THAT(unknown.hint, ContainsSubstring("hardware"));
  const auto newer = first("schema: mlsysim/hardware@2\nentries: []\n");
  CHECK(newer.id == "mlsysim.zoo.022");
  CHECK_THAT(newer.message, ContainsSubstring("version 2"));
  CHECK_THAT(newer.hint, ContainsSubstring("newer mlsysim"));
  const auto older = first("schema: mlsysim/model@1\nentries: []\n");
  CHECK(older.id == "mlsysim.zoo.023");
  CHECK_THAT(older.message, ContainsSubstring("version 1 of 'model'"));
  CHECK_THAT(older.found, ContainsSubstring("mlsysim/model@1"));
  CHECK(older.expected == "version 2");
  CHECK_THAT(older.hint, ContainsSubstring("mlsysim/model@2"));
  CHECK(older.where.line == 1);
  CHECK(first("schema: mlsysim/hardware@1\n").id == "mlsysim.zoo.024");
  CHECK(first("schema: mlsysim/hardware@1\nentries: {a: b}\n").id == "mlsysim.zoo.024");
  CHECK(first("schema: mlsysim/hardware@1\nentries: []\nunits: SI\n").id == "mlsysim.zoo.030");
  CHECK(first("schema: mlsysim/hardware@1\nentries: [H100]\n").id == "mlsysim.zoo.024");
}

TEST_CASE("a reference to an unknown entry names the near ones", "[zoo]") {
  const auto problems = problems_of(
      "schema: mlsysim/node@1\nentries:\n- name: N1\n  accelerator: X2\n  accelerators_per_node: 8\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].id == "mlsysim.zoo.039");
  CHECK(problems[0].where.line == 4);
  CHECK_THAT(problems[0].found, ContainsSubstring("'X2'"));
  CHECK_THAT(problems[0].hint, ContainsSubstring("'X1'"));
}

TEST_CASE("flags are true or false and nothing else", "[zoo]") {
  const std::string head =
      "schema: mlsysim/model@2\nentries:\n- name: M\n  architecture: decoder\n  stacks: [{biases: ";
  CHECK(problems_of(head + "1}]\n").front().id == "mlsysim.zoo.037");
  CHECK(problems_of(head + "'true'}]\n").front().id == "mlsysim.zoo.037");
  CHECK(problems_of(head + "yes}]\n").front().id == "mlsysim.zoo.011");
  CHECK(load_text(head + "true}]\n", "m.yaml", zoo_test::small_base()).only<Workload>().stacks[0].biases);
}

TEST_CASE("a scalar figure takes any unit but its range must be of the same dimension", "[zoo]") {
  const std::string head =
      "schema: mlsysim/price@1\nentries:\n- name: p\n  value: {value: 5 USD, range: [4 USD, ";
  CHECK(problems_of(head + "6 B]}\n").front().id == "mlsysim.zoo.045");
  CHECK(load_text(head + "6 USD]}\n", "m.yaml", zoo_test::small_base())
            .scalar("p")
            .quantity<dim::money>()
            .base() == 5);
}

TEST_CASE("what one file defines twice is refused with both places", "[zoo]") {
  const auto problems = problems_of(kHead + "- name: Z\n  aliases: [Q1]\n- name: Q1\n");
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].id == "mlsysim.zoo.046");
  CHECK_THAT(problems[0].message, ContainsSubstring("alias 'Q1'"));
  CHECK_THAT(problems[1].found, ContainsSubstring("mine.yaml:3:9"));
}
