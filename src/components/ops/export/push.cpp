#include <mlsysim/ops/export/push.hpp>

#include <mlsysim/ops/export/fetch.hpp>
#include <mlsysim/units/detail/json_fault.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#ifdef MLSYSIM_HAS_HTTP
#include <httplib.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace mlsysim {
namespace {

std::string base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t three = 0;
    const auto n = std::min<std::size_t>(3, text.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < n ? static_cast<unsigned char>(text[i + k]) : 0U);
    for (std::size_t k = 0; k <= n; ++k) out += digits[three >> (18 - 6 * k) & 63U];
  }
  return out;
}

/// "/job/ci", or "/job@base64/<base64>" for what a path cannot hold.
std::string part_of_key(std::string_view name, std::string_view value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain) return fmt::format("/{}/{}", name, value);
  const auto code = base64(value);
  return fmt::format("/{}@base64/{}", name, code.empty() ? "=" : code);
}

struct Parts {
  std::string host, path, userinfo;
};
Parts parts_of(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos || (url.substr(0, scheme) != "http" && url.substr(0, scheme) != "https"))
    throw InputError("mlsysim.telemetry.003", "this is no URL of a server", "", masked_url(url),
                     "http://host:port/path", "write the whole URL");
  const auto from = scheme + 3, slash = std::min(url.find('/', from), url.size()), at = url.rfind('@', slash);
  Parts out;
  const bool user = at != std::string::npos && at > from;
  if (user) out.userinfo = url.substr(from, at - from);
  out.host = url.substr(0, from) + url.substr(user ? at + 1 : from, slash - (user ? at + 1 : from));
  out.path = slash == url.size() ? "/" : url.substr(slash);
  return out;
}

#ifdef MLSYSIM_HAS_HTTP
constexpr double kLongest = 30;  // [s] for all tries of one sending

/// A server's reply: its status, 0 for no answer, and its body or the error.
struct Reply {
  int status = 0;
  std::string text;
};
/// Bytes that a connection has received, as the kernel counts them; 0 where it does not.
std::uint64_t received(int socket) {
#if defined(__linux__)
  // `tcpi_bytes_received` of linux/tcp.h, whose names those of the C library's header hide.
  constexpr std::size_t kPlace = 128;
  std::array<char, 512> info{};
  auto size = static_cast<socklen_t>(info.size());
  std::uint64_t bytes = 0;
  if (socket >= 0 && ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0 &&
      size >= kPlace + sizeof bytes)
    std::memcpy(&bytes, info.data() + kPlace, sizeof bytes);
  return bytes;
#else
  (void)socket;
  return 0;
#endif
}

/// Bytes that the kernel may have received ahead of the client, and those of a head.
constexpr std::uint64_t kAhead = 8 << 20;

/// Ends a call at its time and at its size, whatever the server does: limits of sockets are of single bytes,
/// and the client keeps every line of a head.
class Stopper {
 public:
  Stopper(httplib::Client& client, double seconds, std::uint64_t most)
      : thread_([this, &client, seconds, most] {
          const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
          std::unique_lock lock(mutex_);
          while (!over_ && why_.empty()) {
            done_.wait_for(lock, std::chrono::milliseconds(5), [&] { return over_; });
            if (over_) return;
            if (received(socket_) > most + kAhead)
              why_ = fmt::format("more than {} B", most);
            else if (std::chrono::steady_clock::now() >= end)
              why_ = fmt::format("no whole answer within {:.3g} s", seconds);
          }
          client.stop();
        }) {
    client.set_socket_options([this](socket_t socket) { socket_ = static_cast<int>(socket); });
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;
  ~Stopper() {
    (void)stopped();
    thread_.join();
  }
  /// Why it ended the call; empty where it did not. From now on it ends nothing.
  [[nodiscard]] std::string stopped() const {
    const std::lock_guard lock(mutex_);
    over_ = true;
    done_.notify_all();
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable done_;
  mutable bool over_ = false;
  std::string why_;
  std::atomic<int> socket_{-1};
  std::thread thread_;  // the last: it uses the others
};

/// Limits of the sockets themselves. That of a connection is all there is; behind it the stopper comes first.
void set_limits(httplib::Client& client, double seconds) {
  const auto micro = static_cast<std::int64_t>(seconds * 1e6), later = 2 * micro + 1'000'000;
  client.set_connection_timeout(micro / 1'000'000, micro % 1'000'000);
  client.set_read_timeout(later / 1'000'000, later % 1'000'000);
  client.set_write_timeout(later / 1'000'000, later % 1'000'000);
  client.set_follow_location(false);
}

/// @param most time that this try may take [s]
Reply once(const Sending& what, const Parts& parts, double most) {
  const double limit = std::max(0.001, std::min(what.timeout, most));
  httplib::Client client(parts.host);
  set_limits(client, limit);
  const auto& secret = what.credentials.empty() ? parts.userinfo : what.credentials;
  if (const auto colon = secret.find(':'); colon != std::string::npos)
    client.set_basic_auth(secret.substr(0, colon), secret.substr(colon + 1));
  httplib::Request request;
  request.method = what.method;
  request.path = parts.path;
  request.body = what.body;
  if (!what.type.empty()) request.set_header("Content-Type", what.type);
  // Keeps the first 400 bytes of a reply, which is all that is shown.
  constexpr std::size_t shown = 400;
  std::string body;
  request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t, std::uint64_t) {
    body.append(bytes, std::min(count, shown - std::min(shown, body.size())));
    return true;
  };
  Stopper stopper(client, limit, 1 << 20);  // of a body a line is shown
  const auto answer = client.send(request);
  if (auto why = stopper.stopped(); !why.empty()) return {0, std::move(why)};
  if (!answer) return {0, httplib::to_string(answer.error())};
  return {answer->status, std::move(body)};
}

/// A page, with bounds on its time and its size.
Reply page_of(const Fetching& what, const Parts& parts) {
  using Clock = std::chrono::steady_clock;
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(what.timeout));
  httplib::Client client(parts.host);
  set_limits(client, what.timeout);
  const auto& secret = what.credentials.empty() ? parts.userinfo : what.credentials;
  if (const auto colon = secret.find(':'); colon != std::string::npos)
    client.set_basic_auth(secret.substr(0, colon), secret.substr(colon + 1));
  const auto end = Clock::now() + limit;
  std::string body, stopped;
  Stopper stopper(client, what.timeout, what.most);
  const auto answer = client.Get(parts.path, [&](const char* bytes, std::size_t count) {
    if (body.size() + count > what.most) stopped = fmt::format("more than {} B", what.most);
    if (Clock::now() > end) stopped = fmt::format("no whole answer within {} s", what.timeout);
    if (stopped.empty()) body.append(bytes, count);
    return stopped.empty();
  });
  if (auto why = stopper.stopped(); !why.empty() && stopped.empty()) stopped = std::move(why);
  if (!stopped.empty()) return {0, stopped};
  if (!answer)
    return {0,
            fmt::format("no whole answer within {} s: {}", what.timeout, httplib::to_string(answer.error()))};
  return {answer->status, std::move(body)};
}
#endif

}  // namespace

bool can_send() {
#ifdef MLSYSIM_HAS_HTTP
  return true;
#else
  return false;
#endif
}

std::string masked_url(std::string_view url) {
  const auto scheme = url.find("://");
  const auto from = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto slash = std::min(url.find('/', from), url.size()), at = url.rfind('@', slash);
  if (at == std::string_view::npos || at < from) return std::string(url);
  return fmt::format("{}***@{}", url.substr(0, from), url.substr(at + 1));
}

std::string push_url(const PushGroup& group, const std::vector<MetricFamily>& families) {
  if (group.job.empty())
    throw InputError("mlsysim.telemetry.004", "a push needs a job", "", "an empty one", "a name",
                     "name it with --job; a gateway answers a redirection and stores nothing");
  auto key = group.labels;
  key["job"] = group.job;
  for (const auto& f : families)
    for (const auto& s : f.samples)
      for (const auto& [name, value] : s.labels)
        if (const auto at = key.find(name); at != key.end() && at->second != value)
          throw InputError("mlsysim.telemetry.005", "a label is in the key of the group and in a sample", "",
                           fmt::format("{}='{}' and '{}'", name, at->second, value), "one value of it",
                           "leave it out of --group: a gateway would replace the other in silence");
  auto url = group.url;
  while (url.ends_with('/')) url.pop_back();
  url += "/metrics" + part_of_key("job", group.job);
  for (const auto& [name, value] : group.labels) url += part_of_key(name, value);
  return url;
}

GroupedFamilies by_group(const std::vector<MetricFamily>& families, const std::vector<std::string>& labels) {
  GroupedFamilies out;
  for (const auto& family : families)
    for (const auto& sample : family.samples) {
      std::map<std::string, std::string> key;
      for (const auto& label : labels)
        if (const auto at = sample.labels.find(label); at != sample.labels.end() && !at->second.empty())
          key.insert(*at);
      auto& group = out[key];
      if (group.empty() || group.back().name != family.name) {
        group.push_back(family);
        group.back().samples.clear();
      }
      group.back().samples.push_back(sample);
    }
  return out;
}

std::vector<std::map<std::string, std::string>> groups_of_job(const std::string& url, const std::string& job,
                                                              const std::string& credentials) {
  auto root = url;
  while (root.ends_with('/')) root.pop_back();
  const auto text = fetch({.url = root + "/api/v1/metrics", .credentials = credentials});
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::map<std::string, std::string>> out;
  try {
    for (const auto& group : json.at("data")) {
      auto labels = group.at("labels").get<std::map<std::string, std::string>>();
      if (labels["job"] != job) continue;
      labels.erase("job");
      out.push_back(std::move(labels));
    }
  } catch (const nlohmann::json::exception& error) {
    throw InputError("mlsysim.telemetry.016", fmt::format("{} is no Pushgateway", masked_url(url)), "",
                     detail::json_fault(error), "the groups that it holds, at /api/v1/metrics",
                     "name the address of the gateway alone: http://host:9091");
  }
  return out;
}

void send(const Sending& what) {
  const auto parts = parts_of(what.url);
#ifdef MLSYSIM_HAS_HTTP
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] { return kLongest - Seconds(std::chrono::steady_clock::now() - begin).count(); };
  Reply reply;
  for (int i = 0; i < std::max(1, what.tries); ++i) {
    const double wait = i > 0 ? what.wait * (1 << (i - 1)) : 0;
    if (i > 0 && left() < wait + 1) break;  // all tries together are bounded, too
    std::this_thread::sleep_for(Seconds(wait));
    reply = once(what, parts, left());
    if (reply.status >= 200 && reply.status < 300) return;
    // Only what may pass by itself is tried again.
    if (reply.status != 0 && reply.status != 429 && reply.status < 500) break;
  }
  const bool moved = reply.status >= 300 && reply.status < 400;
  throw InputError("mlsysim.telemetry.006",
                   fmt::format("{} did not take what was sent", masked_url(what.url)), "",
                   reply.status == 0 ? fmt::format("no answer: {}", reply.text)
                   : moved           ? fmt::format("{}: redirected, nothing stored", reply.status)
                                     : fmt::format("{}: {}", reply.status, reply.text),
                   "an answer of 200 to 299", "look at the URL and the server; files that were written stay");
#else
  throw InputError("mlsysim.telemetry.007", "this build cannot send", "", masked_url(what.url),
                   "a build with cpp-httplib", "install libcpp-httplib-dev and build again, or write a file");
#endif
}

std::string fetch(const Fetching& what) {
  const auto parts = parts_of(what.url);
#ifdef MLSYSIM_HAS_HTTP
  const auto page = page_of(what, parts);
  const auto fail = [&](std::string found, std::string hint) {
    throw InputError("mlsysim.telemetry.011",
                     fmt::format("{} gave nothing that can be read", masked_url(what.url)), "",
                     std::move(found), "an answer of 200", std::move(hint));
  };
  if (page.status == 0) fail(page.text, "look at the URL and the server, or allow more time with --timeout");
  if (page.status >= 300 && page.status < 400)
    fail(fmt::format("{}: redirected, which is not followed", page.status),
         "name the address that it leads to");
  if (page.status == 429) fail("429: too many requests", "ask less often");
  if (page.status >= 500) fail(fmt::format("{}: an error of the server", page.status), "look at its log");
  if (page.status != 200)
    fail(fmt::format("{}: refused", page.status), "look at the path: metrics are mostly at /metrics");
  return page.text;
#else
  throw InputError("mlsysim.telemetry.012", "this build cannot ask servers", "", masked_url(what.url),
                   "a build with cpp-httplib", "install libcpp-httplib-dev and build again");
#endif
}

}  // namespace mlsysim
