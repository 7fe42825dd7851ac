#pragma once
/// Parts that sinks share: a file behind a buffer, a body that is sent at the end, and numbers as text.

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/export/push.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// A file that grows in pieces of 64 KiB.
class BufferedFile {
 public:
  /// @param mark by which a file of this kind is known as one's own. @throws InputError
  BufferedFile(std::filesystem::path file, std::string_view mark);
  BufferedFile(const BufferedFile&) = delete;
  BufferedFile& operator=(const BufferedFile&) = delete;
  ~BufferedFile();
  void append(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kFull) flush();
  }
  /// @throws InputError where the disk takes no more
  void flush();

 private:
  static constexpr std::size_t kFull = 64 * 1024;
  std::filesystem::path path_;
  int file_ = -1;
  std::string buffer_;
};

/// A sink whose text goes to a file, to a server, or to both, when all is over.
class SendingSink : public EventSink {
 protected:
  /// @param mark by which a file of this kind is known as one's own. @throws InputError
  SendingSink(ExportPlan plan, std::string_view mark);
  /// To the file, where there is one.
  void write(std::string_view text) const;
  /// A body for the server.
  [[nodiscard]] Sending sending(std::string body) const;
  ExportPlan plan_;

 private:
  [[nodiscard]] files::WriteHow how() const;
  std::string secret_;
  std::string_view mark_;
};

/// A number, a flag or a text of a result; empty for objects.
[[nodiscard]] std::string value_text(const DynamicValue& value);
/// Appends a text in quotes of JSON.
void append_json(std::string& out, std::string_view text);
/// Appends a number of JSON: the shortest text that reads back, null for what is not finite.
void append_json(std::string& out, double number);
/// All of an event but its results, as texts.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of(const Event& event);

[[nodiscard]] std::shared_ptr<EventSink> line_sink(const ExportPlan& plan);
/// OTLP spans and Chrome traces.
[[nodiscard]] std::shared_ptr<EventSink> trace_sink(const ExportPlan& plan);
/// Prometheus, OTLP metrics and Loki.
[[nodiscard]] std::shared_ptr<EventSink> server_sink(const ExportPlan& plan);

}  // namespace mlsysim::detail
