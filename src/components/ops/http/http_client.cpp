// The component that talks HTTP, with cpp-httplib.

#include "http_interface.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

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

/// A server's reply: its status and body, or 0 and the error.
struct Reply {
  int status = 0;
  std::string text;
};

Reply reply_to(const mlsysim_http_call& call) {
  const bool whole = call.shown == 0;
  httplib::Client client(call.host);
  set_limits(client, call.timeout);
  const std::string secret = call.credentials;
  if (const auto colon = secret.find(':'); colon != std::string::npos)
    client.set_basic_auth(secret.substr(0, colon), secret.substr(colon + 1));
  httplib::Request request;
  request.method = call.method;
  request.path = call.path;
  if (call.body_size > 0) request.body.assign(call.body, call.body_size);
  if (*call.type != '\0') request.set_header("Content-Type", call.type);
  std::string body, stopped;
  request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t, std::uint64_t) {
    if (whole && body.size() + count > call.most) stopped = fmt::format("more than {} B", call.most);
    const std::size_t room = whole ? count : call.shown - std::min<std::size_t>(call.shown, body.size());
    if (stopped.empty()) body.append(bytes, std::min(count, room));
    return stopped.empty();
  };
  Stopper stopper(client, call.timeout, call.most);
  const auto answer = client.send(request);
  if (auto why = stopper.stopped(); !why.empty() && stopped.empty()) stopped = std::move(why);
  if (!stopped.empty()) return {0, std::move(stopped)};
  if (answer) return {answer->status, std::move(body)};
  const auto why = httplib::to_string(answer.error());
  return {0, whole ? fmt::format("no whole answer within {} s: {}", call.timeout, why) : why};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int mlsysim_http(const mlsysim_http_call* call,
                                                                   mlsysim_http_take take, void* to) {
  Reply reply;
  try {
    reply = reply_to(*call);
  } catch (const std::exception& error) {
    reply = {0, error.what()};
  }
  take(to, reply.text.data(), reply.text.size());
  return reply.status;
}
