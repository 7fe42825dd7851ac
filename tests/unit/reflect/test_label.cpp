#include "support/catch.hpp"

#include <mlsysim/reflect/label.hpp>

using namespace mlsysim;

TEST_CASE("keys have labels without underscores and dots", "[reflect]") {
  for (const auto* key :
       {"ttft", "itl", "kv_cache", "throughput_per_accelerator", "hardware.memory.bandwidth",
        "links.level1.bandwidth", "plan.weight_bytes", "tp_size", "step_latency", "tco"}) {
    CHECK(has_label(key));
    CHECK(label_of(key).find('_') == std::string::npos);
  }
  CHECK(!has_label("hardware.kernels.attention_split"));
  CHECK(label_of("hardware.kernels.attention_split") == "kernel time: attention split");
  CHECK(label_of("workload.stacks[0].feed_forward.dense.width") == "layers: dense width");
  CHECK(label_of("workload.vocabulary") == "model: vocabulary");
  CHECK(label_of("itl / ttft") == "itl / ttft");
}
