#pragma once
/// Fetches one page by HTTP GET within limits on time and size, and reads the Prometheus text format.
///
/// `fetch` tries once. Callers that poll a server simply call it again. A redirection is an error.
/// `read_exposition` counts lines that are neither samples nor comments, and skips them.
/// Example: the line `vllm:num_requests_running{model_name="llama"} 4.0` gives name, one label and the value
/// 4.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One HTTP request, with limits on its time and on the size of the answer.
struct Fetching {
  std::string url;               ///< with the path; user and password in it are masked in messages
  std::string credentials{};     ///< "user:password"; never shown
  double timeout = 5;            ///< [s] for connecting, for each part of an answer, and for the whole of it
  std::size_t most = 16U << 20;  ///< [B] of an answer
};

/// The text that a server answers with, after one try.
/// @throws InputError that says what came instead: a redirection, a refusal, too many requests, an error of
/// the server, nothing in time, an answer that breaks off, or one that is too long
[[nodiscard]] std::string fetch(const Fetching& what);

/// One line of the text format of Prometheus or OpenMetrics.
struct ExposedSample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
};
/// The samples that a server exposes.
struct Exposition {
  std::vector<ExposedSample> samples;
  std::size_t damaged = 0;  ///< lines that are no samples and no comments
};
/// Reads an exposition in the text format of Prometheus or OpenMetrics.
[[nodiscard]] Exposition read_exposition(std::string_view text);

}  // namespace mlsysim
