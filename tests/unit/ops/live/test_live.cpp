// Running engines beside what is predicted for them.

#include "support/catch.hpp"

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/ops/live/live.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <cmath>

using namespace mlsysim;

namespace {

/// What vLLM exposes, with means that are given in seconds.
std::string page(double requests, double ttft, double itl, const std::string& model = "llama") {
  const double tokens = requests * 100;
  return fmt::format(R"(# HELP vllm:time_to_first_token_seconds Histogram.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{{le="+Inf",model_name="{0}"}} {1}
vllm:time_to_first_token_seconds_sum{{model_name="{0}"}} {2}
vllm:time_to_first_token_seconds_count{{model_name="{0}"}} {1}
vllm:time_per_output_token_seconds_sum{{model_name="{0}"}} {3}
vllm:time_per_output_token_seconds_count{{model_name="{0}"}} {4}
vllm:num_requests_running{{engine="0",model_name="{0}"}} 4.0
vllm:num_requests_running{{engine="1",model_name="{0}"}} 4.0
vllm:num_requests_waiting{{model_name="{0}"}} 1
vllm:gpu_cache_usage_perc{{model_name="{0}"}} 0.25
vllm:prompt_tokens_total{{model_name="{0}"}} {5}
vllm:generation_tokens_total{{model_name="{0}"}} {4}
vllm:gpu_prefix_cache_queries_total{{model_name="{0}"}} 1000
vllm:gpu_prefix_cache_hits_total{{model_name="{0}"}} 500
)",
                     model, requests, requests * ttft, tokens * itl, tokens, requests * 1024);
}

}  // namespace

TEST_CASE("an exposition is read whatever stands in it", "[watch]") {
  const auto e = read_exposition(
      "# TYPE a counter\na{x=\"q\\\"\\\\\\n{},=\",y=\"\"} 1.5 1700000000\r\nb +Inf\n\n  c 2\nd{x=1} "
      "3\ne{x=\"1} 3\nf\n{} 1\n"
      "g{x=\"1\",} NaN\nh 0x1\nlast 7");
  REQUIRE(e.samples.size() == 5);
  CHECK(e.samples[0].labels.at("x") == "q\"\\\n{},=");
  CHECK(e.samples[0].value == 1.5);
  CHECK(std::isinf(e.samples[1].value));
  CHECK(e.samples[2].name == "c");
  CHECK(std::isnan(e.samples[3].value));
  CHECK(e.samples[4].value == 7);
  CHECK(e.damaged == 5);
}

TEST_CASE("numbers of vLLM are means over requests, since it started or since the asking before", "[watch]") {
  const auto first = read_exposition(page(10, 0.05, 0.01)), second = read_exposition(page(30, 0.04, 0.01));
  const auto all = live_numbers(first);
  REQUIRE(all.size() == 1);
  CHECK(all[0].engine == "vllm");
  CHECK(all[0].model == "llama");
  CHECK(all[0].requests == 10);
  CHECK(*all[0].ttft / unit::ms == Approx(50));
  CHECK(*all[0].itl / unit::ms == Approx(10));
  CHECK(*all[0].running == 8);
  CHECK(*all[0].cache_use == 0.25);
  CHECK(*all[0].prompt_tokens == 1024);
  CHECK(*all[0].output_tokens == 100);
  CHECK(*all[0].prefix_hits == 0.5);
  const auto since = live_numbers(second, &first);
  CHECK(since[0].requests == 20);
  CHECK(*since[0].ttft / unit::ms == Approx((30 * 40 - 10 * 50) / 20.0));
  // A counter that went back was restarted.
  CHECK(live_numbers(first, &second)[0].requests == 10);
  CHECK(live_numbers(read_exposition("python_gc 1\n")).empty());
  const auto two = live_numbers(read_exposition(page(1, 1, 1, "a") + page(2, 1, 1, "b")));
  REQUIRE(two.size() == 2);
  CHECK(two[1].requests == 2);
}

TEST_CASE("numbers of SGLang go by other names", "[watch]") {
  const auto found = live_numbers(read_exposition(R"(sglang:time_to_first_token_seconds_sum{model_name="m"} 2
sglang:time_to_first_token_seconds_count{model_name="m"} 4
sglang:inter_token_latency_seconds_sum{model_name="m"} 1
sglang:inter_token_latency_seconds_count{model_name="m"} 100
sglang:num_running_reqs{model_name="m"} 3
sglang:num_queue_reqs{model_name="m"} 2
sglang:token_usage{model_name="m"} 0.5
sglang:cache_hit_rate{model_name="m"} 0.1
)"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].engine == "sglang");
  CHECK(*found[0].ttft / unit::s == Approx(0.5));
  CHECK(*found[0].itl / unit::ms == Approx(10));
  CHECK(*found[0].waiting == 2);
  CHECK(*found[0].prefix_hits == 0.1);
  CHECK_FALSE(found[0].e2e);
}

TEST_CASE("a measured number inside its band is none to tell of, and one outside is", "[watch]") {
  const WatchPlan plan{.workload = "Llama3_8B", .hardware = "H100", .fields = {{"precision", "bf16"}}};
  ScenarioBuilder builder(standard_zoo());
  builder.set("workload", "Llama3_8B").hardware("H100").set("precision", "bf16").set("batch_size", "8");
  builder.set("seq_len", "1024").set("output_tokens", "100").set("cached_prefix_len", "512");
  const auto built = builder.build();
  const auto subject = subject_of(built.scenario);
  const double itl = subject.entry(subject.point)[subject.result("itl")];
  const double ttft = subject.entry(subject.point)[subject.result("ttft")];
  auto live = live_numbers(read_exposition(page(10, ttft, itl)))[0];
  const auto fine = watched_numbers(live, plan, standard_zoo());
  REQUIRE(fine.size() == 2);
  CHECK(fine[1].name == "itl");
  // The scenario is the one that the engine runs.
  CHECK(fine[1].predicted.base() == Approx(itl));
  CHECK(fine[0].predicted.base() == Approx(ttft));
  CHECK(fine[0].place == InBand::inside);
  CHECK(fine[1].place == InBand::inside);
  CHECK(fine[1].low < fine[1].predicted);
  CHECK(fine[1].high > fine[1].predicted);
  live.itl = *live.itl * 3.0;
  live.ttft = *live.ttft * 0.01;
  const auto parted = watched_numbers(live, plan, standard_zoo());
  CHECK(parted[0].place == InBand::below);
  CHECK(parted[1].place == InBand::above);
  const auto text = prometheus_text(
      watch_metrics({{.url = "http://a", .trouble = {}, .live = live, .numbers = parted, .notes = {}},
                     {.url = "http://b", .trouble = "hangs", .live = {}, .numbers = {}, .notes = {}}}));
  CHECK(text.find("mlsysim_watch_up{server=\"http://a\"} 1\n") != std::string::npos);
  CHECK(text.find("mlsysim_watch_up{server=\"http://b\"} 0\n") != std::string::npos);
  CHECK(text.find("mlsysim_watch_outside{engine=\"vllm\",model_name=\"llama\",number=\"itl\",server=\"http://"
                  "a\"} 1\n") != std::string::npos);
  live.requests = 0;
  CHECK_THROWS_AS(watched_numbers(live, plan, standard_zoo()), InputError);
}
