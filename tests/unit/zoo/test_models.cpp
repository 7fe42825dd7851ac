// Models as stacks of layers: what is misspelt is found at every depth.

#include "support/catch.hpp"

#include "zoo/detail/gather.hpp"

#include <mlsysim/zoo/writer.hpp>

using namespace mlsysim;

namespace {

const std::string kModel =
    "schema: mlsysim/model@2\nentries:\n- name: M\n  architecture: decoder\n  stacks:\n";

std::vector<ErrorFacts> problems_in(const std::string& text) {
  const Zoo base;
  auto out = detail::gather_text({"mine.yaml", text}, &base);
  return out.problems.all();
}

Zoo read(const std::string& text) {
  const Zoo base;
  auto out = detail::gather_text({"mine.yaml", text}, &base);
  for (const auto& p : out.problems.all()) UNSCOPED_INFO(render(p));
  REQUIRE(out.problems.empty());
  return std::move(out.zoo);
}

std::string body_of(const std::string& yaml) { return yaml.substr(yaml.find("  stacks:")); }

}  // namespace

TEST_CASE("a misspelt key of a model is an error with a near miss at every depth", "[zoo]") {
  struct Case {
    std::string line, found, hint;
  };
  const std::vector<Case> cases{
      {"  - {hiden: 8}\n", "'hiden'", "'hidden'"},
      {"  - {mixers: {}}\n", "'mixers'", "'mixer'"},
      {"  - mixer: {groupd: {}}\n", "'groupd'", "'grouped'"},
      {"  - mixer: {grouped: {headz: 64}}\n", "'headz'", "'heads'"},
      {"  - mixer: {latent: {kv_lora: 512}}\n", "'kv_lora'", "'kv_lora_rank'"},
      {"  - reach: {windw: 4}\n", "'windw'", "'window'"},
      {"  - reach: {select: {topk: 4}}\n", "'topk'", "'top_k'"},
      {"  - feed_forward: {experts: {cout: 4}}\n", "'cout'", "'count'"},
      {"  - layers: [{time: 4}]\n", "'time'", "'times'"},
      {"  - layers: [{pattern: [{}, {reach: {chunks: 4}}]}]\n", "'chunks'", "'chunk'"},
      {"  - input: {lookups: [{row: 4}]}\n", "'row'", "'rows'"},
  };
  for (const auto& c : cases) {
    INFO(c.line);
    const auto problems = problems_in(kModel + c.line);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].id == "mlsysim.zoo.030");
    CHECK(problems[0].found == c.found);
    CHECK_THAT(problems[0].hint, ContainsSubstring(c.hint));
    CHECK(problems[0].where.line == 6);
    CHECK_THAT(render(problems[0]), ContainsSubstring("^"));
  }
}

TEST_CASE("figures of a model that contradict each other are found where they stand", "[zoo]") {
  for (const std::string line :
       {"  - mixer: {grouped: {heads: 4, kv_heads: 8}}\n", "  - reach: {window: 4, chunk: 8}\n",
        "  - feed_forward: {experts: {count: 4, top_k: 5}}\n",
        "  - layers: [{pattern: [{feed_forward: {experts: {limited_groups: 2}}}]}]\n"}) {
    INFO(line);
    const auto problems = problems_in(kModel + line);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].id == "mlsysim.zoo.047");
    CHECK(problems[0].where.line == 6);
  }
}

TEST_CASE("what a model may be made of is read and written back", "[zoo]") {
  // One line a family: what its configuration has and others have not.
  const std::vector<std::string> families{
      "mixer: {latent: {heads: 128, q_lora_rank: 1536, kv_lora_rank: 512, nope_head_dim: 128, rope_head_dim: "
      "64, "
      "value_head_dim: 128}}, feed_forward: {experts: {count: 256, top_k: 8, width: 2048, shared: 1, groups: "
      "8, "
      "limited_groups: 4, router_bias: true, routing: grouped}}",
      "mixer: {latent: {heads: 128, kv_lora_rank: 512, nope_head_dim: 128, rope_head_dim: 64, "
      "value_head_dim: "
      "128}}, reach: {select: {heads: 64, head_dim: 128, top_k: 2048, key_bytes: 1.03}}",
      "mixer: {latent: {heads: 64, rope_head_dim: 0}}, layers: [{pattern: [{reach: {select: {shared: true, "
      "pool: "
      "4}}}, {}]}], residual: {streams: 4}",
      "mixer: {grouped: {heads: 128, kv_heads: 1, head_dim: 512, shared_kv: true, q_lora_rank: 1536, "
      "output_rank: "
      "1024, output_groups: 16}}, layers: [{times: 3, pattern: [{feed_forward: {experts: {count: 4, routing: "
      "hash}}}]}, {pattern: [{reach: {window: 128, compress: 4, overlapping: true}}, {reach: {window: 128, "
      "compress: 128}}]}]",
      "mixer: {grouped: {heads: 8, borrows_kv: true}}, input: {lookups: [{rows: 384000000, width: 64, reads: "
      "2}, "
      "{rows: 10, width: 4, per_layer: true}]}",
      "layers: [{times: 23, pattern: [{times: 3, mixer: {linear: {rule: kda, key_heads: 96, value_heads: 96, "
      "key_head_dim: 128, conv_width: 4, decay_rank: 64, state_precision: bf16}}}, {}]}], feed_forward: "
      "{experts: "
      "{count: 896, top_k: 16, width: 3072, shared: 2, latent: 3584, latent_norm: true}}, residual: "
      "{memory_every: 12}",
      "layers: [{pattern: [{mixer: {state_space: {rule: mamba2, heads: 8, head_dim: 64, groups: 8, "
      "state_size: "
      "128, chunk: 256}}, feed_forward: {}}, {mixer: {}, feed_forward: {dense: {width: 64, gated: false, "
      "activation: relu2}}}]}]",
      "layers: [{pattern: [{mixer: {grouped: {heads: 8, kv_heads: 2, head_dim: 512, shared_kv: true}}}, "
      "{reach: "
      "{window: 1024}}]}], mixer: {grouped: {heads: 8, kv_heads: 8, head_dim: 256, value_head_dim: 128, "
      "rope_dim: "
      "64}}, feed_forward: {dense: {width: 4}, experts: {count: 4}}",
      "layers: [{times: 24, pattern: [{feed_forward: {dense: {width: 16384}}}, {}]}], reach: {chunk: 8192}",
      "mixer: {grouped: {heads: 4, sinks: true, qkv_bias: true, output_bias: true}}, reach: {select: {block: "
      "128, "
      "top_k: 16}}, feed_forward: {experts: {bias: true, activation: swiglu_oai}}",
      "role: tower, hidden: 1152, input: {image_size: 896, patch_size: 14, temporal_patch_size: 2, channels: "
      "3, "
      "merge: 2, max_tokens: 1024}, output: {logits: false, projector_width: 4096}",
      "role: draft, predicts: 3, own_embedding: true, layers: [{times: 3}]",
      "mixer: {recurrent: {rule: lstm, width: 256}, cross: {heads: 4}}, residual: {parallel: true, norms: 1}",
  };
  for (const auto& family : families) {
    INFO(family);
    const Zoo zoo = read(kModel + "  - {" + family + "}\n");
    const auto written = to_yaml(zoo.only<Workload>());
    const Zoo again = read(written);
    CHECK(body_of(to_yaml(again.only<Workload>())) == body_of(written));
  }
  const Zoo formats =
      read(kModel +
           "  - {hidden: 4}\n  formats:\n  - {tensors: experts, precision: fp4, block: 32, scale: 1 B}\n");
  CHECK(formats.only<Workload>().formats.at(0).precision == Precision::fp4);
}

TEST_CASE("what is stated at no place is not the same as what is stated to be nothing", "[zoo]") {
  const Zoo zoo =
      read(kModel + "  - {reach: {window: 4}, layers: [{pattern: [{reach: {}, mixer: {}}, {}]}]}\n");
  const auto& pattern = zoo.only<Workload>().stacks[0].layers[0].pattern;
  REQUIRE(pattern.size() == 2);
  CHECK(pattern[0].reach.has_value());
  CHECK_FALSE(pattern[0].reach->window.has_value());
  CHECK_FALSE(pattern[1].reach.has_value());
  CHECK_THAT(to_yaml(zoo.only<Workload>()), ContainsSubstring("reach: {}"));
}
