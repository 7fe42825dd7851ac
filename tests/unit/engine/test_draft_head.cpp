// Heads that propose tokens: their weights.

#include <support/catch.hpp>

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <string>

using namespace mlsysim;
using Catch::Matchers::WithinRel;

namespace {

/// A scenario with a head of this kind on a model.
BuiltScenario with_head(const std::string& kind, const std::string& model) {
  ScenarioBuilder builder(standard_zoo());
  builder.set("workload", model);
  builder.set("draft_model", kind);
  return builder.build();
}
double weights(const std::string& kind, const std::string& model) {
  const auto built = with_head(kind, model);
  REQUIRE(built.scenario.draft_model != nullptr);
  REQUIRE(built.scenario.draft_model->has_shape());
  return parameter_count(*built.scenario.draft_model) / unit::param;
}

}  // namespace

TEST_CASE("a head counts the weights that it does not share", "[engine]") {
  // One layer of Llama-3.1-8B: queries and output, keys and values, three matrices, three norms.
  const double hidden = 4096, layer = hidden * (2 * hidden + 2 * 1024 + 3 * 14336 + 3);
  CHECK(weights("eagle", "Llama3_8B") == layer);
  CHECK(weights("mtp", "Llama3_8B") == layer);  // it has no draft layers
  CHECK(weights("medusa", "Llama3_8B") == hidden * hidden + 128256 * hidden);
  // Eight experts of 768 at a token make one feed-forward of 6144.
  const auto moe = with_head("eagle", "Qwen3_30B_A3B");
  const Workload& dense = *moe.scenario.draft_model;
  CHECK_FALSE(dense.is_moe());
  REQUIRE(dense.main()->feed_forward.dense.has_value());
  CHECK(dense.main()->feed_forward.dense->width == 6144.0);
  // A layer for multi-token prediction keeps its 128 experts of three matrices, 768 x 2048 each.
  CHECK(with_head("mtp", "Qwen3_30B_A3B").scenario.draft_model->is_moe());
  CHECK_THAT(weights("mtp", "Qwen3_30B_A3B"), WithinRel(128.0 * 3 * 768 * 2048 + 0.019e9, 0.01));
  // 257 experts of three matrices, 2048 x 7168 each, and attention: no embedding, no output matrix.
  CHECK_THAT(weights("mtp", "DeepSeek_V3"), WithinRel(257.0 * 3 * 2048 * 7168 + 0.19e9, 0.005));
}

TEST_CASE("only a head that mixes no tokens has weights for each", "[engine]") {
  const auto medusa = with_head("medusa", "Llama3_8B"), eagle = with_head("eagle", "Llama3_8B");
  CHECK(head_per_token(*medusa.scenario.draft_model));
  CHECK_FALSE(head_per_token(*eagle.scenario.draft_model));
  CHECK_FALSE(head_per_token(*eagle.scenario.workload));
}
