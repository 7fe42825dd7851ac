#include <mlsysim/ops/export/push.hpp>

#include "../http/http_interface.hpp"

#include <mlsysim/ops/export/fetch.hpp>
#include <mlsysim/units/detail/json_fault.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
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

constexpr double kLongest = 30;  // [s] for all tries of one sending

/// A server's reply: its status, 0 for no answer, and its body or the error.
struct Reply {
  int status = 0;
  std::string text;
};

constexpr const char* kComponent = "mlsysim-http.so";
constexpr const char* kBuilt = "a build with cpp-httplib, and its mlsysim-http.so beside the program";

/// Beside the code or the program, or where they are installed; no variable is looked at.
std::vector<std::filesystem::path> component_places() {
  std::vector<std::filesystem::path> out;
  const auto around = [&](const std::filesystem::path& code) {
    std::error_code failed;
    const auto folder = std::filesystem::canonical(code, failed).parent_path();
    if (failed) return;
    for (const char* relative : {"", "../libexec/mlsysim", "../../bin"})
      out.push_back((folder / relative / kComponent).lexically_normal());
  };
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&component_places), &info) != 0 && info.dli_fname != nullptr)
    around(info.dli_fname);
  around("/proc/self/exe");
#ifdef MLSYSIM_HTTP_INSTALLED
  out.emplace_back(MLSYSIM_HTTP_INSTALLED);
#endif
  return out;
}

/// The component that talks HTTP, with its libraries of TLS: opened when something is sent or fetched first,
/// and kept. Null where it is not found, and why.
struct Client {
  mlsysim_http_t call = nullptr;
  std::string why;

  Client() {
    for (const auto& path : component_places()) {
      if (std::error_code none; !std::filesystem::exists(path, none)) continue;
      void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) call = reinterpret_cast<mlsysim_http_t>(::dlsym(library, "mlsysim_http"));
      if (call != nullptr) return;
      why = fmt::format("{}: {}", path.generic_string(), ::dlerror());
    }
    if (why.empty()) why = fmt::format("no {} beside the program", kComponent);
  }
};
const Client& client() {
  static const Client one;
  return one;
}

Reply asked(const mlsysim_http_call& call) {
  Reply out;
  out.status = client().call(
      &call,
      [](void* to, const char* bytes, unsigned long long size) {
        static_cast<std::string*>(to)->append(bytes, size);
      },
      &out.text);
  return out;
}

/// @param most time that this try may take [s]
Reply once(const Sending& what, const Parts& parts, double most) {
  const auto& secret = what.credentials.empty() ? parts.userinfo : what.credentials;
  return asked({.host = parts.host.c_str(),
                .path = parts.path.c_str(),
                .method = what.method.c_str(),
                .type = what.type.c_str(),
                .credentials = secret.c_str(),
                .body = what.body.data(),
                .body_size = what.body.size(),
                .timeout = std::max(0.001, std::min(what.timeout, most)),
                .most = 1 << 20,
                .shown = 400});  // of what a server says the beginning is shown, and no more is kept
}

/// A page, with bounds on its time and its size.
Reply page_of(const Fetching& what, const Parts& parts) {
  const auto& secret = what.credentials.empty() ? parts.userinfo : what.credentials;
  return asked({.host = parts.host.c_str(),
                .path = parts.path.c_str(),
                .method = "GET",
                .type = "",
                .credentials = secret.c_str(),
                .body = nullptr,
                .body_size = 0,
                .timeout = what.timeout,
                .most = what.most,
                .shown = 0});
}

}  // namespace

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
  if (client().call == nullptr)
    throw InputError("mlsysim.telemetry.007", "this build cannot send", "",
                     fmt::format("{}, for {}", client().why, masked_url(what.url)), kBuilt,
                     "install libcpp-httplib-dev and build again, or write a file");
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
}

std::string fetch(const Fetching& what) {
  const auto parts = parts_of(what.url);
  if (client().call == nullptr)
    throw InputError("mlsysim.telemetry.012", "this build cannot ask servers", "",
                     fmt::format("{}, for {}", client().why, masked_url(what.url)), kBuilt,
                     "install libcpp-httplib-dev and build again");
  auto page = page_of(what, parts);
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
  return std::move(page.text);
}

}  // namespace mlsysim
