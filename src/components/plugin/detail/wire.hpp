#pragma once
/// Messages between the host and the process of an isolated plugin.

#include "services.hpp"

#include <mlsysim/reflect/choice.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::plugin::detail {

/// The kinds of messages. Calls and requests are answered by `result` or `fault`; either side may be
/// asked while it waits for an answer.
enum class Message : std::uint32_t {
  result,
  fault,
  hello,  // answers
  create,
  destroy,
  can_create,
  solve,
  event,
  broke,
  swept,
  query_support,
  convert_text,
  has_feature,
  quit,  // host to plugin
  log,
  zoo_count,
  zoo_at,
  zoo_find,
  object_field,
  object_read,
  convert,
  evaluate  // plugin to host
};

/// Bytes of a message being written.
class Writer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> Writer& put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view s) {
    put(static_cast<std::uint64_t>(s.size()));
    bytes_.append(s);
    return *this;
  }
  Writer& value(const MlsValue& v);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A message being read. What comes from a broken process is refused, never believed.
/// @throws PluginFault DATA_LOSS for one that is too short, or holds a value that its type does not have
class MessageReader {
 public:
  MessageReader() = default;
  /// @throws PluginFault DATA_LOSS
  [[noreturn]] static void refuse();
  explicit MessageReader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T get() {
    need(sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = get<std::uint8_t>();
      if (byte > 1) refuse();
      return byte == 1;
    } else if constexpr (Choice<T>) {
      const auto number = get<std::underlying_type_t<T>>();
      if (number >= Choices<T>::names.size()) refuse();
      return static_cast<T>(number);
    } else {
      T out;
      std::memcpy(&out, bytes_.data() + at_, sizeof out);
      at_ += sizeof out;
      return out;
    }
  }
  [[nodiscard]] std::string text();
  [[nodiscard]] OwnedValue value();

 private:
  void need(std::uint64_t size) const;
  std::string bytes_;
  std::size_t at_ = 0;
};

/// One end of a socket pair.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// @param serial of a question: its number; of an answer: that of the question
  /// @return false when the other end is gone
  bool send(Message type, std::uint32_t serial, const std::string& bytes) const;
  struct Received {
    Message type;
    std::uint32_t serial;
    MessageReader reader;
  };
  /// The next message; nothing when the other end is gone or the deadline has passed. `idle` is called while
  /// waiting.
  using Clock = std::chrono::steady_clock;
  template <class Idle> std::optional<Received> receive(Clock::time_point deadline, Idle&& idle) const {
    std::uint32_t head[4];
    if (!read_all(head, sizeof head, deadline, idle)) return std::nullopt;
    if (head[0] != kMagic || head[2] > kLargest) MessageReader::refuse();
    // Memory is taken as bytes come, not as they are announced.
    std::string bytes;
    while (bytes.size() < head[2]) {
      const auto done = bytes.size(),
                 more = std::min<std::size_t>(head[2] - done, std::max<std::size_t>(done, 1 << 20));
      bytes.resize(done + more);
      if (!read_all(bytes.data() + done, more, deadline, idle)) return std::nullopt;
    }
    return Received{static_cast<Message>(head[1]), head[3], MessageReader(std::move(bytes))};
  }

 private:
  static constexpr std::uint32_t kMagic = 0x4d4c5331, kLargest = 1U << 30;
  template <class Idle>
  bool read_all(void* to, std::size_t size, Clock::time_point deadline, Idle&& idle) const {
    auto* at = static_cast<char*>(to);
    while (size > 0) {
      const auto n = read_some(at, size);
      if (n == 0) return false;
      if (n > 0) {
        at += n;
        size -= static_cast<std::size_t>(n);
      } else if (Clock::now() >= deadline || !idle(descriptor_)) {
        return false;
      }
    }
    return true;
  }
  /// Bytes read, 0 at the end, -1 when there is nothing yet.
  [[nodiscard]] std::ptrdiff_t read_some(char* to, std::size_t size) const;
  int descriptor_;
};

void write_description(Writer& out, const PluginDescription& description);
[[nodiscard]] PluginDescription read_description(MessageReader& in);
void write_fault(Writer& out, const std::exception& error);
[[noreturn]] void throw_fault(MessageReader& in);

}  // namespace mlsysim::plugin::detail
