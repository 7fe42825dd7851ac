#include <mlsysim/ops/live/live.hpp>

#include <array>
#include <cmath>
#include <set>

namespace mlsysim {
namespace {

/// Names of one number in the engines that have it; the first that is there counts. Of vLLM both the names
/// before and after 2025 are known.
struct Names {
  std::array<std::string_view, 3> of;
};
constexpr Names kFirstToken{{"time_to_first_token_seconds", "", ""}};
constexpr Names kNextToken{{"inter_token_latency_seconds", "time_per_output_token_seconds",
                            "request_time_per_output_token_seconds"}};
constexpr Names kWhole{{"e2e_request_latency_seconds", "", ""}};
constexpr Names kPromptTokens{{"prompt_tokens_total", "prompt_tokens", ""}};
constexpr Names kOutputTokens{{"generation_tokens_total", "generation_tokens", ""}};
constexpr Names kRunning{{"num_requests_running", "num_running_reqs", ""}};
constexpr Names kWaiting{{"num_requests_waiting", "num_queue_reqs", ""}};
constexpr Names kCacheUse{{"kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"}};
constexpr Names kPrefixAsked{{"prefix_cache_queries_total", "gpu_prefix_cache_queries_total", ""}};
constexpr Names kPrefixHits{{"prefix_cache_hits_total", "gpu_prefix_cache_hits_total", ""}};
constexpr Names kHitRate{{"cache_hit_rate", "", ""}};

struct Served {
  std::string engine, model;
};

std::string model_of(const ExposedSample& s) {
  const auto at = s.labels.find("model_name");
  return at == s.labels.end() ? std::string() : at->second;
}

/// Sums over the series of one engine and model.
class Reader {
 public:
  Reader(const Exposition& now, const Exposition* before, Served served)
      : now_(now), before_(before), served_(std::move(served)) {}

  /// The growth of a counter. A counter that fell was restarted, so that its value is its growth.
  [[nodiscard]] std::optional<double> growth(const Names& names, std::string_view end = "") const {
    const auto at = last(now_, names, end);
    if (!at || before_ == nullptr) return at;
    const auto was = last(*before_, names, end).value_or(0);
    return *at >= was ? *at - was : *at;
  }
  [[nodiscard]] std::optional<double> gauge(const Names& names) const { return last(now_, names, ""); }
  /// Mean of a histogram.
  [[nodiscard]] std::optional<Time<>> mean(const Names& names) const {
    const auto sum = growth(names, "_sum"), count = growth(names, "_count");
    if (!sum || !count || *count <= 0) return std::nullopt;
    return *sum / *count * unit::s;
  }

 private:
  [[nodiscard]] std::optional<double> last(const Exposition& from, const Names& names,
                                           std::string_view end) const {
    for (const auto name : names.of) {
      if (name.empty()) continue;
      std::optional<double> sum;
      for (const auto& s : from.samples)
        if (s.name.size() == served_.engine.size() + 1 + name.size() + end.size() &&
            s.name.starts_with(served_.engine) && s.name.ends_with(end) &&
            s.name.compare(served_.engine.size() + 1, name.size(), name) == 0 && std::isfinite(s.value) &&
            model_of(s) == served_.model)
          sum = sum.value_or(0) + s.value;
      if (sum) return sum;
    }
    return std::nullopt;
  }

  const Exposition& now_;
  const Exposition* before_;
  Served served_;
};

LiveNumbers numbers_of(const Reader& in, const Served& served) {
  LiveNumbers out{.engine = served.engine, .model = served.model};
  out.requests = in.growth(kFirstToken, "_count").value_or(0);
  out.ttft = in.mean(kFirstToken);
  out.itl = in.mean(kNextToken);
  out.e2e = in.mean(kWhole);
  const auto per_request = [&](const Names& names) -> std::optional<double> {
    const auto tokens = in.growth(names);
    return tokens && out.requests > 0 ? std::optional(*tokens / out.requests) : std::nullopt;
  };
  out.prompt_tokens = per_request(kPromptTokens);
  out.output_tokens = per_request(kOutputTokens);
  out.running = in.gauge(kRunning);
  out.waiting = in.gauge(kWaiting);
  out.cache_use = in.gauge(kCacheUse);
  const auto asked = in.growth(kPrefixAsked), hits = in.growth(kPrefixHits);
  out.prefix_hits = asked && hits && *asked > 0 ? std::optional(*hits / *asked) : in.gauge(kHitRate);
  return out;
}

}  // namespace

std::vector<LiveNumbers> live_numbers(const Exposition& now, const Exposition* before) {
  std::set<std::pair<std::string, std::string>> found;
  for (const auto& s : now.samples)
    for (const std::string_view engine : {"vllm:", "sglang:"})
      if (s.name.starts_with(engine) && s.name.ends_with("time_to_first_token_seconds_count"))
        found.emplace(std::string(engine.substr(0, engine.size() - 1)), model_of(s));
  std::vector<LiveNumbers> out;
  for (const auto& [engine, model] : found)
    out.push_back(numbers_of(Reader(now, before, {engine, model}), {engine, model}));
  return out;
}

}  // namespace mlsysim
