// Plans as launches, and back: what a launch says of a plan, its reader understands.
#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <string>

using namespace mlsysim;
using Catch::Matchers::Contains;

namespace {

using Fields = std::map<std::string, std::string>;

std::string file_of(LaunchFormat format) {
  return format == LaunchFormat::trtllm       ? "l.yaml"
         : format == LaunchFormat::deepspeed  ? "l.json"
         : format == LaunchFormat::torchtitan ? "l.toml"
                                              : "l.sh";
}

BuiltScenario scenario(const Fields& fields) {
  ScenarioBuilder builder(standard_zoo());
  for (const auto& [field, text] : fields) builder.set(field, text);
  return builder.build();
}

/// The launch of a plan, read again with what a launch never says.
Launch back(const LaunchText& text, LaunchFormat format, const Fields& fields) {
  LaunchQuestion q{.text = text.text, .name = file_of(format), .format = format};
  for (const auto* key : {"workload", "hardware", "accelerators", "draft_model"})
    if (const auto at = fields.find(key); at != fields.end()) q.fields[key] = at->second;
  return read_launch(q, standard_zoo());
}

/// Two answers are the same.
void same_answer(const Scenario& a, const Scenario& b) {
  const auto x = SystemEvaluator::evaluate(a), y = SystemEvaluator::evaluate(b);
  const auto first = x.performance.metrics, second = y.performance.metrics;
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].text(9) == second[i].text(9));
}

}  // namespace

TEST_CASE("plans that serve survive the way to an engine and back", "[launch]") {
  const Fields plans[] = {
      {{"workload", "Llama3_70B"},
       {"hardware", "H100"},
       {"mode", "serve"},
       {"accelerators", "8"},
       {"tp_size", "8"},
       {"batch_size", "16"},
       {"seq_len", "2048"},
       {"output_tokens", "512"},
       {"weight_format", "fp8"}},
      {{"workload", "Llama3_8B"},
       {"hardware", "H100"},
       {"mode", "serve"},
       {"accelerators", "2"},
       {"tp_size", "2"},
       {"batch_size", "64"},
       {"seq_len", "1024"},
       {"output_tokens", "128"},
       {"precision", "bf16"},
       {"kv_precision", "fp8"},
       {"prefill_chunk_tokens", "512"}},
  };
  for (const auto& fields : plans)
    for (const auto format : {LaunchFormat::vllm, LaunchFormat::sglang, LaunchFormat::trtllm}) {
      Fields on_engine = fields;
      on_engine["engine"] = format == LaunchFormat::vllm     ? "vllm"
                            : format == LaunchFormat::sglang ? "sglang"
                                                             : "tensorrt_llm";
      const auto built = scenario(on_engine);
      const auto text = export_launch(built.scenario, format, "");
      CHECK_THAT(text.text, Catch::Matchers::Contains("meta-llama/Llama-3.1-"));
      INFO(text.text);
      CHECK(text.not_carried.empty());
      const auto again = back(text, format, fields).build(standard_zoo());
      same_answer(built.scenario, again.scenario);
    }
}

TEST_CASE("plans that train survive the way to an engine and back", "[launch]") {
  const Fields base{{"workload", "Llama3_8B"}, {"hardware", "H100"},    {"mode", "train"},
                    {"accelerators", "64"},    {"batch_size", "512"},   {"seq_len", "4096"},
                    {"precision", "bf16"},     {"microbatch_size", "1"}};
  Fields megatron = base;
  megatron.insert({{"tp_size", "4"},
                   {"pp_size", "2"},
                   {"zero_stage", "1"},
                   {"recomputation", "full"},
                   {"gradient_precision", "fp32"},
                   {"optimizer", "adam"}});
  Fields titan = base;
  titan.insert(
      {{"tp_size", "2"}, {"zero_stage", "3"}, {"recomputation", "selective"}, {"optimizer", "adamw"}});
  titan["microbatch_size"] = "16";
  Fields deepspeed = base;
  deepspeed.insert(
      {{"zero_stage", "2"}, {"offload_states", "1"}, {"offload_gradients", "1"}, {"optimizer", "adam"}});
  for (const auto& [format, fields] : {std::pair(LaunchFormat::megatron, megatron),
                                       {LaunchFormat::torchtitan, titan},
                                       {LaunchFormat::deepspeed, deepspeed}}) {
    const auto built = scenario(fields);
    const auto text = export_launch(built.scenario, format, "");
    INFO(text.text);
    auto launch = back(text, format, fields);
    if (format == LaunchFormat::deepspeed) launch.fields["seq_len"] = "4096";  // it has no key for it
    if (format == LaunchFormat::torchtitan) launch.fields["microbatch_size"] = "16";
    same_answer(built.scenario, launch.build(standard_zoo()).scenario);
  }
}

TEST_CASE("what an engine cannot be told is said", "[launch]") {
  const auto built = scenario({{"workload", "Llama3_8B"},
                               {"hardware", "H100"},
                               {"mode", "serve"},
                               {"accelerators", "4"},
                               {"tp_size", "2"},
                               {"batch_size", "8"},
                               {"power_cap", "500 W"}});
  const auto vllm = export_launch(built.scenario, LaunchFormat::vllm, "meta-llama/Llama-3.1-8B");
  CHECK_THAT(vllm.text, Contains("vllm serve meta-llama/Llama-3.1-8B"));
  CHECK_THAT(vllm.text, Contains("--data-parallel-size 2"));
  CHECK_THAT(vllm.text, Contains("# not carried: power_cap 500 W"));
  const auto trtllm = export_launch(built.scenario, LaunchFormat::trtllm, "");
  CHECK_THAT(trtllm.text, Contains("# not carried: accelerators 4"));  // one process serves one replica
  CHECK_THROWS_WITH(export_launch(built.scenario, LaunchFormat::megatron, ""), Contains("launch.018"));
  CHECK_THROWS_WITH(export_launch(built.scenario, LaunchFormat::mlperf, ""), Contains("launch.018"));
}

TEST_CASE("every field of a plan comes back or is said to be left, whatever the engine", "[launch]") {
  const Fields common{{"hardware", "H100"}, {"batch_size", "64"}, {"seq_len", "4096"}, {"tp_size", "2"},
                      {"pp_size", "2"},     {"ep_size", "2"},     {"precision", "fp8"}};
  Fields trains = common, serves = common;
  trains.insert({{"workload", "Mixtral_8x7B"},
                 {"mode", "train"},
                 {"accelerators", "32"},
                 {"cp_size", "2"},
                 {"zero_stage", "2"},
                 {"v_stages", "2"},
                 {"shard_size", "2"},
                 {"offload_states", "0.5"},
                 {"schedule", "gpipe"},
                 {"optimizer", "adamw"},
                 {"dropout", "true"},
                 {"microbatch_count", "4"},
                 {"recomputation", "norm"},
                 {"tp_overlap", "0.5"},
                 {"gradient_precision", "bf16"}});
  serves.insert({{"workload", "Mixtral_8x7B"},
                 {"mode", "serve"},
                 {"accelerators", "8"},
                 {"kv_precision", "int8"},
                 {"draft_model", "Llama3_8B"},
                 {"draft_tokens", "3"},
                 {"output_tokens", "99"},
                 {"cached_prefix_len", "64"},
                 {"prefill_chunk_tokens", "512"}});
  for (const auto format : {LaunchFormat::vllm, LaunchFormat::sglang, LaunchFormat::trtllm,
                            LaunchFormat::megatron, LaunchFormat::deepspeed, LaunchFormat::torchtitan}) {
    const bool serving = format <= LaunchFormat::trtllm;
    const auto& fields = serving ? serves : trains;
    const auto text = export_launch(scenario(fields).scenario, format, "");
    const auto launch = back(text, format, fields);
    INFO(text.text);
    for (const auto& [field, value] : fields) {
      const auto at = launch.fields.find(field);
      const bool comes_back = at != launch.fields.end() && at->second == value;
      const bool said = std::any_of(text.not_carried.begin(), text.not_carried.end(),
                                    [&](const auto& lost) { return lost.starts_with(field + " "); });
      INFO(field);
      const auto weights = launch.fields.find("weight_format");  // a format of all weights is told as theirs
      const bool as_weights =
          field == "precision" && weights != launch.fields.end() && weights->second == value;
      CHECK((comes_back || said || as_weights || field == "mode" || field == "workload"));
    }
  }
}

TEST_CASE("a launch is that of the plan that was predicted", "[launch]") {
  const Fields common{{"workload", "Llama3_70B"}, {"hardware", "H100"}, {"mode", "serve"},
                      {"accelerators", "8"},      {"tp_size", "8"},     {"engine", "vllm"}};
  // At a rate so many run as arrive while one is served, and more by chance.
  Fields rated = common;
  rated.insert({{"arrival_rate", "5/s"}});
  const auto at_rate = scenario(rated);
  const double running =
      SystemEvaluator::evaluate(at_rate.scenario).find("performance.running_requests")->number();
  const auto rate = export_launch(at_rate.scenario, LaunchFormat::vllm, "");
  INFO(rate.text);
  const auto admitted = std::stod(rate.text.substr(rate.text.find("--max-num-seqs ") + 15));
  CHECK(running > 2);
  CHECK(admitted >= running + 2 * std::sqrt(running));
  CHECK(admitted <= running + 4 * std::sqrt(running) + 1);
  const auto again = back(rate, LaunchFormat::vllm, common);
  CHECK(again.fields.at("arrival_rate") == "5 request/s");
  // A comment of somebody else is none of ours.
  auto theirs = rate;
  theirs.text.insert(0, "# load: heavy, on Mondays\n");
  CHECK(back(theirs, LaunchFormat::vllm, common).fields.count("arrival_rate") == 0);
  // Answers of 128 tokens that nobody asked for are predicted, and admitted.
  CHECK_THAT(rate.text, Contains("--max-model-len 2176"));
  // A format of all weights is told as theirs; the cache is the engine's default.
  Fields narrow = common;
  narrow.insert({{"precision", "fp8"}});
  const auto fp8 = export_launch(scenario(narrow).scenario, LaunchFormat::vllm, "");
  INFO(fp8.text);
  CHECK_THAT(fp8.text, Contains("--quantization fp8"));
  CHECK_FALSE(fp8.text.find("not carried") != std::string::npos);
  CHECK_FALSE(fp8.text.find("kv-cache-dtype") != std::string::npos);
}

TEST_CASE("weights that a repository does not hold have no launch", "[launch]") {
  const auto with = [](const char* field, const char* value) {
    return scenario({{"workload", "DeepSeek_V3"},
                     {"hardware", "B200"},
                     {"mode", "serve"},
                     {"accelerators", "8"},
                     {"tp_size", "8"},
                     {field, value}});
  };
  const auto launched = [](const BuiltScenario& built, const char* checkpoint = "") {
    return export_launch(built.scenario, LaunchFormat::vllm, checkpoint).text;
  };
  // The files are in fp8.
  CHECK_THROWS_WITH(launched(with("precision", "fp4")), Contains("launch.180"));
  CHECK_THROWS_WITH(launched(with("weight_format", "nvfp4")), Contains("launch.180"));
  CHECK_THROWS_WITH(launched(with("precision", "bf16")), Contains("launch.180"));
  CHECK_THAT(launched(with("precision", "fp8")), Contains("deepseek-ai/DeepSeek-V3"));
  CHECK_NOTHROW(launched(with("weight_format", "fp8_block")));
  CHECK_THAT(launched(with("precision", "fp4"), "nvidia/DeepSeek-V3-FP4"),
             Contains("nvidia/DeepSeek-V3-FP4"));
}
