#include "support/catch.hpp"

#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

using namespace mlsysim;

TEST_CASE("the size of a model is its published size, or parameters times the width", "[spec]") {
  Workload w;
  w.parameters = 8e9 * unit::param;
  CHECK(w.size().base() == 16e9);
  CHECK(w.size(Precision::int4).base() == 4e9);
  w.recommendation.model_size = 100 * unit::GB;
  CHECK(w.size().base() == 100e9);
  w.model_size = 5 * unit::GB;
  CHECK(w.size(Precision::fp32).base() == 5e9);
  Workload unknown;
  unknown.name = "Secret";
  CHECK_THROWS_WITH(unknown.size(), ContainsSubstring("'Secret'") && ContainsSubstring("8.03 Gparam"));
}

TEST_CASE("a model has a shape when its operators can be made from it", "[spec]") {
  Workload w;
  w.architecture = Architecture::decoder;
  CHECK_FALSE(w.has_shape());
  w.stacks = {plain_decoder({.layers = 2, .hidden = 8, .heads = 2})};
  Stack& stack = w.stacks[0];
  CHECK_FALSE(w.has_shape());
  stack.feed_forward.dense = DenseFeedForward{.width = 32};
  CHECK(w.has_shape());
  stack.feed_forward = {.experts = Experts{.count = 4, .width = 16}};
  CHECK(w.has_shape());
  stack.layers = {{.times = 1, .pattern = {Layer{.mixer = Mixer{.recurrent = Recurrent{}}}, Layer{}}}};
  CHECK_FALSE(w.has_shape());  // the lowering has no rules for such recurrences
  CHECK(parts_without_law(w) == std::vector<std::string>{"stacks[0].mixer.recurrent"});
  stack.layers = {{.times = 2, .pattern = {}}};
  w.architecture = Architecture::opaque;
  CHECK_FALSE(w.has_shape());
  w.architecture = Architecture::ssm;
  CHECK_FALSE(w.has_shape());
  w.architecture = Architecture::cnn;
  CHECK_FALSE(w.has_shape());
  w.convolution.emplace_back();
  CHECK(w.has_shape());
}
