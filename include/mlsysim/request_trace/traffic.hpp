#pragma once
/// Reads recorded traffic: lengths of prompts and answers, arrivals and shared prefixes, with fitted
/// distributions.
///
///   arrival rate = (requests - 1) / (last arrival - first arrival)        cv = deviation / mean of the gaps
///
/// Formats: Mooncake, Azure, lists of lengths, and results of vLLM bench, GenAI-Perf and GuideLLM, plain or
/// gzip. A file is read in one pass and constant memory. Shared prefixes assume a cache that evicts nothing.
/// Example: four Mooncake lines at 0, 0.5, 1.5 and 4.5 s with prompts of 1200, 1100, 900 and 1030 tokens. The
/// mean prompt has 1057.5 tokens, and 0.667 requests/s arrive. Blocks 1 2 3, 1 2 4, 1 5 and 1 2 3 of 512
/// tokens share 60.7 % of the prompt tokens.

#include <mlsysim/request_trace/laws.hpp>
#include <mlsysim/units/unit.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {

/// Forms of files that hold traffic.
enum class TrafficFormat : std::uint8_t { mooncake, azure, lengths, vllm_bench, genai_perf, guidellm };
template <>
inline constexpr auto names_of<TrafficFormat> =
    ChoiceNames{"form of traffic", "mooncake", "azure", "lengths", "vllm-bench", "genai-perf", "guidellm"};

/// The distribution of one quantity in a file, and the laws that were fitted to it, the closest first.
///
/// Means, deviations and ends are exact. Quantiles come from bins that are exact below 512 and 0.4 % wide
/// above.
struct CountedSpread {
  double count = 0, mean = 0, deviation = 0, least = 0, most = 0;
  double p50 = 0, p90 = 0, p99 = 0;
  std::vector<FittedLaw> laws;

  /// Standard deviation over mean. 0 where all are zero.
  [[nodiscard]] double cv() const { return mean > 0 ? deviation / mean : 0; }
};

/// When requests came.
struct Arrivals {
  RequestRate<> rate;        ///< (requests - 1) over the time from the first to the last, or as stated
  std::optional<double> cv;  ///< of the time between arrivals; absent where the order is not known
  std::optional<CountedSpread> gaps;  ///< [s]; absent where the file states a rate instead of times
  double together = 0;                ///< share of requests with the time of the one before
  std::optional<double> busiest;  ///< most requests in a minute over the mean; runs of ten minutes and more
  Time<> span;                    ///< from the first to the last
};

/// Prefixes that prompts share with earlier prompts, for a cache that evicts nothing.
struct SharedPrefixes {
  double block = 0;        ///< [token] of a block that the file names
  double found_share = 0;  ///< tokens of prompts that an earlier one had already, over all
  double sampled = 1;      ///< share of the blocks that was followed, by hash, to bound memory
  double mean = 0;         ///< [token] found per request
  std::optional<CountedSpread>
      found;           ///< [token] of the requests that found any; absent where blocks were sampled
  double without = 0;  ///< share of the requests that found nothing; 0 where blocks were sampled
};

/// The traffic of a file.
struct RecordedTraffic {
  TrafficFormat format{};
  std::string source;
  double requests = 0;
  CountedSpread prompt;                       ///< [token]
  std::optional<CountedSpread> answer;        ///< [token]
  std::optional<double> total_mean, longest;  ///< [token] of prompt and answer together
  std::optional<Arrivals> arrivals;
  std::optional<double> concurrency;  ///< that a benchmark kept in flight
  std::optional<SharedPrefixes> prefixes;
  std::vector<std::string> notes;
};

/// How a file is read.
struct TrafficHow {
  double block_tokens = 512;        ///< of a hash of Mooncake's traces
  double characters_per_token = 0;  ///< of files that hold texts; 0: they are refused
};

/// Reads a file in one pass and constant memory, plain or gzip.
/// @throws InputError that names the file and the line where it is not traffic
[[nodiscard]] RecordedTraffic read_traffic(const std::filesystem::path& file, const TrafficHow& how = {});

/// Inputs that a trace gives, as key and text: seq_len, output_tokens, their _cv and _law (the
/// closest), cached_prefix_len, arrival_rate, arrival_cv, service_time_cv, mean_request_tokens, max_seq_len,
/// concurrency, equal_lengths.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> traffic_inputs(const RecordedTraffic& traffic);

/// Everything, as JSON: `mlsysim/traffic@1`. Times in seconds, rates in requests a second.
[[nodiscard]] std::string traffic_json(const RecordedTraffic& traffic);

}  // namespace mlsysim
