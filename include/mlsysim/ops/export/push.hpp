#pragma once
/// Sends data to servers by HTTP with retries, and builds the URL of a Pushgateway group.
///
///   wait before try k = wait * 2^(k - 2)   for k >= 2
///
/// `tries` counts all tries, and together they take at most 30 s. Only a 2xx status is success. Nothing is
/// sent unless a URL was given.
/// Example: gateway http://h:9091/, job "ci", label family="Audio":
/// http://h:9091/metrics/job/ci/family/Audio.

#include <mlsysim/ops/export/metrics.hpp>

#include <map>
#include <string>
#include <string_view>

namespace mlsysim {

/// One HTTP message to send, and how often and how long to try.
struct Sending {
  std::string url;              ///< with the path; user and password in it are masked in messages
  std::string method = "POST";  ///< or "PUT", "DELETE"
  std::string type, body;
  std::string credentials{};  ///< "user:password"; never shown
  int tries = 3;              ///< in all, where the server is busy or not there
  double wait = 1.0;          ///< seconds before the second try; doubled for each that follows
  double timeout = 10.0;      ///< seconds that one try may take, whatever the server does
};
/// Sends. A redirection is an error, because it stores nothing.
/// @throws InputError with the answer of the server
void send(const Sending& what);

/// Where and under which key metrics are pushed.
struct PushGroup {
  std::string url;                            ///< of the gateway
  std::string job;                            ///< not empty
  std::map<std::string, std::string> labels;  ///< more of the key
};
/// The URL of a group; values with anything but letters, digits, dot, minus and underscore are in base64.
/// @throws InputError for an empty job, or a label of the key that samples have with another value: a gateway
/// would replace it in silence
[[nodiscard]] std::string push_url(const PushGroup& group, const std::vector<MetricFamily>& families);
/// Families by group. The key of a group holds those of the given labels that a sample has with a value.
using GroupedFamilies = std::map<std::map<std::string, std::string>, std::vector<MetricFamily>>;
[[nodiscard]] GroupedFamilies by_group(const std::vector<MetricFamily>& families,
                                       const std::vector<std::string>& labels);
/// The keys of the groups of a job that a gateway holds, without the job. @throws InputError
[[nodiscard]] std::vector<std::map<std::string, std::string>> groups_of_job(const std::string& url,
                                                                            const std::string& job,
                                                                            const std::string& credentials);
/// A URL without user and password.
[[nodiscard]] std::string masked_url(std::string_view url);

}  // namespace mlsysim
