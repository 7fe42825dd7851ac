#include "support/catch.hpp"

#include <mlsysim/specs/releases.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <string>

using namespace mlsysim;
using Catch::Matchers::Contains;

namespace {

/// Three releases of an engine, and another engine.
Zoo small_zoo() {
  Zoo zoo;
  const auto add = [&](std::string name, std::string version, std::vector<std::string> aliases) {
    Entry entry;
    entry.name = std::move(name);
    entry.kind = "engine";
    entry.aliases = std::move(aliases);
    ServingEngine engine;
    engine.version = std::move(version);
    zoo.add(engine, std::move(entry));
  };
  add("serve", "2.10.0", {"server"});
  add("serve@2.9", "", {});
  add("old_serve", "0", {"serve@0"});
  add("other", "b17", {});
  return zoo;
}

std::string name_of(const ServingEngine* e) { return e == nullptr ? "" : e->name; }

}  // namespace

TEST_CASE("a release is found by its version, or by what that begins with", "[zoo]") {
  const Zoo zoo = small_zoo();
  CHECK(release_name("serve@2.9").family == "serve");
  CHECK(release_name("serve@2.9").version == "2.9");
  CHECK(release_name("serve").version.empty());
  for (const auto& [asked, found] : {std::pair("serve@2.10.0", "serve"),
                                     {"serve@v2.10.0", "serve"},
                                     {"serve@2.9.1", "serve@2.9"},
                                     {"serve@2.9", "serve@2.9"},
                                     {"serve@2.10", "serve"},
                                     {"serve@0.7.3rc1", "old_serve"},
                                     {"server@2.10.0", "serve"},
                                     {"other@b17", "other"}}) {
    INFO(asked);
    CHECK(name_of(zoo.find<ServingEngine>(asked)) == found);
  }
  for (const auto* asked : {"serve@2.1", "serve@3", "serve@1.9", "nobody@1", "other@b18"})
    CHECK(zoo.find<ServingEngine>(asked) == nullptr);
  CHECK(releases_of(zoo, "serve") == std::vector<std::string>{"serve@0", "serve@2.9", "serve@2.10.0"});
  CHECK(releases_of(zoo, "nobody").empty());
}

TEST_CASE("a release that is not known is refused with those that are", "[zoo]") {
  const Zoo zoo = small_zoo();
  try {
    (void)zoo.at<ServingEngine>("serve@3.1");
    FAIL("no error");
  } catch (const LookupError& error) {
    CHECK(error.facts().id == "mlsysim.spec.009");
    CHECK_THAT(error.facts().expected, Contains("serve@0, serve@2.9, serve@2.10.0"));
  }
  CHECK_THROWS_WITH(zoo.at<ServingEngine>("nobody@3"), Contains("spec.001"));
}

TEST_CASE("another release stands in, the newest that is not newer", "[zoo]") {
  const Zoo zoo = small_zoo();
  const auto exact = release_or_nearest(zoo, "serve@2.9.4");
  CHECK(name_of(exact.engine) == "serve@2.9");
  CHECK(exact.stands_in.empty());
  for (const auto& [asked, found] :
       {std::pair("serve@3", "serve"), {"serve@1.5", "old_serve"}, {"serve@2.9.4.1", "serve@2.9"}}) {
    INFO(asked);
    CHECK(name_of(release_or_nearest(zoo, asked).engine) == found);
  }
  CHECK_THAT(release_or_nearest(zoo, "serve@3").stands_in,
             Contains("serve 3 is not known") && Contains("serve@2.10.0 stands in"));
  CHECK_THROWS_AS(release_or_nearest(zoo, "nobody@1"), LookupError);
}

TEST_CASE("engines of the zoo have releases", "[zoo]") {
  const Zoo& zoo = standard_zoo();
  CHECK(name_of(zoo.find<ServingEngine>("vllm@0.33.0")) == "vllm");
  CHECK(name_of(zoo.find<ServingEngine>("sglang@0.5.8.post1")) == "sglang");
  CHECK(name_of(zoo.find<ServingEngine>("sglang@0.5.6.post2")) == "sglang@0.5.6");
  CHECK(name_of(zoo.find<ServingEngine>("trtllm@1.0.0rc3")) == "tensorrt_llm@1.0");
  CHECK(name_of(zoo.find<ServingEngine>("trtllm@1.2.0rc6")) == "tensorrt_llm@1.1");
  CHECK(name_of(zoo.find<ServingEngine>("tensorrt_llm@0.14.0")) == "tensorrt_llm_cpp");
  CHECK(name_of(zoo.find<ServingEngine>("llama_cpp@08033df")) == "llama_cpp");
}

namespace {

constexpr const char* kRelease = R"(
schema: mlsysim/engine@1
entries:
- {name: vllm@99, title: a release, origin: user, extends: vllm, host_step: 0.1 ms}
)";

}  // namespace

TEST_CASE("a release states what differs and has the rest of the one that it extends", "[zoo]") {
  const Zoo mine = load_text(kRelease, "mine.yaml", standard_zoo());
  const auto& release = mine.at<ServingEngine>("vllm@99");
  const auto& vllm = standard_zoo().at<ServingEngine>("vllm");
  CHECK(release.host_step == 0.1 * unit::ms);
  CHECK(release.host_request == vllm.host_request);
  CHECK(release.prompt_layer == vllm.prompt_layer);
  CHECK(release.lookahead == vllm.lookahead);
  REQUIRE(release.memory);
  CHECK(release.memory->steps.size() == vllm.memory->steps.size());
}

TEST_CASE("a runtime that stands below the one that extends it is refused", "[zoo]") {
  const std::string text = R"(
schema: mlsysim/engine@1
entries:
- {name: second, title: a release, origin: user, extends: first}
- {name: first, title: an engine, origin: user, host_step: 1 ms}
)";
  CHECK_THROWS_AS(load_text(text, "mine.yaml", standard_zoo()), ErrorList);
}
