#pragma once
// One reader for each form of traffic.

#include "request_trace/detail/tally.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mlsysim::detail {

inline constexpr std::uint64_t kMostTokens = 1'000'000'000;  ///< of a request

/// @throws InputError that names the file and the line
[[noreturn]] void refuse_traffic(const std::string& file, std::uint64_t line, std::string found,
                                 std::string expected);

/// The form of a file, by its first value. @throws InputError
[[nodiscard]] TrafficFormat form_of_value(const nlohmann::json& value, const std::string& file,
                                          std::uint64_t line);

/// One value of a JSON file.
struct TrafficValue {
  const nlohmann::json& json;
  const std::string& file;
  std::uint64_t line = 1;
};
/// A line of Mooncake's traces. @throws InputError
void read_mooncake(const TrafficValue& value, RequestTally& tally);
/// Lengths of one request: a pair, an object, or texts of a conversation. @throws InputError
void read_lengths(const TrafficValue& value, const TrafficHow& how, RequestTally& tally);
/// A result of `vllm bench serve`: lengths request by request where it was saved with --save-detailed.
/// @throws InputError
void read_vllm_bench(const TrafficValue& value, RequestTally& tally, RecordedTraffic& out);
/// A result of genai-perf: quantiles. @throws InputError
void read_genai_perf(const TrafficValue& value, RecordedTraffic& out);
/// A report of GuideLLM: lengths of its first benchmark, and the load of it where it is the only one.
/// @throws InputError
void read_guidellm(const TrafficValue& value, RecordedTraffic& out);

/// Lines of a CSV file of Azure's traces.
class AzureReader {
 public:
  AzureReader(std::string file, RequestTally& tally) : file_(std::move(file)), tally_(tally) {}
  void add(std::string_view piece);
  void finish();

 private:
  void take(std::string_view line);
  void take_head(std::string_view line);

  std::string file_, rest_;
  RequestTally& tally_;
  std::uint64_t line_ = 0;
  std::size_t time_ = 0, prompt_ = 0, answer_ = 0, columns_ = 0;
};

/// "2023-11-16 18:15:46.6805900", with an offset or "Z" behind it or none, as microseconds since 1970; no
/// value for other texts.
[[nodiscard]] std::optional<std::int64_t> microseconds_of(std::string_view text);

}  // namespace mlsysim::detail
