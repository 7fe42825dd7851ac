#include "support/catch.hpp"

#include <mlsysim/specs/provenance.hpp>

using namespace mlsysim;

TEST_CASE("a figure's own source goes before that of the sizes and that of the entry", "[spec]") {
  Entry e;
  e.source.ref = "entry";
  e.shape_source = Source{.ref = "config"};
  const std::string times = "stacks[0].layers[0].times", experts = "stacks[0].feed_forward.experts.count";
  e.figures = {{.path = "parameters"}, {.path = experts}, {.path = times, .own = Source{.ref = "own"}}};
  CHECK(e.source_of(times).ref == "own");
  CHECK(e.source_of(experts).ref == "config");
  CHECK(e.source_of("stacks[0].hidden").ref == "config");  // also for a size that is no figure
  CHECK(e.source_of("parameters").ref == "entry");
  CHECK(e.source_of("stacksome").ref == "entry");
  e.shape_source.reset();
  CHECK(e.source_of(experts).ref == "entry");
}

TEST_CASE("figures are found by their whole path", "[spec]") {
  Entry e;
  e.figures = {{.path = "a"}, {.path = "a.b"}, {.path = "c"}};
  REQUIRE(e.figure("a.b") != nullptr);
  CHECK(e.figure("a.b")->path == "a.b");
  CHECK(e.figure("a.") == nullptr);
  CHECK(e.figure("") == nullptr);
  CHECK(e.figure("d") == nullptr);
}
