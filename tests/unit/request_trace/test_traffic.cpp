// Files of traffic: what is read of each form, and what is refused.

#include "support/catch.hpp"

#include <mlsysim/request_trace/traffic.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

using namespace mlsysim;

namespace {

/// A file of the occasion.
class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / fmt::format("mlsysim-traffic-{}", ::getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

RecordedTraffic read(const std::string& text, const TrafficHow& how = {}) {
  return read_traffic(File(text).path(), how);
}

std::map<std::string, std::string> inputs(const RecordedTraffic& t) {
  const auto list = traffic_inputs(t);
  return {list.begin(), list.end()};
}

std::string mooncake(int time, int in, int out, const std::string& blocks = "") {
  return fmt::format(
      "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, \"hash_ids\": [{}]}}\n", time, in,
      out, blocks);
}

}  // namespace

TEST_CASE("Mooncake's lines: lengths, arrivals, prefixes", "[traffic]") {
  // The second finds two blocks of 512 of the first; the third one, and the last block of the fourth is not
  // full.
  const auto t = read(mooncake(0, 1200, 10, "1, 2, 3") + mooncake(500, 1100, 20, "1, 2, 4") +
                      mooncake(1500, 900, 30, "1, 5") + "\n" + mooncake(4500, 1030, 40, "1, 2, 3"));
  CHECK(t.format == TrafficFormat::mooncake);
  CHECK(t.requests == 4);
  CHECK(t.prompt.mean == Approx(1057.5));
  CHECK(t.prompt.least == 900);
  CHECK(t.prompt.most == 1200);
  REQUIRE(t.answer);
  CHECK(t.answer->mean == 25);
  CHECK(t.answer->deviation == Approx(std::sqrt(125.0)));
  CHECK(t.answer->p50 == 20);
  REQUIRE(t.longest);
  CHECK(*t.longest == 1210);
  REQUIRE(t.arrivals);
  CHECK(t.arrivals->rate.in(unit::request / unit::s) == Approx(3 / 4.5));
  REQUIRE(t.arrivals->cv);
  CHECK(*t.arrivals->cv == Approx(std::sqrt((0.25 + 1 + 9) / 3 - 2.25) / 1.5));
  CHECK_FALSE(t.arrivals->busiest);
  REQUIRE(t.prefixes);
  CHECK(t.prefixes->found_share == Approx((1024.0 + 512 + 1030) / 4230));
  CHECK(t.prefixes->without == 0.25);
  CHECK(t.prefixes->sampled == 1);
  const auto keys = inputs(t);
  CHECK(keys.at("seq_len") == "1058");
  CHECK(keys.at("cached_prefix_len") == "642");
  CHECK(keys.at("arrival_rate") == "0.666666667 request/s");
  CHECK(keys.at("max_seq_len") == "1210");
  CHECK(std::stod(keys.at("service_time_cv")) == Approx(std::sqrt(125.0) / 25));
}

TEST_CASE("many blocks are sampled, and the share that is found stays what it is", "[traffic]") {
  // 2.4 million blocks: every fourth request repeats the blocks of the one before.
  std::string text;
  for (int request = 0; request < 40000; ++request) {
    std::string ids;
    for (int k = 0; k < 80; ++k)
      ids += fmt::format("{}{}", k > 0 ? "," : "", (request - (request % 4 == 3)) * 80 + k);
    text += mooncake(request, 80 * 512, 1, ids);
  }
  const auto t = read(text);
  REQUIRE(t.prefixes);
  CHECK(t.prefixes->sampled < 0.6);
  CHECK(t.prefixes->found_share == Approx(0.25).epsilon(0.01));
  CHECK_FALSE(t.prefixes->found);
}

TEST_CASE("Azure's tables", "[traffic]") {
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const auto t = read(head + "2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\n" +
                      "2023-11-16 18:15:51.2224670,879,55");
  CHECK(t.format == TrafficFormat::azure);
  CHECK(t.requests == 3);
  CHECK(t.prompt.mean == Approx(1649 / 3.0));
  REQUIRE(t.arrivals);
  CHECK(t.arrivals->span.in(unit::s) == Approx(4.541877).epsilon(1e-6));
  // Another year's file: an offset behind the time; here over the end of February of a leap year.
  const auto later = read(head + "2024-02-28 23:59:59.000000+00:00,10,5\n2024-03-01 01:00:00+01:00,20,5\n");
  REQUIRE(later.arrivals);
  CHECK(later.arrivals->span.in(unit::s) == Approx(86401));
  // Times that go back: a rate, and no law of gaps.
  const auto back = read(head + "2024-01-01 00:00:10,10,5\n2024-01-01 00:00:00,20,5\n");
  REQUIRE(back.arrivals);
  CHECK_FALSE(back.arrivals->cv);
  CHECK(back.arrivals->rate.in(unit::request / unit::s) == Approx(0.1));
  CHECK(back.notes.size() == 1);
}

TEST_CASE("lengths, and texts of conversations", "[traffic]") {
  for (const std::string text :
       {"[[10, 20], [30, 40]]",
        "{\"prompt_len\": 10, \"output_len\": 20}\n{\"prompt_len\": 30, \"output_len\": 40}",
        "[{\"prompt_tokens\": 10, \"completion_tokens\": 20},\n {\"prompt_tokens\": 30, "
        "\"completion_tokens\": 40}]\n"}) {
    INFO(text);
    const auto t = read(text);
    CHECK(t.format == TrafficFormat::lengths);
    CHECK(t.requests == 2);
    CHECK(t.prompt.mean == 20);
    CHECK(t.answer->mean == 30);
    CHECK_FALSE(t.arrivals);
  }
  const std::string talk =
      R"([{"id": "a", "conversations": [{"from": "human", "value": "h\u00e9llo }]\" x"}, {"from": "gpt", "value": "12345678"}]},
          {"id": "b", "conversations": []}])";
  CHECK_THROWS_WITH(read(talk), Catch::Contains("--characters-per-token"));
  const auto t = read(talk, {.characters_per_token = 4});
  CHECK(t.requests == 1);
  CHECK(t.prompt.mean == 3);  // 11 characters
  CHECK(t.answer->mean == 2);
  CHECK(inputs(t).at("equal_lengths") == "true");
}

TEST_CASE("results of benchmarks", "[traffic]") {
  const auto detailed =
      read(R"({"request_rate": 4.0, "burstiness": 0.25, "max_concurrency": null, "completed": 2,
      "input_lens": [100, 300], "output_lens": [7, 9], "itls": [[0.1, "x"], []], "ttfts": [0.2, 0.3]})");
  CHECK(detailed.format == TrafficFormat::vllm_bench);
  CHECK(detailed.prompt.mean == 200);
  REQUIRE(detailed.arrivals);
  CHECK(detailed.arrivals->rate.in(unit::request / unit::s) == 4);
  CHECK(*detailed.arrivals->cv == 2);
  const auto sums =
      read(R"({"request_rate": "inf", "max_concurrency": 16, "completed": 10, "total_input_tokens": 5000,
      "total_output_tokens": 1234})");
  CHECK(sums.prompt.mean == 500);
  CHECK(sums.prompt.laws.empty());
  CHECK_FALSE(sums.arrivals);
  CHECK(inputs(sums).at("concurrency") == "16");
  CHECK(inputs(sums).count("service_time_cv") == 0);
  const auto perf =
      read(R"({"request_count": {"avg": 50}, "input_sequence_length": {"unit": "tokens", "avg": 100, "std": 0,
      "min": 100, "max": 100, "p50": 100}, "output_sequence_length": {"avg": 30, "std": 30, "p50": 20.79, "p90": 69.08,
      "p99": 138.2}, "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 8}}}})");
  CHECK(perf.format == TrafficFormat::genai_perf);
  CHECK(perf.requests == 50);
  REQUIRE(perf.answer);
  CHECK(perf.answer->laws.front().distance < 1e-4);  // quantiles of an exponential law
  CHECK(inputs(perf).at("concurrency") == "8");
  const auto negative = read(
      R"({"request_count": {"avg": -50}, "input_sequence_length": {"unit": "tokens", "avg": 100, "std": 0,
      "min": 100, "max": 100, "p50": 100}})");
  CHECK(negative.requests == 0);
  CHECK(negative.notes.size() > perf.notes.size());
}

TEST_CASE("a file that is no traffic is refused by name and line", "[traffic]") {
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n", good = mooncake(0, 10, 1);
  struct Case {
    std::string text, where, found;
  };
  for (const auto& c : std::vector<Case>{
           {"", "", "nothing"},
           {"[]", "", "no requests"},
           {"hello\nworld\n", ":1", "TIMESTAMP"},
           {good + "{\"timestamp\": 1, \"input_length\": -5, \"output_length\": 1}", ":2", "input_length"},
           {good + "{\"timestamp\": 1, \"input_length\": 1e300, \"output_length\": 1}", ":2", "1e+300"},
           {good + "{\"timestamp\": 1, \"input_length\": 2.5, \"output_length\": 1}", ":2", "2.5"},
           {good + "{\"timestamp\": \"x\", \"input_length\": 2, \"output_length\": 1}", ":2", "timestamp"},
           {good + "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 1, \"hash_ids\": [1, \"a\"]}",
            ":2", "\"a\""},
           {good + "[1, 2]", ":2", "lengths"},
           {good + "{\"timestamp\": 1, \"input_le", ":2", "does not end"},
           {good + "{\"timestamp\": 1, \"input_length\": }", ":2", "input_length"},
           {good + "true", ":2", "'t'"},
           {std::string(100, '['), ":1", "nested"},
           {"[[1, 2]] [3]", ":1", "behind the closed array"},
           {"{\"name\": \"a model\"}", ":1", "a model"},
           {"{\"completed\": 1, \"total_input_tokens\": 1}\n{\"completed\": 1, \"total_input_tokens\": 1}",
            ":2", "second"},
           {"{\"input_lens\": [1], \"output_lens\": []}", ":1", "sizes"},
           {head + "2023-13-16 18:15:46,1,1\n", ":2", "2023-13-16"},
           {head + "2023-11-16 18:15:46,-1,1\n", ":2", "-1"},
           {head + "2023-11-16 18:15:46,1\n", ":2", "2 cells"},
           {head + std::string(70000, '1'), ":2", "64 KiB"}}) {
    INFO(c.text.substr(0, 80));
    try {
      (void)read(c.text);
      FAIL("it was read");
    } catch (const InputError& error) {
      CHECK(error.id() == "mlsysim.traffic.001");
      CHECK(error.facts().key.find("mlsysim-traffic-") != std::string::npos);
      CHECK(error.facts().key.ends_with(c.where));
      CHECK(error.facts().found.find(c.found) != std::string::npos);
    }
  }
  CHECK_THROWS_AS(read_traffic("/nowhere/at/all.jsonl"), InputError);
  CHECK_THROWS_WITH(read(good, {.block_tokens = 0}), Catch::Contains("--block-tokens"));
}
