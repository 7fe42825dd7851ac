/// Fuzzes what other programs and earlier runs recorded: traffic, expositions of Prometheus, lines of logs,
/// states and baselines of `ci run`. Whatever the bytes, only mlsysim::Error is thrown, every refusal has an
/// id, words and a place, what was counted is finite, what was written is read again as it was, and a state
/// that was changed is never gone on with.
///
/// LLVMFuzzerTestOneInput is for libFuzzer, the first byte says of what kind the others are; the main below
/// mutates its seeds: fuzz_logs [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/export/fetch.hpp>
#include <mlsysim/ops/regression/differences.hpp>
#include <mlsysim/ops/regression/state.hpp>
#include <mlsysim/request_trace/traffic.hpp>
#include <mlsysim/units/quantity.hpp>

#include <sys/mman.h>
#include <unistd.h>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;
using fuzz::takes;

/// A file without a name, which holds these bytes until the next call. @return a path that leads to it
std::string file_of(const std::string& bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail("no file could be made", bytes);
  return "/proc/self/fd/" + std::to_string(file);
}

void check_traffic(const std::string& bytes) {
  const auto t = read_traffic(file_of(bytes), {.characters_per_token = 4});
  // Results that have quantiles alone may leave out how many requests they are of.
  const bool counted = t.format != TrafficFormat::genai_perf && t.format != TrafficFormat::guidellm;
  if (!(counted ? t.requests > 0 : t.requests >= 0) || !std::isfinite(t.prompt.mean) ||
      t.prompt.least > t.prompt.most)
    fail("traffic without requests", bytes);
  for (const auto* word : {"nan", "inf"})
    for (const auto& [key, value] : traffic_inputs(t))
      if (value.starts_with(word)) fail("an input that is no number", key + "\n----\n" + bytes);
  (void)traffic_json(t);
}

/// Lines that are none are counted, not refused. @return whether there were none
bool check_exposition(const std::string& bytes) {
  const auto found = read_exposition(bytes);
  for (const auto& sample : found.samples)
    if (sample.name.empty()) fail("a sample without a name", bytes);
  return found.damaged == 0;
}

void check_lines(const std::string& bytes) {
  const auto read = read_logfmt(bytes);
  std::vector<LogRecord> log;
  log.reserve(read.size());
  for (const auto& fields : read) log.push_back({0, fields});
  if (read_logfmt(logfmt_text(log)) != read) fail("other fields when they are read again", bytes);
}

void check_state(const std::string& bytes) {
  const auto known = read_state(bytes, "fuzz.json", "key");
  if (files::damage_of(bytes)) fail("a damaged state is gone on with", bytes);
  for (const auto& [name, cell] : known)
    for (const auto& n : cell.numbers)
      if (!std::isfinite(n.value)) fail("a number that is none", bytes);
}
/// The same with the seal of whoever changed it made right again, so that what lies behind it is reached.
void check_forged(const std::string& bytes) {
  const auto seal = bytes.rfind(",\"length\":");
  check_state(seal == std::string::npos ? bytes : files::sealed(bytes.substr(0, seal) + "}"));
}

enum class Kind { traffic, exposition, lines, state, baseline };

bool check(Kind kind, const std::string& bytes) {
  switch (kind) {
    case Kind::traffic:
      return takes(
          bytes, [&] { check_traffic(bytes); }, "/proc/self/fd/");
    case Kind::exposition:
      return check_exposition(bytes);
    case Kind::lines:
      return takes(bytes, [&] { check_lines(bytes); });
    case Kind::state:
      return takes(
          bytes,
          [&] {
            if (!takes(
                    bytes, [&] { check_state(bytes); }, "fuzz.json"))
              check_forged(bytes);
          },
          "fuzz.json");
    case Kind::baseline:
      return takes(bytes, [&] { (void)parse_baseline(bytes, "fuzz.yaml"); });
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  check(static_cast<Kind>(data[0] % 5), std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

/// A state of one cell, and what it is the state of.
const std::string& state() {
  static const std::string text = [] {
    CiRun run;
    CellResult cell;
    cell.numbers.push_back({"itl", 0.0065, AnyQuantity::parse("1 s").exponents(), "ms"});
    cell.results = {"itl", "ttft"};
    run.cells.push_back(std::move(cell));
    return state_text(run, "key");
  }();
  return text;
}

const std::vector<std::vector<std::string>>& seeds() {
  static const std::vector<std::vector<std::string>> all{
      {"{\"timestamp\": 0, \"input_length\": 1200, \"output_length\": 10, \"hash_ids\": [1, 2, 3]}\n"
       "{\"timestamp\": 500, \"input_length\": 1100, \"output_length\": 20, \"hash_ids\": [1, 2, 4]}\n",
       "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n"
       "2023-11-16 18:15:50.9951690,396,109\n",
       "[{\"prompt_tokens\": 10, \"completion_tokens\": 20},\n {\"prompt_tokens\": 30, "
       "\"completion_tokens\": 40}]\n",
       R"([{"id": "a", "conversations": [{"from": "human", "value": "h\u00e9llo }]"}, {"from": "gpt", "value": "12345678"}]}])",
       R"({"request_rate": 4.0, "burstiness": 0.25, "max_concurrency": null, "completed": 2, "input_lens": [100, 300], "output_lens": [7, 9], "ttfts": [0.2, 0.3]})",
       R"({"request_count": {"avg": 50}, "input_sequence_length": {"unit": "tokens", "avg": 100, "std": 0, "min": 100, "max": 100, "p50": 100}, "output_sequence_length": {"avg": 30, "std": 30, "p50": 20.79}, "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 8}}}})"},
      {"# HELP up Whether\n# TYPE vllm:ttft_seconds "
       "histogram\nvllm:ttft_seconds_bucket{le=\"0.5\",model=\"a\\\"b\"} 3 "
       "1700000000\nvllm:num_requests_running{} 2e1\nup NaN\n"},
      {"time=1 model=\"a b\" reason=\"x\\\"y\\n\"\nmodel=c commit=\n"},
      {state()},
      {"version: \"1\"\neverywhere:\n  \"kwh_price\": 0.1 USD/kWh\nhardware:\n  \"H100\":\n    \"tdp\": 700 "
       "W\ncells:\n"
       "  \"Llama3_8B/H100/bf16/serve\":\n    status: ok\n    numbers:\n      \"itl\": 6.5 ms\n    figures:\n"
       "      \"batch_size\": 8\n"}};
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  static const std::vector<std::string> pieces{"\"",
                                               ",",
                                               "\n",
                                               "\r\n",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               ":",
                                               "=",
                                               " ",
                                               "\\",
                                               "0",
                                               "-1",
                                               "1e308",
                                               "1e999",
                                               "null",
                                               "NaN",
                                               "inf",
                                               "+Inf",
                                               "\t",
                                               "\xC3",
                                               "\\u0000",
                                               "\x1f\x8b",
                                               "99999999999999999999",
                                               "\"input_length\": -1",
                                               "\"hash_ids\": [1e9]",
                                               "le=\"",
                                               "2024-02-30 25:61:61",
                                               "cells:"};
  for (int i = 0; i < 5; ++i) {
    const auto one = [kind = static_cast<Kind>(i)](const std::string& bytes) { return check(kind, bytes); };
    if (const auto status =
            mlsysim::fuzz::run(argc, argv, 3000, {seeds()[static_cast<std::size_t>(i)], pieces}, one);
        status != 0)
      return status;
  }
  return 0;
}
#endif
